"""Reads `migration.yaml`, the standard input of a migration, and checks it against its JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import UsageProblem
from .facts.config import ConfigFacts
from .findings import near

SCHEMA = Path(__file__).parent / "schemas" / "manifest.schema.json"


def load_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest as plain values, in the shape of `schemas/manifest.schema.json`.

    Raises:
        UsageProblem: when the file cannot be read or parsed, lacks a required key, or has a key or value that does not
            belong there; names the file, the line and the key.
    """
    from .scan.yaml_tree import read_config  # with a YAML parser that runs without a manifest need not import

    facts = read_config(path.parent, path.name)
    for problem in facts.problems:
        values = {"file": str(path), "line": problem.line or 1, "detail": problem.detail}
        if problem.kind == "unreadable":
            raise UsageProblem("usage.manifest_unreadable", file=str(path), detail=problem.detail)
        if problem.kind == "duplicate_key":
            raise UsageProblem("usage.manifest_duplicate_key", **values)
        if problem.fatal:
            raise UsageProblem("usage.manifest_not_yaml", kind=problem.kind, **values)
    data = facts.data or {}
    _validate(path, facts, data)
    return data


def _validate(path: Path, facts: ConfigFacts, data: dict[str, Any]) -> None:
    import jsonschema  # 50 ms that runs without a manifest need not pay

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(data))
    if errors:
        first = min(errors, key=lambda error: facts.line_of(_dotted(error.absolute_path)) or 0)
        raise _usage(path, facts, first)


def _usage(path: Path, facts: ConfigFacts, error: Any) -> UsageProblem:
    key = _dotted(error.absolute_path)
    prefix = f"{key}." if key else ""
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = error.schema.get("properties", {})
        extra = next(name for name in error.instance if name not in known)
        key = f"{prefix}{extra}"
        place: dict[str, Any] = {"file": str(path), "line": facts.line_of(key) or 1, "entry": key}
        close = near(extra, known)
        if close is not None:
            return UsageProblem("usage.manifest_unknown_key_near", suggestion=f"{prefix}{close}", **place)
        allowed = ", ".join(known)
        return UsageProblem("usage.manifest_unknown_key", allowed=allowed, **place)
    place = {"file": str(path), "line": facts.line_of(key) or 1}
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return UsageProblem("usage.manifest_missing_key", entry=f"{prefix}{missing}", **place)
    wanted = _wanted(error)
    return UsageProblem(
        "usage.manifest_bad_value", entry=key or "(root)", value=_short(error.instance), wanted=wanted, **place
    )


def _wanted(error: Any) -> str:
    """What the schema asks for, in the words of YAML."""
    names = {
        "object": "a mapping",
        "array": "a list",
        "string": "text",
        "boolean": "true or false",
        "number": "a number",
    }
    schemas = error.schema.get("anyOf", [error.schema])
    kinds: list[str] = []
    for schema in schemas:
        given = schema.get("type", "")
        kinds.extend(names[kind] for kind in (given if isinstance(given, list) else [given]))
    if error.validator in ("minLength", "minItems"):
        return "not empty"
    if error.validator == "pattern":
        return "a name without slashes"
    return " / ".join(dict.fromkeys(kinds))


def _dotted(parts: Any) -> str:
    out = ""
    for part in parts:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
