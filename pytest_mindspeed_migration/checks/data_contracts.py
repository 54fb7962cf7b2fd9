"""The dataset and the collator against the way the framework builds them."""

from __future__ import annotations

from ..analysis.hub import (
    bypasses,
    dataset_of,
    missing_arguments,
    own_trainer,
    register_calls,
    registered,
    used_by_tasks,
)
from ..analysis.index import Index, Ref, index_of
from ..analysis.memo import per_facts
from ..analysis.readers import schema_of
from ..facts.source import FunctionFacts, ModuleFacts
from ..facts.static import StaticFacts
from ..findings import Finding, near
from .registry import NothingToJudge, check
from .view import TargetView

REGISTRATION = "data.registration"
COLLATE = "data.collate"
_PARAM = "data.dataloader_param.collate_param"


@check(REGISTRATION)
def dataset_binds(view: TargetView) -> list[Finding]:
    """The registered dataset (class or function) takes the arguments `build_mm_dataset` passes."""
    calls = register_calls(view.facts, "<data_register>")
    if not calls:
        return []
    if view.is_framework:
        named = {
            config.string("data.dataset_param.dataset_type")
            for config in view.facts.configs.values()
            if isinstance(config.data, dict)
        }
        items = [
            item
            for key, found in registered(view.facts, "data_register").items()
            for item in found
            if key not in named and item.ref not in used_by_tasks(view.facts)
        ]
    else:
        dataset = dataset_of(view)
        items = [] if dataset is None or bypasses(view, dataset) or _own_dataset(view) else [dataset]
    index = index_of(view.facts)
    findings = []
    for item in items:
        target = _callable(index, item.ref)
        for call in calls if target is not None else []:
            assert target is not None
            path, function, bound = target
            why = missing_arguments(function.signature, call.call, bound)
            if why is not None:
                findings.append(
                    Finding(
                        "data.dataset_does_not_bind",
                        {
                            "dataset": item.id,
                            "function": function.qualname,
                            "reason": why,
                            "call": f"{call.path}:{call.call.line}",
                        },
                        path=path,
                        line=function.line,
                        expected=f"({', '.join(f'{name}=' for name in call.call.keywords)})",
                    )
                )
    return findings


def _callable(index: Index, ref: Ref | None) -> tuple[str, FunctionFacts, bool] | None:
    """The function that calling a registered object runs, and whether its first parameter is filled."""
    if ref is None:
        return None
    if ref.kind == "function":
        function = index.functions(ref.module).get(ref.qualname)
        return None if function is None else (index.path_of(ref.module) or "", function, False)
    if ref.kind == "class":
        method = index.method(ref, "__init__")
        return None if method is None else (index.path_of(method[0]) or "", method[1], True)
    return None


@check(COLLATE)
def collator_resolves(view: TargetView) -> list[Finding]:
    """The collator named in the YAML is in the framework's table, unless the dataset brings its own `collate_fn`."""
    config = view.config
    if view.is_framework or config is None or config.data is None:
        return []
    if _own_loader(view):
        raise NothingToJudge("data.own_loader")
    param = config.get(_PARAM, {})
    table, loader = _table(view.facts), _loader_facts(view)
    if not isinstance(param, dict) or not table or loader is None:
        return []
    declared = schema_of(view.facts).declared(_PARAM)
    if not param and not str(declared.default if declared else "").startswith("<factory"):
        return []  # nothing is filled in for an absent section: the loader makes do without a collator
    if "collate_fn" in loader.tested and _own_collate(view) is not False:
        return []
    key = "collator_id" if param.get("collator_id") else "model_name"
    value = param.get(key)
    if not isinstance(value, str) or value in table:
        if value is None:
            return [_unresolved(view, "data.no_collator", _PARAM, "", table)]
        return []
    return [_unresolved(view, "data.unknown_collator", f"{_PARAM}.{key}", value, table)]


def _unresolved(view: TargetView, message: str, yaml_path: str, value: str, table: dict[str, Ref | None]) -> Finding:
    assert view.config is not None
    return Finding(
        message,
        {"known": ", ".join(sorted(table))},
        path=view.config.path,
        line=view.config.line_of(yaml_path),
        yaml_path=yaml_path,
        value=value or None,
        expected=", ".join(sorted(table)),
        suggestion=near(value, table) if value else None,
    )


