"""`scan.yaml_tree`: the value PyYAML would give, the line of every node, and a named problem for every bad text."""

from __future__ import annotations

import json
import os
import textwrap
import time
from pathlib import Path

import pytest
import yaml

from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.scan import yaml_tree
from pytest_mindspeed_migration.scan.yaml_tree import read_config

GOOD = textwrap.dedent(
    """\
    parallel:
      fsdp_plan:
        apply_modules:
          - model.a
          - model.b
    common: &COMMON
      lr: 1e-6
      beta: 0.9
    training:
      <<: *COMMON
      beta: 0.95
      save: null
      flags: [yes, 0x10, 1_000]
    copy: *COMMON
    """
)


def parsed(text: str | bytes, tmp_path: Path) -> ConfigFacts:
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(tmp_path, "config.yaml")


def kinds(facts: ConfigFacts) -> list[str]:
    return [problem.kind for problem in facts.problems]


def test_values_are_those_of_safe_load(tmp_path: Path) -> None:
    assert parsed(GOOD, tmp_path).data == yaml.safe_load(GOOD)


def test_numbers_without_a_dot_stay_text_as_in_yaml_1_1(tmp_path: Path) -> None:
    assert parsed(GOOD, tmp_path).data["common"]["lr"] == "1e-6"


def test_lines_point_at_keys_and_items(tmp_path: Path) -> None:
    lines = parsed(GOOD, tmp_path).lines
    assert lines["parallel.fsdp_plan.apply_modules"] == 3
    assert lines["parallel.fsdp_plan.apply_modules[1]"] == 5
    assert lines["training.beta"] == 11


def test_what_comes_by_merge_or_alias_has_the_line_of_its_use(tmp_path: Path) -> None:
    facts = parsed(GOOD, tmp_path)
    assert facts.lines["training.lr"] == 10
    assert facts.line_of("copy.lr") == 14
    assert facts.aliases == {"training.<<": "COMMON", "copy": "COMMON"}


def test_a_top_level_key_that_is_only_referred_to_holds_an_anchor(tmp_path: Path) -> None:
    text = "holder: &A {x: 1}\nset:\n  one: &B 1\n  two: &C 2\nmodel: {p: &P /x, q: *P, r: *A, s: *B}\n"
    assert parsed(text, tmp_path).anchor_only == ["holder", "set"]


def test_a_duplicate_anchor_is_fatal_but_the_rest_is_read(tmp_path: Path) -> None:
    facts = parsed("a: &X 1\nb: &X 2\nc: *X\n", tmp_path)
    assert [(p.kind, p.line, p.fatal) for p in facts.problems] == [("duplicate_anchor", 2, True)]
    assert facts.data == {"a": 1, "b": 2, "c": 2}


def test_a_duplicate_key_is_reported_and_the_last_value_wins(tmp_path: Path) -> None:
    facts = parsed("a:\n  lr: 1\n  lr: 2\n", tmp_path)
    assert [(p.kind, p.line, p.fatal) for p in facts.problems] == [("duplicate_key", 3, False)]
    assert facts.data == {"a": {"lr": 2}}
    assert facts.lines["a.lr"] == 3


def test_a_key_that_overrides_a_merged_one_is_no_duplicate(tmp_path: Path) -> None:
    assert parsed(GOOD, tmp_path).problems == []


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("a:\n\tb: 1\n", "tabs", 2),
        ("a: [1\nb: 2\n", "syntax", 2),
        ("", "empty", None),
        ("# only a comment\n", "empty", None),
        ("null\n", "empty", 1),
        ("- a\n- b\n", "root_not_mapping", 1),
        ("just text\n", "root_not_mapping", 1),
        ("a: 1\nb: *nowhere\n", "undefined_alias", 2),
        ("a: &A\n  b: *A\n", "recursive_alias", 2),
        ("a: !!python/object/apply:os.system ['true']\n", "unknown_tag", 1),
        ("a: !mine 1\n", "unknown_tag", 1),
        ("on: 1\n", "key_not_text", 1),
        ("a: {[1, 2]: 3}\n", "unhashable_key", 1),
        ("a:\n  <<: 3\n", "bad_merge", 2),
        ("a: !!int many\n", "bad_scalar", 1),
        ("a: 1\n---\nb: 2\n", "several_documents", 2),
        (b"a: 1\nb: \xff\n", "not_utf8", 2),
        ("a: 1\n".encode("utf-16"), "not_utf8", 1),
        (b"\x7fELF\0\0", "binary", None),
        (b"a: \x07\n", "binary", 1),
        ("a: " + "[" * 500 + "]" * 500, "nesting", 1),
    ],
)
def test_bad_text_is_a_named_problem_with_its_line(
    text: str | bytes, kind: str, line: int | None, tmp_path: Path
) -> None:
    facts = parsed(text, tmp_path)
    assert [(p.kind, p.line) for p in facts.problems] == [(kind, line)]
    json.dumps(facts.data)


def test_dates_and_sets_become_plain_json(tmp_path: Path) -> None:
    facts = parsed("a: 2024-01-02\nb: !!set {x, y}\nc: !!binary aGk=\n1: 2\n", tmp_path)
    assert json.loads(json.dumps(facts.data)) == {"a": "2024-01-02", "b": ["x", "y"], "c": "aGk=", "1": 2}


def test_an_alias_bomb_costs_neither_time_nor_memory(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    start = time.perf_counter()
    facts = parsed("\n".join(lines), tmp_path)
    assert kinds(facts) == ["alias_bomb"]
    assert facts.data is None
    assert time.perf_counter() - start < 1


def test_endless_numbers_cost_no_time(tmp_path: Path) -> None:
    """Reading them as base 60 would take hours: that the test ends is what it shows."""
    assert kinds(parsed("a: 1" + ":1" * 1_000_000, tmp_path)) == ["bad_scalar"]


def test_a_chain_of_aliases_does_not_exhaust_the_stack(tmp_path: Path) -> None:
    lines = ["a0: &a0 x"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5000)]
    assert kinds(parsed("\n".join(lines), tmp_path)) == ["nesting"]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    with path.open("wb") as stream:
        stream.truncate(50_000_000)
    assert kinds(read_config(tmp_path, "config.yaml")) == ["too_large"]


def test_reading_stops_at_the_limit_of_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_tree, "MAX_NODES", 50)
    assert kinds(parsed("- x\n" * 100, tmp_path)) == ["too_large"]


def test_missing_files_folders_and_symlink_loops_are_unreadable(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    os.symlink("loop.yaml", tmp_path / "loop.yaml")
    for name in ("missing.yaml", "folder.yaml", "loop.yaml", "nul\0.yaml"):
        assert kinds(read_config(tmp_path, name)) == ["unreadable"]


def test_the_pure_python_parser_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = parsed(GOOD, tmp_path)
    monkeypatch.setattr(yaml_tree, "_LOADER", yaml.SafeLoader)
    assert parsed(GOOD, tmp_path) == fast
