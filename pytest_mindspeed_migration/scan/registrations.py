"""Registrations in all the forms in use: decorator, call, entry of a collator table."""

from __future__ import annotations

import ast

from ..facts.source import RegistrationFacts
from .expressions import FunctionNode, dotted, string_of


def decorator_registration(node: FunctionNode | ast.ClassDef, strings: dict[str, str]) -> RegistrationFacts | None:
    """`@model_register.register("id")` above a class or function."""
    for decorator in node.decorator_list:
        found = _register_call(decorator, strings)
        if found is not None:
            register, identifier, line = found
            return RegistrationFacts(register, identifier, node.name, line)
    return None


def statement_registration(node: ast.expr, strings: dict[str, str]) -> list[RegistrationFacts]:
    """`model_register.register("id")(obj)`, also assigned to a name, and `_register_data_collator("id", cls)`."""
    if not isinstance(node, ast.Call):
        return []
    found = _register_call(node.func, strings)
    if found is not None and node.args:
        register, identifier, line = found
        target = node.args[0]
        name = dotted(target) or (dotted(target.func) if isinstance(target, ast.Call) else None) or "?"
        return [RegistrationFacts(register, identifier, name, line)]
    callee = dotted(node.func) or ""
    if "register" in callee.lower() and "collator" in callee.lower() and len(node.args) > 1:
        key = _text(node.args[0], strings)
        if key is not None:
            return [RegistrationFacts(callee, key, dotted(node.args[1]) or "?", node.lineno)]
    return []


def collator_table(name: str, node: ast.expr) -> list[RegistrationFacts]:
    """`DATA_COLLATOR = {"id": Class, ...}`."""
    if "collator" not in name.lower() or not isinstance(node, ast.Dict):
        return []
    found = []
    for key, value in zip(node.keys, node.values, strict=True):
        text = string_of(key)
        if text is not None:
            found.append(RegistrationFacts(name, text, dotted(value) or "?", value.lineno))
    return found


def _register_call(node: ast.expr, strings: dict[str, str]) -> tuple[str, str, int] | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "register":
        register = dotted(node.func.value)
        arguments = [*node.args, *[keyword.value for keyword in node.keywords]]
        identifier = _text(arguments[0], strings) if len(arguments) == 1 else None
        if register is not None and identifier is not None:
            return register, identifier, node.lineno
    return None


def _text(node: ast.expr, strings: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return strings.get(node.id)
    return string_of(node)
