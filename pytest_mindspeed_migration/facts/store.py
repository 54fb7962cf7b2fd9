"""Exports of facts as JSON files: saving, and loading with a check of the format version."""

from __future__ import annotations

import json
from pathlib import Path

from ..atomic import write_atomic
from ..errors import UsageProblem
from .codec import from_json, to_json
from .static import FORMAT, StaticFacts


def save(facts: StaticFacts, path: Path) -> None:
    """Write an export; the file appears whole or not at all. Raises OSError when the place cannot be written.

    Mappings keep their order: of two YAML keys with the same value, checks name the one that stands first.
    """
    document = {"format": facts.format, **to_json(facts)}
    write_atomic(path, json.dumps(document, separators=(",", ":")))


def load(path: Path) -> StaticFacts:
    """Read an export.

    Raises:
        UsageProblem: when the file cannot be read, is no export, or has a format this version does not know.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageProblem("usage.facts_unreadable", path=str(path), error=error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UsageProblem("usage.facts_not_json", path=str(path), error=str(error)) from error
    version = document.get("format") if isinstance(document, dict) else None
    if version != FORMAT:
        raise UsageProblem("usage.facts_format", path=str(path), version=str(version), expected=FORMAT)
    try:
        return from_json(StaticFacts, document)
    except ValueError as error:
        raise UsageProblem("usage.facts_not_json", path=str(path), error=str(error)) from error
