"""Identity of a target repo's files, so that what was read from them can be kept between runs."""

from __future__ import annotations

import hashlib
import os
import posixpath
from pathlib import Path

from .repo_paths import MAX_NESTING

PACKAGE = "mindspeed_mm"
FOLDERS_OF_DOCS = ("examples", "docs", "UserGuide", "docker", "mindspeed_mm", "scripts", "tests")

_SKIPPED = {"__pycache__"}
_READ = (".yaml", ".yml", ".sh", ".md", ".txt")
"""Files whose content is kept under the key; of others only the names matter."""


def tree_key(repo: Path, package: str, python: bool = False) -> str:
    """A key over names, sizes and times of the files that are read: references of documents depend on what exists.

    Args:
        repo: the checkout.
        package: its Python package.
        python: whether Python files count with size and time too; facts of theirs have stamps of their own.
    """
    read = (*_READ, ".py") if python else _READ
    digest = hashlib.sha256()
    for top in sorted({package, *FOLDERS_OF_DOCS}):
        depth = str(repo / top).count(os.sep)
        for folder, folders, names in os.walk(repo / top):
            inside = folder.count(os.sep) - depth < MAX_NESTING
            folders[:] = sorted(name for name in folders if inside and name not in _SKIPPED)
            lines = [f"{name} {_stamp(f'{folder}/{name}') if name.endswith(read) else ''}" for name in sorted(names)]
            digest.update("\n".join([folder, *folders, *lines, ""]).encode("utf-8", "replace"))
    digest.update("\n".join(_root(repo)).encode("utf-8", "replace"))
    return digest.hexdigest()


def outside(asked: dict[str, int]) -> dict[str, int]:
    """The questions about files that `tree_key` does not look at."""
    return {path: mode for path, mode in asked.items() if posixpath.normpath(path).split("/")[0] not in FOLDERS_OF_DOCS}


def _root(repo: Path) -> list[str]:
    """The files at the root."""
    try:
        with os.scandir(repo) as entries:
            names = sorted(entry.name for entry in entries if not entry.is_dir())
    except OSError:
        return []
    return [f"{name} {_stamp(f'{repo}/{name}') if name.endswith(_READ) else ''}" for name in names]


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "gone"
    return f"{status.st_size} {status.st_mtime_ns} {status.st_mode}"
