"""Which lines of the plugin a probe executed, where the target's interpreter has `coverage`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading
from typing import Any


def import_ahead() -> None:
    """Import `coverage` where it works, for all probes that are forked from this process."""
    with contextlib.suppress(Exception):
        import coverage  # noqa: F401


def stop_in_child() -> None:
    """Measure no more in a forked child, whose lines nobody gets: it would only cost time."""
    sys.settrace(None)
    threading.settrace(None)


class Measured:
    """Measures from `start` to `lines`; does nothing where `coverage` does not work.

    Args:
        repo: root of the target repo.
        files: the plugin's files, relative to it.
        kept: a folder for what is the same for every target of a run; None without one.
    """

    def __init__(self, repo: str, files: list[str], kept: str | None = None) -> None:
        self._paths = {file: os.path.join(repo, file) for file in files}
        self._kept = kept
        self._coverage: Any = None

    def start(self) -> None:
        """Begin to measure. Modules that are imported already have run unseen: plugins must not be."""
        if not self._paths:
            return
        try:
            from coverage import Coverage

            measuring = Coverage(data_file=None, include=list(self._paths.values()), messages=False)
            measuring.start()
        except Exception:  # a coverage that is broken is as good as none: what is probed does not need it
            return
        self._coverage = measuring

    def lines(self, statements_too: bool) -> dict[str, Any] | None:
        """By file: line numbers that were `run`, and those of all `statements`; None when nothing was measured.

        Args:
            statements_too: whether to find out what could have run; finding it takes as long as importing the file.
        """
        if self._coverage is None:
            return None
        self._coverage.stop()
        data = self._coverage.get_data()
        found: dict[str, Any] = {}
        for file, path in self._paths.items():
            ran = sorted(data.lines(path) or [])
            if not statements_too:
                found[file] = {"run": ran, "statements": []}
                continue
            try:
                found[file] = self._analysed(path, ran)
            except Exception:  # a file that does not parse has no lines; that is another contract's finding
                continue
        return found

    def _analysed(self, path: str, ran: list[int]) -> dict[str, list[int]]:
        """Statements of a file and those that were run, once for all targets of a run that ran the same lines of it."""
        place = None
        if self._kept is not None:
            with open(path, "rb") as stream:
                name = hashlib.sha256(stream.read() + repr(ran).encode()).hexdigest()
            place = os.path.join(self._kept, "statements", name)
            with contextlib.suppress(OSError, ValueError), open(place, encoding="ascii") as stream:
                return json.load(stream)  # type: ignore[no-any-return]
        _, statements, _, missing, _ = self._coverage.analysis2(path)
        found = {"run": sorted(set(statements) - set(missing)), "statements": list(statements)}
        if place is not None:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(f"{place}.{os.getpid()}", "w", encoding="ascii") as stream:
                json.dump(found, stream)
            os.replace(f"{place}.{os.getpid()}", place)
        return found
