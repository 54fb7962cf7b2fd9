"""Looks up the files and folders that the manifest, the command line and the configs name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..analysis.asset_paths import asset_values, is_rooted
from ..facts.static import StaticFacts
from ..manifests import Manifests
from .lookup import Question


def questions(facts: StaticFacts, repo: Path, manifests: Manifests) -> Iterator[Question]:
    """The paths that the configs of `facts`, the manifests and the command line name.

    Args:
        facts: facts of the repo.
        repo: the checkout; relative paths of configs count from it.
        manifests: their relative paths count from the folder of each.
    """
    for config in facts.configs.values():
        for yaml_path, value in asset_values(config):
            if is_rooted(value):
                yield Question(f"config:{config.path}:{yaml_path}", value, str(repo), config.line_of(yaml_path))
    for manifest in manifests.looked_up:
        path = Path(manifest.path) if manifest.path is not None else None
        base = path.resolve().parent if path is not None else Path.cwd()
        lines = _lines(path)
        for key, value, root in _manifest_paths(manifest.data, base, repo):
            yield Question(f"{manifest.key}:{key}", value, str(root), lines.get(key))


def attach(facts: StaticFacts, repo: Path, manifests: Manifests) -> list[Question]:
    """Add to `facts.assets` what exists of the paths in question, and return these; arguments as for `questions`."""
    found = list(questions(facts, repo, manifests))
    facts.assets.update({one.key: one.answer() for one in found})
    return found


def _lines(manifest_path: Path | None) -> dict[str, int]:
    if manifest_path is None:
        return {}
    from .yaml_tree import read_config

    return read_config(manifest_path.parent, manifest_path.name).lines


def _manifest_paths(manifest: dict[str, Any], base: Path, repo: Path) -> Iterator[tuple[str, str, Path]]:
    """Dotted key, path, and the folder a relative path counts from."""
    source = manifest.get("source_repo_path")
    for key in ("source_repo_path", "target_repo_path"):
        yield from _each(manifest.get(key), key, base)
    for key, value in (manifest.get("runtime_assets") or {}).items():
        yield from _each(value, f"runtime_assets.{key}", base)
    source_root = base / os.path.expanduser(source) if isinstance(source, str) else base
    for key, value in (manifest.get("source_entrypoints") or {}).items():
        yield from _each(value, f"source_entrypoints.{key}", source_root)
    constraints = manifest.get("constraints") or {}
    yield from _each(constraints.get("editable_paths"), "constraints.editable_paths", repo)


def _each(value: Any, key: str, base: Path) -> Iterator[tuple[str, str, Path]]:
    if isinstance(value, str):
        yield key, value, base
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, str):
                yield f"{key}[{number}]", item, base
