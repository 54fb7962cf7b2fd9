"""`verify.rehearsal` and `verify.distributed_e2e`: the target's own trainer, distributed."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from ...facts.training import DEVICES, REHEARSAL, TrainingSeen, training_from
from ...findings import Finding
from ..registry import NothingToJudge, check, detail
from ..view import TargetView
from .steps import data_of, failure, first_line, judged_step
from .training import verdict_of

_SHOWN = 10


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


@detail("verify.rehearsal")
def rehearsal_steps(view: TargetView) -> dict[str, Any]:
    """For the report: the steps of the rehearsal."""
    return _steps(view, REHEARSAL)


@detail("verify.distributed_e2e")
def device_steps(view: TargetView) -> dict[str, Any]:
    """For the report: the steps of the run on devices."""
    return _steps(view, DEVICES)


def _steps(view: TargetView, probe: str) -> dict[str, Any]:
    run = training_seen(view, probe)
    if run is None:
        raise NothingToJudge("cpu.no_config")
    kept = [{name: _json(value) for name, value in asdict(step).items()} for step in run.steps]
    losses = [step["loss"] for step in kept if step["loss"] is not None]
    return {
        "nproc": len(run.ranks),
        "device": "cpu" if view.probe(probe).request["stand_ins"] else "npu",
        "expected": run.expected,
        "seconds": round(run.seconds, 1),
        "steps": kept,
        "shown": kept if len(kept) <= _SHOWN else [*kept[: _SHOWN // 2], *kept[-_SHOWN // 2 :]],
        "first": losses[0] if losses else None,
        "last": losses[-1] if losses else None,
    }


def _json(value: Any) -> Any:
    """JSON has no number for what is not finite."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


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
