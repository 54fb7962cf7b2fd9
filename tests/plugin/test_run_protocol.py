"""Tests of rendered suites run without pytest's usual protocol, and nothing that is reported of them shows it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from plugin_project import CONFTEST, Project

WISHES = {
    "alpha": {"config.linkage": "error", "config.assets": "note"},
    "beta": {"preflight.repo": "error"},
    "gamma": {"code.calls": "raise", "config.types": "error"},
}
LISTENS = "\ndef pytest_runtest_{}(): pass\n"
"""A hook that does nothing: with it, tests run by pytest's usual protocol."""
COUNTS = """
import _pytest.runner
usual, run = [], _pytest.runner.runtestprotocol
def counted(item, **kwargs):
    usual.append(item.nodeid)
    return run(item, **kwargs)
_pytest.runner.runtestprotocol = counted
def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"by the usual protocol: {len(usual)}")
"""
MARKS = """
import pytest
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "test_config_assets":
            item.add_marker(pytest.mark.skip(reason="not now"))
        if item.name == "test_config_linkage":
            item.add_marker(pytest.mark.xfail(reason="known"))
        if item.name == "test_code_names":
            item.add_marker(pytest.mark.skipif("True", reason="never"))
        if item.name == "test_code_calls":
            item.add_marker(pytest.mark.xfail(reason="strict", strict=True))
"""


_CHANGING = re.compile(
    r' time(?:stamp)?="[^"]*"|\d+\.\d+s|0x[0-9a-f]+|.*Instant\(.*|\[gw\d\]| +\[ *\d+%\]|scheduling.*|plugins: .*'
)
"""What no two runs have in common."""


def _seen(project: Project, args: tuple[str | Path, ...], conftest: str) -> tuple[list[str], list[str], dict[str, str]]:
    """What a run shows and its junit.xml, without times, and the files it leaves."""
    project.pytester.makeconftest(CONFTEST + conftest)
    shutil.rmtree(project.path / "migration-report", ignore_errors=True)
    result = project.run("--migrate-target=all", "-v", "-rA", "--junitxml=junit.xml", *args)
    lines = [_CHANGING.sub("", line).strip(" =") for line in result.outlines]
    junit = _CHANGING.sub("", (project.path / "junit.xml").read_text(encoding="utf-8"))
    tests = junit.removesuffix("</testsuite></testsuites>").split("<testcase")
    if "-n2" in args:  # in whatever order the workers were
        lines, tests = sorted(set(lines)), sorted(tests)
    return lines, tests, project.normalised()


@pytest.mark.parametrize(
    ("args", "conftest"),
    [
        (("-p", "no:xdist"), ""),
        (("-n2",), ""),
        (("-n2",), MARKS),
        (("-x",), ""),
        (("--maxfail=2", "-s", "--tb=long"), MARKS),
        (("--runxfail", "-l", "--full-trace"), MARKS),
        (("-o", "log_cli=true", "--log-level=DEBUG", "-W", "error"), ""),
        (("--strict-markers", "--color=yes", "-rN"), ""),
    ],
)
def test_what_is_reported_is_what_the_usual_protocol_reports(
    project: Project, args: tuple[str, ...], conftest: str
) -> None:
    if "-n2" in args:
        pytest.importorskip("xdist")
    project.facts(WISHES)
    plain, usual = (_seen(project, args, conftest + more) for more in ("", LISTENS.format("setup")))
    assert plain[0] == usual[0]
    assert plain[1] == usual[1]
    assert plain[2] == usual[2]


@pytest.mark.parametrize("args", [("--setup-show",), ("--setup-only",), ("--setup-plan",)])
def test_options_that_show_or_leave_out_phases_hold(project: Project, args: tuple[str, ...]) -> None:
    project.facts(WISHES)
    project.pytester.makeconftest(CONFTEST + COUNTS)
    result = project.run("--migrate-target=alpha", *args)
    result.stdout.fnmatch_lines(["*test_preflight_repo (fixtures used: migration*"])
    result.stdout.no_fnmatch_line("by the usual protocol: 1")


