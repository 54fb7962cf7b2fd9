"""The manifests of a run: one a migration, each with the target it names, and the paths of the command line on top."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import UsageProblem
from .facts.target import TargetFacts

KEY = "manifest"


@dataclass(frozen=True)
class Manifest:
    """A `migration.yaml`, or the paths of the command line alone.

    Attributes:
        data: what `load_manifest` returned, with the command line's `runtime_assets` on top.
        path: its file; None for the command line.
        shown: the file as findings show it.
        key: before the colon of the keys under which `StaticFacts.assets` holds its paths.
    """

    data: dict[str, Any]
    path: str | None = None
    shown: str | None = None
    key: str = KEY

    @property
    def folder(self) -> Path | None:
        """The folder that its relative paths count from; None for the command line, whose paths are absolute."""
        return Path(self.path).parent if self.path is not None else None

    @property
    def name(self) -> str | None:
        """The target it names."""
        name = (self.data.get("model_identity") or {}).get("name")
        return str(name) if name else None

    @property
    def repo(self) -> str | None:
        """The checkout it is for, without symbolic links."""
        repo = self.data.get("target_repo_path")
        if not isinstance(repo, str) or self.folder is None:
            return None
        return os.path.realpath(self.folder / os.path.expanduser(repo))

    def is_for_other_than(self, repo: Path) -> bool:
        """Whether it names another checkout, which is there."""
        return self.repo is not None and os.path.isdir(self.repo) and self.repo != os.path.realpath(repo)


@dataclass(frozen=True)
class Manifests:
    """All manifests of a run.

    Attributes:
        given: the files, in the order they were named.
        line: the paths of the command line, for targets that have no manifest; None when there are none.
    """

    given: list[Manifest] = field(default_factory=list)
    line: Manifest | None = None

    def of(self, target: TargetFacts, alone: bool) -> Manifest | None:
        """The manifest of a target: the one that names it; the only one, when the target is the only one, too.

        Args:
            target: as `target_repo.select` gave it, with the manifest that names it.
            alone: whether it is the only target of the run.
        """
        if target.manifest is not None:
            named = next((one for one in self.given if one.shown == target.manifest), None)
            if named is not None:
                return named
        return self.given[0] if alone and len(self.given) == 1 else self.line

    @property
    def names(self) -> tuple[str, ...]:
        """The targets that the manifests name."""
        return tuple(dict.fromkeys(one.name for one in self.given if one.name))

    @property
    def looked_up(self) -> list[Manifest]:
        """Those whose paths are looked up: one manifest has those of the command line among its own."""
        return [*self.given, *([self.line] if self.line is not None and len(self.given) != 1 else [])]

    def environment(self) -> dict[str, Any]:
        """The `environment` that the manifests ask for: a run has one interpreter.

        Raises:
            UsageProblem: when two of them ask for different ones.
        """
        asked = [one for one in self.given if one.data.get("environment")]
        for one in asked[1:]:
            if one.data["environment"] != asked[0].data["environment"]:
                raise UsageProblem("usage.manifests_environment", first=asked[0].shown, second=one.shown)
        return dict(asked[0].data["environment"]) if asked else {}


def read_manifests(paths: Sequence[Path], assets: dict[str, str], repo: Path | None) -> Manifests:
    """Read the manifests of a run.

    Args:
        paths: the files.
        assets: `runtime_assets` of the command line, absolute; they hold for every target.
        repo: the checkout, from whose root files inside it are shown.

    Raises:
        UsageProblem: when one cannot be read or is not valid, or two are for different repos.
    """
    from .manifest import load_manifest

    paths = list(dict.fromkeys(paths))
    given = []
    for number, path in enumerate(paths):
        data = _with_assets(load_manifest(path), assets)
        key = KEY if len(paths) == 1 else f"{KEY}[{number}]"
        given.append(Manifest(data, str(path), _shown_path(path, repo), key))
    _for_one_repo(given)
    return Manifests(given, Manifest({"runtime_assets": dict(assets)}) if assets else None)


def _with_assets(data: dict[str, Any], assets: dict[str, str]) -> dict[str, Any]:
    return {**data, "runtime_assets": {**(data.get("runtime_assets") or {}), **assets}} if assets else data


def _for_one_repo(given: list[Manifest]) -> None:
    first: tuple[str, Manifest] | None = None
    for one in given:
        place = one.repo
        if place is None:
            continue
        if first is None:
            first = place, one
        elif first[0] != place:
            values = {"first": first[1].shown, "second": one.shown}
            raise UsageProblem("usage.manifests_repos", first_repo=first[0], second_repo=place, **values)


def _shown_path(path: Path, repo: Path | None) -> str:
    """A path as findings show it: from the root of the repo, when it lies inside."""
    try:
        return path.resolve().relative_to(repo.resolve()).as_posix() if repo is not None else str(path)
    except (OSError, ValueError):
        return str(path)
