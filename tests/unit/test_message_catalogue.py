"""Every text the package asks for exists in both languages, with the placeholders it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_mindspeed_migration
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import (
    MessageError,
    extras_of,
    finding_line,
    known_keys,
    placeholders,
    placeholders_in,
    text,
)

PACKAGE = Path(pytest_mindspeed_migration.__file__).parent
FILLED_BY_FINDINGS = {"value", "expected", "suggestion"}
PLACE = {"where", "path", "line", "yaml_path"}


def _calls() -> Iterator[tuple[str, str, str, set[str] | None]]:
    """(file:line, function, key, names given or None when they cannot be told) of each call that names a text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if "demo" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            key = node.args[0]
            if name in ("Finding", "UsageProblem", "Reason", "text") and isinstance(key, ast.Constant) and key.value:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", name, key.value, _given(name, node)


def _given(name: str, node: ast.Call) -> set[str] | None:
    if name == "UsageProblem":
        return None if any(item.arg is None for item in node.keywords) else {item.arg for item in node.keywords}
    values = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "args"), None)
    if values is None:
        return set()
    if isinstance(values, ast.Dict) and all(isinstance(key, ast.Constant) for key in values.keys):
        return {key.value for key in values.keys}
    return None


CALLS = list(_calls())


@pytest.mark.parametrize(("place", "kind", "key", "given"), CALLS, ids=[call[0] for call in CALLS])
def test_a_text_that_is_asked_for_exists_and_can_be_filled(
    place: str, kind: str, key: str, given: set[str] | None
) -> None:
    assert key in known_keys(), f"{place}: no text {key!r}"
    if given is not None:
        filled = given | (FILLED_BY_FINDINGS if kind == "Finding" else set())
        for lang in ("en", "zh"):
            assert placeholders(key, lang) <= filled, f"{place}: {key!r} needs more than it is given"
        if kind == "Finding":
            texts = [extras_of(key)[part]["en"] for part in ("cause", "fix", "fix_near") if part in extras_of(key)]
            needed = {name for one in texts for name in placeholders_in(one)}
            assert needed <= filled | PLACE, f"{place}: what stands beside {key!r} needs more than it is given"


@pytest.mark.parametrize("key", sorted(known_keys()))
def test_both_languages_use_the_same_placeholders(key: str) -> None:
    assert placeholders(key, "en") == placeholders(key, "zh")


def test_a_missing_text_or_placeholder_is_a_clear_developer_error() -> None:
    with pytest.raises(MessageError, match=r"no text 'no\.such'"):
        text("no.such", {})
    with pytest.raises(MessageError, match=r"'usage\.no_targets'.*'place'"):
        text("usage.no_targets", {})


def test_a_finding_is_one_line_with_place_value_expectation_and_suggestion() -> None:
    finding = Finding(
        "suite.test_error", {"error": "odd {braces}"}, "a/b.yaml", 3, "x.y[0]", "1", "2", "z", severity="note"
    )
    assert finding_line(finding) == (
        "a/b.yaml:3 x.y[0]: the test itself failed: odd {braces} (value: 1, expected: 2; did you mean z?)"
    )


def test_what_a_sentence_already_says_is_not_said_again() -> None:
    key = next(key for key in sorted(known_keys()) if placeholders(key) == {"value"} and key != "finding.value")
    assert finding_line(Finding(key, value="seen")).count("seen") == 1


def test_a_finding_is_one_line_that_no_terminal_obeys_whatever_the_repo_holds() -> None:
    odd = "k\x1b[31m\n\r\u202ey\u2028\ud83d"
    finding = Finding("suite.test_error", {"error": odd}, path=odd, yaml_path=odd, value=odd, suggestion=odd)
    for lang in ("en", "zh"):
        line = finding_line(finding, lang)
        assert line.splitlines() == [line]
        assert line.count("k\\x1b[31m\\n\\r\\u202ey\\u2028\\ud83d") == 5
        assert not set(line) & set(odd.replace("k", "").replace("y", "").replace("[31m", ""))


def test_a_value_without_end_is_cut_where_it_is_shown() -> None:
    assert len(finding_line(Finding("suite.test_error", {"error": "x"}, value="v" * 1_000_000))) < 10_000
