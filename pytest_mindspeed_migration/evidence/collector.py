"""Collects the records of a run in the controller: the only process that writes evidence."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from ..atomic import encode, write_atomic
from .redact import redact, redact_all

JOURNAL = "evidence.jsonl"
EXCERPT_LINES = 20
_HEAD_LINES = 8  # of an excerpt: the command and the first findings; the rest is the end, where a traceback stands


class Collector:
    """Keeps the records of all targets, in memory and in a journal a crash leaves behind."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._records: dict[str, dict[str, dict[str, Any]]] = {}

    def folder(self, target: str) -> Path:
        """Where the files of a target go."""
        return self._out / folder_name(target)

    def add(self, record: dict[str, Any]) -> None:
        """Take a record as it happens: its log to a file, then the record to the journal. Raises OSError."""
        record = redact_all(record)
        target = record["target"]
        folder = self.folder(target)
        if target not in self._records:
            self._records[target] = {}
            _clear(folder)
        run = record.get("run")
        if run is not None:
            run["log"] = _write_log(folder, record["id"], run.pop("log"))
        if "details" in record:
            path = f"details/{record['id']}.json"
            write_atomic(folder / path, json.dumps(record["details"], ensure_ascii=False, indent=1) + "\n")
            record["details"] = {**record["details"], "file": path}
        for name, request in record.pop("requests", {}).items():
            write_atomic(self._out / name, json.dumps(request, ensure_ascii=False, indent=2) + "\n")
        with (folder / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(record, ensure_ascii=True) + "\n")
        self._records[target][record["id"]] = record

    def records(self, target: str) -> dict[str, dict[str, Any]]:
        """The records of a target by contract."""
        return self._records.get(target, {})

    def close(self, target: str) -> None:
        """Drop the journal of a target whose evidence has been published."""
        (self.folder(target) / JOURNAL).unlink(missing_ok=True)

    @property
    def empty(self) -> bool:
        """Whether nothing was judged."""
        return not self._records


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


def _write_log(folder: Path, contract: str, log: str) -> dict[str, Any]:
    """Keep a log: in a file, unless the excerpt in the record holds all of it, as it does for most."""
    log = redact(log)
    lines = log.splitlines()
    path = folder / "logs" / f"{contract}.log" if len(lines) > EXCERPT_LINES else None
    if path is not None:
        write_atomic(path, log)
    return {
        "path": path.relative_to(folder).as_posix() if path is not None else None,
        "sha256": hashlib.sha256(encode(log)).hexdigest(),
        "excerpt": "\n".join(lines if path is None else _excerpt(lines)),
    }


def _excerpt(lines: list[str]) -> list[str]:
    tail = EXCERPT_LINES - _HEAD_LINES - 1
    left_out = f"... ({len(lines) - _HEAD_LINES - tail} lines)"
    return [*lines[:_HEAD_LINES], left_out, *lines[-tail:]]
