"""Small readers of AST expressions: dotted names, signatures, constants."""

from __future__ import annotations

import ast
from typing import Any

from ..analysis.conditions import dotted_text
from ..facts.source import Signature

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def dotted(node: ast.AST | None) -> str | None:
    """`a.b.c` as text, `super().m` included; None for anything that is not a plain chain of names."""
    if type(node) is ast.Name:
        return node.id
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is ast.Name:
        parts.append(node.id)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        parts.append("super()")
    else:
        return None
    return ".".join(reversed(parts))


def signature_of(node: FunctionNode | ast.Lambda) -> Signature:
    """The parameters of a function definition or lambda."""
    args = node.args
    return Signature(
        params=[a.arg for a in args.posonlyargs] + [a.arg for a in args.args],
        posonly=len(args.posonlyargs),
        defaults=len(args.defaults),
        kwonly=[a.arg for a in args.kwonlyargs],
        kwonly_required=[
            a.arg for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None
        ],
        varargs=args.vararg.arg if args.vararg else None,
        varkw=args.kwarg.arg if args.kwarg else None,
    )


def annotations_of(node: FunctionNode) -> dict[str, str]:
    """Parameter annotations as source text."""
    args = node.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return {a.arg: annotation_text(a.annotation) for a in named if a.annotation is not None}


def annotation_text(node: ast.expr) -> str:
    """An annotation as source text, quotes of a forward reference taken off."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return source_text(node)


def source_text(node: ast.expr) -> str:
    """What `ast.unparse` gives, much sooner for the chains of names that types and tests mostly are."""
    text = _plain_text(node)
    return ast.unparse(node) if text is None else text


_OPERATORS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def _plain_text(node: ast.expr) -> str | None:
    """The text of names, subscripts of them, tests of one of them and `x | y`; None for anything else."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        return dotted_text(node)
    if isinstance(node, ast.Subscript):
        value = dotted_text(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        texts = [text for text in map(_operand_text, items) if text is not None]
        if value is None or len(texts) < len(items) or (isinstance(node.slice, ast.Tuple) and len(items) < 2):
            return None
        return f"{value}[{', '.join(texts)}]"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _joined(node.left, _OPERATORS[type(node.ops[0])], node.comparators[0])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and not isinstance(node.left, ast.BinOp):
        return _joined(node.left, "|", node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        operand = dotted_text(node.operand)
        return None if operand is None else f"not {operand}"
    return None


def _joined(left: ast.expr, operator: str, right: ast.expr) -> str | None:
    before, after = _operand_text(left), _operand_text(right)
    return None if before is None or after is None else f"{before} {operator} {after}"


def _operand_text(node: ast.expr) -> str | None:
    """The text of what needs no brackets wherever it stands."""
    if isinstance(node, ast.Constant):
        plain = node.value is None or (isinstance(node.value, (bool, int, str)) and node.kind is None)
        return repr(node.value) if plain else None
    return _plain_text(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else None


def constant(node: ast.AST | None) -> tuple[bool, Any]:
    """(is it a JSON constant, its value), for constants, lists, dicts and negative numbers."""
    try:
        value = ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False, None
    return _is_json(value), value


def _is_json(value: Any) -> bool:
    if value is None or isinstance(value, (bool, int, float, str)):
        return True
    if isinstance(value, list):
        return all(_is_json(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    return False


def string_of(node: ast.AST | None) -> str | None:
    """The value of a string constant, None for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
