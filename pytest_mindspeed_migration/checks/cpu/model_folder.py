"""Whether the model folder is that of the model: the type of its config against what the registered class declares."""

from __future__ import annotations

import re
from typing import Any

from ...facts.runtime import StepFacts
from ...findings import Finding
from ..registry import Blocked, NothingToJudge, check
from ..view import MODEL_KEY, TargetView
from .steps import first_line, judged_step

PROBE = "model"
BUILD = "model.build"
GIVEN = "preflight.assets"
WRITTEN = "config.assets"

_LACKS = re.compile(r"'(\w+)' object has no attribute '")


@check(GIVEN, level="cpu")
def given_folder_is_of_the_model(view: TargetView) -> list[Finding]:
    """The folder that manifest or command line name holds the config of the model that the target builds."""
    if not _given(view):
        named = (view.manifest or {}).get("runtime_assets")
        raise NothingToJudge("preflight.no_model_path" if named else "preflight.no_assets")
    return _judge(view)


@check(WRITTEN, level="cpu")
def written_folder_is_of_the_model(view: TargetView) -> list[Finding]:
    """The folder that the config names, or what is given for it, holds the config of the model it builds."""
    if _given(view):
        need_its_folder(view)
        return []
    return _judge(view)


def need_its_folder(view: TargetView) -> None:
    """Go on only when the build did not fail by what another model's folder says.

    Raises:
        Blocked: by the contract that judges the folder.
    """
    if _is_anothers(_built(view)):
        raise Blocked(GIVEN if _given(view) else WRITTEN)


def doubts(view: TargetView) -> list[Finding]:
    """A note when the folder's config has another type than the model's class declares, which may well be meant."""
    step = _built(view)
    if step is None or _types(step).get("fits", True) or _is_anothers(step):
        return []
    return [Finding("model_folder.other_type", _args(view, step), yaml_path=MODEL_KEY, severity="note")]


def _judge(view: TargetView) -> list[Finding]:
    step = judged_step(view, PROBE, BUILD)
    if not _is_anothers(step):
        return []
    assert step.error is not None
    args = {**_args(view, step), "error": first_line(step.error.root.message)}
    place = {"yaml_path": MODEL_KEY, "value": args["type"], "expected": args["declared"]}
    return [Finding("model_folder.of_another", args, **place)]


def _given(view: TargetView) -> bool:
    return ((view.manifest or {}).get("runtime_assets") or {}).get("model_path") is not None


def _built(view: TargetView) -> StepFacts | None:
    return view.probe(PROBE).steps.get(BUILD)


def _types(step: StepFacts) -> dict[str, Any]:
    types: dict[str, Any] = step.data.get("config") or {}
    return types


def _is_anothers(step: StepFacts | None) -> bool:
    """Whether the build asked the folder's config for what it lacks, and it is of another type than is declared."""
    if step is None or step.error is None:
        return False
    types, lacks = _types(step), _LACKS.match(step.error.root.message)
    return not types.get("fits", True) and lacks is not None and lacks[1] in types["classes"]


def _args(view: TargetView, step: StepFacts) -> dict[str, Any]:
    folder = view.probe(PROBE).steps["model.folder"].data["model"]["path"]
    identifier = view.config.string("model.model_id") if view.config else None
    return {"folder": folder, "model": identifier, **{name: _types(step)[name] for name in ("type", "declared")}}
