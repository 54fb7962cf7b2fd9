"""Checks a document against the JSON Schemas of this package.

`jsonschema` takes as long to import as judging a whole target, so the part of JSON Schema that our own schemas use is
checked here; a test holds the two against each other. Files that users write are still validated with `jsonschema`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

KEYWORDS = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "required", "properties",
    "additionalProperties", "items", "enum", "const", "pattern", "minimum",
}  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


class MismatchError(ValueError):
    """A document does not match its schema; the text names the place."""


def check(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, where: str = "$") -> None:
    """Check `value` against `schema`.

    Raises:
        MismatchError: for the first place that differs.
        NotImplementedError: for a keyword this module does not know.
    """
    root = schema if root is None else root
    if unknown := set(schema) - KEYWORDS:
        raise NotImplementedError(f"JSON Schema keywords {sorted(unknown)}")
    if "$ref" in schema:
        check(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, where)
        return
    _check_scalar(value, schema, where)
    if isinstance(value, dict):
        _check_object(value, schema, root, where)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            check(item, schema["items"], root, f"{where}[{index}]")


def _check_scalar(value: Any, schema: Mapping[str, Any], where: str) -> None:
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if not any(_is(value, name) for name in names):
            raise MismatchError(f"{where}: {type(value).__name__} instead of {' or '.join(names)}")
    if "enum" in schema and value not in schema["enum"]:
        raise MismatchError(f"{where}: {value!r} is not one of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        raise MismatchError(f"{where}: {value!r} instead of {schema['const']!r}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        raise MismatchError(f"{where}: {value!r} does not match {schema['pattern']}")
    if "minimum" in schema and isinstance(value, (int, float)) and value < schema["minimum"]:
        raise MismatchError(f"{where}: {value!r} is below {schema['minimum']}")


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> None:
    properties = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            raise MismatchError(f"{where}: {key!r} is missing")
    for key, item in value.items():
        if key in properties:
            check(item, properties[key], root, f"{where}.{key}")
        elif schema.get("additionalProperties") is False:
            raise MismatchError(f"{where}: {key!r} is not expected")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])
