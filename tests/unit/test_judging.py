"""How outcomes follow from contracts, facts and what checks say."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks import areas, registry
from pytest_mindspeed_migration.checks.registry import Check
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import finding_line
from pytest_mindspeed_migration.outcomes import MAX_FINDINGS, Judge, facts_stated


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Check]]:
    """Replace all checks by ones that find nothing; the test puts its own in."""
    monkeypatch.setattr(areas, "load", lambda level: ())
    own = {one.id: [lambda view: []] for one in load_catalogue().contracts if "static" in one.levels}
    monkeypatch.setattr(registry, "_CHECKS", {"static": own})
    return own


def _view(data: dict[str, Any] | None = None, name: str = "t", **target: Any) -> TargetView:
    facts = StaticFacts(configs={"c.yaml": ConfigFacts("c.yaml", data)})
    return TargetView(facts, TargetFacts(name, "c.yaml", **target))


def _judge(view: TargetView, levels: tuple[str, ...] = ("static",)) -> Judge:
    return Judge(load_catalogue(), view, levels)


def test_a_check_runs_once_however_often_its_verdict_is_asked_for(checks: dict[str, list[Check]]) -> None:
    seen = []
    checks["preflight.repo"] = [lambda view: seen.append(view) or []]
    judge = _judge(_view({}))
    for contract in ("config.linkage", "code.names", "preflight.repo", "config.linkage"):
        assert judge.verdict(contract).status == "passed"
    assert len(seen) == 1


def test_a_prerequisite_that_is_itself_blocked_blocks(checks: dict[str, list[Check]]) -> None:
    checks["preflight.repo"] = [lambda view: [Finding("suite.test_error", {"error": "x"})]]
    judge = _judge(_view({}))
    assert judge.verdict("model.registration").blocked_by == ("preflight.repo",)
    assert judge.verdict("model.from_pretrained").blocked_by == ("model.registration",)


@pytest.mark.parametrize("config", [None, "c.yaml"], ids=["no config yet", "unreadable config"])
def test_without_a_readable_config_what_needs_it_is_blocked_and_never_passed(
    checks: dict[str, list[Check]], config: str | None
) -> None:
    view = TargetView(StaticFacts(configs={"c.yaml": ConfigFacts("c.yaml", None)}), TargetFacts("t", config))
    judge = _judge(view)
    passed = {one.id for one in load_catalogue().of_subject("target") if judge.verdict(one.id).status == "passed"}
    assert passed == {
        "preflight.repo",
        "preflight.assets",
        "preflight.entrypoints",
        "preflight.editable_paths",
        "config.parse",
    }
    assert judge.verdict("code.names").blocked_by == ("config.parse",)


def test_a_contract_without_a_check_is_not_called_passed(checks: dict[str, list[Check]]) -> None:
    del checks["code.names"]
    verdict = _judge(_view({})).verdict("code.names")
    assert (verdict.status, verdict.reason.key, verdict.level) == ("not_run", "outcome.no_check", None)


def test_a_level_that_is_not_judged_leaves_its_contracts_not_run(checks: dict[str, list[Check]]) -> None:
    assert _judge(_view({}), levels=("static",)).verdict("verify.rehearsal").status == "not_run"
    assert _judge(_view({})).verdict("model.build").reason.values == {"levels": "cpu", "reached": "static"}


def test_on_the_framework_only_preflight_blocks_and_only_its_contracts_run(checks: dict[str, list[Check]]) -> None:
    checks["model.registration"] = [lambda view: [Finding("suite.test_error", {"error": "x"})]]
    judge = _judge(_view(name="framework"))
    assert judge.verdict("model.registration").status == "failed"
    assert judge.verdict("model.from_pretrained").status == "passed"
    assert judge.verdict("config.linkage").reason.key == "outcome.other_subject"


def test_a_broken_check_fails_its_contract_with_the_traceback_kept_aside(checks: dict[str, list[Check]]) -> None:
    checks["code.names"] = [lambda view: 1 / 0]
    verdict = _judge(_view({})).verdict("code.names")
    assert verdict.status == "failed"
    assert verdict.findings[0].message == "outcome.internal_error"
    assert "ZeroDivisionError" in verdict.trace


def test_what_the_system_refuses_is_no_error_of_a_check(checks: dict[str, list[Check]]) -> None:
    def refused(view: TargetView) -> list[Finding]:
        raise OSError(errno.ENOSPC, "No space left on device", "/run/x.json")

    checks["code.names"] = [refused]
    verdict = _judge(_view({})).verdict("code.names")
    assert verdict.status == "failed"
    assert verdict.findings[0].message == "outcome.system_error"
    assert "No space left on device: '/run/x.json'" in finding_line(verdict.findings[0])


def test_stated_facts_are_compared_only_where_the_contract_was_judged(checks: dict[str, list[Check]]) -> None:
    judge = _judge(_view({"model": {"model_id": "now"}}))
    moved = judge.compare("code.names", {"model_id": "then"})
    assert moved.status == "failed"
    assert (moved.findings[0].value, moved.findings[0].expected) == ("now", "then")
    assert judge.compare("code.names", {"model_id": "now"}).status == "passed"
    assert judge.compare("model.build", {"model_id": "then"}).status == "not_run"


def test_values_that_are_no_literals_are_stated_as_text() -> None:
    stated = facts_stated(_view({"model": {"model_id": 1.5}, "data": {"dataset_param": {"dataset_type": {"a": 1}}}}))
    assert stated["model_id"] == "1.5"
    assert stated["dataset_type"] == "{'a': 1}"


def test_a_contract_without_anything_to_judge_is_not_run_and_says_why(checks: dict[str, list[Check]]) -> None:
    def idle(view: TargetView) -> list[Finding]:
        raise registry.NothingToJudge("preflight.no_assets")

    checks["preflight.assets"] = [idle]
    verdict = Judge(load_catalogue(), _view({}), ["static"]).verdict("preflight.assets")
    assert (verdict.status, verdict.reason and verdict.reason.key) == ("not_run", "preflight.no_assets")
    checks["preflight.assets"] = [idle, lambda view: []]
    assert Judge(load_catalogue(), _view({}), ["static"]).verdict("preflight.assets").status == "passed"


def test_a_contract_with_findings_without_end_keeps_the_first_and_says_how_many_more(
    checks: dict[str, list[Check]],
) -> None:
    checks["preflight.repo"] = [
        lambda view: [Finding("suite.test_error", {"error": str(n % 40_000)}) for n in range(80_000)]
    ]
    verdict = _judge(_view({})).verdict("preflight.repo")
    assert verdict.status == "failed"
    assert len(verdict.findings) == MAX_FINDINGS + 1
    assert verdict.findings[-1] == Finding("outcome.more_findings", {"count": 40_000 - MAX_FINDINGS}, severity="note")


def test_checks_of_files_are_where_a_static_run_looks_for_them() -> None:
    areas.load("cpu")
    found = {function.__module__ for functions in registry._CHECKS["static"].values() for function in functions}
    assert found
    assert found <= set(areas.load("static"))


def test_a_check_that_cannot_do_its_part_keeps_the_others_from_calling_the_contract_passed(
    checks: dict[str, list[Check]],
) -> None:
    def part(view: TargetView) -> list[Finding]:
        raise registry.NothingAtAll("preflight.no_assets")

    checks["preflight.assets"] = [part, lambda view: []]
    verdict = _judge(_view({})).verdict("preflight.assets")
    assert (verdict.status, verdict.reason and verdict.reason.key) == ("not_run", "preflight.no_assets")
    checks["preflight.assets"] = [part, lambda view: [Finding("names.undefined", {"name": "x"}, "a.py", 1)]]
    assert _judge(_view({})).verdict("preflight.assets").status == "failed"
