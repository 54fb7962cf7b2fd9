"""Values of the YAML that the code which reads them answers with an exception, although their type is right."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.hub import own_trainer
from ..analysis.index import index_of
from ..analysis.memo import per_facts
from ..analysis.readers import readers_of, schema_of
from ..facts.source import FunctionFacts, ModuleFacts
from ..facts.static import StaticFacts
from ..findings import Finding, near
from .registry import check
from .view import TargetView


@check("config.types")
def values_are_ones_that_are_handled(view: TargetView) -> list[Finding]:
    """A text is one of those that the function it goes to knows: it raises for any other (`dataloader_mode`).

    The function stands in the file that reads the key, or has a parameter of the key's name and is imported there.
    Values that the schema restricts itself (`Literal`) are judged by their declared type, and a default is never wrong.
    A trainer of the target's own may take another way than the functions of the framework.
    """
    config = view.config
    if config is None or config.data is None or own_trainer(view) is not None:
        return []
    found = []
    for (node, key), reads in readers_of(view.facts, view.target.name).reads.items():
        path = f"{node}.{key}" if node else key
        value = config.get(path)
        if not isinstance(value, str) or _is_judged_by_type(view, node, key, value):
            continue
        known = _handled(view.facts, key, frozenset(read.path for read in reads))
        if known is not None and value not in known[1]:
            function, texts = known
            found.append(
                Finding(
                    "schema.choice",
                    {"function": function},
                    path=config.path,
                    line=config.line_of(path),
                    yaml_path=path,
                    value=value,
                    expected=", ".join(texts),
                    suggestion=near(value, texts),
                )
            )
    return found


def _is_judged_by_type(view: TargetView, node: str, key: str, value: str) -> bool:
    owner = schema_of(view.facts).node(node)
    field = owner.fields.get(key) if owner is not None else None
    return field is not None and ("Literal" in field.type.text or field.default == value)


@per_facts
def _handled(facts: StaticFacts, key: str, readers: frozenset[str]) -> tuple[str, list[str]] | None:
    """A function that chooses by `key`, and all texts that any such function handles."""
    functions = [(module, function) for module, function in _candidates(facts, readers) if key in function.choices]
    if not functions:
        return None
    module, function = functions[0]
    texts = dict.fromkeys(text for _, other in functions for text in other.choices[key])
    return f"{function.qualname} ({module.path}:{function.line})", list(texts)


def _candidates(facts: StaticFacts, readers: frozenset[str]) -> Iterator[tuple[ModuleFacts, FunctionFacts]]:
    index = index_of(facts)
    for path in sorted(readers):
        reader = facts.modules.get(path)
        if reader is None:
            continue
        yield from ((reader, function) for function in reader.functions)
        for item in reader.imports:
            imported = index.modules.get(item.module)
            if imported is not None and imported.path != path:
                yield from (
                    (imported, function)
                    for function in imported.functions
                    if function.qualname == item.name and function.choices.keys() & set(function.signature.params)
                )
