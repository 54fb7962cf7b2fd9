"""Whether a target is accepted: by gate, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..catalogue import GATES

if TYPE_CHECKING:
    from ..catalogue import Catalogue

GateStatus = Literal["passed", "failed", "incomplete", "not_run"]


@dataclass(frozen=True)
class Gate:
    """The state of one gate.

    Attributes:
        failed: contracts that failed, are unproven, or are blocked.
        blocked: those of them that are blocked.
        missing: contracts that did not run, or passed only at a level that does not decide.
    """

    name: str
    status: GateStatus
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    missing: tuple[str, ...]
    blocked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Acceptance:
    """The state of all gates of a target."""

    gates: tuple[Gate, ...]

    @property
    def accepted(self) -> bool:
        """Accepted means that every gate passed, the distributed end-to-end run among them."""
        return all(gate.status == "passed" for gate in self.gates)


def assess(records: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> Acceptance:
    """Assess the records of one target."""
    return Acceptance(tuple(_gate(name, records, catalogue) for name in GATES))


def _gate(name: str, records: Sequence[Mapping[str, Any]], catalogue: Catalogue) -> Gate:
    passed, failed, missing = [], [], []
    ran = False
    for record in records:
        if record["gate"] != name:
            continue
        ran = ran or record["status"] != "not_run"
        if record["status"] in ("failed", "unproven", "blocked"):
            failed.append(record["id"])
        elif record["status"] == "passed" and record["level"] == catalogue.by_id[record["id"]].decisive_level:
            passed.append(record["id"])
        else:
            missing.append(record["id"])
    status: GateStatus
    if failed:
        status = "failed"
    elif missing:
        status = "incomplete" if ran else "not_run"
    else:
        status = "passed" if passed else "not_run"  # a gate without contracts proves nothing
    blocked = tuple(record["id"] for record in records if record["id"] in failed and record["status"] == "blocked")
    return Gate(name, status, tuple(passed), tuple(failed), tuple(missing), blocked)
