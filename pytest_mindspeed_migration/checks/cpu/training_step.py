"""The small model: loaded, initialised, run forward and backward with a batch of real rows."""

from __future__ import annotations

from typing import Any

from ...facts.runtime import StepFacts
from ...findings import Finding, Level
from ..registry import Blocked, NothingToJudge, check, detail
from ..view import TargetView
from .batch_steps import PROBE, idle_instead, listed, passed_step, same_error, step_of
from .steps import failure, finding_of


@check("model.from_pretrained", level="cpu")
def small_checkpoint_loads(view: TargetView) -> list[Finding]:
    """ModelHub's real `from_pretrained` call loads every value of a small checkpoint of the model's kind."""
    found = failure(view, PROBE, idle_instead(view, "trainer"), "Trainer")
    if found:
        return found
    step = idle_instead(view, "from_pretrained")
    found = failure(view, PROBE, step, "from_pretrained")
    if found:
        return found
    wrong = step.data["not_loaded"]
    if wrong:
        lost = Finding("batch.not_loaded", {"names": listed(wrong), "cls": step.data["class"]})
        most = 2 * len(wrong) > step.data["tensors"]  # then the class does not load, whoever calls it
        found.append(_unless(lost, most or not _on_meta(view)))
    found += [_unless(one, not _on_meta(view)) for one in _storage(step, "from_pretrained")]
    changes = view.probe(PROBE).steps["shrink"].data["changes"]
    if changes:
        shown = "; ".join(f"{one['path']}: {_short(one['was'])} -> {_short(one['now'])}" for one in changes)
        args = {"changes": shown, "parameters": f"{step.data['parameters']:,}"}
        found.append(Finding("batch.shrunk", args, severity="note"))
    return found


@check("model.from_config", level="cpu")
def nothing_stays_empty(view: TargetView) -> list[Finding]:
    """After the trainer initialised a model from the meta device, every parameter and buffer has a value."""
    step = idle_instead(view, "materialise")
    other = view.probe(PROBE).steps.get("get_model")
    if step.status != "ok" and other is not None and same_error(step.error, other.error):
        raise NothingToJudge("outcome.blocked", contracts="model.forward_loss")
    found = failure(view, PROBE, step, "get_model (init_model_with_meta_device)")
    if found:
        return [_unless(one, _on_meta(view)) for one in found]
    return [_unless(one, _on_meta(view)) for one in _storage(step, "init_weights")]


@check("model.forward_inputs", level="cpu")
def fields_meet_parameters(view: TargetView) -> list[Finding]:
    """Every field of a real batch, and use_cache, meets a parameter of the real `forward`."""
    passed_step(view, "from_pretrained", "model.from_pretrained")
    passed_step(view, "batches", "data.collate")
    step = step_of(view, "forward")
    binding = step.data.get("binding")
    if binding is None:
        raise Blocked("model.forward_loss")
    place = _place(view, binding)
    found = [
        Finding("batch.key_without_parameter", {"key": key, "cls": binding["class"]}, *place, value=key)
        for key, field in binding["fields"].items()
        if field["parameter"] is None
    ]
    found += [
        Finding("batch.parameter_without_key", {"parameter": name, "cls": binding["class"]}, *place, value=name)
        for name in binding["missing"]
    ]
    if step.data["dropped"]:
        args = {"keys": ", ".join(step.data["dropped"]), "engine": step.data["engine"]}
        found.append(Finding("batch.dropped", args, severity="note"))
    return found


@detail("model.forward_inputs")
def field_table(view: TargetView) -> dict[str, Any]:
    """The field table: batch key, parameter of forward, type, shape."""
    binding = step_of(view, "forward").data.get("binding") or {"fields": {}}
    return {"fields": [_row(key, field) for key, field in binding["fields"].items()]}


def _row(key: str, field: dict[str, Any]) -> dict[str, Any]:
    size = field.get("shape", field.get("length"))
    shape = " x ".join(map(str, size)) if isinstance(size, list) else "-" if size is None else str(size)
    return {
        "key": key,
        "parameter": field["parameter"] or "-",
        "type": field.get("dtype") or field["type"],
        "shape": shape or "scalar",
    }


