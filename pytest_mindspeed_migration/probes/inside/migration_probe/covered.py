"""Which lines of the plugin a probe executed, where the target's interpreter has `coverage`."""

from __future__ import annotations

import os
from typing import Any


class Measured:
    """Measures from `start` to `lines`; does nothing where `coverage` is not installed.

    Args:
        repo: root of the target repo.
        files: the plugin's files, relative to it.
    """

    def __init__(self, repo: str, files: list[str]) -> None:
        self._paths = {file: os.path.join(repo, file) for file in files}
        self._coverage: Any = None

    def start(self) -> None:
        """Begin to measure. Modules that are imported already have run unseen: plugins must not be."""
        if not self._paths:
            return
        try:
            from coverage import Coverage
        except ImportError:
            return
        self._coverage = Coverage(data_file=None, include=list(self._paths.values()), messages=False)
        self._coverage.start()

    def lines(self, statements_too: bool) -> dict[str, Any] | None:
        """By file: line numbers that were `run`, and those of all `statements`; None when nothing was measured.

        Args:
            statements_too: whether to find out what could have run; finding it takes as long as importing the file.
        """
        if self._coverage is None:
            return None
        self._coverage.stop()
        found: dict[str, Any] = {}
        if not statements_too:
            data = self._coverage.get_data()
            return {
                file: {"run": sorted(data.lines(path) or []), "statements": []} for file, path in self._paths.items()
            }
        for file, path in self._paths.items():
            try:
                _, statements, _, missing, _ = self._coverage.analysis2(path)
            except Exception:  # a file that does not parse has no lines; that is another contract's finding
                continue
            found[file] = {"run": sorted(set(statements) - set(missing)), "statements": list(statements)}
        return found
