"""The probes of one pytest run: what every process of it needs to have one executed, and to get its facts."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..evidence.collector import folder_name
from ..facts.runtime import ProbeFacts
from ..facts.training import DEVICES, REHEARSAL
from .client import run_probe
from .limits import Limits
from .once import alone, once
from .prepared import PROBES, Wanted, run_prepared, wanted
from .progress import note
from .requests import request_for
from .training_request import Training
from .warm import Interpreter

if TYPE_CHECKING:
    from ..checks.view import TargetView


@dataclass(frozen=True)
class ProbeRun:
    """Where probes of this run are executed.

    Attributes:
        folder: of this run, shared by its processes: socket, logs and facts of probes.
        address: socket of the warm interpreter.
        repo: root of the target repo.
        evidence: folder under which reports go, as commands show it.
        assets_base: folder that relative paths count from where there is no manifest.
        training: how distributed runs are made.
        lang: language of notes for the evidence.
    """

    interpreter: Interpreter
    limits: Limits
    folder: Path
    address: str
    repo: Path
    evidence: str
    assets_base: Path
    training: Training = field(default_factory=Training)
    lang: str = "en"

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        """What a probe shows of a target; it is executed when nobody in this run has asked for it.

        Raises:
            NothingToJudge: when the target does not have what the probe needs.
        """
        request = request_for(view, probe, self)

        def run() -> ProbeFacts:
            work = self.folder / "work" / folder_name(request.get("target") or probe)
            local = {
                **request,
                "log": str(self.folder / f"{probe}-{uuid.uuid4().hex}.log"),
                "work": str(work / probe),
                "shared": str(work),  # what one probe of the target makes for the others
                "run": str(self.folder / "work"),  # what a target makes for those that would make the same
            }
            boot_log = self.folder / "boot.log"
            limits, say = self._limits(probe), partial(note, self.folder, view.target.name)
            trains = probe in (REHEARSAL, DEVICES)  # two at once would have half a machine each

            def at(address: str) -> ProbeFacts:
                return run_probe(local, address, self.interpreter, limits, boot_log, self.evidence, say)

            want = self._wanted(view, probe)
            if want is not None:
                return run_prepared(want, self.address, self.folder, at)
            with alone(self.folder / "training.lock") if trains else nullcontext():
                return at(self.address)

        return once(self.folder, request, run)

    def _wanted(self, view: TargetView, probe: str) -> Wanted | None:
        return wanted(probe, self.facts(view, "plugins")) if probe in PROBES else None

    def _limits(self, probe: str) -> Limits:
        """A distributed run has a limit for each step; its whole is bounded by that of all of them."""
        if probe not in (REHEARSAL, DEVICES):
            return self.limits
        return replace(self.limits, seconds=self.training.step_seconds * (self.training.steps_of(probe) + 3))

    def to_json(self) -> dict[str, Any]:
        """For a worker of pytest-xdist."""
        return {
            **asdict(self),
            "folder": str(self.folder),
            "repo": str(self.repo),
            "assets_base": str(self.assets_base),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ProbeRun:
        """In a worker: what `to_json` gave in the controller."""
        return cls(
            interpreter=Interpreter(**value["interpreter"]),
            limits=Limits(**value["limits"]),
            folder=Path(value["folder"]),
            address=value["address"],
            repo=Path(value["repo"]),
            evidence=value["evidence"],
            assets_base=Path(value["assets_base"]),
            training=Training(**value["training"]),
            lang=value["lang"],
        )


class TargetProbes:
    """The probes of one target, as checks ask for them; remembers which ones a judgement looked at.

    Args:
        run: gives the facts of a probe.
    """

    def __init__(self, run: Callable[[TargetView, str], ProbeFacts]) -> None:
        self._run = run
        self._facts: dict[str, ProbeFacts] = {}
        self.looked_at: list[ProbeFacts] = []

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        """Facts of a probe, executed when they are first asked for."""
        if probe not in self._facts:
            self._facts[probe] = self._run(view, probe)
        facts = self._facts[probe]
        if facts not in self.looked_at:
            self.looked_at.append(facts)
        return facts
