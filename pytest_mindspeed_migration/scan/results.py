"""What a function does with the results of calls: attributes it reads on them, and what it returns itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .expressions import FunctionNode, dotted
from .nodes import children

UNKNOWN, TUPLE = "?", "tuple"
"""A returned value that cannot be told, and one that is a tuple."""

_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def attributes_of_results(function: FunctionNode) -> dict[str, dict[str, int]]:
    """Attributes read on the result of a call with `**arguments`: callee -> attribute -> line.

    Only what every run reads counts: nothing that stands under a condition, in a `try` or behind an early exit.
    """
    callees: dict[str, set[str | None]] = {}
    for node in own_statements(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        callees.setdefault(name.id, set()).add(_callee(node.value) if name is target else None)
    names = {name: next(iter(found)) for name, found in callees.items() if len(found) == 1}
    found: dict[str, dict[str, int]] = {}
    for use in _certain(function.body):
        if isinstance(use, ast.Attribute) and isinstance(use.value, ast.Name) and isinstance(use.ctx, ast.Load):
            callee = names.get(use.value.id)
            if callee is not None:
                found.setdefault(callee, {}).setdefault(use.attr, use.lineno)
    return found


def returned(function: FunctionNode) -> list[str]:
    """What a function returns: dotted callees of the calls, `TUPLE` for tuples, else `UNKNOWN`."""
    values: dict[str, list[ast.expr]] = {}
    results: list[ast.expr] = []
    for node in own_statements(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            results.append(node.value)
    return sorted({text for value in results for text in _shapes(value, values)})


def _shapes(value: ast.expr, values: dict[str, list[ast.expr]]) -> Iterator[str]:
    if isinstance(value, ast.IfExp):
        yield from _shapes(value.body, values)
        yield from _shapes(value.orelse, values)
    elif isinstance(value, ast.Name) and len(values.get(value.id, ())) == 1:
        yield from _shapes(values[value.id][0], {})
    elif isinstance(value, ast.Call):
        yield dotted(value.func) or UNKNOWN
    elif isinstance(value, ast.Tuple) or (isinstance(value, ast.BinOp) and isinstance(value.left, ast.Tuple)):
        yield TUPLE
    else:
        yield UNKNOWN


def _callee(value: ast.expr) -> str | None:
    """Callee of a call that gets `**arguments`."""
    if isinstance(value, ast.Call) and any(keyword.arg is None for keyword in value.keywords):
        return dotted(value.func)
    return None


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function, without those of the functions and classes in it, in the order of the text."""
    pending = children(root)[::-1]
    while pending:
        node = pending.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield node
            pending.extend(children(node)[::-1])


def own_statements(root: ast.AST) -> Iterator[ast.stmt]:
    """Statements among the own nodes of a function, in the order of the text, without a look into expressions."""
    pending = children(root)[::-1]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
            pending.extend(children(node)[::-1])
        elif isinstance(node, (ast.excepthandler, ast.match_case)):
            pending.extend(children(node)[::-1])


def _certain(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes that run whenever the block runs to its end; a loop counts as run."""
    for statement in statements:
        if isinstance(statement, ast.If):
            yield from evaluated(statement.test)
            if any(isinstance(body[-1], _ENDS) for body in (statement.body, statement.orelse) if body):
                return
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            yield from evaluated(statement.iter)
            yield from _certain(statement.body)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _certain(statement.body)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            yield from evaluated(statement)


def evaluated(root: ast.AST) -> Iterator[ast.AST]:
    """Nodes of an expression, without the parts that a condition may skip."""
    yield root
    if isinstance(root, ast.IfExp):
        yield from evaluated(root.test)
    elif isinstance(root, ast.BoolOp):
        yield from evaluated(root.values[0])
    elif not isinstance(root, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for node in children(root):
            yield from evaluated(node)
