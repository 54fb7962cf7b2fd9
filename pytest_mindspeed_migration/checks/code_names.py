"""`code.names`: names and attributes that are used and that nothing defines."""

from __future__ import annotations

from ..analysis.attributes import attributes
from ..analysis.index import Index, index_of
from ..analysis.memo import per_facts
from ..facts.source import ModuleFacts, NameFacts
from ..facts.static import StaticFacts
from ..findings import Finding, Level, near
from ..scan.names import DYNAMIC_DETAIL, STAR_DETAIL, UNREADABLE_DETAIL
from .ownership import judged_files
from .registry import check
from .view import TargetView


@check("code.names")
def names_are_defined(view: TargetView) -> list[Finding]:
    """Names no scope binds, and names bound on one branch only that are used at import."""
    index = index_of(view.facts)
    found = []
    for path in judged_files(view):
        facts = view.facts.modules[path]
        for item in facts.unbound:
            finding = _name_finding(index, facts, item)
            if finding is not None:
                found.append(finding)
    return found


@check("code.names")
def attributes_are_set(view: TargetView) -> list[Finding]:
    """Attributes read on `self` that neither the class nor anything else sets."""
    return [finding for path in judged_files(view) for finding in _attributes_of(view.facts, path)]


@per_facts
def _attributes_of(facts: StaticFacts, path: str) -> list[Finding]:
    known, module = attributes(facts), facts.modules[path]
    found = []
    for item in module.classes:
        for name, line in known.missing(module, item):
            args = {"class": item.qualname, "name": name}
            suggestion = near(name, [*item.self_sets, *item.class_attrs], 0.75)
            found.append(Finding("names.attribute", args, path, line, suggestion=suggestion))
    return found


def _name_finding(index: Index, facts: ModuleFacts, item: NameFacts) -> Finding | None:
    if item.kind == "maybe_unbound":
        args = {"name": item.name, "other": item.detail}
        return Finding("names.maybe_unbound", args, facts.path, item.line)
    if item.kind == "endless":
        return Finding("names.endless", {"name": item.name}, facts.path, item.line)
    if item.detail == UNREADABLE_DETAIL:
        return Finding("names.not_judged", {}, facts.path, item.line, severity="note")
    if item.detail == STAR_DETAIL and index.lookup(facts.name, item.name) is not None:
        return None
    level: Level = "note" if item.quoted or item.detail == DYNAMIC_DETAIL else "error"
    key = "names.undefined_quoted" if item.quoted else "names.undefined"
    suggestion = " / ".join(item.beside) or near(item.name, facts.names, 0.8)
    return Finding(key, {"name": item.name}, facts.path, item.line, suggestion=suggestion, severity=level)
