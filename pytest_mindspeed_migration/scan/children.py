"""Child modules of a class as its `__init__` writes them: `self.x = Class(...)`, `ModuleList([Class(...) ...])`."""

from __future__ import annotations

import ast

from ..facts.source import ChildFacts
from .expressions import dotted, source_text

CONTAINERS = {"ModuleList": "list", "Sequential": "sequential", "ModuleDict": "dict"}
UNKNOWN = "?"


class LocalModules:
    """What a function's local names hold, where it matters for children: callees, lists of them, loop variables."""

    def __init__(self) -> None:
        self.callees: dict[str, list[str]] = {}
        self.lists: dict[str, list[str]] = {}
        self.loops: dict[str, str] = {}  # loop variable -> "self.layers[]"; registry result -> "<model_register>"

    def assign(self, name: str, value: ast.expr) -> None:
        """`name = value`."""
        register = _register_lookup(value)
        if register is not None:
            self.loops[name] = f"<{register}>"
        elif isinstance(value, (ast.List, ast.ListComp)):
            self.lists[name] = _elements(value, self)
        elif isinstance(value, (ast.Call, ast.IfExp)) or (isinstance(value, ast.Name) and value.id in self.callees):
            self.callees[name] = self.callees.get(name, []) + [
                child.callee for child in children_of(name, value, self, 0, None, "") if not child.container
            ]

    def stands_for(self, callee: str) -> str:
        """The callee with a loop variable or the result of a register look-up put in its place."""
        root, dot, rest = callee.partition(".")
        known = self.loops.get(root)
        return callee if known is None or (dot and not known.startswith("<")) else f"{known}{dot}{rest}"

    def append(self, node: ast.expr) -> None:
        """`name.append(Class(...))` as a statement."""
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "append"
            and node.args
        ):
            name = dotted(node.func.value)
            if name in self.lists:
                self.lists[name].extend(_callees(node.args[0], self))

    def loop(self, target: ast.expr, iterable: ast.expr, receiver: str | None) -> None:
        """`for layer in self.layers`, also through enumerate, reversed, zip and slices."""
        if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if iterable.func.id == "enumerate" and len(names) == 2 and iterable.args:
                self.loop(names[1], iterable.args[0], receiver)
            elif iterable.func.id == "reversed" and iterable.args:
                self.loop(target, iterable.args[0], receiver)
            elif iterable.func.id == "zip":
                for name, part in zip(names, iterable.args, strict=False):
                    self.loop(name, part, receiver)
            return
        while isinstance(iterable, ast.Subscript) and isinstance(iterable.slice, ast.Slice):
            iterable = iterable.value
        text = dotted(iterable)
        if (
            isinstance(target, ast.Name)
            and text
            and receiver
            and text.startswith(f"{receiver}.")
            and text.count(".") == 1
        ):
            self.loops[target.id] = f"{text}[]"


def children_of(
    name: str, value: ast.expr, local: LocalModules, line: int, condition: str | None, method: str
) -> list[ChildFacts]:
    """The children that `self.<name> = value` makes; an empty list where the value is plainly not a module."""

    def child(callee: str, container: str = "", extra: str | None = None) -> ChildFacts:
        tests = " and ".join(text for text in (condition, extra) if text) or None
        return ChildFacts(name, callee, line, container, tests, method)  # type: ignore[arg-type]

    if isinstance(value, ast.IfExp):
        test = source_text(value.test)
        both = [condition, test] if condition else [test]
        otherwise = [condition, f"not ({test})"] if condition else [f"not ({test})"]
        return [
            *children_of(name, value.body, local, line, " and ".join(both), method),
            *children_of(name, value.orelse, local, line, " and ".join(otherwise), method),
        ]
    if isinstance(value, ast.Constant):
        return [child("None")] if value.value is None else []
    if isinstance(value, ast.Name):
        return [child(callee) for callee in local.callees.get(value.id, [UNKNOWN])]
    if isinstance(value, ast.Call):
        callee = dotted(value.func)
        if callee is None:
            return [child(UNKNOWN)]
        container = CONTAINERS.get(callee.rsplit(".", 1)[-1])
        if container is None:
            return [child(callee)]
        if container == "dict":
            return [child(UNKNOWN, container)]
        if container == "sequential" and not (len(value.args) == 1 and isinstance(value.args[0], ast.Starred)):
            return [child(_one(argument, local), container) for argument in value.args]
        argument = value.args[0] if value.args else None
        if isinstance(argument, ast.Starred):
            argument = argument.value
        return [child(callee, container) for callee in (_elements(argument, local) if argument is not None else [])]
    if isinstance(value, (ast.BoolOp, ast.Subscript, ast.Await)):
        return [child(UNKNOWN)]
    return []


def _register_lookup(node: ast.expr) -> str | None:
    """`model_register.get(model_id)`: the name of the register."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "get":
        return None
    register = dotted(node.func.value)
    return register if register is not None and register.endswith("register") else None


def _elements(node: ast.expr, local: LocalModules) -> list[str]:
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _callees(node.elt, local)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [callee for item in node.elts for callee in _callees(item, local)]
    if isinstance(node, ast.Name) and node.id in local.lists:
        return local.lists[node.id]
    return [UNKNOWN]


def _callees(node: ast.expr, local: LocalModules) -> list[str]:
    if isinstance(node, ast.IfExp):
        return [*_callees(node.body, local), *_callees(node.orelse, local)]
    if isinstance(node, ast.Call):
        return [dotted(node.func) or UNKNOWN]
    if isinstance(node, ast.Name) and node.id in local.callees:
        return local.callees[node.id]
    return [UNKNOWN]


def _one(node: ast.expr, local: LocalModules) -> str:
    found = _callees(node, local)
    return found[0] if len(found) == 1 else UNKNOWN
