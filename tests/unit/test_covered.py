"""Which lines of a plugin were run: found once for targets that ran the same ones, and not in children."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.probes.inside.migration_probe.covered import Measured, import_ahead, stop_in_child

PLUGIN = "VALUE = [\n    1,\n    2,\n]\n\n\ndef other():\n    return VALUE\n"


class Coverage:
    """Stands for `coverage.Coverage`; counts what takes its time."""

    def __init__(self, ran: list[int]) -> None:
        self.analysed = 0
        self._ran = ran

    def stop(self) -> None: ...

    def get_data(self) -> Any:
        """The data, which is this."""
        return self

    def lines(self, path: str) -> list[int]:
        """Lines that were run."""
        return self._ran

    def analysis2(self, path: str) -> tuple[str, list[int], list[int], list[int], str]:
        """Statements, and those that are missing."""
        self.analysed += 1
        return path, [1, 7, 8], [], [8], "8"


def _lines(repo: Path, coverage: Coverage, statements_too: bool, kept: Path | None) -> Any:
    measured = Measured(str(repo), ["plugin.py"], None if kept is None else str(kept))
    measured._coverage = coverage
    return measured.lines(statements_too)


def test_statements_are_found_once_for_the_same_lines_of_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    found = {"plugin.py": {"run": [1, 7], "statements": [1, 7, 8]}}
    for ran, kept, analysed in (
        ([7, 1, 2], None, 1),  # by hand, there is nobody to share with
        ([7, 1, 2], tmp_path, 1),
        ([1, 2, 7], tmp_path, 0),
        ([1, 2, 7, 8], tmp_path, 1),
    ):
        coverage = Coverage(ran)
        assert _lines(tmp_path, coverage, True, kept) == found
        assert coverage.analysed == analysed
    (tmp_path / "plugin.py").write_text(PLUGIN + "\n")
    coverage = Coverage([1, 2, 7])
    assert _lines(tmp_path, coverage, True, tmp_path) == found
    assert coverage.analysed == 1
    assert _lines(tmp_path, Coverage([7, 1]), False, tmp_path) == {"plugin.py": {"run": [1, 7], "statements": []}}


def test_a_file_that_is_gone_or_does_not_parse_has_no_lines(tmp_path: Path) -> None:
    assert _lines(tmp_path, Coverage([1]), True, tmp_path) == {}


def test_a_child_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.gettrace(), threading.gettrace()
    sys.settrace(lambda *_: None)
    try:
        stop_in_child()
        assert (sys.gettrace(), threading.gettrace()) == (None, None)
    finally:
        sys.settrace(before[0])
        threading.settrace(before[1])  # type: ignore[arg-type]


def test_a_broken_coverage_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coverage.py").write_text("raise AttributeError('of another release')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "coverage"]:
        monkeypatch.delitem(sys.modules, name)
    import_ahead()
    measured = Measured(str(tmp_path), ["plugin.py"])
    measured.start()
    assert measured.lines(statements_too=True) is None
