"""Renders the contracts of a target into a pytest file, and recognises such files again."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .outcomes import facts_stated
from .resources import resource_dir

if TYPE_CHECKING:
    from .catalogue import Catalogue
    from .checks.view import TargetView
    from .facts.static import TargetFacts

PREFIX = "test_migrate_"
_HEADER = re.compile(r"^# migration-suite: (\{.*\})$", re.MULTILINE)


@dataclass(frozen=True)
class SuiteFile:
    """A generated test file: the target it judges and the catalogue it was written from."""

    path: Path
    target: str
    config: str | None
    catalogue: str
    inputs: str


def read_header(path: Path) -> SuiteFile | None:
    """Return what the header of a generated file says, None when the file is not one."""
    try:
        if not path.is_file():  # reading a pipe would wait for somebody to write it
            return None
        with path.open(encoding="utf-8") as stream:
            found = _HEADER.search(stream.read(8192))
        header = json.loads(found.group(1)) if found else None
    except (OSError, ValueError):
        return None
    if not isinstance(header, dict) or not isinstance(header.get("target"), str):
        return None
    config = header.get("config")
    return SuiteFile(
        path=path,
        target=header["target"],
        config=config if isinstance(config, str) else None,
        catalogue=str(header.get("catalogue")),
        inputs=str(header.get("inputs")),
    )


def find_suites(paths: Iterable[Path]) -> list[SuiteFile]:
    """Return the generated files among `paths` and below the folders among them, by name."""
    found: list[SuiteFile] = []
    for path in paths:
        files = sorted(path.rglob(f"{PREFIX}*.py")) if os.path.isdir(path) else [path]
        found.extend(suite for file in files if (suite := read_header(file)))
    return found


def write_suites(folder: Path, views: Iterable[TargetView], catalogue: Catalogue, own: bool = False) -> list[SuiteFile]:
    """Render one file a target into `folder`; files that say the same already are left alone.

    Args:
        folder: where the files go.
        views: the targets.
        catalogue: their contracts.
        own: whether nobody else keeps files in `folder`: whatever a file there holds that was not rendered is
            replaced, since a checkout may have come with it. In another folder, only generated files are replaced.

    Raises:
        OSError: when the folder cannot be written, or has a file of that name that is no generated suite.
    """
    from .atomic import encode, write_atomic

    views = list(views)
    names = file_names([view.target.name for view in views])
    written: list[SuiteFile] = []
    for view, name in zip(views, names, strict=True):
        path = folder / name
        inputs = _inputs(view, catalogue)
        present = read_header(path)
        if present is None and path.exists() and not own:
            raise FileExistsError(errno.EEXIST, "exists and is no generated suite", str(path))
        rendered = render(view, catalogue) if own or present is None or present.inputs != inputs else ""
        if present is None or (rendered and path.read_bytes() != encode(rendered)):
            before = path.stat().st_mtime if present else 0
            write_atomic(path, rendered)
            if path.stat().st_mtime < before + 2:  # compiled files tell sources apart by whole seconds
                os.utime(path, (before + 2, before + 2))
        written.append(SuiteFile(path, view.target.name, view.target.config, catalogue.digest, inputs))
    return written


def suites_as_kept(
    folder: Path, targets: Sequence[TargetFacts], digests: Mapping[str, str], catalogue: Catalogue
) -> list[SuiteFile] | None:
    """The suites that `write_suites` has written, by the `digest` of each target's; None when one is another now."""
    found: list[SuiteFile] = []
    for target, name in zip(targets, file_names([target.name for target in targets]), strict=True):
        suite = read_header(folder / name)
        if suite is None or suite.target != target.name or digest(suite.path) != digests.get(target.name):
            return None
        found.append(SuiteFile(suite.path, target.name, target.config, catalogue.digest, suite.inputs))
    return found


def digest(path: Path) -> str:
    """Digest of all that a suite says. Raises OSError when it cannot be read."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def file_names(targets: list[str]) -> list[str]:
    """File names for target names: readable, safe, and different where targets differ."""
    slugs = [re.sub(r"\W+", "_", target, flags=re.ASCII).strip("_").lower()[:80] or "target" for target in targets]
    return [
        f"{PREFIX}{slug}.py"
        if slugs.count(slug) == 1 and slug == target.lower()
        else f"{PREFIX}{slug}_{_short(target)}.py"
        for slug, target in zip(slugs, targets, strict=True)
    ]


def render(view: TargetView, catalogue: Catalogue) -> str:
    """Return the test file of a target. Nothing of the target enters it but as a literal."""
    from .catalogue import AREAS
    from .templates import environment

    stated = facts_stated(view)
    subject = "framework" if view.is_framework else "target"
    contracts = catalogue.of_subject(subject)
    areas = [
        {
            "title": catalogue.area_titles[area]["en"],
            "tests": [
                {
                    "name": contract.test_name,
                    "contract": contract.id,
                    "proves": contract.proves["en"],
                    "stated": [(name, stated[name]) for name in contract.states if stated[name] not in (None, [])],
                }
                for contract in contracts
                if contract.area == area
            ],
        }
        for area in AREAS
    ]
    header = {
        "catalogue": catalogue.digest,
        "config": view.target.config,
        "inputs": _inputs(view, catalogue),
        "target": view.target.name,
    }
    return (
        environment("suite")
        .get_template("test_target.py.j2")
        .render(
            title=f"Migration contracts of {view.target.name}.",
            header=json.dumps(header),  # ASCII on one line: cannot leave its comment
            target=view.target.name,
            areas=[area for area in areas if area["tests"]],
        )
    )


def _inputs(view: TargetView, catalogue: Catalogue) -> str:
    """Digest of everything a rendered file depends on."""
    template = (resource_dir("generators") / "suite" / "test_target.py.j2").read_text(encoding="utf-8")
    parts: list[Any] = [template, catalogue.digest, view.target.name, facts_stated(view)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
