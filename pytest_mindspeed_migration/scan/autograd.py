"""The two halves of a `torch.autograd.Function` as its class writes them: what `forward` gives, `backward` uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..facts.source import AutogradFacts
from .expressions import FunctionNode, signature_of, string_of
from .results import own_nodes, own_statements

BASE = "Function"


def autograd_of(node: ast.ClassDef, bases: list[str]) -> AutogradFacts | None:
    """Facts of a class with that base and both static methods; None for any other class."""
    if not any(base.rsplit(".", 1)[-1] == BASE for base in bases):
        return None
    methods = {item.name: item for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))}
    forward, backward = methods.get("forward"), methods.get("backward")
    if forward is None or backward is None:
        return None
    setup = methods.get("setup_context")
    given, taken = signature_of(forward), signature_of(backward)
    facts = AutogradFacts(
        line=backward.lineno,
        inputs=None if given.varargs else len(given.params) - (setup is None),
        outputs=_outputs(forward),
        accepted=[len(taken.params) - 1 - taken.defaults, -1 if taken.varargs else len(taken.params) - 1],
    )
    facts.stored = _stored(forward if setup is None else setup)
    facts.read = _read(backward)
    for item in _returns(backward):
        if isinstance(item.value, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in item.value.elts):
            values = item.value.elts
            used = [place + 1 for place, value in enumerate(values) if not _is_none(value)]
            facts.gradients.append([item.lineno, max(used, default=0), len(values)])
    return facts


def _returns(function: FunctionNode) -> Iterator[ast.Return]:
    for node in own_statements(function):
        if isinstance(node, ast.Return):
            yield node


def _outputs(function: FunctionNode) -> int | None:
    """How many outputs every `return` gives, None when one of them does not tell."""
    counts = {
        len(item.value.elts)
        if isinstance(item.value, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in item.value.elts)
        else None
        for item in _returns(function)
    }
    return next(iter(counts)) if len(counts) == 1 else None


def _context(function: FunctionNode) -> str | None:
    names = [*function.args.posonlyargs, *function.args.args]
    return names[0].arg if names else None


def _stored(function: FunctionNode) -> list[str] | None:
    """Attributes set on the context; None when it is handed on, so that others may set more."""
    context, found = _context(function), set[str]()
    uses = attributes = 0
    for node in own_nodes(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == context:
            attributes += 1
            if not isinstance(node.ctx, ast.Load):
                found.add(node.attr)
        uses += isinstance(node, ast.Name) and node.id == context
    return sorted(found) if uses == attributes else None


def _read(function: FunctionNode) -> dict[str, int]:
    """Attributes read on the context, without those the function tests or sets itself."""
    context, found, known = _context(function), dict[str, int](), set[str]()
    for node in own_nodes(function):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == context:
            if isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, node.lineno)
            else:
                known.add(node.attr)
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            known.add(string_of(node.args[1]) or "")
    return {name: line for name, line in found.items() if name not in known}


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
