"""The module tree of a registered model class, as far as `self.x = Class(...)` in the repo tells it.

Where the text does not tell (classes of other packages, factories, arguments, classes patched at run time), the tree is
opaque: anything may be below, so a pattern that reaches into it is left to a level that builds the model.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ..facts.source import ChildFacts, ClassFacts
from ..facts.static import StaticFacts
from .index import Index, Ref, index_of
from .memo import per_facts
from .patterns import INDEX, Pattern, States

Kind = Literal["module", "list", "leaf", "opaque"]

MAX_DEPTH = 24
BUILDERS = ("_from_config", "from_config", "from_pretrained")
COMPOSITE = {"MultiheadAttention", "Module", "Container"}
"""Classes of torch.nn that have children of their own, or could be anything."""
NO_CHILDREN = {"object", "ABC", "Module", "GenerationMixin", "GradientCheckpointingLayer", "Generic", "Protocol"}
"""Bases outside the repo that bring no child modules; so do classes named *PreTrainedModel and *Mixin."""


@dataclass(frozen=True)
class Test:
    """A condition under which a child exists: source text, and the class whose `self` it speaks of."""

    text: str
    owner: Ref


@dataclass
class Branch:
    """One way a child can come about."""

    node: Node
    tests: tuple[Test, ...] = ()


@dataclass
class Node:
    """A module, known or not. `path`/`line`: where its class is written, or where it is assigned."""

    kind: Kind
    tree: Tree
    ref: Ref | None = None
    path: str = ""
    line: int = 0
    label: str = ""
    elements: list[Node] = field(default_factory=list)  # of a list: its possible element classes

    @cached_property
    def children(self) -> dict[str, list[Branch]]:
        """Named children; of a list, the one key `#`."""
        if self.kind == "list":
            return {INDEX: [Branch(node) for node in self.elements]}
        return self.tree.children(self) if self.kind == "module" and self.ref else {}

    @cached_property
    def open(self) -> frozenset[str] | None:
        """Names that may be modules although the text does not say so; None: every name may."""
        if self.kind == "opaque":
            return None
        return self.tree.open_names(self) if self.kind == "module" and self.ref else frozenset()


@dataclass(frozen=True)
class Hit:
    """A module that a pattern matches. `trail`: the nodes on the way, root first, each with its symbolic path."""

    path: str
    node: Node
    tests: tuple[Test, ...]
    trail: tuple[tuple[str, Node], ...]


@dataclass
class Match:
    """What a pattern means for a tree."""

    hits: list[Hit] = field(default_factory=list)
    opaque: list[tuple[str, Node, tuple[tuple[str, Node], ...]]] = field(default_factory=list)  # it may match below
    end: tuple[str, Node] | None = None  # the deepest known module whose name begins like the pattern

    @property
    def possible(self) -> bool:
        """Whether it can match anything at all."""
        return bool(self.hits or self.opaque)


class Tree:
    """Modules below one root. Nodes are made on demand and kept by class."""

    def __init__(self, index: Index, root: Ref, patched: frozenset[str] = frozenset()) -> None:
        self.index = index
        self._patched = patched
        self._nodes: dict[Ref, Node] = {}
        self.root = self._node_of(root)

    def match(self, pattern: Pattern) -> Match:
        """Everything the pattern matches, and every opaque module it could match below."""
        result = Match(end=("", self.root))
        self._walk(pattern, self.root, "", pattern.start, (), (("", self.root),), result)
        return result

    def walk(self, absent: Callable[[tuple[Test, ...]], bool] | None = None) -> Iterator[tuple[str, Node]]:
        """Every known module with its symbolic path, a class that contains itself cut off.

        `absent` tells from a child's conditions that it is not there; it and what is below it are left out.
        """
        stack: list[tuple[str, Node, tuple[Ref, ...]]] = [("", self.root, ())]
        while stack:
            path, node, above = stack.pop()
            yield path, node
            if node.ref in above or len(above) > MAX_DEPTH:
                continue
            inside = (*above, node.ref) if node.ref else above
            for name, branches in reversed(node.children.items()):
                child = f"{path}.{name}" if path else name
                stack.extend(
                    (child, branch.node, inside)
                    for branch in branches
                    if absent is None or not branch.tests or not absent(branch.tests)
                )

    def _walk(
        self,
        pattern: Pattern,
        node: Node,
        path: str,
        states: States,
        tests: tuple[Test, ...],
        trail: tuple[tuple[str, Node], ...],
        result: Match,
    ) -> None:
        if pattern.accepts(states):
            result.hits.append(Hit(path, node, tests, trail))
        below = pattern.feed(states, ".") if path else states
        if not below or len(trail) > MAX_DEPTH:
            return
        if node.kind == "opaque":
            result.opaque.append((path, node, trail))
            return
        if result.end is None or path.count(".") > result.end[0].count(".") or not result.end[0]:
            result.end = (path, node)
        for name, branches in node.children.items():
            after = pattern.feed(below, name)
            if after:
                child = f"{path}.{name}" if path else name
                for branch in branches:
                    if branch.node.ref is not None and sum(branch.node is seen for _, seen in trail) > 1:
                        continue  # a class that contains itself
                    self._walk(
                        pattern,
                        branch.node,
                        child,
                        after,
                        (*tests, *branch.tests),
                        (*trail, (child, branch.node)),
                        result,
                    )
        self._open(pattern, node, path, below, trail, result)

    def _open(
        self,
        pattern: Pattern,
        node: Node,
        path: str,
        below: States,
        trail: tuple[tuple[str, Node], ...],
        result: Match,
    ) -> None:
        """Names that the class sets in ways that do not tell whether they are modules."""
        names = node.open
        if names is None or any(pattern.feed(below, name) for name in names if name not in node.children):
            result.opaque.append((path, node, trail))

    # classes

    def _node_of(self, ref: Ref | None, path: str = "", line: int = 0, label: str = "") -> Node:
        """The node of what a name means."""
        if ref is not None and ref.kind == "class":
            if ref not in self._nodes:
                facts = self.index.classes(ref.module).get(ref.qualname)
                if facts is None or ref.qualname.rsplit(".", 1)[-1] in self._patched:
                    return Node("opaque", self, None, path, line, label or ref.qualname)
                where = self.index.path_of(ref.module) or ""
                self._nodes[ref] = Node("module", self, ref, where, facts.line, ref.qualname)
            return self._nodes[ref]
        if ref is not None and ref.kind == "external" and ref.module.split(".")[0] == "torch":
            name = ref.full.rsplit(".", 1)[-1]
            if ".nn." in f".{ref.full}" and name[:1].isupper() and not _composite(name):
                return Node("leaf", self, None, path, line, name)
        return Node("opaque", self, None, path, line, label or (ref.qualname if ref else ""))

    def children(self, node: Node) -> dict[str, list[Branch]]:
        """Children of a class node: its own, then those of bases that it does not assign itself."""
        assert node.ref is not None
        found: dict[str, list[Branch]] = {}
        for module, facts in self.index.linear(node.ref)[0]:
            own: dict[str, list[Branch]] = {}
            sequences: dict[tuple[str, int], int] = {}
            for child in facts.children:
                if child.name in found:
                    continue
                self._add(own, child, module, facts, node.ref, sequences)
            found.update({name: branches for name, branches in own.items() if branches})
        return found

    def _add(
        self,
        own: dict[str, list[Branch]],
        child: ChildFacts,
        module: str,
        facts: ClassFacts,
        owner: Ref,
        sequences: dict[tuple[str, int], int],
    ) -> None:
        branches = own.setdefault(child.name, [])
        if child.callee == "None" or child.callee.startswith(f"self.{child.name}."):
            return  # no module, or the module itself again (`self.x = self.x.to(...)`)
        if child.callee == "?" and child.method != "__init__" and child.method.startswith("set_"):
            return  # a setter: nobody calls it while the model is built
        tests = (Test(child.condition, owner),) if child.condition else ()
        node = self._child_node(child, module, f"{facts.qualname}.{child.method}", owner)
        if node is None:
            return
        if not child.container or child.container == "dict":
            branches.append(Branch(node if not child.container else self._opaque(child, module), tests))
            return
        holder = next((b.node for b in branches if b.node.kind == "list" and b.node.line == child.line), None)
        if holder is None:
            path = self.index.path_of(module) or ""
            holder = Node("list", self, None, path, child.line, child.container)
            branches.append(Branch(holder, tests))
        if child.container == "sequential":
            holder.elements.append(Node("opaque", self, None, holder.path, child.line, child.callee))
        else:
            holder.elements.append(node)

    def _opaque(self, child: ChildFacts, module: str) -> Node:
        return Node("opaque", self, None, self.index.path_of(module) or "", child.line, child.callee)

    def _child_node(self, child: ChildFacts, module: str, scope: str, owner: Ref) -> Node | None:
        """The node that `callee(...)` makes; None when it plainly makes no module."""
        callee = child.callee
        path = self.index.path_of(module) or ""
        for builder in BUILDERS:
            if callee.endswith(f".{builder}"):
                callee = callee[: -len(builder) - 1]
        ref = None if callee == "?" else self.index.resolve(module, callee, scope) or self._alias(callee, owner)
        if ref is None and hasattr(builtins, callee):
            return None
        if ref is not None and ref.kind == "class" and not self._is_module(ref):
            return None
        if ref is not None and ref.full in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return None
        if ref is not None and ref.kind == "external" and ref.full in ("torch.tensor", "torch.zeros", "torch.ones"):
            return None
        return self._node_of(ref, path, child.line, child.callee)

    def _alias(self, callee: str, owner: Ref) -> Ref | None:
        """The class behind `self.name(...)`, where the class body of the owner or of a base says `name = Class`."""
        root, _, name = callee.partition(".")
        if root != "self":
            return None
        for module, facts in self.index.linear(owner)[0]:
            if name in facts.self_sets:
                return None
            if name in facts.class_aliases:
                return self.index.resolve(module, facts.class_aliases[name], facts.qualname.rpartition(".")[0])
        return None

    def _is_module(self, ref: Ref) -> bool:
        """Whether a class of the repo can be a module: it has a base that the repo does not define."""
        chain, foreign = self.index.linear(ref)
        return not chain or any(base not in ("abc.ABC", "ABC", "object", "dict", "list", "str") for base in foreign)

    def open_names(self, node: Node) -> frozenset[str] | None:
        """Names of a class that may be modules although no assignment says which; None: any name may be one."""
        assert node.ref is not None
        chain, foreign = self.index.linear(node.ref)
        if any(not _brings_nothing(base) for base in foreign):
            return None
        names: set[str] = set()
        for _, facts in chain:
            if facts.dynamic:
                return None
            names.update(facts.self_sets)
            names.update(name for name in facts.class_attrs if name not in facts.self_sets and not name.startswith("_"))
        return frozenset(names - set(node.children) - self._plain(chain))

    def _plain(self, chain: list[tuple[str, ClassFacts]]) -> set[str]:
        """Names that are assigned and known to hold no module: methods, None, plain values."""
        plain: set[str] = set()
        for module, facts in chain:
            plain.update(child.name for child in facts.children)
            prefix = f"{facts.qualname}."
            plain.update(n[len(prefix) :] for n in self.index.functions(module) if n.startswith(prefix))
        return plain


def _composite(name: str) -> bool:
    return name in COMPOSITE or name.startswith("Transformer") or name in ("ModuleList", "ModuleDict", "Sequential")


def _brings_nothing(base: str) -> bool:
    name = base.rsplit(".", 1)[-1]
    if ".nn." in f".{base}" or base.startswith("nn."):
        return not _composite(name) or name == "Module"
    return name in NO_CHILDREN or name.endswith(("PreTrainedModel", "Mixin"))


@per_facts
def patched_classes(facts: StaticFacts) -> frozenset[str]:
    """Names of classes that some code of the repo replaces at run time (`module.Class = Other`)."""
    found: set[str] = set()
    for module in facts.modules.values():
        for function in module.functions:
            found.update(text.rsplit(".", 1)[-1] for text in function.patches)
            found.update(write.target.rsplit(".", 1)[-1] for write in function.writes)
    return frozenset(name for name in found if name[:1].isupper())


@per_facts
def tree_of(facts: StaticFacts, root: Ref) -> Tree:
    """The module tree below a class of the repo."""
    return Tree(index_of(facts), root, patched_classes(facts))
