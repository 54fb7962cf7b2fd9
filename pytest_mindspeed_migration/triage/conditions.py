"""Rules that tell causes with the same words apart: numbers in the message, its chain, traceback and surroundings."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KEYS = ("numbers", "chained", "trace", "frame", "near", "not_near", "not_trace", "seen", "not_seen", "misspelt")

_UNITS = {"": 1.0, "B": 1.0} | {
    f"{letter}{infix}B": float(1024**power) for power, letter in enumerate("KMGT", 1) for infix in ("", "i")
}
_QUANTITY = re.compile(r"^\s*(-?[\d.]+(?:[eE][-+]?\d+)?)\s*([KMGT]?i?B?)\s*$")
_COMPARE: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_ALLOWED = (ast.Expression, ast.Compare, ast.BinOp, ast.BoolOp, ast.Name, ast.Constant, ast.Load, ast.And, ast.Or)


@dataclass(frozen=True)
class Context:
    """What stands around a line that matched.

    Attributes:
        groups: named groups of the pattern.
        chained: exceptions above it in its chain, one text each.
        trace: lines of its traceback, outermost first.
        frame: the innermost frame of its traceback that is a file: its `File` line and its code.
        near: lines of the same process around it.
        seen: entries found anywhere in the log.
    """

    groups: Mapping[str, str | None]
    chained: Sequence[str] = ()
    trace: Sequence[str] = ()
    frame: str = ""
    near: Sequence[str] = ()
    seen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class When:
    """Conditions of an entry: all have to hold.

    Attributes:
        numbers: comparisons of named groups, such as `tokens < features`; `5 MiB` counts in bytes.
        chained: pattern of an exception above it in the chain.
        trace, not_trace: pattern that a line of its traceback matches, or that none does.
        frame: pattern of the innermost frame: `File` line and code.
        near, not_near: pattern of a line around it, of the same process.
        seen, not_seen: an entry that the log also has, or has not.
        misspelt: by group, names it is nearly but not quite one of.
    """

    numbers: tuple[str, ...] = ()
    chained: str | None = None
    trace: str | None = None
    not_trace: str | None = None
    frame: str | None = None
    near: str | None = None
    not_near: str | None = None
    seen: str | None = None
    not_seen: str | None = None
    misspelt: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def holds(self, context: Context) -> bool:
        """Whether all conditions hold in this context."""
        return (
            self.fits(context.groups)
            and (self.chained is None or _any(self.chained, context.chained))
            and (self.trace is None or _any(self.trace, context.trace))
            and (self.not_trace is None or not _any(self.not_trace, context.trace))
            and (self.frame is None or re.search(self.frame, context.frame) is not None)
            and (self.near is None or _any(self.near, context.near))
            and (self.not_near is None or not _any(self.not_near, context.near))
            and (self.seen is None or self.seen in context.seen)
            and (self.not_seen is None or self.not_seen not in context.seen)
        )

    def fits(self, groups: Mapping[str, str | None]) -> bool:
        """Whether the conditions hold that the line alone decides."""
        return all(compare(expression, groups) for expression in self.numbers) and all(
            nearly(groups.get(group) or "", names) for group, names in self.misspelt.items()
        )


def compare(expression: str, groups: Mapping[str, str | None]) -> bool:
    """Evaluate a comparison of captured numbers; false when one of them was not captured or is not a number."""
    try:
        return bool(_value(ast.parse(expression, mode="eval").body, groups))
    except (LookupError, ZeroDivisionError):
        return False


def names_in(expression: str) -> set[str]:
    """The groups that a comparison uses.

    Raises:
        ValueError: when it is anything but comparisons, arithmetic, `and`, `or` and numbers.
    """
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ValueError(str(error)) from error
    for node in ast.walk(tree):
        allowed = (
            ast.Expression,
            ast.Compare,
            ast.BinOp,
            ast.BoolOp,
            ast.Name,
            ast.Constant,
            ast.Load,
            ast.And,
            ast.Or,
        )
        if not isinstance(node, (*allowed, *_COMPARE, *_ARITHMETIC)):
            raise ValueError(f"{type(node).__name__} is not allowed in {expression!r}")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _value(node: ast.expr, groups: Mapping[str, str | None]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return quantity(groups[node.id] or "")
    if isinstance(node, ast.BinOp):
        return _ARITHMETIC[type(node.op)](_value(node.left, groups), _value(node.right, groups))
    if isinstance(node, ast.BoolOp):
        results = [_value(value, groups) for value in node.values]
        return all(results) if isinstance(node.op, ast.And) else any(results)
    assert isinstance(node, ast.Compare)
    terms = [_value(term, groups) for term in (node.left, *node.comparators)]
    return all(_COMPARE[type(op)](a, b) for op, a, b in zip(node.ops, terms, terms[1:], strict=False))


def quantity(text: str) -> float:
    """A captured number, with its unit of memory if it has one; LookupError when it is none."""
    match = _QUANTITY.match(text)
    if match is None:
        raise LookupError(text)
    return float(match[1]) * _UNITS.get(match[2], 1.0)


def nearly(name: str, names: Sequence[str]) -> bool:
    """Whether `name` is not one of `names` but at most two edits (one in a short name) from one."""
    if not name or name in names:
        return False
    return any(_distance(name, other) <= (2 if len(other) > 6 else 1) for other in names)


def _distance(a: str, b: str) -> int:
    if abs(len(a) - len(b)) > 2:
        return 3
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (left != right))
    return row[-1]


def _any(pattern: str, texts: Sequence[str]) -> bool:
    return any(re.search(pattern, text) for text in texts)
