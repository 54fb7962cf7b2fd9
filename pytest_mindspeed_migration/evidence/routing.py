"""Where a failure goes: the migration stage that has to fix it, and why that one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..catalogue import GATES
from ..remedies import STAGES

FAILING = ("failed", "unproven")
_RUNS_THE_GATES = "verification"  # the stage that finds failures and does not make them


def routes(records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The route of each failed contract of a target.

    A cause that triage knows goes to its stage. Another failure goes to the owner of its findings, where they have one
    in common, else to the stage of its contract. What was found by the stage that runs the gates goes to whose file the
    findings are in; where that does not tell, nobody owns it, and it goes to the stage of the first gate that failed.

    Args:
        records: of one target, in the order of the catalogue.

    Returns:
        By contract: `stage`, `because` ("diagnosis", "finding", "contract", "place", "first_failed_gate") and the
        `contract` whose evidence says so.
    """
    return {record["id"]: _route(record, records) for record in records if record["status"] in FAILING}


def _route(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    own = _own_route(record)
    if own is not None:
        return own
    for gate in GATES:
        for other in records:
            if other["gate"] == gate and other["status"] in FAILING and (route := _own_route(other)) is not None:
                return {**route, "because": "first_failed_gate"}
    return {"stage": record["owner"], "because": "contract", "contract": record["id"]}


def _own_route(record: Mapping[str, Any]) -> dict[str, str] | None:
    """Where a failure goes by what is known of itself; None when nobody owns it."""
    diagnosis = record.get("diagnosis")
    if diagnosis is not None and diagnosis["status"] == "cause" and diagnosis["stage"] is not None:
        return {"stage": diagnosis["stage"], "because": "diagnosis", "contract": record["id"]}
    owners = {item["owner"] for item in record["findings"] if item["severity"] == "error"}
    stage = STAGES.get(owners.pop() or "") if len(owners) == 1 else None
    if record["owner"] == _RUNS_THE_GATES:
        return {"stage": stage, "because": "place", "contract": record["id"]} if stage is not None else None
    because = "contract" if stage in (None, record["owner"]) else "finding"
    return {"stage": stage or record["owner"], "because": because, "contract": record["id"]}
