"""What a schema class demands of its values: the steps of `model_post_init` (pydantic), `__post_init__` (dataclass)."""

from __future__ import annotations

import ast

from ..facts.source import StepFacts
from .expressions import dotted, source_text

METHODS = ("model_post_init", "__post_init__")
UNKNOWN = "?"


def validation_of(node: ast.ClassDef) -> list[StepFacts]:
    """The steps of a class's own validation, an empty list where it has none."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name in METHODS and item.args.args:
            steps = _steps(item.body, item.args.args[0].arg)
            return steps if any(_refuses(step) for step in steps) else []
    return []


def _refuses(step: StepFacts) -> bool:
    return step.kind == "raise" or any(_refuses(inner) for inner in [*step.body, *step.orelse])


def _steps(statements: list[ast.stmt], receiver: str) -> list[StepFacts]:
    found: list[StepFacts] = []
    for statement in statements:
        found.extend(_step(statement, receiver))
    return found


def _step(node: ast.stmt, receiver: str) -> list[StepFacts]:
    if isinstance(node, ast.If):
        body, orelse = _steps(node.body, receiver), _steps(node.orelse, receiver)
        return [StepFacts("if", node.lineno, text=source_text(node.test), body=body, orelse=orelse)]
    if isinstance(node, ast.Raise):
        return [StepFacts("raise", node.lineno)]
    if isinstance(node, ast.Assert):
        refusal = StepFacts("raise", node.lineno)
        return [StepFacts("if", node.lineno, text=f"not ({source_text(node.test)})", body=[refusal])]
    if isinstance(node, ast.Return):
        return [StepFacts("return", node.lineno)]
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = dotted(node.targets[0])
        if target is not None:
            return [StepFacts("set", node.lineno, target, source_text(node.value))]
    changed = sorted(
        {
            text
            for item in ast.walk(node)
            if isinstance(item, (ast.Attribute, ast.Name)) and isinstance(item.ctx, ast.Store)
            for text in (dotted(item),)
            if text is not None
        }
    )
    return [StepFacts("set", node.lineno, target, UNKNOWN) for target in changed]
