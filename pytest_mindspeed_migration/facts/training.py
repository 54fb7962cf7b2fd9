"""A distributed run of the target's trainer as facts: what each rank did and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .runtime import Raised, raised_from

REHEARSAL = "rehearsal"
DEVICES = "distributed_e2e"
"""Probes: the target's trainer on CPU ranks with a small model; the same with the config as it is, on devices."""


@dataclass
class StepSeen:
    """One training step, as a rank saw it."""

    iteration: int
    loss: float | None = None
    grad_norm: float | None = None
    lr: float | None = None
    milliseconds: float | None = None


@dataclass
class RankSeen:
    """One rank.

    Attributes:
        rank: its number.
        ended: seconds since the epoch at which it ended, None when it was stopped from outside.
        code: exit code; `signal` when one ended it.
        error: the exception that ended it.
        steps: what its trainer logged, in order.
        stack: where its threads stood when a hang was noticed.
        began: whether torchrun came to start it.
    """

    rank: int
    ended: float | None = None
    code: int | None = None
    signal: int | None = None
    error: Raised | None = None
    steps: list[StepSeen] = field(default_factory=list)
    stack: str = ""
    began: bool = True


@dataclass
class TrainingSeen:
    """A run: `stopped` says why it was killed ("hang", "output"), None when it ended by itself.

    `launcher` is what torchrun itself printed.
    """

    expected: int
    exit_code: int | None = None
    stopped: str | None = None
    seconds: float = 0.0
    step_seconds: float = 0.0
    observed: bool = False  # whether steps were seen on every rank, not only where the trainer prints them
    ranks: list[RankSeen] = field(default_factory=list)
    launcher: str = ""

    @property
    def steps(self) -> list[StepSeen]:
        """The steps as the first rank saw them."""
        return self.ranks[0].steps if self.ranks else []


def training_from(data: dict[str, Any], expected: int, step_seconds: float) -> TrainingSeen:
    """The facts from what the probe `rehearsal` sent.

    Args:
        data: of its step `train`.
        expected: steps that were asked for.
        step_seconds: how long a step was waited for.
    """
    ranks = [_rank(item) for item in data["ranks"]]
    observed = any(item["observed"] for item in data["ranks"])
    seen = TrainingSeen(expected, data["exit_code"], data["stopped"], data["seconds"], step_seconds, observed, ranks)
    seen.launcher = data["launcher"]
    return seen


def _rank(item: dict[str, Any]) -> RankSeen:
    end = item["end"] or {}
    error = raised_from(item["error"]) if item["error"] else None
    steps = [_observed(one) for one in item["observed"]]
    logged = {one["iteration"]: one for one in item["logged"]}
    if not steps:  # a trainer of its own prints steps by another way than the framework's engine
        steps = [StepSeen(number) for number in sorted(logged)]
    for step in steps:
        line = logged.get(step.iteration)
        if line is None:
            continue
        for name in ("loss", "grad_norm", "lr", "milliseconds"):
            if getattr(step, name) is None:
                setattr(step, name, line[name])
    ended = end.get("time"), end.get("code"), end.get("signal")
    return RankSeen(item["rank"], *ended, error, steps, item["stack"] or "", item["began"])


def _observed(values: dict[str, Any]) -> StepSeen:
    """A call of `TrainEngine.training_log`, by the names its parameters have in the generations of the framework."""
    loss = values.get("loss_dict", values.get("loss"))
    if isinstance(loss, dict):
        loss = loss.get("loss")
    return StepSeen(int(values.get("iteration", 0)), _number(loss), _number(values.get("grad_norm")))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
