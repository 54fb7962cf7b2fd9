"""The same outcomes and reports with and without xdist, and what a dying worker costs."""

from __future__ import annotations

import pytest
from plugin_project import Project

WISHES = {
    "alpha": {"config.linkage": "error", "config.assets": "note"},
    "beta": {"preflight.repo": "error"},
    "gamma": {"code.calls": "raise"},
}


def test_reports_are_equal_however_the_run_is_distributed(project: Project) -> None:
    pytest.importorskip("xdist")
    project.facts(WISHES)
    seen = []
    for way in (("-p", "no:xdist"), ("-n0",), ("-n2",), ("-n4", "--dist=loadfile")):
        assert project.run("--migrate-target=all", *way).ret == 1
        seen.append(project.normalised())
    for files in seen[1:]:
        assert files.keys() == seen[0].keys()
        assert files == seen[0]
    assert {"summary.json", "alpha/evidence.json", "alpha/failed_cases.md"} <= seen[0].keys()
    assert not any(name.endswith(".jsonl") for name in seen[0])


def test_a_worker_that_dies_costs_only_its_running_test(project: Project) -> None:
    pytest.importorskip("xdist")
    project.facts({"alpha": {"config.linkage": "die"}})
    result = project.run("--migrate-target=alpha", "-n2")
    assert result.ret == 1
    statuses = project.statuses("alpha")
    assert statuses.pop("config.linkage") == "unproven"
    assert set(statuses.values()) == {"passed", "not_run"}
    reasons = {one["id"]: one["reason"] for one in project.evidence("alpha")["contracts"]}
    assert "worker process died" in reasons["config.linkage"]
    assert not any("not selected" in (reason or "") for reason in reasons.values())


def test_a_process_that_is_killed_leaves_the_records_it_had(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "die"}})
    assert project.run("--migrate-target=alpha", "-p", "no:xdist").ret == 3
    journal = project.read("alpha/evidence.jsonl")
    assert '"id": "config.required_fields"' in journal
    assert '"id": "config.linkage"' not in journal


def test_a_run_that_stops_early_publishes_what_it_has_and_says_so(project: Project, mode: tuple[str, ...]) -> None:
    project.facts({"alpha": {"preflight.assets": "error"}})
    assert project.run("--migrate-target=alpha", "-x", *mode).ret != 0
    statuses = project.statuses("alpha")
    assert statuses["preflight.assets"] == "failed"
    if mode != ("-n2",):
        reasons = {one["id"]: one["reason"] for one in project.evidence("alpha")["contracts"]}
        assert "the run stopped before it" in reasons["verify.rehearsal"]


def test_without_the_cache_provider_the_suite_lives_in_a_temporary_folder(
    project: Project, mode: tuple[str, ...]
) -> None:
    project.facts({"alpha": {}})
    result = project.run("--migrate-target=alpha", "-p", "no:cacheprovider", *mode)
    assert result.ret == 0
    assert not (project.path / ".pytest_cache").exists()
    assert project.statuses("alpha")["config.linkage"] == "passed"


def test_clearing_the_cache_does_not_clear_the_suite_away(project: Project, mode: tuple[str, ...]) -> None:
    project.facts({"alpha": {}})
    assert project.run("--migrate-target=alpha", *mode).ret == 0
    assert project.run("--migrate-target=alpha", "--cache-clear", *mode).ret == 0


def test_failed_first_and_last_failed_work_on_the_generated_suite(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "error"}})
    assert project.run("--migrate-target=alpha").ret == 1
    result = project.run("--migrate-target=alpha", "--lf")
    result.assert_outcomes(failed=1, deselected=result.parseoutcomes().get("deselected", 0))
