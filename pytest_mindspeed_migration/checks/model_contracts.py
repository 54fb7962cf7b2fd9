"""The registered model against the calls the framework makes on it: loading, building, the training step."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.hub import (
    FrameworkCall,
    Registered,
    accepts_keyword,
    bypasses,
    is_transformers_model,
    missing_arguments,
    model_calls,
    model_of,
    own_trainer,
    register_calls,
    registered,
    unknown_base,
    used_by_tasks,
)
from ..analysis.index import Index, index_of
from ..facts.static import StaticFacts
from ..findings import Finding
from .data_contracts import batch_keys
from .registry import NothingToJudge, check
from .view import TargetView

PRETRAINED = "model.from_pretrained"
CONFIG = "model.from_config"
INPUTS = "model.forward_inputs"

KEEP_SIGNATURE = {
    "no_grad",
    "override",
    "auto_docstring",
    "can_return_tuple",
    "check_model_inputs",
    "capture_outputs",
    "merge_with_config_defaults",
    "replace_return_docstrings",
    "add_start_docstrings_to_model_forward",
}
"""Decorators of torch and Transformers after which a forward accepts what it says it accepts."""


@check(PRETRAINED)
def from_pretrained(view: TargetView) -> list[Finding]:
    """`from_pretrained` binds to one of ModelHub's two calls, to the Transformers one where that applies."""
    return _loader(view, "from_pretrained", meta=False)


@check(CONFIG)
def from_config(view: TargetView) -> list[Finding]:
    """`_from_config` binds to ModelHub's call (the one used when the model is built on the meta device)."""
    return _loader(view, "_from_config", meta=True)


def _loader(view: TargetView, name: str, meta: bool) -> list[Finding]:
    calls = register_calls(view.facts, f"<model_register>.{name}")
    if not calls:
        return []
    findings: list[Finding] = []
    if view.is_framework:
        for item in _unused(view.facts):
            findings.extend(_judge_loader(view.facts, item, name, calls, used=False))
        return findings
    model = model_of(view)
    if model is None or bypasses(view, model):
        raise NothingToJudge("model.not_through_hub")
    on_meta = view.config is not None and view.config.get("training.init_model_with_meta_device") is True
    return list(_judge_loader(view.facts, model, name, calls, used=on_meta is meta))


def _judge_loader(
    facts: StaticFacts, item: Registered, name: str, calls: list[FrameworkCall], used: bool
) -> Iterator[Finding]:
    index = index_of(facts)
    severity = "error" if used else "note"
    if item.ref is None or item.ref.kind not in ("class", "function"):
        return
    path, line = _definition(index, item)
    where = ", ".join(f"{c.path}:{c.call.line}" for c in calls)
    if item.ref.kind == "function":
        yield Finding(
            "model.function_registered",
            {"model": item.id, "method": name, "calls": where},
            path=path,
            line=line,
            severity=severity,  # type: ignore[arg-type]
        )
        return
    method = index.method(item.ref, name)
    if method is None:
        if not unknown_base(index, item.ref):
            yield Finding(
                "model.no_loader",
                {"cls": item.ref.qualname, "method": name, "calls": where},
                path=path,
                line=line,
                severity=severity,  # type: ignore[arg-type]
            )
        return
    module, function = method
    if "property" in function.decorators:
        return
    bound = "staticmethod" not in function.decorators
    reasons = [(c, missing_arguments(function.signature, c.call, bound)) for c in calls]
    transformers = is_transformers_model(index, item.ref)
    if transformers:
        reasons = [(c, why) for c, why in reasons if c.call.scope.endswith("_build_transformers_model")] or reasons
    if all(why is not None for _, why in reasons):
        call, why = reasons[-1]
        yield Finding(
            "model.loader_does_not_bind",
            {"function": function.qualname, "reason": why, "call": f"{call.path}:{call.call.line}"},
            path=index.path_of(module),
            line=function.line,
            expected=_shape(call),
        )


def _shape(call: FrameworkCall) -> str:
    given = [f"arg{place + 1}" for place in range(call.call.positional)]
    return f"({', '.join([*given, *[f'{name}=' for name in call.call.keywords]])})"


def _definition(index: Index, item: Registered) -> tuple[str, int]:
    """Where the registered object is written."""
    assert item.ref is not None
    known: dict[str, int] = {
        **{name: facts.line for name, facts in index.classes(item.ref.module).items()},
        **{name: facts.line for name, facts in index.functions(item.ref.module).items()},
    }
    return index.path_of(item.ref.module) or item.path, known.get(item.ref.qualname, item.line)


def _unused(facts: StaticFacts) -> list[Registered]:
    """Registered models that no config names."""
    named = {config.string("model.model_id") for config in facts.configs.values() if isinstance(config.data, dict)}
    return [
        item
        for identifier, items in registered(facts, "model_register").items()
        for item in items
        if identifier not in named and item.ref not in used_by_tasks(facts)
    ]


@check(INPUTS)
def forward_inputs(view: TargetView) -> list[Finding]:
    """`forward` takes the keywords of the training step and every key the collator is known to emit."""
    model = model_of(view)
    if view.is_framework or model is None or model.ref is None or model.ref.kind != "class" or own_engine(view):
        return []
    index = index_of(view.facts)
    method = index.method(model.ref, "forward")
    if method is None:
        return []
    module, function = method
    if _replaced(function.decorators):
        return []
    keywords = {name: f"{c.path}:{c.call.line}" for c in model_calls(view.facts) for name in c.call.keywords}
    keys = batch_keys(view)
    if keys is not None:
        keywords.update(dict.fromkeys(keys[0], keys[1]))
    return [
        Finding(
            "model.forward_keyword",
            {"function": function.qualname, "keyword": name, "source": source},
            path=index.path_of(module),
            line=function.line,
            value=name,
            expected=f"{name}, **kwargs",
        )
        for name, source in keywords.items()
        if not accepts_keyword(function.signature, name)
    ]


def _replaced(decorators: list[str]) -> bool:
    """Decorators that may change what a function accepts; those of Transformers and torch keep it."""
    return any(text.rsplit(".", 1)[-1] not in KEEP_SIGNATURE for text in decorators)


def own_engine(view: TargetView) -> bool:
    """Whether the target's own trainer brings its own training step."""
    trainer = own_trainer(view)
    return trainer is not None and any(
        entry.name is not None and entry.name.endswith("Engine") and not entry.module.endswith(".train.train_engine")
        for entry in trainer.imports
    )
