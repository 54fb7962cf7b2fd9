"""What a scan keeps between runs: facts of each Python file by its stamp, and what was derived from all of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..facts.codec import from_json, to_json

T = TypeVar("T")

KEPT = 12
"""Derived results that are kept: one for each choice of targets that was asked for lately."""


class ScanCache:
    """A JSON file. Without a path, or when it cannot be read or written, everything is simply computed anew."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._files: dict[str, list[Any]] = {}
        self._derived: dict[str, Any] = {}
        self._new_files: dict[str, tuple[list[int], object]] = {}  # not yet encoded, which takes its time
        self._new_derived: dict[str, object] = {}
        if path is not None:
            self._load(path)

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
        """Write the cache when something new is in it."""
        if self._path is None or not (self._new_files or self._new_derived):
            return
        for name, (stamp, facts) in self._new_files.items():
            self._files[name] = [stamp, to_json(facts)]
        self._derived.update({key: to_json(result) for key, result in self._new_derived.items()})
        derived = dict(list(self._derived.items())[-KEPT:])
        payload = {"tool": _tool_stamp(), "files": self._files, "derived": derived}
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(payload, separators=(",", ":"), check_circular=False), encoding="ascii")
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)

    def _load(self, path: Path) -> None:
        try:
            if not path.is_file():  # reading a pipe would wait for somebody to write it
                return
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["tool"] == _tool_stamp():
                self._files, self._derived = dict(data["files"]), dict(data["derived"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return


def _tool_stamp() -> str:
    """Identity of the code that makes the facts: a cache of another version of it is not used."""
    package = Path(__file__).resolve().parents[1]
    stats = [
        (entry.name, entry.stat().st_size, entry.stat().st_mtime_ns)
        for folder in ("scan", "scan/flow", "facts", "analysis")
        for entry in sorted(os.scandir(package / folder), key=lambda item: item.name)
        if entry.name.endswith(".py")
    ]
    return hashlib.sha256(json.dumps(stats).encode()).hexdigest()
