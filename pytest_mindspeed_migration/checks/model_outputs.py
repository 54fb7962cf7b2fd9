"""What the training step reads on the output of the model, against the class that `forward` returns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from ..analysis.features import framework_functions
from ..analysis.hub import model_of
from ..analysis.index import Index, Ref, index_of
from ..analysis.memo import per_facts
from ..facts.static import StaticFacts
from ..findings import Finding
from ..scan.results import TUPLE
from .feature_contracts import LOSS
from .model_contracts import own_engine
from .registry import check
from .view import TargetView

OUTPUT_BASE = "ModelOutput"
"""The base of all outputs in Transformers: a dict whose keys, the fields of the class, are attributes as well."""
_OF_THE_BASE = frozenset({*dir(OrderedDict), "to_tuple"})


@check(LOSS)
def output_attributes(view: TargetView) -> list[Finding]:
    """Every attribute that the training step reads unguarded is one of the class that `forward` returns."""
    if view.is_framework:
        return _reads_that_fail(view.facts)
    return [
        Finding("model.output_attribute", lack.args, path=lack.path, line=lack.line, value=lack.args["name"])
        for lack in _lacks(view)
    ]


def _reads_that_fail(facts: StaticFacts) -> list[Finding]:
    """The same from the other side: reads of the training step, with the models whose output they do not fit."""
    models: dict[str, set[str]] = {}
    for target in facts.targets:
        for lack in _lacks(TargetView(facts, target)):
            models.setdefault(lack.args["name"], set()).add(lack.args["function"])
    return [
        Finding("model.output_attribute_read", {"name": name, "functions": ", ".join(sorted(models[name]))}, path, line)
        for name, (path, line) in _reads(facts).items()
        if name in models
    ]


@dataclass(frozen=True)
class _Lack:
    path: str | None
    line: int
    args: dict[str, str]


def _lacks(view: TargetView) -> Iterator[_Lack]:
    """Attributes that the output of a target's model does not have."""
    model = model_of(view)
    if model is None or model.ref is None or model.ref.kind != "class" or own_engine(view):
        return
    index = index_of(view.facts)
    method = index.method(model.ref, "forward")
    if method is None:
        return
    module, function = method
    # a tuple beside a class is for callers that ask for one
    outputs = [text for text in function.returned if text != TUPLE] or function.returned
    known = [_attributes(index, index.resolve(module, text, function.qualname), text) for text in outputs]
    for name, (path, line) in _reads(view.facts).items():
        if known and all(names is not None and name not in names for names in known):
            args = {
                "function": function.qualname,
                "name": name,
                "output": ", ".join(outputs),
                "source": f"{path}:{line}",
            }
            yield _Lack(index.path_of(module), function.line, args)


def _attributes(index: Index, ref: Ref | None, text: str) -> frozenset[str] | None:
    """The attributes of an output class or a tuple, None when they cannot be known."""
    if text == TUPLE:
        return frozenset(dir(tuple))
    if ref is None or ref.kind != "class":
        return None
    chain, foreign = index.linear(ref)
    if any(name.rsplit(".", 1)[-1] != OUTPUT_BASE for name in foreign) or any(facts.dynamic for _, facts in chain):
        return None
    names = {name for _, facts in chain for name in [*facts.class_attrs, *facts.self_sets]}
    names.update(field.name for _, facts in chain for field in facts.fields)
    return frozenset(names | _OF_THE_BASE)


@per_facts
def _reads(facts: StaticFacts) -> dict[str, tuple[str, int]]:
    """Attributes that the training engine reads on the result of its call of the model -> where."""
    found: dict[str, tuple[str, int]] = {}
    for module, function in framework_functions(facts, "/train/"):
        for callee in ("self.model", "model"):
            for name, line in function.result_reads.get(callee, {}).items():
                found.setdefault(name, (module.path, line))
    return found
