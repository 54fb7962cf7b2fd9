"""What is known so far, and who has to look again when it grows."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable
from typing import Any

from ...analysis.index import Ref
from .values import NOTHING, Instance, Mapping, Node, Partial, Value, Values


class State:
    """Cells of abstract values (parameters, attributes, returns, globals) with the functions that depend on them."""

    def __init__(self) -> None:
        self._cells: dict[Hashable, frozenset[Any]] = {}
        self._readers: defaultdict[Hashable, set[Ref]] = defaultdict(set)
        self._queue: deque[Ref] = deque()
        self._queued: set[Ref] = set()
        self.visited: set[Ref] = set()
        self._owners: set[Ref] = set()  # classes whose instances hold anything

    @property
    def carriers(self) -> list[Ref]:
        """Classes whose instances hold configuration."""
        return [owner for owner in self._owners if self._carries(Instance(owner), None)]

    def get(self, cell: Hashable, reader: Ref | None) -> frozenset[Any]:
        """Values of a cell; `reader` looks again when it grows."""
        if reader is not None:
            self._readers[cell].add(reader)
        return self._cells.get(cell, NOTHING)

    def add(self, cell: Hashable, values: frozenset[Any]) -> None:
        """Add values to a cell."""
        known = self._cells.get(cell, NOTHING)
        if not values <= known:
            self._cells[cell] = known | values
            for reader in self._readers.get(cell, ()):
                self.enqueue(reader)

    def put(self, mapping: Mapping, key: str, values: Values) -> None:
        """Add values under a key of a mapping."""
        self.add(("keys", mapping), frozenset([key]))
        self.add(("key", mapping, key), values)
        self.add(("held", mapping), _may_carry(values))

    def entries(self, mapping: Mapping, reader: Ref | None) -> dict[str, Values]:
        """What is known of a mapping."""
        return {key: self.get(("key", mapping, key), reader) for key in sorted(self.get(("keys", mapping), reader))}

    def set_attribute(self, owner: Ref, name: str, values: Values) -> None:
        """Add values to an attribute of the instances of a class."""
        self.add(("attribute", owner, name), values)
        self._owners.add(owner)
        self.add(("held", owner), _may_carry(values))

    def enqueue(self, function: Ref) -> None:
        """Have a function read (again)."""
        if function not in self._queued:
            self._queued.add(function)
            self._queue.append(function)

    def next(self) -> Ref | None:
        """The next function to read."""
        if not self._queue:
            return None
        function = self._queue.popleft()
        self._queued.discard(function)
        self.visited.add(function)
        return function

    def carries(self, values: Values, reader: Ref | None) -> bool:
        """Whether any of the values is, or holds, a part of the configuration."""
        return any(self._carries(value, reader) for value in values)

    def _carries(self, value: Value, reader: Ref | None, inside: frozenset[Hashable] = frozenset()) -> bool:
        """What an object holds may begin to carry something later: who asked looks again then."""
        if isinstance(value, (Node, Partial)):
            return True
        if not isinstance(value, (Instance, Mapping)):
            return False
        holder = value.cls if isinstance(value, Instance) else value
        held = self.get(("held", holder), reader) if holder not in inside else NOTHING
        return any(self._carries(item, reader, inside | {holder}) for item in held)


def _may_carry(values: Values) -> Values:
    return frozenset(value for value in values if isinstance(value, (Node, Partial, Instance, Mapping)))
