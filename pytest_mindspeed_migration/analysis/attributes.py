"""Attributes read on `self` that nothing sets: not the class, its bases or subclasses, nor holders of an instance."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.source import ClassFacts, ModuleFacts
from ..facts.static import StaticFacts
from .external import attributes_of
from .index import Index, Ref, index_of
from .memo import per_facts

_NOT_INSTANCES = ("config", "cfg", "args", "plan", "ctx")
"""What a receiver's name ends with that is no instance of a repo class: setting `config.x` gives no module an `x`."""


class Attributes:
    """Which attributes the instances of a repo class can have."""

    def __init__(self, facts: StaticFacts) -> None:
        self.index = index_of(facts)
        self._outside = {
            name
            for module in facts.modules.values()
            for receiver, _, name in (entry.rpartition(".") for entry in module.attrs_set)
            if not receiver.lower().endswith(_NOT_INSTANCES)
        }
        self._subclasses: dict[Ref, list[Ref]] = {}
        for module in facts.modules.values():
            for item in module.classes:
                ref = Ref("class", module.name, item.qualname)
                for base_module, base in self.index.linear(ref)[0][1:]:
                    self._subclasses.setdefault(Ref("class", base_module, base.qualname), []).append(ref)
        self._declared: dict[Ref, frozenset[str] | None] = {}

    def missing(self, module: ModuleFacts, item: ClassFacts) -> Iterator[tuple[str, int]]:
        """(attribute, line) of what the class reads on `self` and nothing can have set; empty where that is unknown."""
        known = self._known(Ref("class", module.name, item.qualname))
        if known is None:
            return
        for name, line in item.self_reads.items():
            mangled = name.startswith("__") and not name.endswith("__")
            if name not in known and name not in self._outside and not mangled:
                yield name, line

    def _known(self, ref: Ref) -> frozenset[str] | None:
        parts = [self._declares(ref), *(self._declares(sub) for sub in self._subclasses.get(ref, []))]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))

    def _declares(self, ref: Ref) -> frozenset[str] | None:
        """Attributes by the class and its bases; None when a base is unknown or attributes are made at run time."""
        if ref not in self._declared:
            self._declared[ref] = _declared(self.index, ref)
        return self._declared[ref]


def _declared(index: Index, ref: Ref) -> frozenset[str] | None:
    chain, foreign = index.linear(ref)
    names: set[str] = set(attributes_of("object") or ())
    for base in foreign:
        known = attributes_of(base)
        if known is None:
            return None
        names |= known
    for _, item in chain:
        if item.dynamic:
            return None
        names.update(item.class_attrs, item.self_sets, (field.name for field in item.fields))
        names.update(child.name for child in item.children)
    return frozenset(names)


@per_facts
def attributes(facts: StaticFacts) -> Attributes:
    """The attributes of all classes of a set of facts."""
    return Attributes(facts)
