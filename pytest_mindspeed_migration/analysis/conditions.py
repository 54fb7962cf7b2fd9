"""Evaluates tests found in source text as far as known values tell: true, false, or not known."""

from __future__ import annotations

import ast
import operator as operators
from collections.abc import Callable
from functools import lru_cache
from typing import Any


class _Unknown:
    """Marks a value that cannot be known from the files."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
Lookup = Callable[[str], Any]
"""Value of a dotted name or of `getattr(x, "key", default)` (given as `x.key`), or UNKNOWN."""


def evaluate(text: str, lookup: Lookup) -> Any:
    """Value of an expression, UNKNOWN where it depends on something `lookup` does not know."""
    tree = _parse(text)
    return UNKNOWN if tree is None else _value(tree, lookup)


def truth(text: str, lookup: Lookup) -> bool | None:
    """Truth of a test; None when it is not known."""
    value = evaluate(text, lookup)
    return None if value is UNKNOWN else bool(value)


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def dotted_text(node: ast.AST) -> str | None:
    """`a.b.c` as text; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _value(node: ast.expr, lookup: Lookup) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Attribute, ast.Name)):
        name = dotted_text(node)
        return UNKNOWN if name is None else lookup(name)
    if isinstance(node, ast.BinOp):
        return _arithmetic(node.op, _value(node.left, lookup), _value(node.right, lookup))
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        items = [_value(item, lookup) for item in node.elts]
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = _value(node.operand, lookup)
        return UNKNOWN if value is UNKNOWN else not value
    if isinstance(node, ast.BoolOp):
        return _bool_op(node, lookup)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compare(node.ops[0], _value(node.left, lookup), _value(node.comparators[0], lookup))
    if isinstance(node, ast.Call):
        return _call(node, lookup)
    return UNKNOWN


def _arithmetic(operator: ast.operator, left: Any, right: Any) -> Any:
    if not all(isinstance(side, (int, float)) for side in (left, right)):
        return UNKNOWN
    function = _ARITHMETIC.get(type(operator))
    try:
        return UNKNOWN if function is None else function(left, right)
    except (ArithmeticError, ValueError):
        return UNKNOWN


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operators.add,
    ast.Sub: operators.sub,
    ast.Mult: operators.mul,
    ast.Div: operators.truediv,
    ast.FloorDiv: operators.floordiv,
    ast.Mod: operators.mod,
}


def _bool_op(node: ast.BoolOp, lookup: Lookup) -> Any:
    values = [_value(value, lookup) for value in node.values]
    decisive = isinstance(node.op, ast.Or)
    if any(value is not UNKNOWN and bool(value) is decisive for value in values):
        return decisive
    return UNKNOWN if any(value is UNKNOWN for value in values) else not decisive


def _compare(operator: ast.cmpop, left: Any, right: Any) -> Any:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    try:
        if isinstance(operator, (ast.Eq, ast.Is)):
            return bool(left == right)
        if isinstance(operator, (ast.NotEq, ast.IsNot)):
            return bool(left != right)
        if isinstance(operator, ast.Gt):
            return bool(left > right)
        if isinstance(operator, ast.GtE):
            return bool(left >= right)
        if isinstance(operator, ast.Lt):
            return bool(left < right)
        if isinstance(operator, ast.LtE):
            return bool(left <= right)
        if isinstance(operator, ast.In):
            return bool(left in right)
        if isinstance(operator, ast.NotIn):
            return bool(left not in right)
    except TypeError:
        return UNKNOWN
    return UNKNOWN


def _call(node: ast.Call, lookup: Lookup) -> Any:
    name = dotted_text(node.func)
    if name in ("bool", "int") and len(node.args) == 1 and not node.keywords:
        value = _value(node.args[0], lookup)
        if value is UNKNOWN:
            return UNKNOWN
        try:
            return bool(value) if name == "bool" else int(value)
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN
    if name == "getattr" and len(node.args) in (2, 3) and isinstance(node.args[1], ast.Constant):
        owner = dotted_text(node.args[0])
        value = UNKNOWN if owner is None else lookup(f"{owner}.{node.args[1].value!s}")
        if value is UNKNOWN and len(node.args) == 3 and owner is not None and lookup(f"{owner}.?") is None:
            return _value(node.args[2], lookup)  # the owner is known and has no such key
        return value
    return UNKNOWN