def test_the_last_test_in_a_row_is_the_only_one_with_the_usual_protocol(project: Project) -> None:
    project.facts(WISHES)
    project.pytester.makeconftest(CONFTEST + COUNTS)
    project.run("--migrate-target=all").stdout.fnmatch_lines(["by the usual protocol: 1"])


@pytest.mark.parametrize("hook", ["setup", "call", "teardown", "makereport", "protocol"])
def test_who_listens_to_how_tests_run_hears_of_each(project: Project, hook: str) -> None:
    project.facts({"alpha": {}})
    arguments = "item, call" if hook == "makereport" else "item"
    project.pytester.makeconftest(
        CONFTEST
        + f"""
heard = []
def pytest_runtest_{hook}({arguments}):
    heard.append(item.name)
def pytest_sessionfinish(session):
    print("heard of", len(set(heard)), "of", len(session.items))
"""
    )
    result = project.run("--migrate-target=alpha", "-s")
    heard = re.search(r"heard of (\d+) of (\d+)", result.stdout.str())
    assert heard is not None
    assert heard[1] == heard[2] != "0"


def test_failures_are_run_again_as_ever(project: Project) -> None:
    project.facts(WISHES)
    project.run("--migrate-target=all")
    again = project.run("--migrate-target=all", "--lf")
    again.assert_outcomes(failed=3, deselected=again.parseoutcomes()["deselected"], xfailed=0)


def test_what_other_tests_have_set_up_is_taken_down_when_they_are_over(project: Project) -> None:
    project.facts({"alpha": {}})
    fixture = """
import pytest
@pytest.fixture(scope="{scope}")
def thing():
    yield
    print("down with {name}")
def test_{name}(thing):
    print("in {name}")
"""
    for name, scope in (("first", "package"), ("last", "module")):
        folder = project.pytester.mkpydir(name)
        (folder / f"test_{name}.py").write_text(fixture.format(name=name, scope=scope))
    folders = (project.path / "first", project.path / "last")
    seen = []
    for conftest in (COUNTS, LISTENS.format("setup")):
        project.pytester.makeconftest(CONFTEST + conftest)
        project.run("--migrate-target=alpha", folders[0], "-s")
        shutil.rmtree(project.path / "migration-report")
        suite = next(project.path.rglob("test_migrate_alpha.py"))
        result = project.run("--migrate-target=alpha", folders[0], suite, folders[1], "-s")
        assert result.ret == 0
        seen.append([line for line in result.outlines if not re.search(r"by the usual| in \d", line)])
        if conftest is COUNTS:
            result.stdout.fnmatch_lines(["by the usual protocol: 3"])
    assert seen[0] == seen[1]
    assert "down with first" in "".join(seen[0])


def test_ctrl_c_while_a_contract_is_judged_stops_the_run(project: Project) -> None:
    project.facts({"alpha": {}})
    project.pytester.makeconftest(
        CONFTEST
        + """
from pytest_mindspeed_migration.outcomes import Judge
def compare(self, contract, stated):
    if contract == "config.linkage":
        raise KeyboardInterrupt
    return self.verdict(contract)
Judge.compare = compare
"""
    )
    result = project.run("--migrate-target=alpha")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert project.statuses("alpha")["config.linkage"] == "not_run"
    assert project.statuses("alpha")["preflight.repo"] == "passed"


def test_an_error_in_the_machinery_fails_the_test_with_its_traceback(project: Project) -> None:
    project.facts({"alpha": {}})
    broken = """
from pytest_mindspeed_migration.outcomes import Judge
def compare(self, contract, stated):
    if contract == "config.linkage":
        raise RuntimeError("no verdict")
    return self.verdict(contract)
Judge.compare = compare
"""
    plain, usual = (_seen(project, ("-p", "no:xdist"), broken + more) for more in ("", LISTENS.format("setup")))
    assert any("RuntimeError: no verdict" in line for line in plain[0])
    assert plain[0] == usual[0]
    assert plain[1] == usual[1]
