"""The first run a user makes: the demo, judged from an empty folder."""

from __future__ import annotations

import json

import pytest

RUN = ("--migrate-target=internvl3_5", "--migrate-repo=demo", "-p", "no:cacheprovider")


def test_the_demo_is_judged_without_a_failure_and_leaves_evidence(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*RUN)

    assert result.ret == 0, result.stdout.str()
    folder = pytester.path / "migration-report" / "internvl3_5"
    evidence = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
    status = {contract["id"]: contract["status"] for contract in evidence["contracts"]}
    assert status["model.registration"] == status["config.linkage"] == "passed"
    assert status["verify.distributed_e2e"] == "not_run", "what was not executed is not called passed"
    assert set(status.values()) == {"passed", "not_run"}
    assert not (folder / "failed_cases.md").exists()


def test_the_demo_is_not_accepted_while_nothing_ran_on_npu(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*RUN, "--migrate-require-accepted")

    assert result.ret == 1
    report = (pytester.path / "migration-report/internvl3_5/verification_report.md").read_text(encoding="utf-8")
    assert "Not accepted" in report.splitlines()[0]


def test_the_demo_repo_is_left_as_it_was(pytester: pytest.Pytester) -> None:
    from pytest_mindspeed_migration.demo import demo_repo

    def listing() -> set[str]:
        return {str(path) for path in demo_repo().parent.rglob("*") if "__pycache__" not in path.parts}

    before = listing()
    pytester.runpytest_subprocess(*RUN)
    assert listing() == before
