"""Checks a document against the JSON Schemas of this package.

`jsonschema` takes as long to import as judging a whole target, so the part of JSON Schema that our own schemas use is
checked here; a test holds the two against each other. Files that users write are still validated with `jsonschema`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


def check(value: Any, schema: Mapping[str, Any]) -> None:
    """Check `value` against `schema`.

    Raises:
        MismatchError: for the first place that differs.
        NotImplementedError: for a keyword this module does not know.
    """
    try:
        _checker(schema, schema)(value)
    except _Differs as difference:
        raise MismatchError(f"${''.join(reversed(difference.place))}: {difference.problem}") from None


class _Differs(Exception):  # noqa: N818  (no error yet: the place is added on the way up)
    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.place: list[str] = []


Checker = Callable[[Any], None]
_CHECKERS: dict[int, tuple[Mapping[str, Any], Checker]] = {}  # by identity of the schema, which is kept alive


def _checker(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    """The function that checks a value against `schema`; made once, since a few are applied thousands of times."""
    if id(schema) not in _CHECKERS:
        _CHECKERS[id(schema)] = (schema, _make(schema, root))
    return _CHECKERS[id(schema)][1]


def _make(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    if unknown := set(schema) - KEYWORDS:
        raise NotImplementedError(f"JSON Schema keywords {sorted(unknown)}")
    if "$ref" in schema:
        target = root["$defs"][schema["$ref"].rpartition("/")[2]]
        return lambda value: _checker(target, root)(value)
    makers = dict.fromkeys(make for keyword, make in _STEPS.items() if keyword in schema)
    steps = [make(schema, root) for make in makers]

    def check_all(value: Any) -> None:
        for step in steps:
            step(value)

    return steps[0] if len(steps) == 1 else check_all


def _type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    types = tuple(kind for name in names for kind in _TYPES[name])
    boolean = "boolean" in names

    def step(value: Any) -> None:
        if not isinstance(value, types) or (not boolean and isinstance(value, bool)):
            raise _Differs(f"{type(value).__name__} instead of {' or '.join(names)}")

    return step


def _enum(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    def step(value: Any) -> None:
        if value not in schema["enum"]:
            raise _Differs(f"{value!r} is not one of {schema['enum']}")

    return step


def _const(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    def step(value: Any) -> None:
        if value != schema["const"]:
            raise _Differs(f"{value!r} instead of {schema['const']!r}")

    return step


def _pattern(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    pattern = re.compile(schema["pattern"])

    def step(value: Any) -> None:
        if isinstance(value, str) and not pattern.search(value):
            raise _Differs(f"{value!r} does not match {schema['pattern']}")

    return step


def _minimum(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    def step(value: Any) -> None:
        if isinstance(value, (int, float)) and value < schema["minimum"]:
            raise _Differs(f"{value!r} is below {schema['minimum']}")

    return step


def _required(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    def step(value: Any) -> None:
        if isinstance(value, dict):
            for key in schema["required"]:
                if key not in value:
                    raise _Differs(f"{key!r} is missing")

    return step


def _members(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    checkers = {key: _checker(item, root) for key, item in schema.get("properties", {}).items()}
    closed = schema.get("additionalProperties") is False

    def step(value: Any) -> None:
        if not isinstance(value, dict):
            return
        for key, item in value.items():
            checker = checkers.get(key)
            if checker is not None:
                try:
                    checker(item)
                except _Differs as difference:
                    difference.place.append(f".{key}")
                    raise
            elif closed:
                raise _Differs(f"{key!r} is not expected")

    return step


def _items(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Checker:
    checker = _checker(schema["items"], root)

    def step(value: Any) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                try:
                    checker(item)
                except _Differs as difference:
                    difference.place.append(f"[{index}]")
                    raise

    return step


_STEPS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Checker]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "minimum": _minimum,
    "required": _required,
    "properties": _members,
    "additionalProperties": _members,
    "items": _items,
}
