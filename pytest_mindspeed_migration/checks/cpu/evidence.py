"""`verify.evidence_complete`: every contract that counts was judged where it is decided, and can be traced."""

from __future__ import annotations

from ...catalogue import load_catalogue
from ...findings import Finding
from ..registry import NothingToJudge, check
from ..view import TargetView

_OWN = "verify.evidence_complete"


@check(_OWN, level="npu")
def everything_is_proven(view: TargetView) -> list[Finding]:
    """No contract of a gate is left open, and each that ran code names the probe it was judged by."""
    if view.judged is None:
        raise NothingToJudge("cpu.no_interpreter")
    found = []
    for contract in load_catalogue().of_subject("target"):
        if contract.id == _OWN:
            continue
        verdict = view.judged(contract.id)
        if verdict.status != "passed" or verdict.level != contract.decisive_level:
            args = {"contract": contract.id, "status": verdict.status, "level": verdict.level or "-"}
            found.append(Finding("evidence.open", args, expected=contract.decisive_level))
        elif verdict.level != "static" and not any(probe.command for probe in verdict.probes):
            found.append(Finding("evidence.no_command", {"contract": contract.id}))
        elif verdict.level == "npu" and all(probe.request.get("stand_ins", True) for probe in verdict.probes):
            found.append(Finding("evidence.tried_out", {"contract": contract.id}))
    return found
