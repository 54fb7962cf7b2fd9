"""Values a function chooses by: the texts a name may have, when it raises for every other one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .expressions import FunctionNode, dotted, string_of
from .nodes import walk
from .results import own_nodes

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def choices(function: FunctionNode, compares: dict[str, list[str]]) -> dict[str, list[str]]:
    """Parameter or key -> texts that are handled: an `if` chain ends in `else: raise`, or a row of them in `raise`.

    Args:
        function: the function to look at.
        compares: every text a name is compared with in it; a text that is handled anywhere is not refused.
    """
    names = {name for statements in _blocks(function.body) for name in _chains(statements)}
    names.update(_row(function.body))
    values = _assigned(function) if names else {}
    keys = {name: _key_of(values, name) for name in sorted(names)}
    return {key: list(compares.get(name, ())) for name, key in keys.items() if key is not None}


def _chains(statements: list[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        if not isinstance(statement, ast.If):
            continue
        tested, last = {_compared(statement.test)}, statement.orelse
        while len(last) == 1 and isinstance(last[0], ast.If):
            tested.add(_compared(last[0].test))
            last = last[0].orelse
        name = tested.pop()
        if name is not None and not tested and last and isinstance(last[-1], ast.Raise):
            yield name


def _row(statements: list[ast.stmt]) -> Iterator[str]:
    """`if x == "a": return ...` once or more, then `raise`, with the name in what is raised."""
    if not isinstance(statements[-1], ast.Raise):
        return
    raised = {text for node in walk(statements[-1]) if (text := dotted(node))}
    for statement in reversed(statements[:-1]):
        if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[-1], ast.Return):
            return
        name = _compared(statement.test)
        if name is None:
            return
        if name in raised:
            yield name


def _compared(test: ast.expr) -> str | None:
    """The name in `name == "text"` and `name in ("text", ...)`, when the test is nothing else."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.In)):
        return None
    right = test.comparators[0]
    items = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else [right]
    return dotted(test.left) if items and all(string_of(item) is not None for item in items) else None


def _assigned(function: FunctionNode) -> dict[str, list[ast.expr | None]]:
    """What each name of a function is assigned, None where that is no expression (a loop)."""
    values: dict[str, list[ast.expr | None]] = {}
    for node in own_nodes(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            name = dotted(target)
            if name is not None:
                values.setdefault(name, []).append(getattr(node, "value", None))
    return values


def _key_of(values: dict[str, list[ast.expr | None]], name: str) -> str | None:
    """The key whose value the name holds as it is; None for a text that was changed first, say to lower case."""
    keys = {_read_key(value) for value in values.get(name, ())}
    return name if not keys else keys.pop() if len(keys) == 1 else None


def _read_key(value: ast.expr | None) -> str | None:
    if isinstance(value, ast.Attribute):
        return value.attr
    if isinstance(value, ast.Subscript):
        return string_of(value.slice)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("pop", "get"):
        return string_of(value.args[0]) if value.args else None
    return None


def _blocks(statements: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Every list of statements of a function; the `elif` of a chain is part of the list its `if` stands in."""
    yield statements
    for statement in statements:
        if isinstance(statement, _SCOPES):
            continue
        for inner in (getattr(statement, name, None) for name in ("body", "finalbody", "orelse")):
            if not inner:
                continue
            if isinstance(statement, ast.If) and inner is statement.orelse and isinstance(inner[0], ast.If):
                yield from _bodies(inner[0])
            else:
                yield from _blocks(inner)
        for handler in getattr(statement, "handlers", ()):
            yield from _blocks(handler.body)


def _bodies(link: ast.If) -> Iterator[list[ast.stmt]]:
    yield from _blocks(link.body)
    if link.orelse and isinstance(link.orelse[0], ast.If):
        yield from _bodies(link.orelse[0])
    elif link.orelse:
        yield from _blocks(link.orelse)
