"""Configs of the older stack against its own loader: a section handed on as keyword arguments takes no other keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..analysis.conditions import UNKNOWN, truth
from ..analysis.index import Index
from ..facts.config import ConfigFacts
from ..facts.source import FunctionFacts
from ..facts.static import StaticFacts
from ..findings import Finding, near
from .registry import check
from .view import TargetView


@check("config.strict_extra")
def sections_of_the_other_stack_bind(view: TargetView) -> list[Finding]:
    """Judged with the framework: these configs are no migration targets, but they share folders and keys with them."""
    if not view.is_framework:
        return []
    index = Index(view.facts.other_modules.values(), view.facts.files, view.facts.repo.package)
    spreads = list(_spreads(view.facts, index))
    found: list[Finding] = []
    for config in view.facts.other_configs.values():
        for path, name, section in _sections(config.data, ""):
            takers = [item for item in spreads if item.section == name and _holds(item.condition, section)]
            if takers:
                found.extend(_unexpected(config, path, section, takers))
    return found


@dataclass(frozen=True)
class _Spread:
    """A call `f(..., **section)` of a function that takes named parameters only."""

    section: str
    condition: str | None
    caller: FunctionFacts
    callee: FunctionFacts
    path: str  # file of the callee

    def takes(self, key: str) -> bool:
        """Whether the call survives a section with this key: a parameter, or taken out before the call."""
        names = {*self.callee.signature.params, *self.callee.signature.kwonly}
        return key in names or key in self.caller.keys


def _spreads(facts: StaticFacts, index: Index) -> Iterator[_Spread]:
    for module in facts.other_modules.values():
        for call in module.calls:
            caller = index.functions(module.name).get(call.scope)
            target = index.resolve(module.name, call.callee, call.scope)
            if len(call.double_star) != 1 or caller is None or target is None or target.kind != "function":
                continue
            callee = index.functions(target.module).get(target.qualname)
            if callee is not None and callee.signature.varkw is None:
                place = index.modules[target.module].path
                yield _Spread(call.double_star[0], call.condition, caller, callee, place)


def _holds(condition: str | None, section: dict[str, Any]) -> bool:
    """Whether the call is made for this section: a local of the name of a key has the key's value."""
    return condition is None or truth(condition, lambda name: section.get(name, UNKNOWN)) is True


def _unexpected(config: ConfigFacts, path: str, section: dict[str, Any], takers: list[_Spread]) -> Iterator[Finding]:
    """Keys that every call the section may go to refuses."""
    first = takers[0]
    for key in section:
        if not any(taker.takes(key) for taker in takers):
            yield Finding(
                "schema.unexpected_keyword",
                {"function": first.callee.qualname, "declared": f"{first.path}:{first.callee.line}"},
                path=config.path,
                line=config.line_of(f"{path}.{key}"),
                yaml_path=f"{path}.{key}",
                value=str(key),
                suggestion=near(str(key), first.callee.signature.params),
            )


def _sections(node: Any, path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(path, name, mapping) of every named mapping of a config."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, dict):
            child = f"{path}.{key}" if path else str(key)
            yield child, str(key), value
            yield from _sections(value, child)
