"""Functions that call themselves before anything can end them.

Typically a second definition under the name of the one it was to extend: the first is gone, and the call in the second
finds the second.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.source import CallFacts, NameFacts
from .expressions import dotted
from .nodes import walk
from .results import evaluated

_EXITS = (ast.Return, ast.Raise)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def endless_calls(tree: ast.Module, calls: list[CallFacts]) -> list[NameFacts]:
    """Module-level functions and methods of module-level classes whose every run reaches a call of themselves.

    `calls` are the calls of the module: only a function with one of its own name is looked at.
    """
    names = {call.scope for call in calls if _may_be_itself(call)}
    if not names:
        return []
    last = {name: node for node in tree.body for name in _bound_names(node)}
    found: list[NameFacts] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names and last[node.name] is node:
            found.extend(_call_of_itself(node, node.name, node))
        elif isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.args.args]
            methods = [item for item in methods if f"{node.name}.{item.name}" in names]
            endless = [
                (method, call)
                for method in methods
                for call in _call_of_itself(method, f"{method.args.args[0].arg}.{method.name}", node)
            ]
            replaced = _set_attributes(node) if endless else set()
            found.extend(call for method, call in endless if method.name not in replaced)
    return found


def _may_be_itself(call: CallFacts) -> bool:
    owner, _, name = call.callee.rpartition(".")
    return name == call.scope.rpartition(".")[2] != "" and "." not in owner and owner != "super()"


def _set_attributes(node: ast.ClassDef) -> set[str]:
    return {item.attr for item in walk(node) if _is_stored(item) and isinstance(item, ast.Attribute)}


def _bound_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, _DEFINITIONS):
        yield node.name
        return
    for item in walk(node):
        if isinstance(item, ast.Name) and _is_stored(item):
            yield item.id
        elif isinstance(item, ast.alias):
            yield item.asname or item.name
        elif isinstance(item, _DEFINITIONS):
            yield item.name


def _is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def _call_of_itself(function: ast.FunctionDef, callee: str, owner: ast.AST) -> Iterator[NameFacts]:
    nodes = list(walk(function))
    taken = {node.id for node in nodes if isinstance(node, ast.Name) and _is_stored(node)}
    if owner is function:
        taken.update(node.arg for node in nodes if isinstance(node, ast.arg))
    if function.decorator_list or callee.partition(".")[0] in taken:
        return  # the name may stand for something else
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
        return  # calling a generator does not run it
    for node in _reached(function.body):
        if isinstance(node, ast.Call) and dotted(node.func) == callee:
            yield NameFacts(function.name, node.lineno, kind="endless")
            return


def _reached(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """What every run evaluates, up to the first statement that may leave the function or survive an exception."""
    for statement in statements:
        if isinstance(statement, _DEFINITIONS):
            continue
        if isinstance(statement, (ast.If, ast.While)):
            yield from evaluated(statement.test)
        elif isinstance(statement, ast.For):
            yield from evaluated(statement.iter)
        elif isinstance(statement, ast.With):
            yield from _reached(statement.body)
        elif not isinstance(statement, (ast.Try, ast.Match)):
            yield from evaluated(statement)
        if isinstance(statement, ast.Try) or any(isinstance(node, _EXITS) for node in walk(statement)):
            return
