"""The modules of this package are imported without pytest's rewriting of asserts, while a run uses it."""

from __future__ import annotations

import sys

import pytest

CONFTEST = """
import sys
def pytest_sessionfinish(session):
    module = sys.modules.get("pytest_mindspeed_migration.controller")
    print("loaded by", type(module.__loader__).__name__ if module else "nobody")
"""


@pytest.mark.parametrize(
    ("arguments", "loader"),
    [(("--migrate-target=internvl3_5", "--migrate-repo=demo", "-k", "repo"), "SourceFileLoader"), ((), "nobody")],
)
def test_modules_are_loaded_as_python_loads_them(
    pytester: pytest.Pytester, arguments: tuple[str, ...], loader: str
) -> None:
    pytester.makeconftest(CONFTEST)
    result = pytester.runpytest_subprocess("-s", *arguments)
    result.stdout.fnmatch_lines([f"*loaded by {loader}*"])


def test_the_finder_goes_with_the_run(pytester: pytest.Pytester) -> None:
    before = list(sys.meta_path)
    pytester.runpytest_inprocess("--migrate-list", "--migrate-repo=demo")
    assert [type(finder).__name__ for finder in sys.meta_path if finder not in before] == []


def test_asserts_of_tests_are_rewritten_as_ever(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it():\n    left = [1]\n    assert left == [2]\n")
    result = pytester.runpytest_subprocess("--migrate-target=internvl3_5", "--migrate-repo=demo", ".", "-k", "it")
    result.stdout.fnmatch_lines(["E*assert [[]1[]] == [[]2[]]"])
