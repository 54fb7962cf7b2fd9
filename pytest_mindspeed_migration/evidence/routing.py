"""Where a failure goes: the migration stage that has to fix it, and why that one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..catalogue import GATES

FAILING = ("failed", "unproven")
_RUNS_THE_GATES = "verification"  # the stage that finds failures and does not make them


def routes(records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The route of each failed contract of a target.

    A cause that triage knows goes to its stage. Another failure goes to the stage of its contract. What is left is
    found by the stage that runs the gates and owned by nobody: it goes to the stage of the first gate that failed.

    Args:
        records: of one target, in the order of the catalogue.

    Returns:
        By contract: `stage`, `because` ("diagnosis", "contract", "first_failed_gate") and the `contract` whose evidence
        says so.
    """
    return {record["id"]: _route(record, records) for record in records if record["status"] in FAILING}


def _route(record: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    diagnosis = record.get("diagnosis")
    if diagnosis is not None and diagnosis["status"] == "cause" and diagnosis["stage"] is not None:
        return {"stage": diagnosis["stage"], "because": "diagnosis", "contract": record["id"]}
    if record["owner"] == _RUNS_THE_GATES:
        for gate in GATES:
            for other in records:
                if other["gate"] == gate and other["status"] in FAILING and other["owner"] != _RUNS_THE_GATES:
                    return {"stage": other["owner"], "because": "first_failed_gate", "contract": other["id"]}
    return {"stage": record["owner"], "because": "contract", "contract": record["id"]}
