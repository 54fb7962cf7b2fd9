"""Runtime facts: what a probe saw when it ran code of the target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["done", "exited", "signalled", "timeout", "memory", "output", "lost", "interpreter"]
"""How a probe ended: by itself; early with an exit code; by a signal; killed for a limit; with the interpreter that
started it, so that nobody knows; or it never started."""


@dataclass
class Raised:
    """An exception: `chain` is what it was raised from, nearest first, so that its last item is the root."""

    type: str
    message: str
    frames: list[dict[str, Any]] = field(default_factory=list)  # file, line, function; outermost first
    chain: list[dict[str, Any]] = field(default_factory=list)
    missing: str | None = None  # module that a ModuleNotFoundError names
    code: int | str | None = None  # of a SystemExit

    @property
    def root(self) -> Raised:
        """The exception everything else was raised from."""
        return raised_from(self.chain[-1]) if self.chain else self


@dataclass
class StepFacts:
    """One step of a probe. `status` is "open" when the probe ended inside it."""

    name: str
    status: Literal["ok", "error", "open"]
    seconds: float = 0.0
    error: Raised | None = None
    data: dict[str, Any] = field(default_factory=dict)


@dataclass
class ProbeFacts:
    """One run of a probe.

    Attributes:
        probe: its name.
        outcome: how it ended.
        steps: what it showed, by step, in order.
        command: command line that runs it by hand.
        request: what it was asked, as JSON; `command` reads it from a file.
        exit_code: of the process, None when a signal ended it.
        signal: number of the signal that ended it.
        started: ISO time with zone; `duration` in seconds.
        log: what target code printed, shortened in the middle when long.
        coverage: by file of the plugin, the lines that were `run` and those of all `statements`.
    """

    probe: str
    outcome: Outcome
    steps: dict[str, StepFacts] = field(default_factory=dict)
    command: str = ""
    request: dict[str, Any] = field(default_factory=dict)
    exit_code: int | None = None
    signal: int | None = None
    started: str = ""
    duration: float = 0.0
    log: str = ""
    coverage: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    @property
    def open_step(self) -> str | None:
        """The step in which the probe ended, None when it ended between steps or by itself."""
        return next((step.name for step in self.steps.values() if step.status == "open"), None)


def raised_from(value: dict[str, Any]) -> Raised:
    """A `Raised` from what a probe sent."""
    known = {name: value[name] for name in ("type", "message", "frames", "chain", "missing", "code") if name in value}
    return Raised(**known)


def step_from(event: dict[str, Any]) -> StepFacts:
    """A `StepFacts` from the event a probe sent when the step ended."""
    error = raised_from(event["error"]) if event.get("error") else None
    return StepFacts(event["name"], event["status"], event["seconds"], error, event["data"])
