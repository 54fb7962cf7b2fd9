"""The YAML against the framework's own schema classes: required keys, types, and keys a strict class refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..analysis.index import index_of
from ..analysis.plugins import plugins_of
from ..analysis.readers import bound_in_code, readers_of, schema_of
from ..analysis.schema import Schema, SchemaClass, TypeExpr
from ..facts.config import ConfigFacts
from ..findings import Finding, near
from .registry import check
from .view import TargetView

_TRUE_FALSE = {"true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0"}
"""Strings that pydantic takes for a bool."""


@check("config.required_fields")
def required_keys_are_written(view: TargetView) -> list[Finding]:
    """Every key without a default is there, in each section the framework builds for this YAML."""
    config, schema = view.config, schema_of(view.facts)
    root = schema.node("")
    if config is None or config.data is None or root is None:
        return []
    return [
        *_missing(schema, config, "", root, config.data),
        *(f for node, owner, data in _bound(view, config) for f in _missing(schema, config, node, owner, data)),
        *_needed_by_code(view, schema, config),
    ]


def _bound(view: TargetView, config: ConfigFacts) -> Iterator[tuple[str, SchemaClass, dict[str, Any]]]:
    """Sections that code hands to a class of its own, with what is written in them."""
    for node, owner, _ in bound_in_code(view.facts, view.target.name):
        data = config.get(node)
        if isinstance(data, dict):
            yield node, owner, data


def _missing(
    schema: Schema, config: ConfigFacts, path: str, owner: SchemaClass, data: dict[str, Any]
) -> Iterator[Finding]:
    for name, field in owner.fields.items():
        child = f"{path}.{name}" if path else name
        nested = schema.node(child)
        if name in data:
            if nested is not None and isinstance(data[name], dict):
                yield from _missing(schema, config, child, nested, data[name])
        elif field.required:
            yield Finding(
                "schema.required",
                {"cls": owner.ref.qualname},
                path=config.path,
                line=config.line_of(path) if path else None,
                yaml_path=child,
                expected=field.type.text,
                suggestion=near(name, [str(key) for key in data]),
            )
        elif nested is not None and str(field.default).startswith("<factory"):
            yield from _missing(schema, config, child, nested, {})


def _needed_by_code(view: TargetView, schema: Schema, config: ConfigFacts) -> Iterator[Finding]:
    """Keys that no class declares and that the target's own code reads without a default."""
    readers, plugins = readers_of(view.facts, view.target.name), plugins_of(view.facts, view.target.name)
    bound = {(node, name) for node, owner, _ in bound_in_code(view.facts, view.target.name) for name in owner.fields}
    for (node, key), reads in readers.reads.items():
        path = f"{node}.{key}" if node else key
        if schema.declared(path) or (node, key) in bound or "[" in node:
            continue
        if readers.writes(node, key) or config.has(path):
            continue
        if node and not isinstance(config.get(node), dict):
            continue  # the section itself is missing, or is no mapping: said elsewhere
        asked = {read.path for read in reads if read.how in ("getattr", "hasattr", "get")}
        for read in reads:
            if read.path in asked:
                continue
            if read.how in ("attribute", "item") and not read.guarded and plugins.owns(read.path):
                written = config.get(node) if node else config.data
                yield Finding(
                    "schema.needed",
                    {"reader": f"{read.path}:{read.line}"},
                    path=config.path,
                    line=config.line_of(node),
                    yaml_path=path,
                    suggestion=near(key, [str(k) for k in written]) if isinstance(written, dict) else None,
                    severity="error" if _runs(view, read.path) else "note",
                )
                break


def _runs(view: TargetView, path: str) -> bool:
    """Whether the file is imported for sure, and is no helper for another entry point."""
    plugins = plugins_of(view.facts, view.target.name)
    index = index_of(view.facts)
    level = next((plugins.reach.runs(name) for name, facts in index.modules.items() if facts.path == path), None)
    return level is not None and level <= 1


@check("config.types")
def values_have_the_declared_types(view: TargetView) -> list[Finding]:
    """Values are of the declared types, where the framework validates them (pydantic generation)."""
    config, schema = view.config, schema_of(view.facts)
    root = schema.node("")
    if config is None or config.data is None or root is None:
        return []
    return [
        *_wrong_types(schema, config, "", root, config.data),
        *(f for node, owner, data in _bound(view, config) for f in _wrong_types(schema, config, node, owner, data)),
        *_mappings_read_as_objects(view, schema, config),
    ]


def _wrong_types(
    schema: Schema, config: ConfigFacts, path: str, owner: SchemaClass, data: dict[str, Any]
) -> Iterator[Finding]:
    for name, field in owner.fields.items():
        if name not in data:
            continue
        child = f"{path}.{name}" if path else name
        value, nested = data[name], schema.node(child)
        if nested is not None and isinstance(value, dict):
            yield from _wrong_types(schema, config, child, nested, value)
        elif owner.validates and not accepts(field.type, value):
            literals = _literals(field.type)
            yield Finding(
                "schema.null" if value is None else "schema.type",
                {"cls": owner.ref.qualname, "declared": f"{field.path}:{field.line}"},
                path=config.path,
                line=config.line_of(child),
                yaml_path=child,
                value=_shown(value),
                expected=field.type.text,
                suggestion=near(str(value), literals) if literals else None,
            )