@per_facts
def _table(facts: StaticFacts) -> dict[str, Ref | None]:
    """The framework's collators by id."""
    index = index_of(facts)
    return {
        item.id: index.resolve(module.name, item.object)
        for module in facts.modules.values()
        for item in module.registrations
        if "collator" in item.register.lower()
    }


def _loader_facts(view: TargetView) -> FunctionFacts | None:
    """The framework function that builds the loader for the config's `dataloader_mode`."""
    assert view.config is not None
    mode = view.config.string("data.dataloader_param.dataloader_mode")
    for path, module in view.facts.modules.items():
        if path.endswith("/dataloader.py") and mode is not None:
            for function in module.functions:
                if function.qualname == f"prepare_{mode}_dataloader":
                    return function
    return None


def _own_collate(view: TargetView) -> bool | None:
    """Whether the registered dataset has a `collate_fn`; None when that cannot be told (a factory, a foreign base)."""
    found = _dataset_class(view)
    if found is None:
        return _factory_collates(view)
    index, ref = found
    if index.method(ref, "collate_fn") is not None:
        return True
    chain, foreign = index.linear(ref)
    if any("collate_fn" in facts.self_sets or "collate_fn" in facts.class_attrs or facts.dynamic for _, facts in chain):
        return True
    plain = ("torch.utils.data.", "torch.utils.data.dataset.", "object", "abc.")
    return False if all(base.startswith(plain) for base in foreign) else None


def _factory_collates(view: TargetView) -> bool | None:
    """The same for a factory: False when nothing it can return, as far as its imports in the repo go, has one."""
    dataset, index = dataset_of(view), index_of(view.facts)
    if dataset is None or dataset.ref is None or dataset.ref.kind != "function":
        return None
    pending, seen = [dataset.ref.module], set[str]()
    while pending:
        name = pending.pop()
        module = index.modules.get(name)
        if module is None or name in seen:
            continue
        seen.add(name)
        if "collate_fn" in module.keys_passed or "collate_fn" in module.keys_read:
            return None
        named = [f.qualname.rsplit(".", 1)[-1] for f in module.functions]
        if "collate_fn" in named or any("collate_fn" in [*c.self_sets, *c.class_attrs] for c in module.classes):
            return None
        pending.extend(entry.module for entry in module.imports if "dataset" in entry.module)
    return False


def _dataset_class(view: TargetView) -> tuple[Index, Ref] | None:
    dataset = dataset_of(view)
    index = index_of(view.facts)
    if dataset is None or dataset.ref is None or dataset.ref.kind != "class":
        return None
    return index, dataset.ref


def _own_loader(view: TargetView) -> bool:
    """Whether the target's own trainer builds the loader itself, past the framework's collator table."""
    trainer = own_trainer(view)
    return trainer is not None and _names_loader(trainer)


def _names_loader(trainer: ModuleFacts) -> bool:
    given = "dataloader_provider" in trainer.keys_passed
    return given or any("dataloader" in call.callee.lower() for call in trainer.calls)


def _own_dataset(view: TargetView) -> bool:
    """Whether the target's own trainer makes the dataset without the framework's `build_mm_dataset`."""
    trainer = own_trainer(view)
    if trainer is None or not _names_loader(trainer):
        return False
    return not any(call.callee.endswith("build_mm_dataset") for call in trainer.calls)


def batch_keys(view: TargetView) -> tuple[list[str], str] | None:
    """Keys of the batch the dataset's own `collate_fn` returns, with its place; None where they are not known."""
    found = _dataset_class(view)
    if found is None or view.config is None or _own_loader(view):
        return None
    loader = _loader_facts(view)
    if loader is None or "collate_fn" not in loader.tested or not view.config.get(_PARAM):
        return None
    index, ref = found
    method = index.method(ref, "collate_fn")
    if method is None or method[1].dict_keys is None:
        return None
    return method[1].dict_keys, f"{index.path_of(method[0])}:{method[1].line}"
