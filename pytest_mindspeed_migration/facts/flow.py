"""Where configuration values go: which code reads which key of which YAML node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

How = Literal["attribute", "item", "get", "getattr", "hasattr", "bind"]


@dataclass
class KeyRead:
    """Code that reads `key` of the configuration node `node` (a dotted path, "" for the root)."""

    node: str
    key: str
    path: str
    line: int
    how: How = "attribute"
    guarded: bool = False  # under a condition, or in a `try`


@dataclass
class Escape:
    """A whole node that leaves what can be followed (handed to another package, iterated): all its keys may be read."""

    node: str
    path: str
    line: int
    reason: str


@dataclass
class NodeBinding:
    """`Class(**node)`: the code itself binds a node to a schema class."""

    node: str
    module: str
    qualname: str
    path: str
    line: int


@dataclass
class KeyWrite:
    """Code that assigns `key` of a node, so that a value from the YAML is replaced."""

    node: str
    key: str
    path: str
    line: int
    method: str  # qualname of the function that writes
    guarded: bool = False


@dataclass
class DroppedParameter:
    """A function that hands its parameters on in an early return, all but one that carries a configuration value."""

    node: str  # dotted path of the value, `training.lr_scaling_plan`
    function: str
    callee: str
    path: str
    line: int


@dataclass
class FlowFacts:
    """Result of following the configuration through the code."""

    reads: list[KeyRead] = field(default_factory=list)
    escapes: list[Escape] = field(default_factory=list)
    bindings: list[NodeBinding] = field(default_factory=list)
    writes: list[KeyWrite] = field(default_factory=list)
    dropped: list[DroppedParameter] = field(default_factory=list)
    rejected: list[KeyRead] = field(default_factory=list)  # `f(**node)` where f takes no such key: how="bind"
    closed_calls: list[NodeBinding] = field(default_factory=list)  # `f(**node)` where f takes named keys only
    untyped: dict[str, dict[str, int]] = field(default_factory=dict)  # key -> {path: line} read on unknown receivers
