"""Loaders and build: the real signatures, and what ModelHub does for the model's id without weights."""

from __future__ import annotations

from typing import Any

from ...analysis.hub import FrameworkCall, bypasses, missing_arguments, model_of, register_calls
from ...facts.runtime import Raised, StepFacts
from ...facts.source import Signature
from ...findings import Finding
from ..registry import Blocked, NothingToJudge, check, detail
from ..view import MODEL_KEY, TargetView
from .model_folder import BUILD, PROBE, doubts, need_its_folder
from .steps import data_of, failure, first_line, judged_step

META_KEY = "training.init_model_with_meta_device"


@check("model.from_pretrained", level="cpu")
def from_pretrained_binds(view: TargetView) -> list[Finding]:
    """The real `from_pretrained`, inherited or own, takes what ModelHub passes on the route it takes."""
    return _binds(view, "from_pretrained", used=not _on_meta(view))


@check("model.from_config", level="cpu")
def from_config_binds(view: TargetView) -> list[Finding]:
    """The real `_from_config` takes ModelHub's call."""
    return _binds(view, "_from_config", used=_on_meta(view))


@check("model.from_config", level="cpu")
def from_config_on_meta(view: TargetView) -> list[Finding]:
    """`_from_config` builds the full-size model on the meta device, where no parameter has data."""
    _readable(view)
    step = judged_step(view, PROBE, BUILD)
    if step.status != "ok":
        if not _inside(step.error, "_from_config"):
            return []
        need_its_folder(view)
        return [*failure(view, PROBE, step, "_from_config"), *doubts(view)]
    if step.data["meta"]:
        return []
    return [Finding("model_build.not_on_meta", {"cls": step.data["cls"]}, yaml_path=META_KEY, severity="note")]


@check("model.build", level="cpu")
def hub_builds(view: TargetView) -> list[Finding]:
    """The target's own way of building, `ModelHub.build` by `model_id`, gives a model."""
    found = _config_file(view)
    step = judged_step(view, PROBE, BUILD)
    need_its_folder(view)
    found += doubts(view)
    if step.status == "ok" or any(finding.fails for finding in found):
        return found
    found += failure(view, PROBE, step, "ModelHub.build")
    route = view.probe(PROBE).steps.get("model.route")
    if route is not None and route.error is not None:
        found.append(_hidden(route.error))
    return found


@check("model.build", level="cpu")
def embeddings_tie(view: TargetView) -> list[Finding]:
    """Where the trainer ties the embeddings of the built model, its function can do so with this model."""
    step = view.probe(PROBE).steps.get("model.tie")
    return [] if step is None else failure(view, PROBE, step, str(step.data.get("function", "get_model")))


@detail(BUILD)
def signature_table(view: TargetView) -> dict[str, Any]:
    """The signature table: by loader, ModelHub's calls and what the real function takes."""
    loaders = data_of(view, PROBE, "model.signatures")["loaders"]
    return {
        "signatures": [
            {
                "loader": name,
                "defined": found["name"] if found else None,
                "where": f"{found['file']}:{found['line']}" if found and found["file"] else None,
                "takes": found["text"] if found else None,
                "call": f"{one.path}:{one.call.line}",
                "given": _given(one),
                "misfit": missing_arguments(_signature(found), one.call, bound=False) if found else "-",
            }
            for name, found in loaders.items()
            for one in register_calls(view.facts, f"<model_register>.{name}")
        ]
    }


def _binds(view: TargetView, name: str, used: bool) -> list[Finding]:
    model = model_of(view)
    if model is not None and bypasses(view, model):
        raise NothingToJudge("model.not_through_hub")
    step = judged_step(view, PROBE, "model.signatures")
    found = failure(view, PROBE, step, name)
    if found:
        return found
    if step.data["cls"] is None:
        raise Blocked("model.registration")
    calls = _calls(view, name)
    loader = step.data["loaders"][name]
    if not calls:
        return []
    places = ", ".join(f"{one.path}:{one.call.line}" for one in calls)
    if loader is None:
        args = {"cls": step.data["cls"], "method": name, "calls": places}
        return [Finding("model_build.no_loader", args, severity="error" if used else "note")]
    reasons = [(one, missing_arguments(_signature(loader), one.call, bound=False)) for one in calls]
    if any(reason is None for _, reason in reasons):
        return []
    one, reason = reasons[-1]
    own = loader["file"] if loader["file"] in view.facts.files else None
    return [
        Finding(
            "model.loader_does_not_bind",
            {"function": loader["name"], "reason": reason, "call": f"{one.path}:{one.call.line}"},
            path=own,
            line=loader["line"] if own else None,
            value=loader["text"],
            expected=_given(one),
            severity="error" if used else "note",
        )
    ]


def _calls(view: TargetView, name: str) -> list[FrameworkCall]:
    """ModelHub's calls of a loader: those of the route it takes for this model, all where it took none."""
    calls = register_calls(view.facts, f"<model_register>.{name}")
    build = view.probe(PROBE).steps.get(BUILD)
    taken = build.data.get("route", []) if build is not None else []
    on_route = [one for one in calls if any(one.call.scope.endswith(route) for route in taken)]
    return on_route or calls


def _signature(loader: dict[str, Any]) -> Signature:
    names = ("params", "posonly", "defaults", "kwonly", "kwonly_required", "varargs", "varkw")
    return Signature(**{name: loader[name] for name in names})


def _given(one: FrameworkCall) -> str:
    places = [f"arg{place + 1}" for place in range(one.call.positional)]
    return f"({', '.join([*places, *[f'{name}=' for name in one.call.keywords]])})"


def _on_meta(view: TargetView) -> bool:
    return view.config is not None and view.config.get(META_KEY) is True


def _inside(error: Raised | None, function: str) -> bool:
    """Whether an exception came out of a function; one that ended the interpreter did not."""
    return error is not None and any(frame["function"] == function for frame in error.frames)


def _readable(view: TargetView) -> None:
    if _config_file(view):
        raise Blocked(BUILD)


def _config_file(view: TargetView) -> list[Finding]:
    folder = data_of(view, PROBE, "model.folder")["model"]
    if folder["config"] in (None, "missing"):  # a model without one takes the custom route
        return []
    args = {"folder": folder["path"], "problem": first_line(folder["config"])}
    return [Finding("model_build.config_json", args, yaml_path=MODEL_KEY, value=folder["path"])]


def _hidden(error: Raised) -> Finding:
    args = {"error": error.type, "text": first_line(error.message)}
    return Finding("model_build.hidden_config", args, severity="note")


def step_of(view: TargetView, name: str) -> StepFacts:
    """A step that comes after the build, as its own contract judges it."""
    data_of(view, PROBE, BUILD)
    return judged_step(view, PROBE, name)
