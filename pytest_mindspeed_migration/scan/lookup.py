"""What a path is that a config, the manifest or the command line names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..facts.assets import AssetFacts


@dataclass(frozen=True)
class Question:
    """A path to look up: the key of its answer in `StaticFacts.assets`, the path as written, the folder a relative one
    counts from, the line it is written on."""

    key: str
    written: str
    base: str
    line: int | None = None

    def answer(self) -> AssetFacts:
        """What is there now."""
        return look_up(self.written, Path(self.base), self.line)


def look_up(written: str, base: Path, line: int | None = None) -> AssetFacts:
    """What the path `written` is; a relative one counts from `base`."""
    facts = AssetFacts(path=written, line=line)
    if any(mark in written for mark in "*?["):
        facts.kind = "pattern"
    try:
        path = base / os.path.expanduser(written)
        status = path.stat()
        facts.exists = True
        facts.is_dir = path.is_dir()
        facts.readable = os.access(path, os.R_OK | os.X_OK if facts.is_dir else os.R_OK)
        facts.size = sum(1 for _ in os.scandir(path)) if facts.is_dir and facts.readable else status.st_size
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            facts.problem = getattr(error, "strerror", None) or str(error)
    return facts
