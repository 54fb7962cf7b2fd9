"""What no contract has run: lines of the plugin, over all probes of a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Lines = Mapping[str, Mapping[str, Sequence[int]]]


def merged(parts: Iterable[Lines]) -> dict[str, dict[str, list[int]]]:
    """One coverage of several: a line was run when one of them ran it."""
    found: dict[str, dict[str, set[int]]] = {}
    for part in parts:
        for file, lines in part.items():
            kept = found.setdefault(file, {"run": set(), "statements": set()})
            for kind in kept:
                kept[kind].update(lines[kind])
    for kept in found.values():
        if kept["statements"]:  # a run of a statement that spans lines may be noted at any of them
            kept["run"] &= kept["statements"]
    return {file: {kind: sorted(lines) for kind, lines in kept.items()} for file, kept in sorted(found.items())}


def rows(lines: Lines) -> list[dict[str, Any]]:
    """By file: `statements` and `run` (counts), `share` (per cent), and `missing`, ranges of lines nothing has run."""
    found = []
    for file, kinds in lines.items():
        statements, run = list(kinds["statements"]), set(kinds["run"])
        if statements:
            share = f"{len(run) / len(statements):.0%}"
            missing = _ranges(statements, run)
            found.append(
                {"file": file, "statements": len(statements), "run": len(run), "share": share, "missing": missing}
            )
    return found


def _ranges(statements: Sequence[int], run: set[int]) -> str:
    """`12-40, 52`: runs of statements without one that was run between them."""
    ranges: list[list[int]] = []
    following = False
    for line in statements:
        if line in run:
            following = False
            continue
        if following:
            ranges[-1][1] = line
        else:
            ranges.append([line, line])
        following = True
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
