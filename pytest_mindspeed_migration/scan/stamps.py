"""Identity of a target repo's files, so that what was read from them can be kept between runs."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from .repo_paths import MAX_NESTING

PACKAGE = "mindspeed_mm"
FOLDERS_OF_DOCS = ("examples", "docs", "UserGuide", "docker", "mindspeed_mm", "scripts", "tests")

_SKIPPED = {"__pycache__"}
_READ = (".yaml", ".yml", ".sh", ".md", ".txt", ".py")
"""Files whose content is read; of others only the names matter."""


class FileStamps:
    """The files of a target repo as one walk over its folders finds them, and keys of what follows from them."""

    def __init__(self, repo: Path, package: str = PACKAGE) -> None:
        self._repo = repo
        self._tops = sorted({package, *FOLDERS_OF_DOCS})

    @property
    def of(self) -> dict[str, str]:
        """Size and times of each file that is read, by its path in the repo; that of its change cannot be set back."""
        return self._walked[0]

    @property
    def names(self) -> str:
        """A key over the names of all files and the modes of those that are read.

        What a document says of other files follows from what exists, and from what may be executed.
        """
        return self._walked[1]

    @cached_property
    def texts(self) -> str:
        """A key over names and over all files that are read but Python's: facts of those have stamps of their own."""
        return self._key({path: stamp for path, stamp in self.of.items() if not path.endswith(".py")})

    @cached_property
    def all(self) -> str:
        """A key over names and over all files that are read."""
        return self._key(self.of)

    def _key(self, stamps: dict[str, str]) -> str:
        return hashlib.sha256(repr([self.names, stamps]).encode("utf-8", "replace")).hexdigest()

    @cached_property
    def _walked(self) -> tuple[dict[str, str], str]:
        stamps: dict[str, str] = {}
        digest = hashlib.sha256()
        start = len(str(self._repo)) + 1
        for folder, folders, names in self._folders():
            digest.update("\n".join([folder, *folders, ""]).encode("utf-8", "replace"))
            for name in sorted(names):
                mode: int | str = ""
                if name.endswith(_READ):
                    try:
                        status = os.stat(path := f"{folder}/{name}")
                    except OSError:
                        mode = "gone"
                    else:
                        mode = status.st_mode
                        stamps[path[start:]] = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
                digest.update(f"{name} {mode}\n".encode("utf-8", "replace"))
        return stamps, digest.hexdigest()

    def _folders(self) -> Iterator[tuple[str, list[str], list[str]]]:
        for top in self._tops:
            depth = str(self._repo / top).count(os.sep)
            for folder, folders, names in os.walk(self._repo / top):
                inside = folder.count(os.sep) - depth < MAX_NESTING
                folders[:] = sorted(name for name in folders if inside and name not in _SKIPPED)
                yield folder, folders, names
        yield str(self._repo), [], _files_at(self._repo)


def outside(asked: dict[str, int]) -> dict[str, int]:
    """The questions about files in folders that `FileStamps` does not look at."""
    return {path: mode for path, mode in asked.items() if posixpath.normpath(path).split("/")[0] not in FOLDERS_OF_DOCS}


def _files_at(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if not entry.is_dir()]
    except OSError:
        return []
