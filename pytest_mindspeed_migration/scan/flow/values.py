"""The abstract values that are followed."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...analysis.index import Ref

DEEPEST = 6
"""Levels of nesting that are told apart."""


@dataclass(frozen=True)
class Node:
    """A node of the configuration; "" is the root."""

    path: str

    def child(self, key: str) -> Node:
        """The node below this one under a key; the node itself where no configuration is that deep (recursive code)."""
        if self.path.count(".") + self.path.count("[") >= DEEPEST:
            return self
        return Node(f"{self.path}.{key}" if self.path else key)

    @property
    def item(self) -> Node:
        """Any item of this node, when it is a list; a list of lists is not told apart."""
        return self if self.path.endswith("[]") else Node(f"{self.path}[]")


@dataclass(frozen=True)
class Instance:
    """An object of a class of the repo."""

    cls: Ref


@dataclass(frozen=True)
class Code:
    """A class or function of the repo; `receiver` is bound to its first parameter."""

    ref: Ref
    receiver: Value | None = None


@dataclass(frozen=True)
class Module:
    """A module of the repo."""

    name: str


@dataclass(frozen=True)
class Register:
    """One of the framework's registers, or its bound `get`."""

    name: str
    method: str = ""


@dataclass(frozen=True)
class NodeMethod:
    """A bound method of a node: `to_dict`, `get`, `items`, ..."""

    node: Node
    name: str


@dataclass(frozen=True)
class Mapping:
    """A dict display, or keyword arguments packed into `**kwargs`; `site` names where it was made."""

    site: str


@dataclass(frozen=True)
class Partial:
    """`functools.partial(...)`; `site` names where it was made."""

    site: str


@dataclass(frozen=True)
class Inherited:
    """A method that a class of the repo has from another package, if at all: it is not handed the YAML."""

    name: str


Value = Node | Instance | Code | Module | Register | NodeMethod | Mapping | Partial | Inherited
Values = frozenset[Value]
NOTHING: Values = frozenset()


@dataclass
class Arguments:
    """Evaluated arguments of a call."""

    positional: list[Values] = field(default_factory=list)
    keywords: dict[str, Values] = field(default_factory=dict)
    star: list[Values] = field(default_factory=list)
    double_star: list[Values] = field(default_factory=list)

    def every(self) -> Values:
        """All values that are handed over in any way."""
        found: set[Value] = set()
        for group in (self.positional, self.keywords.values(), self.star, self.double_star):
            for values in group:
                found |= values
        return frozenset(found)
