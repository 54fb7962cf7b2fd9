"""What the generator writes: valid, short, stable Python, whatever the target is called."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.suite import (
    digest,
    file_names,
    find_suites,
    read_header,
    render,
    suites_as_kept,
    write_suites,
)
from pytest_mindspeed_migration.templates import cell, code, literal

CATALOGUE = load_catalogue()


def _view(name: str = "alpha", data: dict[str, Any] | None = None, **target: Any) -> TargetView:
    config = f"examples/{name}.yaml"
    facts = StaticFacts(configs={config: ConfigFacts(config, data or {"model": {"model_id": "m"}})})
    return TargetView(facts, TargetFacts(name, config, **target))


def test_every_contract_of_a_target_is_one_test_in_catalogue_order() -> None:
    tree = ast.parse(render(_view(), CATALOGUE))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert names == [contract.test_name for contract in CATALOGUE.of_subject("target")]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            assert ast.get_docstring(node)
            assert "migration.verify(" in ast.unparse(node)


def test_the_framework_gets_only_its_own_contracts() -> None:
    view = TargetView(StaticFacts(), TargetFacts("framework", None))
    tree = ast.parse(render(view, CATALOGUE))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert "test_framework_schema_readers" in names
    assert "test_config_linkage" not in names


def test_facts_are_written_down_as_literals() -> None:
    data = {"model": {"model_id": "it's"}, "training": {"plugin": ["a/b", 'c"d']}}
    source = render(_view(data=data, scripts=["run.sh"]), CATALOGUE)
    assert 'model_id="it\'s"' in source
    assert 'plugins=["a/b", \'c"d\']' in source
    assert 'scripts=["run.sh"]' in source


@pytest.mark.parametrize("name", ["alpha", "Alpha 2.5", '"""', "x\ny", "名称"])
def test_the_file_is_as_ruff_would_write_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / "test_x.py"
    path.write_text(render(_view(name, {"training": {"plugin": ["a"]}}), CATALOGUE), encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    lint = [*ruff, "check", "--isolated", "--select=E,F,I,W", "--ignore=E501", path]
    layout = [*ruff, "format", "--isolated", "--line-length=200", "--check", path]
    assert [subprocess.run(command).returncode for command in (lint, layout)] == [0, 0]


def test_a_suite_is_rewritten_only_when_something_it_depends_on_changes(tmp_path: Path) -> None:
    (first,) = write_suites(tmp_path, [_view()], CATALOGUE)
    stamp = first.path.stat().st_mtime_ns
    write_suites(tmp_path, [_view()], CATALOGUE)
    assert first.path.stat().st_mtime_ns == stamp
    write_suites(tmp_path, [_view(data={"model": {"model_id": "n"}})], CATALOGUE)
    assert first.path.stat().st_mtime_ns >= stamp + 10**9
    assert 'model_id="n"' in first.path.read_text(encoding="utf-8")


def test_a_header_is_read_back_and_other_files_are_none(tmp_path: Path) -> None:
    (suite,) = write_suites(tmp_path, [_view("we\"ird'\n")], CATALOGUE)
    assert read_header(suite.path) == suite
    (tmp_path / "test_migrate_other.py").write_text("# migration-suite: {broken\n", encoding="utf-8")
    (tmp_path / "test_migrate_binary.py").write_bytes(b"\xff\xfe\x00")
    assert find_suites([tmp_path]) == [suite]
    assert find_suites([tmp_path / "absent"]) == []


def test_targets_that_differ_only_in_punctuation_get_files_of_their_own() -> None:
    names = file_names(["a.b", "a-b", "a_b", "A_B", "../..", "", "x" * 400])
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii()
        assert "/" not in name
        assert len(name) < 120


@pytest.mark.parametrize(
    "value", ["a", 'a"b', "a'b", "a'\"b", "\\", "\n", "\u2028", "\ud800", None, True, 3, ["a", [1]]]
)
def test_a_literal_evaluates_to_its_value(value: Any) -> None:
    assert ast.literal_eval(literal(value)) == value


@pytest.mark.parametrize("value", [1.5, {"a": 1}, object(), ast])
def test_what_is_no_plain_literal_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        literal(value)


@pytest.mark.parametrize("value", ["a`b", "``", "`", "a\n# b", "a|b", "<b>"])
def test_markdown_values_stay_on_their_line(value: Any) -> None:
    assert "\n" not in code(value) + cell(value)
    assert "<" not in cell(value)


def test_a_code_span_is_fenced_longer_than_what_it_holds() -> None:
    assert code("a``b") == "``` a``b ```"


def test_a_file_of_somebody_else_is_not_replaced_except_in_a_folder_of_our_own(tmp_path: Path) -> None:
    (suite,) = write_suites(tmp_path, [_view()], CATALOGUE)
    suite.path.write_text("# mine\n", encoding="utf-8")
    with pytest.raises(FileExistsError, match="no generated suite"):
        write_suites(tmp_path, [_view()], CATALOGUE)
    assert suite.path.read_text(encoding="utf-8") == "# mine\n"
    write_suites(tmp_path, [_view()], CATALOGUE, own=True)
    assert read_header(suite.path) is not None


def test_a_file_in_a_folder_of_our_own_says_what_was_rendered_whatever_its_header_says(tmp_path: Path) -> None:
    (suite,) = write_suites(tmp_path, [_view()], CATALOGUE, own=True)
    rendered = suite.path.read_text(encoding="utf-8")
    suite.path.write_text(f"{rendered}open('taken', 'w')\n", encoding="utf-8")
    assert write_suites(tmp_path, [_view()], CATALOGUE, own=True) == [suite]
    assert suite.path.read_text(encoding="utf-8") == rendered


def test_a_suite_that_was_edited_since_is_not_the_one_that_was_kept(tmp_path: Path) -> None:
    view = _view()
    (suite,) = write_suites(tmp_path, [view], CATALOGUE, own=True)
    kept = {suite.target: digest(suite.path)}
    assert suites_as_kept(tmp_path, [view.target], kept, CATALOGUE) == [suite]
    with suite.path.open("a", encoding="utf-8") as stream:
        stream.write("open('taken', 'w')\n")
    assert suites_as_kept(tmp_path, [view.target], kept, CATALOGUE) is None


def test_a_pipe_is_no_generated_suite(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "test_migrate_x.py")
    assert find_suites([tmp_path]) == []
