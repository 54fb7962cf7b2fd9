"""`data.errors`: what the dataset says to data with one mistake in it."""

from __future__ import annotations

from typing import Any

from ...facts.runtime import Raised, StepFacts
from ...findings import Finding
from ..ownership import level_at
from ..registry import Blocked, NothingToJudge, check
from ..view import TargetView
from .steps import first_line, judged_step, place_of

_PROBE = "data_errors"
_BEFORE = ("boot", "config", "plugins", "sound")
_MAY_BE_LEFT_OUT = ("bad_row", "media_is_text", "media_missing")
"""Mistakes in one row, which a dataset may also answer by leaving the row out."""


@check("data.errors", level="cpu")
def mistakes_are_named(view: TargetView) -> list[Finding]:
    """Each mistake ends in an error that names the file, the column or the row.

    Whose code raises decides: the migration's own code fails the contract, framework and libraries are a note, since a
    migration may not change them.
    """
    steps = view.probe(_PROBE).steps
    config = steps.get("config")
    if config is not None and config.data.get("absent"):
        raise NothingToJudge("batch.no_data", path=config.data["absent"][0])
    if "sound" not in steps and all(step.status == "ok" for step in steps.values()):
        raise NothingToJudge("batch.no_data_file")
    if judged_step(view, _PROBE, "sound").status != "ok":
        raise Blocked("data.fields")
    found = [_judged(view, step) for name, step in steps.items() if name not in _BEFORE]
    return [finding for finding in found if finding is not None]


def _judged(view: TargetView, step: StepFacts) -> Finding | None:
    result = step.data.get("result")
    if result is None:
        return None
    mistake = {"key": f"bad_data.{step.name}", "args": {}}
    if "ended" in result:
        how = {"key": "bad_config.ended", "args": {"code": str(result["ended"])}}
        return Finding("bad_data.no_error", {"mistake": mistake, "how": how})
    value: dict[str, Any] = result.get("value") or {}
    raised = result.get("error") or value.get("error")
    if raised is None:
        left_out = step.name in _MAY_BE_LEFT_OUT and value["samples"] < step.data["rows"]
        if left_out:
            return None
        how = {"key": "bad_data.samples", "args": {"count": value["samples"]}}
        return Finding("bad_data.no_error", {"mistake": mistake, "how": how})
    error = Raised(**raised)
    said = [error.message, *(str(item["message"]) for item in error.chain)]
    if any(word in text for word in step.data["words"] for text in said):
        return None
    path, line = place_of(error)
    args = {"mistake": mistake, "error": error.type, "text": first_line(error.message), "words": step.data["words"][0]}
    return Finding("bad_data.unclear", args, path, line, severity=level_at(view, path))
