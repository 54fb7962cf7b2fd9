"""Schema fields of a class: annotated class-level names with their defaults, and pydantic's `extra`."""

from __future__ import annotations

import ast

from ..facts.source import FieldFacts
from .expressions import annotation_text, constant, dotted, string_of


def fields_of(node: ast.ClassDef) -> list[FieldFacts]:
    """Annotated class-level assignments, in order."""
    found = []
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            annotation = annotation_text(statement.annotation)
            if not annotation.startswith(("ClassVar", "typing.ClassVar")):
                found.append(_field(statement.target.id, statement, annotation))
    return found


def _field(name: str, statement: ast.AnnAssign, annotation: str) -> FieldFacts:
    value = statement.value
    facts = FieldFacts(name, statement.lineno, annotation, has_default=value is not None)
    if isinstance(value, ast.Call) and (dotted(value.func) or "").rsplit(".", 1)[-1] in ("field", "Field"):
        options = {keyword.arg: keyword.value for keyword in value.keywords if keyword.arg}
        facts.init = constant(options.get("init"))[1] is not False
        if "default" in options:
            value = options["default"]
        elif value.args:  # pydantic Field(default, ...)
            value = value.args[0]
        elif "default_factory" in options:
            facts.default = f"<factory:{dotted(options['default_factory']) or '?'}>"
            return facts
        else:
            facts.has_default = False
            return facts
        if isinstance(value, ast.Constant) and value.value is Ellipsis:
            facts.has_default = False
            return facts
    if value is not None:
        known, facts.default = constant(value)
        if not known:
            facts.default = "<expr>"
        facts.default_none = known and facts.default is None
    return facts


def pydantic_extra(node: ast.ClassDef) -> str | None:
    """`class Config: extra = "allow"` or `model_config = ConfigDict(extra="forbid")` of a pydantic class."""
    for statement in node.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Config":
            for inner in statement.body:
                if isinstance(inner, ast.Assign) and any(dotted(t) == "extra" for t in inner.targets):
                    return _extra(inner.value)
        elif isinstance(statement, ast.Assign) and any(dotted(t) == "model_config" for t in statement.targets):
            value = statement.value
            if isinstance(value, ast.Call):
                for keyword in value.keywords:
                    if keyword.arg == "extra":
                        return _extra(keyword.value)
            elif isinstance(value, ast.Dict):
                for key, item in zip(value.keys, value.values, strict=True):
                    if string_of(key) == "extra":
                        return _extra(item)
    return None


def _extra(node: ast.expr) -> str | None:
    return string_of(node) or (dotted(node) or "").rsplit(".", 1)[-1] or None
