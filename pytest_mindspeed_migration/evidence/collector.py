"""Collects the records of a run in the controller: the only process that writes evidence."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from ..atomic import encode, write_atomic
from .redact import redact_all

JOURNAL = "evidence.jsonl"
EXCERPT_LINES = 20
_HEAD_LINES = 8  # of an excerpt: the command and the first findings; the rest is the end, where a traceback stands


@dataclass(frozen=True)
class Stored:
    """A record as it was collected, without secrets, and its whole log when that is in a file of its own."""

    record: dict[str, Any]
    log: str | None = None


class Collector:
    """Keeps the records of all targets, in memory and in a journal a crash leaves behind."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._records: dict[str, dict[str, dict[str, Any]]] = {}
        self._journals: dict[str, IO[str]] = {}
        self._folders: dict[str, Path] = {}

    def folder(self, target: str) -> Path:
        """Where the files of a target go."""
        if target not in self._folders:
            self._folders[target] = self._out / folder_name(target)
        return self._folders[target]

    def add(self, record: dict[str, Any]) -> Stored:
        """Take a record as it happens, and return what is kept of it. Raises OSError."""
        record = dict(redact_all(record))
        folder = self.folder(record["target"])
        if record["target"] not in self._records:
            self._records[record["target"]] = {}
            _clear(folder)
        if "details" in record:
            path = f"details/{record['id']}.json"
            write_atomic(folder / path, json.dumps(record["details"], ensure_ascii=False, indent=1) + "\n")
            record["details"] = {**record["details"], "file": path}
        for name, request in record.pop("requests", {}).items():
            write_atomic(self._out / name, json.dumps(request, ensure_ascii=False, indent=2) + "\n")
        run, log = record.get("run"), None
        if run is not None:
            about, log = _split_log(record["id"], run["log"])
            record["run"] = {**run, "log": about}
        stored = Stored(record, log)
        self.add_stored(stored)
        return stored

    def add_stored(self, stored: Stored) -> None:
        """Take a record as `add` returns it: a long log to its file, the record to the journal. Raises OSError."""
        record = stored.record
        target = record["target"]
        folder = self.folder(target)
        if target not in self._records:
            self._records[target] = {}
            _clear(folder)
        if stored.log is not None:
            write_atomic(folder / record["run"]["log"]["path"], stored.log)
        if target not in self._journals:
            self._journals[target] = (folder / JOURNAL).open("a", encoding="ascii")
        journal = self._journals[target]
        journal.write(json.dumps(record) + "\n")
        journal.flush()
        self._records[target][record["id"]] = record

    def records(self, target: str) -> dict[str, dict[str, Any]]:
        """The records of a target by contract."""
        return self._records.get(target, {})

    def close(self, target: str) -> None:
        """Drop the journal of a target whose evidence has been published; a later record begins another."""
        if target not in self._journals:
            return
        self._journals.pop(target).close()
        (self.folder(target) / JOURNAL).unlink(missing_ok=True)

    @property
    def empty(self) -> bool:
        """Whether nothing was judged."""
        return not self._records


@cache
def folder_name(target: str) -> str:
    """A target's name as the name of one folder, whatever it holds."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", target).lstrip(".")[:80] or "target"
    return (
        name if name == target else f"{name}-{hashlib.sha256(target.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
    )


def _clear(folder: Path) -> None:
    """Remove what an earlier run left of journal and logs, so that nothing old stands beside the new."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JOURNAL).unlink(missing_ok=True)
    for old in [*(folder / "logs").glob("*.log"), *(folder / "details").glob("*.json")]:
        with contextlib.suppress(OSError):
            old.unlink()


def _split_log(contract: str, log: str) -> tuple[dict[str, Any], str | None]:
    """What a record says of its log, and the log for a file unless the excerpt holds all of it, as it does for most."""
    lines = log.splitlines()
    long = len(lines) > EXCERPT_LINES
    about = {
        "path": f"logs/{contract}.log" if long else None,
        "sha256": hashlib.sha256(encode(log)).hexdigest(),
        "excerpt": "\n".join(_excerpt(lines) if long else lines),
    }
    return about, log if long else None


def _excerpt(lines: list[str]) -> list[str]:
    tail = EXCERPT_LINES - _HEAD_LINES - 1
    left_out = f"... ({len(lines) - _HEAD_LINES - tail} lines)"
    return [*lines[:_HEAD_LINES], left_out, *lines[-tail:]]