def accepts(expected: TypeExpr, value: Any) -> bool:
    """Whether pydantic, in its lax mode, takes a YAML value for a type (pydantic's conversion table)."""
    kind = expected.kind
    if kind in ("any", "other"):
        return True
    if kind == "none":
        return value is None
    if kind == "union":
        return any(accepts(arg, value) for arg in expected.args)
    if value is None:
        return False
    if kind == "literal":
        return any(value == item and type(value) is type(item) for item in expected.literals)
    if kind == "bool":
        return isinstance(value, bool) or value in (0, 1) or (isinstance(value, str) and value.lower() in _TRUE_FALSE)
    if kind == "int":
        return _is_number(value) and float(value).is_integer()
    if kind == "float":
        return _is_number(value)
    if kind == "str":
        return isinstance(value, str)
    if kind == "list":
        return isinstance(value, list) and all(accepts(arg, item) for arg in expected.args for item in value)
    return isinstance(value, dict)


def _is_number(value: Any) -> bool:
    """A number, or text that spells one: YAML 1.1 reads 1e-6 as text, and pydantic converts it."""
    if isinstance(value, (int, float)):
        return True
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return isinstance(value, str)


def _literals(expected: TypeExpr) -> list[str]:
    found = [str(item) for item in expected.literals]
    return found + [item for arg in expected.args for item in _literals(arg)]


def _shown(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _may_build(expected: TypeExpr) -> bool:
    """Whether pydantic may make an object of a mapping: the type is a class that the repo does not define."""
    return expected.kind == "other" or any(_may_build(arg) for arg in expected.args if expected.kind == "union")


def _mappings_read_as_objects(view: TargetView, schema: Schema, config: ConfigFacts) -> Iterator[Finding]:
    """An undeclared mapping stays a plain dict under pydantic: `config.sampling.top_p` raises AttributeError."""
    readers = readers_of(view.facts, view.target.name)
    objects = {node for node, _, _ in bound_in_code(view.facts, view.target.name)}
    for (node, key), reads in readers.reads.items():
        if not isinstance(config.get(node), dict) or schema.node(node) is not None or "[" in node or node in objects:
            continue
        owner = schema.node(node.rpartition(".")[0])
        declared = schema.declared(node)
        if owner is None or not owner.validates or (declared is not None and _may_build(declared.type)):
            continue
        for read in reads:
            if read.how == "attribute" and not read.guarded:
                yield Finding(
                    "schema.dict_attribute",
                    {"node": node, "key": key, "yaml": f"{config.path}:{config.line_of(node)}"},
                    path=read.path,
                    line=read.line,
                    yaml_path=f"{node}.{key}",
                    expected=f'["{key}"]',
                )


@check("config.strict_extra")
def strict_classes_get_only_declared_keys(view: TargetView) -> list[Finding]:
    """No undeclared key reaches a class, or a function with named parameters only, that refuses it."""
    config, schema = view.config, schema_of(view.facts)
    root = schema.node("")
    if config is None or config.data is None or root is None:
        return []
    return [
        *_refused(schema, config, "", root, config.data),
        *(f for node, owner, data in _bound(view, config) for f in _refused(schema, config, node, owner, data)),
        *_refused_by_calls(view, config),
    ]


def _refused(
    schema: Schema, config: ConfigFacts, path: str, owner: SchemaClass, data: dict[str, Any]
) -> Iterator[Finding]:
    for key, value in data.items():
        child = f"{path}.{key}" if path else str(key)
        if path == "" and key in config.anchor_only:
            continue
        if key in owner.fields:
            nested = schema.node(child)
            if nested is not None and isinstance(value, dict):
                yield from _refused(schema, config, child, nested, value)
        elif owner.extra == "forbid":
            places = [place for place in schema.places_of(str(key)) if place != child]
            yield Finding(
                "schema.refused",
                {"cls": owner.ref.qualname, "declared": f"{owner.path}:{owner.line}"},
                path=config.path,
                line=config.line_of(child),
                yaml_path=child,
                value=str(key),
                suggestion=near(str(key), owner.fields) or (places[0] if places else None),
            )


def _refused_by_calls(view: TargetView, config: ConfigFacts) -> Iterator[Finding]:
    index, readers = index_of(view.facts), readers_of(view.facts, view.target.name)
    for call in view.facts.flow.closed_calls:
        data = config.get(call.node)
        function = index.functions(call.module).get(call.qualname)
        if call.path not in readers.paths or function is None or not isinstance(data, dict):
            continue
        names = {*function.signature.params, *function.signature.kwonly}
        for key in data:
            taken_out = any(read.how == "get" for read in readers.of(call.node, str(key)))
            if key not in names and not taken_out:
                yield Finding(
                    "schema.unexpected_keyword",
                    {"function": call.qualname, "declared": f"{call.path}:{call.line}"},
                    path=config.path,
                    line=config.line_of(f"{call.node}.{key}"),
                    yaml_path=f"{call.node}.{key}",
                    value=str(key),
                    suggestion=near(str(key), names),
                )
