"""What a scan keeps between runs: facts of each Python file by its stamp, and what was derived from all of them.

A run reads of it what it needs: facts of the files that its targets use, and what follows from these.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from ..facts.codec import from_json, to_json

T = TypeVar("T")

KEPT = 24
"""Results that are kept: two or three for each choice of targets that was asked for lately."""


class ScanCache:
    """One file with a line for each Python file that was read, and one for each result that follows from all of them.

    Without a path, or when they cannot be read or written, everything is simply computed anew.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._files = _lines(path)
        self._new_files: dict[str, tuple[list[int], object]] = {}  # not yet encoded, which takes its time
        self._results: dict[Path, Any] = {}
        self._new_results: dict[Path, tuple[str, object]] = {}

    def file(self, cls: type[T], name: str, stamp: list[int]) -> T | None:
        """Facts of a file as kept, None when the file has changed since."""
        if self.is_fresh(name, stamp):
            return None
        with suppress(ValueError, RecursionError):
            return from_json(cls, json.loads(self._files[name][1]))
        return None

    def is_fresh(self, name: str, stamp: list[int]) -> bool:
        """Whether the file has changed since its facts were kept, or none were."""
        kept = self._files.get(name)
        return kept is None or kept[0] != json.dumps(stamp)

    def keep_file(self, name: str, stamp: list[int], facts: object) -> None:
        """Keep the facts of a file, which are complete when the cache is saved."""
        self._new_files[name] = (stamp, facts)

    @property
    def kept(self) -> bool:
        """Whether anything is kept at all; without, keys need not be computed."""
        return self._path is not None

    def result(self, cls: type[T], key: str) -> T | None:
        """A result of that class as kept under the key, None when none is."""
        if self._path is None:
            return None
        path = _result_path(self._path, cls, key)
        if path not in self._results:
            self._results[path] = _result(path, cls, key)
        found: T | None = self._results[path]
        return found

    def keep_result(self, cls: type[T], key: str, result: T) -> None:
        """Keep a result under a key that changes with what it follows from."""
        if self._path is not None:
            self._new_results[_result_path(self._path, cls, key)] = (key, result)

    def save(self) -> None:
        """Write what is new."""
        self.save_files()
        self.save_derived()

    def save_files(self) -> None:
        """Write what was read of each file."""
        if self._path is not None and self._new_files:
            for name, (stamp, facts) in self._new_files.items():
                self._files[name] = (json.dumps(stamp), _encode(to_json(facts)))
            lines = (f"{json.dumps(name)}\t{stamp}\t{facts}" for name, (stamp, facts) in self._files.items())
            _write(self._path, [_tool_stamp(), *lines])
            self._new_files.clear()

    def save_derived(self) -> None:
        """Write what follows from all files, and forget what was used longest ago."""
        for path, (key, result) in self._new_results.items():
            _write(path, [_encode({"tool": _tool_stamp(), "key": key, "result": to_json(result)})])
        if self._path is not None and self._new_results:
            with suppress(OSError):
                kept = self._path.parent.glob(f"{self._path.stem}.*-*.json")
                for path in sorted(kept, key=lambda path: path.stat().st_mtime)[:-KEPT]:
                    path.unlink()
        self._new_results.clear()


def _result_path(path: Path, cls: type[object], key: str) -> Path:
    return path.with_name(f"{path.stem}.{cls.__name__}-{key[:16]}.json")


def _result(path: Path, cls: type[T], key: str) -> T | None:
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        if path.is_file():
            data = json.loads(path.read_bytes())
            if data["tool"] == _tool_stamp() and data["key"] == key:
                os.utime(path)  # those used last are kept
                return from_json(cls, data["result"])
    return None


def _lines(path: Path | None) -> dict[str, tuple[str, str]]:
    """Stamp and facts of each file, as text; empty when there are none, or they are of another version of the tool."""
    try:
        if path is None or not path.is_file():  # reading a pipe would wait for somebody to write it
            return {}
        tool, *lines = path.read_text(encoding="ascii").splitlines()
        fields = (line.split("\t", 2) for line in lines if tool == _tool_stamp())
        return {json.loads(name): (stamp, facts) for name, stamp, facts in fields}
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def _encode(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), check_circular=False)


def _write(path: Path, lines: Iterable[str]) -> None:
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
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
