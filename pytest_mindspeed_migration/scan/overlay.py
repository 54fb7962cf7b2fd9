"""Puts the configs, scripts and documents of a folder over those of an export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..facts.launch import DocFacts, PathReference, ScriptFacts
from ..facts.static import StaticFacts
from .targets import Discovery, discover, link_targets


def overlay(facts: StaticFacts, folder: Path) -> StaticFacts:
    """Return `facts` with the files below `folder` in place of those of the same paths, and the targets of both."""
    found = discover(folder)
    known = {*facts.files, *facts.configs, *facts.scripts, *facts.docs}
    parts: list[ScriptFacts | DocFacts] = [*found.scripts.values(), *found.docs.values()]
    for part in parts:
        part.references = [_exists(reference, known) for reference in part.references]
    merged = Discovery(
        configs=dict(sorted({**facts.configs, **found.configs}.items())),
        scripts=dict(sorted({**facts.scripts, **found.scripts}.items())),
        docs=dict(sorted({**facts.docs, **found.docs}.items())),
    )
    return replace(
        facts, targets=link_targets(merged), configs=merged.configs, scripts=merged.scripts, docs=merged.docs
    )


def _exists(reference: PathReference, known: set[str]) -> PathReference:
    """A file the export knows exists, though the folder does not hold it."""
    return replace(reference, exists=True) if reference.exists is False and reference.path in known else reference
