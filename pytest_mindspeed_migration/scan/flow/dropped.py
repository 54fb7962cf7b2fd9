"""Parameters that an early return does not hand on.

`if special: return build_special(model, lr, betas)` in a function that also takes `lr_scaling_plan` and uses it further
down: on that path the option has no effect.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..expressions import FunctionNode, dotted
from .values import Node, Values

FORWARDED = 4
"""How many own parameters a call must hand on before leaving one out counts as an omission."""


class Dropped(NamedTuple):
    """One configuration value that gets lost, and the call that loses it."""

    node: Node
    callee: str
    line: int


def dropped_parameters(function: FunctionNode, names: dict[str, Values]) -> Iterator[Dropped]:
    """Find `if ...: return other(<own parameters>)` that leaves out a parameter used only after it."""
    parameters = {a.arg for a in [*function.args.args, *function.args.kwonlyargs]}
    for number, statement in enumerate(function.body):
        if not isinstance(statement, ast.If) or statement.orelse:
            continue
        last = statement.body[-1]
        if not (isinstance(last, ast.Return) and isinstance(last.value, ast.Call)):
            continue
        before = set().union(*(_used(item) for item in function.body[:number]), _used(statement))
        after = (
            set().union(*(_used(item) for item in function.body[number + 1 :]))
            if function.body[number + 1 :]
            else set()
        )
        if len(_used(last.value) & parameters) < FORWARDED:
            continue
        for name in sorted((after & parameters) - before):
            for value in names.get(name, ()):
                if isinstance(value, Node) and value.path:
                    yield Dropped(value, dotted(last.value.func) or "?", last.lineno)


def _used(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
