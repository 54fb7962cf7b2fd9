"""Identity of a target repo's files, so that what was read from them can be kept between runs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from .cache import ScanCache
from .repo_paths import MAX_NESTING
from .targets import FOLDERS_OF_DOCS, Discovery, discover

_SKIPPED = {"__pycache__"}
_READ = (".yaml", ".yml", ".sh", ".md", ".txt")
"""Files whose content is kept under the key; of others (Python has stamps of its own) only the names matter."""

PACKAGE = "mindspeed_mm"


def discovered(repo: Path, cache: ScanCache) -> Discovery:
    """The targets of a repo with their files: as kept when nothing in the repo has changed, else discovered anew."""
    return cache.derived(Discovery, tree_key(repo, PACKAGE) if cache.kept else "", lambda: discover(repo))


def tree_key(repo: Path, package: str) -> str:
    """A key over names, sizes and times of the files that are read: references of documents depend on what exists."""
    digest = hashlib.sha256()
    for top in ["", *sorted({package, *FOLDERS_OF_DOCS})]:
        for folder, folders, names in os.walk(repo / top):
            inside = top and folder.count(os.sep) - str(repo).count(os.sep) <= MAX_NESTING
            folders[:] = sorted(name for name in folders if inside and name not in _SKIPPED)
            for name in sorted(names):
                stamp = _stamp(os.path.join(folder, name)) if name.endswith(_READ) else ""
                digest.update(f"{folder}/{name}\0{stamp}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "gone"
    return f"{status.st_size} {status.st_mtime_ns} {status.st_mode}"
