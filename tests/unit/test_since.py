"""What a run says of the run before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.evidence.since import keeping_last, previous, since, unchanged


def _record(name: str, status: str, level: str | None = "static", **more: Any) -> dict[str, Any]:
    return {"id": name, "status": status, "level": level, **more}


def _document(*contracts: dict[str, Any]) -> dict[str, Any]:
    return {"contracts": list(contracts), "commands": [{"timestamp": "2026-01-01"}, {"timestamp": "2026-01-02"}]}


def test_each_contract_is_told_by_what_became_of_it() -> None:
    then = _document(
        _record("a.green", "failed"), _record("a.freed", "blocked"), _record("a.red", "passed"),
        _record("a.stays", "failed"), _record("a.waits", "blocked"), _record("a.fine", "passed"),
        _record("a.judged", "blocked"),
    )  # fmt: skip
    now = [
        _record("a.green", "passed"), _record("a.freed", "passed"), _record("a.red", "unproven"),
        _record("a.stays", "failed"), _record("a.waits", "blocked"), _record("a.fine", "passed"),
        _record("a.judged", "failed"), _record("a.new", "failed"),
    ]  # fmt: skip
    found = since(then, now)
    assert found.before == "2026-01-02"
    assert found.kinds == {
        "newly_green": ("a.green", "a.freed"),
        "newly_red": ("a.red", "a.judged"),
        "still_red": ("a.stays",),
        "still_blocked": ("a.waits",),
    }


def test_a_pass_at_a_lower_level_is_not_newly_green() -> None:
    then = _document(_record("a.b", "failed", "cpu"))
    now = [_record("a.b", "passed", "static")]
    assert since(then, now).kinds == {}
    assert keeping_last(then, now)[0]["last"] == {"status": "failed", "level": "cpu"}
    assert since(then, [_record("a.b", "failed", "static")]).kinds == {"still_red": ("a.b",)}


def test_a_recheck_of_one_contract_forgets_nothing() -> None:
    first = [_record("a.b", "failed"), _record("a.c", "failed"), _record("a.d", "not_run", None)]
    recheck = keeping_last(
        _document(*first), [_record("a.b", "passed"), _record("a.c", "not_run", None), _record("a.d", "not_run", None)]
    )
    assert recheck[1]["last"] == {"status": "failed", "level": "static"}
    assert "last" not in recheck[2]
    third = since(_document(*recheck), [_record("a.b", "passed"), _record("a.c", "passed")])
    assert third.kinds == {"newly_green": ("a.c",)}


def test_the_same_evidence_has_no_news() -> None:
    records = [_record("a.b", "failed", run={"started": "x"}), _record("a.c", "passed"), _record("a.d", "blocked")]
    assert unchanged(records).kinds == {"still_red": ("a.b",), "still_blocked": ("a.d",)}
    assert unchanged(records).before == "x"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"target": {"name": "other"}, "contracts": []}'])
def test_a_file_that_is_no_evidence_of_the_target_is_no_run_before(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evidence.json"
    path.write_text(text, encoding="utf-8")
    assert previous(path, "t") is None
    assert previous(tmp_path / "none.json", "t") is None
