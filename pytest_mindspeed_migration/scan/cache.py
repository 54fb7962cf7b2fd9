"""What a scan keeps between runs: facts of each Python file by its stamp, and what was derived from all of them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..facts.codec import from_json, to_json

T = TypeVar("T")

KEPT = 12
"""Derived results that are kept: one for each choice of targets that was asked for lately."""


class ScanCache:
    """Two JSON files: what was read of each file, and what follows from all of them.

    Without a path, or when they cannot be read or written, everything is simply computed anew.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._files: dict[str, Any] = _read(path, "files")
        self._derived: dict[str, Any] = _read(path and _derived_path(path), "derived")
        self._new_files: dict[str, tuple[list[int], object]] = {}  # not yet encoded, which takes its time
        self._new_derived: dict[str, object] = {}

    def file(self, cls: type[T], name: str, stamp: list[int]) -> T | None:
        """Facts of a file as kept, None when the file has changed since."""
        kept = self._files.get(name)
        return from_json(cls, kept[1]) if kept is not None and kept[0] == stamp else None

    def is_fresh(self, name: str, stamp: list[int]) -> bool:
        """Whether the file has changed since its facts were kept, or none were."""
        kept = self._files.get(name)
        return kept is None or kept[0] != stamp

    def keep_file(self, name: str, stamp: list[int], facts: object) -> None:
        """Keep the facts of a file, which are complete when the cache is saved."""
        self._new_files[name] = (stamp, facts)

    @property
    def kept(self) -> bool:
        """Whether anything is kept at all; without, keys need not be computed."""
        return self._path is not None

    def holds(self, cls: type[object], key: str) -> bool:
        """Whether a result is kept under the key."""
        return f"{cls.__name__}:{key}" in self._derived

    def derived(self, cls: type[T], key: str, compute: Callable[[], T], holds: Callable[[T], bool] | None = None) -> T:
        """A result as kept under a key that changes with what it follows from, else computed.

        Args:
            cls: class of the result.
            key: what it is kept under.
            compute: makes it anew.
            holds: says of a kept result whether what is not in the key is as it was.
        """
        if not self.kept:
            return compute()
        key = f"{cls.__name__}:{key}"
        if key in self._derived:
            kept = from_json(cls, self._derived[key])
            if holds is None or holds(kept):
                return kept
            del self._derived[key]
        result = self._new_derived[key] = compute()
        return result

    def save(self) -> None:
        """Write both files, as far as something new is in them."""
        self.save_files()
        self.save_derived()

    def save_files(self) -> None:
        """Write what was read of each file."""
        if self._path is not None and self._new_files:
            self._files.update({name: [stamp, to_json(facts)] for name, (stamp, facts) in self._new_files.items()})
            _write(self._path, "files", self._files)

    def save_derived(self) -> None:
        """Write what follows from all files."""
        if self._path is not None and self._new_derived:
            self._derived.update({key: to_json(result) for key, result in self._new_derived.items()})
            _write(_derived_path(self._path), "derived", dict(list(self._derived.items())[-KEPT:]))


def _derived_path(path: Path) -> Path:
    return path.with_suffix(".derived.json")


def _read(path: Path | None, part: str) -> dict[str, Any]:
    """One of the parts, empty when it is not there, cannot be read, or is of another version of the tool."""
    try:
        if path is None or not path.is_file():  # reading a pipe would wait for somebody to write it
            return {}
        data = json.loads(path.read_text(encoding="utf-8"))
        return dict(data[part]) if data["tool"] == _tool_stamp() else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _write(path: Path, part: str, content: dict[str, Any]) -> None:
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    payload = {"tool": _tool_stamp(), part: content}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(payload, separators=(",", ":"), check_circular=False), encoding="ascii")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


@cache
def _tool_stamp() -> str:
    """Identity of what makes the facts, this code and Python: a cache of another version is not used."""
    package = Path(__file__).resolve().parents[1]
    stats = [
        (entry.name, entry.stat().st_size, entry.stat().st_mtime_ns)
        for folder in ("scan", "scan/flow", "facts", "analysis")
        for entry in sorted(os.scandir(package / folder), key=lambda item: item.name)
        if entry.name.endswith(".py")
    ]
    python = list(sys.version_info[:2])  # what one version of Python reads, another may not
    return hashlib.sha256(json.dumps([python, stats]).encode()).hexdigest()