@check("model.forward_loss", level="cpu")
def trains(view: TargetView) -> list[Finding]:
    """`model(**batch, use_cache=False)` gives a loss that reaches the parameters it should."""
    passed_step(view, "from_pretrained", "model.from_pretrained")
    found = failure(view, PROBE, step_of(view, "get_model"), "get_model")
    passed_step(view, "batches", "data.collate")
    step = step_of(view, "forward")
    what = "model(**batch, use_cache=False)" if "binding" in step.data else "set_loss_func"
    found += failure(view, PROBE, step, what)
    few, configured = step.data.get("rows", (0, 0))
    if few < configured:
        found.append(Finding("batch.few_rows", {"rows": few, "configured": configured}, severity="note"))
    if step.status != "ok":
        return found
    return [*found, *_loss(view, step), *_gradients(view, step), *_text_only(view)]


def _loss(view: TargetView, step: StepFacts) -> list[Finding]:
    loss = step.data["loss"]
    place = _place(view, step.data["binding"])
    args = {"output": loss["output"]}
    if not loss["has_loss"]:
        return [Finding("batch.no_loss", args, *place)]
    if loss["loss_type"] != "Tensor":
        return [Finding("batch.loss_is_no_tensor", {**args, "type": loss["loss_type"]}, *place)]
    if not loss["scalar"]:
        return [Finding("batch.loss_is_no_scalar", args, *place, value=str(loss["shape"]))]
    if not loss["finite"]:
        return [Finding("batch.loss_is_not_finite", args, *place)]
    if loss["value"] == 0.0:
        return [Finding("batch.loss_is_zero", args, *place)]
    if not loss["differentiable"]:
        return [Finding("batch.loss_has_no_gradient", args, *place)]
    return []


def _gradients(view: TargetView, forward: StepFacts) -> list[Finding]:
    step = view.probe(PROBE).steps.get("backward")
    if step is None:
        return []
    found = failure(view, PROBE, step, "loss.backward()")
    if found:
        return found
    place = _place(view, forward.data["binding"])
    if not step.data["with_gradient"]:
        return [Finding("batch.no_gradient_at_all", {"trainable": step.data["trainable"]}, *place)]
    kinds: dict[str, Level] = {"detached": "error", "not_finite": "error", "unexpected": "error"}
    kinds |= {"beside": "note", "idle": "note", "zero": "note"}
    return [
        Finding(f"batch.gradient_{kind}", {"names": listed(step.data[kind])}, *place, severity=level)
        for kind, level in kinds.items()
        if step.data[kind]
    ]


def _text_only(view: TargetView) -> list[Finding]:
    step = view.probe(PROBE).steps.get("text_only")
    if step is None or step.status == "ok":
        return []
    level: Level = "error" if step.data.get("in_data") else "note"
    if step.error is None:
        return failure(view, PROBE, step, "model(**batch) without media")
    raised = finding_of(step.error, "model(**batch) without media")
    args = {"error": step.error.type, "text": raised.args.get("text", "")}
    return [Finding("batch.text_only", args, raised.path, raised.line, severity=level)]


def _storage(step: StepFacts, what: str) -> list[Finding]:
    """Findings for what has no value; a checkpoint that is loaded later fills parameters, but no computed buffer."""
    facts = step.data.get("storage") or step.data
    loaded = bool(step.data.get("load"))
    found = []
    for kind in ("on_meta", "uninitialised", "differing"):
        if facts[kind]:
            level: Level = "note" if kind != "differing" and loaded else "error"
            found.append(Finding(f"batch.{kind}", {"names": listed(facts[kind]), "what": what}, severity=level))
    return found


def _on_meta(view: TargetView) -> bool:
    """Whether the config starts from the meta device instead of from `from_pretrained`."""
    return view.config is not None and view.config.get("training.init_model_with_meta_device") is True


def _unless(finding: Finding, taken: Any) -> Finding:
    """Of a route that the config does not take, a note."""
    level: Level = finding.severity if taken else "note"
    return Finding(finding.message, finding.args, finding.path, finding.line, severity=level)


def _place(view: TargetView, binding: dict[str, Any]) -> tuple[str | None, int | None]:
    own = binding["file"] in view.facts.files
    return (binding["file"], binding["line"]) if own else (None, None)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "..."
