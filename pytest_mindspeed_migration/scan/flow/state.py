"""What is known so far, and who has to look again when it grows."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable

from ...analysis.index import Ref
from .values import NOTHING, Instance, Mapping, Node, Partial, Value, Values


class State:
    """Cells of abstract values (parameters, attributes, returns, globals) with the functions that depend on them."""

    def __init__(self) -> None:
        self._cells: dict[Hashable, Values] = {}
        self._keys: dict[Mapping, list[str]] = {}
        self._readers: defaultdict[Hashable, set[Ref]] = defaultdict(set)
        self._queue: deque[Ref] = deque()
        self._queued: set[Ref] = set()
        self.visited: set[Ref] = set()
        self.carriers: set[Ref] = set()  # classes whose instances hold configuration

    def get(self, cell: Hashable, reader: Ref | None) -> Values:
        """Values of a cell; `reader` looks again when it grows."""
        if reader is not None:
            self._readers[cell].add(reader)
        return self._cells.get(cell, NOTHING)

    def add(self, cell: Hashable, values: Values) -> None:
        """Add values to a cell."""
        known = self._cells.get(cell, NOTHING)
        if not values <= known:
            self._cells[cell] = known | values
            for reader in self._readers.get(cell, ()):
                self.enqueue(reader)

    def put(self, mapping: Mapping, key: str, values: Values) -> None:
        """Add values under a key of a mapping."""
        keys = self._keys.setdefault(mapping, [])
        if key not in keys:
            keys.append(key)
        self.add(("key", mapping, key), values)
        self.add(("carrier", mapping), frozenset(value for value in values if self._carries(value, None)))

    def entries(self, mapping: Mapping, reader: Ref | None) -> dict[str, Values]:
        """What is known of a mapping."""
        return {key: self.get(("key", mapping, key), reader) for key in self._keys.get(mapping, [])}

    def set_attribute(self, owner: Ref, name: str, values: Values) -> None:
        """Add values to an attribute of the instances of a class."""
        self.add(("attribute", owner, name), values)
        held = frozenset(value for value in values if self._carries(value, None))
        if held:
            self.carriers.add(owner)
            self.add(("carrier", owner), held)

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

    def _carries(self, value: Value, reader: Ref | None) -> bool:
        if isinstance(value, (Node, Partial)):
            return True
        if isinstance(value, Instance):
            return bool(self.get(("carrier", value.cls), reader))
        return isinstance(value, Mapping) and bool(self.get(("carrier", value), reader))
