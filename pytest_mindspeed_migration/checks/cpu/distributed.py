"""`verify.rehearsal` and `verify.distributed_e2e`: the target's own trainer, distributed."""

from __future__ import annotations

from ...facts.training import TrainingSeen, training_from
from ...findings import Finding
from ..registry import NothingToJudge, check
from ..view import TargetView
from .steps import data_of, failure, first_line, judged_step
from .training import verdict_of

REHEARSAL = "rehearsal"
DEVICES = "distributed_e2e"


@check("verify.rehearsal", level="cpu")
def rehearsal_trains(view: TargetView) -> list[Finding]:
    """Some steps on CPU ranks, with the target's trainer, YAML and rows, and a small model of its kind."""
    made = data_of(view, REHEARSAL, "shrink")
    if "path" not in made:
        raise NothingToJudge("batch.not_shrunk", why=first_line(made.get("broken") or made["refusal"]))
    found = _verdict(view, REHEARSAL)
    if view.probe(REHEARSAL).request["launch"]["every_expert"]:
        found.append(Finding("training.every_expert", severity="note"))
    return found


@check("verify.distributed_e2e", level="npu")
def devices_train(view: TargetView) -> list[Finding]:
    """The config as it is, on devices, as the launch script starts it."""
    return _verdict(view, DEVICES)


def training_seen(view: TargetView, probe: str) -> TrainingSeen | None:
    """The facts of a run; None when it did not come to an end."""
    found = view.probe(probe)
    step = found.steps.get("train")
    if step is None or step.status != "ok":
        return None
    return training_from(step.data, found.request["steps"], found.request["step_seconds"])


def _verdict(view: TargetView, probe: str) -> list[Finding]:
    step = judged_step(view, probe, "train")
    run = training_seen(view, probe)
    if run is None:
        return failure(view, probe, step, "torchrun")
    return verdict_of(run, view.facts.repo.package)
