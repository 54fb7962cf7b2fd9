"""Whether a key of the YAML is read, by which code, for one target: only code the target's trainer reaches counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from ..facts.flow import Escape, KeyRead, KeyWrite, NodeBinding
from ..facts.static import StaticFacts
from .index import index_of
from .memo import per_facts
from .plugins import plugins_of
from .schema import Schema, SchemaClass, root_of


@per_facts
def schema_of(facts: StaticFacts) -> Schema:
    """The schema classes of the framework."""
    index = index_of(facts)
    return Schema(index, root_of(index, [], facts.repo.package))


@per_facts
def readers_of(facts: StaticFacts, name: str) -> Readers:
    """Readers of the configuration as one target runs it."""
    plugins = plugins_of(facts, name)
    index = index_of(facts)
    return Readers(facts, (index.path_of(module) for module in plugins.reach.modules()))


@per_facts
def bound_in_code(facts: StaticFacts, name: str) -> list[tuple[str, SchemaClass, NodeBinding]]:
    """Nodes that a target's own code binds to a class (`Arguments(**section)`), beside what the schema tree says."""
    schema, index, readers = schema_of(facts), index_of(facts), readers_of(facts, name)
    found = []
    for item in facts.flow.bindings:
        owner = schema.cls(index.lookup(item.module, item.qualname)) if item.path in readers.paths else None
        known = schema.node(item.node)
        if owner is not None and (known is None or known.ref != owner.ref):
            found.append((item.node, owner, item))
    return found


@per_facts
def all_readers(facts: StaticFacts) -> Readers:
    """Every reader in the FSDP2 package, for judging the framework itself."""
    return Readers(facts, facts.modules)


class Readers:
    """Reads of configuration keys by a set of files."""

    def __init__(self, facts: StaticFacts, paths: Iterable[str | None]) -> None:
        self.paths = {path for path in paths if path is not None}
        self._flow = facts.flow

    @cached_property
    def reads(self) -> dict[tuple[str, str], list[KeyRead]]:
        """(node, key) -> the reads of it."""
        found: dict[tuple[str, str], list[KeyRead]] = {}
        for item in self._flow.reads:
            if item.path in self.paths:
                found.setdefault((item.node, item.key), []).append(item)
        return found

    @cached_property
    def _keys_of(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node, key in self.reads:
            found.setdefault(node, []).append(key)
        return found

    @cached_property
    def escapes(self) -> dict[str, list[Escape]]:
        """Node -> where it leaves what can be followed."""
        found: dict[str, list[Escape]] = {}
        for item in self._flow.escapes:
            if item.path in self.paths:
                found.setdefault(item.node, []).append(item)
        return found

    def of(self, node: str, key: str) -> list[KeyRead]:
        """The reads of a key."""
        return self.reads.get((node, key), [])

    def keys_of(self, node: str) -> list[str]:
        """Keys that some code reads of a node."""
        return self._keys_of.get(node, [])

    def lost(self, node: str) -> Escape | None:
        """Where the node, or one above it, is handed to code that cannot be followed: its keys may be read there."""
        for ancestor in ancestors(node):
            if ancestor in self.escapes:
                return self.escapes[ancestor][0]
        return None

    def maybe(self, key: str) -> bool:
        """Whether some code reads this name on a receiver of unknown type: it may be the configuration."""
        return any(path in self.paths for path in self._flow.untyped.get(key, ()))

    def used(self, node: str, key: str) -> bool:
        """Whether the key is read, or may be."""
        return bool(self.of(node, key)) or self.lost(node) is not None or self.maybe(key)

    def writes(self, node: str, key: str) -> list[KeyWrite]:
        """Where code assigns the key itself."""
        return self._writes.get((node, key), [])

    @cached_property
    def _writes(self) -> dict[tuple[str, str], list[KeyWrite]]:
        found: dict[tuple[str, str], list[KeyWrite]] = {}
        for item in self._flow.writes:
            if item.path in self.paths:
                found.setdefault((item.node, item.key), []).append(item)
        return found

    def nodes_of(self, key: str) -> list[str]:
        """Nodes that some code reads this key of, in the order the reads were found."""
        return self._nodes_of.get(key, [])

    @cached_property
    def _nodes_of(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node, key in self.reads:
            found.setdefault(key, []).append(node)
        return found


def ancestors(path: str) -> Iterator[str]:
    """The path itself and every path above it, the root ("") last."""
    while path:
        yield path
        cut = max(path.rfind("."), path.rfind("["))
        path = path[:cut] if cut > 0 else ""
    yield ""
