"""The steps of the probe that takes real rows through dataset, collator, forward and backward."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...facts.runtime import Raised, StepFacts
from ..registry import Blocked, NothingToJudge
from ..view import TargetView
from .steps import first_line, judged_step

PROBE = "batch"
_SHOWN = 5
_OF_MODEL = ("from_pretrained", "get_model", "materialise", "forward", "backward", "text_only")


def step_of(view: TargetView, name: str) -> StepFacts:
    """A step, as the contract that judges it sees it.

    Raises:
        NothingToJudge: there is no small model, or no data on this machine; says why.
        Blocked: a step before it failed.
    """
    probe = view.probe(PROBE)
    shrink = probe.steps.get("shrink")
    lacking = shrink is not None and shrink.status == "ok" and "path" not in shrink.data
    if shrink is not None and lacking and (name in _OF_MODEL or "broken" in shrink.data):
        if _does_not_build(view):
            raise Blocked("model.build")
        raise NothingToJudge("batch.not_shrunk", why=first_line(shrink.data.get("broken") or shrink.data["refusal"]))
    rows = probe.steps.get("rows")
    if name not in ("shrink", "rows") and rows is not None and rows.data.get("absent"):
        raise NothingToJudge("batch.no_data", path=rows.data["absent"][0])
    return judged_step(view, PROBE, name)


def passed_step(view: TargetView, name: str, owner: str) -> dict[str, Any]:
    """The facts of a step that another contract judges.

    Raises:
        NothingToJudge, Blocked: see `step_of`; also blocked when the step failed.
    """
    step = step_of(view, name)
    if step.status != "ok":
        raise Blocked(owner)
    return step.data


def idle_instead(view: TargetView, name: str) -> StepFacts:
    """A step, for a check that is one of several of its contract: what others block does not block the contract."""
    try:
        return step_of(view, name)
    except Blocked as blocked:
        raise NothingToJudge("outcome.blocked", contracts=", ".join(blocked.contracts)) from blocked


def same_error(first: Raised | None, second: Raised | None) -> bool:
    """Whether two steps ended with the same exception."""
    return first is not None and second is not None and (first.type, first.message) == (second.type, second.message)


def listed(names: Iterable[str]) -> str:
    """Names for a sentence, the first few of them."""
    names = list(names)
    more = f", ... ({len(names)})" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _does_not_build(view: TargetView) -> bool:
    build = view.probe("model").steps.get("model.build")
    return build is None or build.status != "ok"
