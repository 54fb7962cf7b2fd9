"""What a distributed run of the trainer is asked: the rehearsal on CPU ranks, and the run on devices."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..analysis.features import value_of
from ..facts.training import REHEARSAL
from ..messages import text
from .portable import Override

if TYPE_CHECKING:
    from ..checks.view import TargetView
    from ..facts.launch import CommandFacts

REHEARSAL_STEPS = 5
DEVICE_STEPS = 100
_REMOVED = {"removed": True}


@dataclass(frozen=True)
class Training:
    """How distributed runs of this pytest run are made.

    Attributes:
        nproc: ranks of the rehearsal.
        steps: training steps, None for the default of each kind.
        device: profile of the run on devices; "cpu" tries its code path out where there is none.
        step_seconds: how long a step is waited for, the start included.
    """

    nproc: int = 2
    steps: int | None = None
    device: str = "npu"
    step_seconds: float = 600.0

    def steps_of(self, probe: str) -> int:
        """How many steps a run makes."""
        return self.steps or (REHEARSAL_STEPS if probe == REHEARSAL else DEVICE_STEPS)

    def on_cpu(self, probe: str) -> bool:
        """Whether a run is on CPU ranks."""
        return probe == REHEARSAL or self.device == "cpu"


def training_overrides(view: TargetView, probe: str, training: Training, lang: str) -> list[Override]:
    """What a run replaces besides the portable values: its length, and that each step is logged."""
    config = view.config
    assert config is not None
    found = [_override(view, "train_iters", training.steps_of(probe), "probe.short_run")]
    if config.get("training.log_interval", 1) != 1:
        found.append(_override(view, "log_interval", 1, "probe.each_step_logged"))
    if config.get("training.train_epochs") is not None:
        found.append(_override(view, "train_epochs", _REMOVED, "probe.short_run"))
    if config.get("training.val_interval"):
        found.append(_override(view, "val_interval", 0, "probe.no_validation"))
    return found


def launch_of(view: TargetView, probe: str, training: Training) -> dict[str, Any]:
    """How torchrun is started: on devices as the launch script does it, in a rehearsal on ranks of this machine."""
    command = _command(view)
    if probe == REHEARSAL or command is None:
        small = training.on_cpu(probe)
        idle = small and _fails_with_idle_experts(view)
        return {"nproc": training.nproc, "options": [], "environment": {}, "small": small, "every_expert": idle}
    nproc = _option(command, "nproc")
    options = [f"{name}={value}" for name, value in command.options.items() if not _is(name, "nproc") and value]
    on_cpu = training.on_cpu(probe)
    script = view.scripts[0]
    return {
        "nproc": training.nproc if on_cpu else int(nproc) if nproc and nproc.isdigit() else training.nproc,
        "options": [] if on_cpu or _one_node(command) else [_with_environment(option) for option in options],
        "environment": {} if on_cpu else dict(script.environment),
        "small": on_cpu,
        "every_expert": on_cpu and _fails_with_idle_experts(view),
    }


def _fails_with_idle_experts(view: TargetView) -> bool:
    """Whether the small model's forward raised: that is said by model.forward_loss, and the rehearsal goes past it."""
    forward = view.probe("batch").steps.get("forward")
    return forward is not None and forward.status == "error"


def _command(view: TargetView) -> CommandFacts | None:
    """The launch command of the target's own script."""
    for script in view.scripts:
        for command in script.commands:
            if command.launcher == "torchrun":
                return command
    return None


def _one_node(command: CommandFacts) -> bool:
    nodes = _option(command, "nnodes")
    return os.environ.get("NNODES", nodes or "1") == "1"


def _with_environment(option: str) -> str:
    """A multi-node run takes its place from the variables that each node has: NNODES, NODE_RANK, MASTER_*."""
    name, _, value = option.partition("=")
    variable = name.lstrip("-").replace("-", "_").upper()
    return f"{name}={os.environ.get(variable, value)}"


def _option(command: CommandFacts, stem: str) -> str | None:
    return next((value for name, value in command.options.items() if _is(name, stem)), None)


def _is(option: str, stem: str) -> bool:
    return option.lstrip("-").replace("-", "_").startswith(stem)


def _override(view: TargetView, key: str, value: Any, why: str) -> Override:
    assert view.config is not None
    was = value_of(view.facts, view.config, "training", key)
    reasons = {lang: text(why, {}, lang) for lang in ("en", "zh")}
    return Override(f"training.{key}", value, was if isinstance(was, (int, float, str)) else None, reasons)
