"""When a target's files are written: as soon as its contracts are judged, and again when more is said of them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="no helper works ahead here"
)
ALL = ("--migrate-target=all", "--migrate-level=static", "--migrate-repo=demo")
TARGET = ("--migrate-target=internvl3_5", *ALL[1:])


def _statuses(path: Path) -> dict[str, str]:
    document: dict[str, Any] = json.loads((path / "evidence.json").read_text(encoding="utf-8"))
    return {contract["id"]: contract["status"] for contract in document["contracts"]}


def test_a_target_that_is_judged_is_published_while_the_next_one_is_judged(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
import os
def pytest_runtest_logstart(nodeid):
    if nodeid.endswith("framework.py::test_code_calls"):
        os._exit(3)
"""
    )
    assert pytester.runpytest_subprocess(*ALL).ret == 3
    first, second = pytester.path / "migration-report/internvl3_5", pytester.path / "migration-report/framework"
    assert _statuses(first)["config.linkage"] == "passed"
    assert (first / "verification_report.md").exists()
    assert not (first / "evidence.jsonl").exists()
    assert (second / "evidence.jsonl").exists()
    assert not (second / "evidence.json").exists()


def test_what_comes_later_is_published_too(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess(*ALL, "--migrate-generate=suites")
    text = (pytester.path / "suites/test_migrate_internvl3_5.py").read_text(encoding="utf-8")
    another = text.replace('model_id="internvl3_5"', 'model_id="another"')
    (pytester.path / "suites/test_migrate_internvl3_5_z.py").write_text(another, encoding="utf-8")
    result = pytester.runpytest_subprocess("suites", *ALL)
    assert result.ret == 1
    folder = pytester.path / "migration-report/internvl3_5"
    assert _statuses(folder)["config.linkage"] == "failed"
    assert (folder / "failed_cases.md").exists()
    assert not (folder / "evidence.jsonl").exists()


def test_a_target_whose_tests_judge_several_contracts_each_is_published_after_the_last_of_them(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest_subprocess(*ALL, "--migrate-generate=suites")
    suite = pytester.path / "suites/test_migrate_internvl3_5.py"
    head = suite.read_text(encoding="utf-8").partition("\ndef test_")[0]
    suite.write_text(
        f"""{head}

def test_linkage(migration):
    migration.verify("config.linkage")
    migration.verify("config.types")
    migration.verify("config.parse")

def test_types(migration):
    migration.verify("config.strict_extra")
""",
        encoding="utf-8",
    )
    pytester.makeconftest(
        """
import os
def pytest_runtest_logstart(nodeid):
    if nodeid.endswith("test_types"):
        os._exit(3)
"""
    )
    target = ("--migrate-target=internvl3_5", *ALL[1:])
    assert pytester.runpytest_subprocess("suites/test_migrate_internvl3_5.py", *target).ret == 3
    folder = pytester.path / "migration-report/internvl3_5"
    assert len((folder / "evidence.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    assert not (folder / "evidence.json").exists()


def test_failures_are_shown_before_the_reports_are_written(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
import pathlib, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    there = pathlib.Path("migration-report/internvl3_5/evidence.json").exists()
    terminalreporter.write_line("written" if there else "not yet written")
"""
    )
    pytester.runpytest_subprocess(*TARGET, "--migrate-generate=suites")
    suite = pytester.path / "suites/test_migrate_internvl3_5.py"
    suite.write_text(suite.read_text(encoding="utf-8").replace('"internvl3_5",', '"another",'), encoding="utf-8")
    result = pytester.runpytest_subprocess("suites", *TARGET)
    told = "*the suite was written for another model_id*"
    result.stdout.fnmatch_lines(["*= FAILURES =*", told, "not yet written", "*= migration checklist =*", told])
    assert result.ret == 1
    assert "failed" in _statuses(pytester.path / "migration-report/internvl3_5").values()


@pytest.mark.parametrize("silent", [("--no-summary",), ("-p", "no:terminal"), ("-p", "no:terminalreporter")])
def test_without_a_summary_the_reports_are_written_and_acceptance_is_demanded(
    pytester: pytest.Pytester, silent: tuple[str, ...]
) -> None:
    result = pytester.runpytest_subprocess(*TARGET, "--migrate-require-accepted", *silent)
    assert result.ret == 1
    assert _statuses(pytester.path / "migration-report/internvl3_5")["config.linkage"] == "passed"
