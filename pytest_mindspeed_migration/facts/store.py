"""Exports of facts as JSON files: saving, and loading with a check of the format version."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from ..atomic import write_atomic
from ..errors import UsageProblem
from .codec import from_json, to_json
from .shape import require_shape
from .static import FORMAT, StaticFacts

MAX_BYTES = 60_000_000
"""Ten times the export of the whole framework."""


def save(facts: StaticFacts, path: Path) -> None:
    """Write an export; the file appears whole or not at all. Raises OSError when the place cannot be written.

    Mappings keep their order: of two YAML keys with the same value, checks name the one that stands first.
    """
    document = {"format": facts.format, **to_json(facts)}
    write_atomic(path, json.dumps(document, separators=(",", ":")))


def load(path: Path, own: bool = False) -> StaticFacts:
    """Read an export.

    Args:
        path: the file.
        own: whether this run has written it, so that its shape need not be looked at.

    Raises:
        UsageProblem: when the file cannot be read, is no export, or has a format this version does not know.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:  # a pipe may never end
            error = f"no regular file of up to {MAX_BYTES} bytes"
            raise UsageProblem("usage.facts_unreadable", path=str(path), error=error)
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageProblem("usage.facts_unreadable", path=str(path), error=error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UsageProblem("usage.facts_not_json", path=str(path), error=str(error)) from error
    version = document.get("format") if isinstance(document, dict) else None
    if type(version) is not int or version != FORMAT:
        raise UsageProblem("usage.facts_format", path=str(path), version=str(version), expected=FORMAT)
    try:
        if not own:
            require_shape(StaticFacts, document)
        return from_json(StaticFacts, document)
    except (ValueError, RecursionError) as error:
        raise UsageProblem("usage.facts_not_json", path=str(path), error=str(error)) from error
