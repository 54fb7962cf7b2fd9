"""What an import runs: modules and the functions they call at import time, with the way each is reached."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from ..facts.source import CallFacts, ImportFacts
from ..facts.static import StaticFacts
from .index import Index, index_of, parents
from .memo import per_facts


class Certainty(IntEnum):
    """How sure it is that something runs when the roots are imported."""

    ALWAYS = 0
    MAYBE = 1  # behind a condition or a `try`
    LATER = 2  # only when a function is called


class Node(NamedTuple):
    """A module, or with `function` (its qualname) a function that runs at import."""

    module: str
    function: str = ""


class Step(NamedTuple):
    """How a node is reached: from which node, at which line."""

    origin: Node
    line: int


class ImportGraph:
    """What each module and function runs next, worked out once for all targets."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: dict[Node, list[tuple[Node, int, Certainty]]] = {}

    def edges(self, node: Node) -> list[tuple[Node, int, Certainty]]:
        """(next node, line, certainty) of everything the node imports or calls."""
        if node not in self._known:
            self._known[node] = list(self._edges(node))
        return self._known[node]

    def _edges(self, node: Node) -> Iterator[tuple[Node, int, Certainty]]:
        facts = self.index.modules.get(node.module)
        if facts is None:
            return
        for item in facts.imports:
            certainty = _certainty(item, node.function)
            if certainty is not None:
                for module in imported_modules(self.index, item):
                    yield Node(module), item.line, certainty
        for call in self.index.calls_in(node.module, node.function):
            target = self._called(node.module, call)
            if target is not None:
                yield target, call.line, Certainty.MAYBE if call.guarded else Certainty.ALWAYS

    def _called(self, module: str, call: CallFacts) -> Node | None:
        ref = self.index.resolve(module, call.callee, call.scope)
        if ref is None:
            return None
        if ref.kind == "class":
            method = self.index.method(ref, "__init__")
            return Node(method[0], method[1].qualname) if method else None
        return Node(ref.module, ref.qualname) if ref.kind == "function" else None


class Reach:
    """The closure of a set of modules under import, each node with its certainty and its cause."""

    def __init__(self, graph: ImportGraph, roots: Iterable[str]) -> None:
        self._graph = graph
        self.certainty: dict[Node, Certainty] = {}
        self.cause: dict[Node, Step | None] = {}
        self._close(roots)

    def runs(self, module: str) -> Certainty | None:
        """How sure it is that importing the roots runs this module; None when nothing imports it."""
        return self.certainty.get(Node(module))

    def modules(self, at_most: Certainty = Certainty.LATER) -> list[str]:
        """The modules reached, in the order they were found."""
        return [node.module for node, level in self.certainty.items() if not node.function and level <= at_most]

    def nodes(self, at_most: Certainty) -> list[Node]:
        """Modules and functions that run."""
        return [node for node, level in self.certainty.items() if level <= at_most]

    def way(self, node: Node) -> list[tuple[Node, int]]:
        """From a root to the node: each node on the way with the line at which it leads on (0 for the last)."""
        steps = [(node, 0)]
        while (step := self.cause[steps[0][0]]) is not None:
            steps.insert(0, (step.origin, step.line))
        return steps

    def _close(self, roots: Iterable[str]) -> None:
        known, edges = self.certainty, self._graph.edges
        queues: list[deque[tuple[Node, Node | None, int]]] = [deque() for _ in Certainty]
        for root in roots:
            queues[Certainty.ALWAYS].extend((Node(module), None, 0) for module in [*parents(root), root])
        for level, queue in zip(Certainty, queues, strict=True):
            while queue:
                node, origin, line = queue.popleft()
                if node in known:
                    continue
                known[node] = level
                self.cause[node] = Step(origin, line) if origin is not None else None
                for target, at, certainty in edges(node):
                    if target not in known:
                        queues[certainty if certainty > level else level].append((target, node, at))


@per_facts
def graph_of(facts: StaticFacts) -> ImportGraph:
    """The import graph of a set of facts."""
    return ImportGraph(index_of(facts))


def imported_modules(index: Index, item: ImportFacts) -> list[str]:
    """The modules of the repo that one import statement runs, outermost package first; missing ones are left out."""
    if not index.in_repo(item.module):
        return []
    found = [*parents(item.module), item.module]
    child = f"{item.module}.{item.name}"
    if item.name not in (None, "*") and index.path_of(child):
        facts = index.modules.get(item.module)
        if facts is None or item.name not in facts.names or index.names_module(item.module, str(item.name)):
            found.append(child)
    return [module for module in found if index.path_of(module)]


def _certainty(item: ImportFacts, function: str) -> Certainty | None:
    """Whether an import runs with the node: with its module, with the function that is called, or later."""
    if item.scope == "type_checking":
        return None
    if item.scope == "function":
        if function:
            same = item.function == function
            return (Certainty.MAYBE if item.guarded else Certainty.ALWAYS) if same else None
        return Certainty.LATER
    if function:
        return None
    return Certainty.MAYBE if item.guarded else Certainty.ALWAYS
