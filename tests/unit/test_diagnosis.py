"""Triage inside failed contracts, and the stage a failure is routed to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.evidence.diagnosis import diagnosis_of
from pytest_mindspeed_migration.evidence.document import schema
from pytest_mindspeed_migration.evidence.routing import routes
from pytest_mindspeed_migration.evidence.schema import check
from pytest_mindspeed_migration.facts.runtime import ProbeFacts, Raised, StepFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.outcomes import Verdict
from pytest_mindspeed_migration.remedies import remedy_of
from pytest_mindspeed_migration.triage import load_dictionary

FRAME = {"file": "mindspeed_mm/fsdp/models/toy/toy.py", "line": 7, "function": "forward"}
OOM = Raised("RuntimeError", "NPU out of memory. Tried to allocate 2.00 GiB", [FRAME])
ODD = Raised("RuntimeError", "the toy has gone", [FRAME])


def _verdict(*steps: StepFacts, contract: str = "model.build", log: str = "", outcome: Any = "done") -> Verdict:
    probe = ProbeFacts("model", outcome, {step.name: step for step in steps}, log=log)
    return Verdict(contract, "failed", (Finding("cpu.raised"),), level="cpu", probes=(probe,))


def _diagnose(verdict: Verdict, lang: str = "en", dictionary: Any = None) -> dict[str, Any] | None:
    found = diagnosis_of(verdict, dictionary or load_dictionary(), lang)
    if found is not None:
        check(found, {**schema()["$defs"]["diagnosis"], "$defs": schema()["$defs"]})
    return found


def test_the_exception_of_the_judged_step_is_diagnosed() -> None:
    found = _diagnose(_verdict(StepFacts("model.build", "error", error=OOM)))
    assert found is not None
    assert (found["status"], found["entry"], found["owner"]) == ("cause", "npu_out_of_memory", "config")
    assert found["stage"] == "config"
    assert found["seen"] == "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB"
    assert found["fix"]


def test_it_is_told_in_the_language_of_the_run() -> None:
    found = _diagnose(_verdict(StepFacts("model.build", "error", error=OOM)), "zh")
    assert found is not None
    assert found["symptom"] == "NPU 显存不足"


def test_the_root_of_a_chain_is_the_cause() -> None:
    outer = Raised("ValueError", "cannot build", [FRAME], chain=[vars(OOM)])
    found = _diagnose(_verdict(StepFacts("model.build", "error", error=outer)))
    assert found is not None
    assert found["entry"] == "npu_out_of_memory"


def test_what_no_entry_fits_is_unknown_and_owned_by_nobody() -> None:
    found = _diagnose(_verdict(StepFacts("model.build", "error", error=ODD)))
    assert found is not None
    assert (found["status"], found["entry"], found["owner"], found["stage"]) == ("unknown", None, None, None)
    assert "the toy has gone" in found["seen"]


def test_a_process_that_died_without_a_word_is_unknown() -> None:
    found = _diagnose(_verdict(StepFacts("model.build", "open"), outcome="signalled"))
    assert found is not None
    assert (found["status"], found["seen"]) == ("unknown", "")


def test_the_log_is_read_where_the_exception_says_nothing() -> None:
    log = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: NPU out of memory. Tried\n'
    found = _diagnose(_verdict(StepFacts("model.build", "error", error=ODD), log=log))
    assert found is not None
    assert found["entry"] == "npu_out_of_memory"


def test_the_failure_of_another_contract_is_not_this_ones_cause() -> None:
    found = _diagnose(_verdict(StepFacts("model.build", "error", error=OOM), contract="config.apply_modules"))
    assert found is None


def test_a_finding_that_is_no_exception_needs_no_diagnosis() -> None:
    assert _diagnose(_verdict(StepFacts("model.build", "ok"))) is None


def test_the_rank_that_ended_first_counts() -> None:
    ranks = [
        {"rank": 0, "end": {"time": 9.0}, "error": vars(ODD)},
        {"rank": 1, "end": {"time": 1.0}, "error": vars(OOM)},
    ]
    step = StepFacts("train", "ok", data={"ranks": ranks})
    found = _diagnose(_verdict(step, contract="verify.rehearsal"))
    assert found is not None
    assert found["entry"] == "npu_out_of_memory"


def test_a_dictionary_of_the_user_counts(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "toy:\n  pattern: 'the toy has gone'\n  owner: data\n  text: {en: no toy, zh: 没有玩具}\n"
        "  cause: {en: It is lost., zh: 丢失。}\n  fix: Buy one.\n",
        encoding="utf-8",
    )
    own = load_dictionary().extended(path)
    found = _diagnose(_verdict(StepFacts("model.build", "error", error=ODD)), dictionary=own)
    assert found is not None
    assert (found["entry"], found["owner"], found["stage"], found["fix"]) == ("toy", "data", "data", ["Buy one."])


def _failed(contract: str, **more: Any) -> dict[str, Any]:
    one = load_catalogue().by_id[contract]
    return {"id": contract, "status": "failed", "owner": one.owner, "gate": one.gate, "findings": [], **more}


def _at(*paths: str | None) -> list[dict[str, Any]]:
    return [{"severity": "error", "path": path, "owner": _owned(path)} for path in paths]


def _owned(path: str | None) -> str | None:
    verification = load_catalogue().by_id["verify.rehearsal"]
    return remedy_of(Finding("cpu.raised", path=path), verification, "toy", "en").owner


@pytest.mark.parametrize(
    ("records", "contract", "expected"),
    [
        (
            [_failed("model.build", diagnosis={"status": "cause", "stage": "main"})],
            "model.build",
            ("main", "diagnosis", "model.build"),
        ),
        (
            [_failed("model.build", diagnosis={"status": "unknown", "stage": None})],
            "model.build",
            ("model", "contract", "model.build"),
        ),
        (
            [_failed("code.names", owner="data"), _failed("config.linkage"), _failed("verify.rehearsal")],
            "verify.rehearsal",
            ("config", "first_failed_gate", "config.linkage"),
        ),
        (
            [_failed("model.build", diagnosis={"status": "cause", "stage": "main"}), _failed("verify.rehearsal")],
            "verify.rehearsal",
            ("main", "first_failed_gate", "model.build"),
        ),
        (
            [_failed("model.build"), _failed("verify.rehearsal", findings=_at("mm/fsdp/data/datasets/toy/x.py"))],
            "verify.rehearsal",
            ("data", "place", "verify.rehearsal"),
        ),
        (
            [_failed("verify.rehearsal", findings=_at("mm/fsdp/models/toy/x.py"))],
            "verify.rehearsal",
            ("model", "place", "verify.rehearsal"),
        ),
        (
            [_failed("data.fields"), _failed("verify.rehearsal", findings=_at("mm/fsdp/models/modelhub.py", None))],
            "verify.rehearsal",
            ("data", "first_failed_gate", "data.fields"),
        ),
        ([_failed("verify.rehearsal")], "verify.rehearsal", ("verification", "contract", "verify.rehearsal")),
    ],
)
def test_routing(records: list[dict[str, Any]], contract: str, expected: tuple[str, str, str]) -> None:
    found = routes(records)[contract]
    assert (found["stage"], found["because"], found["contract"]) == expected


def test_what_passed_is_not_routed() -> None:
    assert routes([{**_failed("model.build"), "status": "passed"}]) == {}
