"""Tests taken from the text of a rendered suite are those that importing it defines."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.suite import render
from pytest_mindspeed_migration.suite_items import _function, read_tests

CATALOGUE = load_catalogue()
NAMES = ["alpha", "Alpha 2.5", '"""', "x\ny", "名称", "we\"ird'\n# migration-suite: {}", "framework"]


def _source(name: str) -> str:
    data = {
        "model": {"model_id": 'it\'s "so"\\'},
        "training": {"plugin": ["a/b", 'c"d,\n=1']},
        "parallel": {"fsdp_plan": {"apply_modules": ["x.{*}", 3]}},
    }
    facts = StaticFacts(configs={"examples/a.yaml": ConfigFacts("examples/a.yaml", data)})
    return render(TargetView(facts, TargetFacts(name, "examples/a.yaml", scripts=["run.sh"])), CATALOGUE)


class _Asked:
    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def verify(self, contract: str, **stated: Any) -> None:
        self.calls.append((contract, stated))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnknownMarkWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_tests_are_those_of_an_import(name: str) -> None:
    source = _source(name)
    found = read_tests(source)
    assert found is not None
    target, tests = found
    module: dict[str, Any] = {}
    exec(compile(source, "test_x.py", "exec"), module)
    assert target == module["pytestmark"].args[0] == name
    functions = {key: value for key, value in module.items() if inspect.isfunction(value)}
    assert [test.name for test in tests] == list(functions)
    for test in tests:
        imported, made = functions[test.name], _function(test, Path("test_x.py"))
        assert (made.__name__, made.__doc__) == (imported.__name__, imported.__doc__)
        assert inspect.signature(made) == inspect.signature(imported)
        assert (made.__code__.co_filename, made.__code__.co_firstlineno) == ("test_x.py", test.line)
        assert imported.__code__.co_firstlineno == test.line
        both = _Asked(), _Asked()
        imported(both[0])
        made(both[1])
        assert both[0].calls == both[1].calls


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import pytest\n", "import pytest\nimport os\n"),
        ("(migration):", "(migration, tmp_path):"),
        ('migration.verify("preflight.repo")', 'migration.verify("preflight.repo")\n    assert True'),
        ("\n\ndef test_preflight_repo", "\n\n@pytest.mark.skip\ndef test_preflight_repo"),
        ("def test_preflight_assets", "def test_preflight_repo"),
        ("model_id=", 'model_id="a" + '),
        ("# migration-suite:", "# another:"),
    ],
)
def test_a_file_that_somebody_has_edited_is_not_read_but_imported(old: str, new: str) -> None:
    source = _source("alpha")
    edited = source.replace(old, new, 1)
    assert edited != source
    ast.parse(edited)
    assert read_tests(edited) is None
