"""`verify.bad_config_errors`: what the target says to configs with one mistake in them."""

from __future__ import annotations

from typing import Any

from ...facts.runtime import Raised, StepFacts
from ...findings import Finding
from ..ownership import level_at
from ..registry import NothingToJudge, check
from ..view import TargetView
from .steps import data_of, first_line, place_of

_PROBES = ("errors", "plugin_errors")


@check("verify.bad_config_errors", level="cpu")
def mistakes_are_named(view: TargetView) -> list[Finding]:
    """Each mistake ends in an error that names it.

    Whose code swallows it decides: an error of the migration's own code fails the contract, one of the framework is a
    note, since a migration may not change the framework.
    """
    data_of(view, "plugins", "plugins")  # where the run ends before the mistake is read, it tells nothing of it
    given = [step.data for step in _steps(view) if "result" in step.data]
    found = [_judged(view, data["case"], data["result"]) for data in given]
    return [finding for finding in found if finding is not None]


def _steps(view: TargetView) -> list[StepFacts]:
    """Steps of the probes that have a mistake to give."""
    steps: list[StepFacts] = []
    idle: NothingToJudge | None = None
    for probe in _PROBES:
        try:
            steps += view.probe(probe).steps.values()
        except NothingToJudge as nothing:  # a config without plugins has no wrong list of them
            idle = nothing
    if idle is not None and not steps:
        raise idle
    return steps


def _judged(view: TargetView, case: dict[str, Any], result: dict[str, Any]) -> Finding | None:
    key, wrong = next(iter(case["overrides"].items()))
    args: dict[str, Any] = {"wrong": wrong if isinstance(wrong, str) else case["wrong"], "yaml_path": key}
    if "ended" in result:
        how = {"key": "bad_config.ended", "args": {"code": str(result["ended"])}}
        return Finding("bad_config.no_error", {**args, "how": how}, path=view.target.config, yaml_path=key)
    value = result.get("value") or {}
    raised = result.get("error") or value.get("error")
    hidden = value.get("hidden") or []
    if raised is None:
        how = {"key": "bad_config.accepted", "args": {}}
        return Finding("bad_config.no_error", {**args, "how": how}, path=view.target.config, yaml_path=key)
    error = Raised(**raised)
    if any(case["wrong"] in text for text in _said(error)):
        return None
    args |= {"error": error.type, "text": first_line(error.message)}
    swallowed = [("bad_config.swallowed", item["by"]) for item in hidden if case["wrong"] in item["module"]]
    swallowed += [
        ("bad_config.warned", item["by"]) for item in value.get("warned") or [] if case["wrong"] in item["text"]
    ]
    if swallowed:
        message, by = swallowed[0]
        return Finding(message, args, by["file"], by["line"], yaml_path=key, severity=level_at(view, by["file"]))
    path, line = place_of(error)
    level = level_at(view, path)
    return Finding("bad_config.unclear", args, path, line, yaml_path=key, severity=level)


def _said(error: Raised) -> list[str]:
    return [error.message, *(str(item["message"]) for item in error.chain)]
