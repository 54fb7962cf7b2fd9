"""Keys that moved from one section to another while configs or readers stayed behind."""

from __future__ import annotations

from .readers import Readers
from .schema import Schema

PLAN = "_plan"
"""A switch and its plan go together: `recompute` with `recompute_plan`."""


def home_of(readers: Readers, schema: Schema, node: str, key: str) -> str | None:
    """Where a key that nothing reads at `node` belongs: a place that declares or reads it, the nearest one first."""
    places = set(schema.places_of(key))
    places.update(f"{other}.{key}" if other else key for other in readers.nodes_of(key))
    here = f"{node}.{key}" if node else key
    live = [
        place
        for place in places
        if place != here and "[" not in place and readers.used(place.rpartition(".")[0], key) and _parallel(here, place)
    ]
    return min(live, key=lambda place: (-_common(here, place), place.count("."), place), default=None)


def left_behind(readers: Readers, node: str, key: str) -> str | None:
    """The switch that counts for one that is still read at `node` although its plan is read in another section only."""
    plan = f"{key}{PLAN}"
    if not readers.of(node, key) or readers.of(node, plan) or readers.lost(f"{node}.{plan}") is not None:
        return None
    for other in readers.nodes_of(plan):
        if other != node and "[" not in other and readers.of(other, key):
            return f"{other}.{key}"
    return None


def _common(first: str, second: str) -> int:
    count = 0
    for a, b in zip(first.split("."), second.split("."), strict=False):
        if a != b:
            break
        count += 1
    return count


def _parallel(here: str, place: str) -> bool:
    """A copy of the same section (`val_dataset_param` beside `dataset_param`) is no other home."""
    first, second = here.split("."), place.split(".")
    return not (len(first) == len(second) and len(first) > 2 and first[2:] == second[2:] and first[0] == second[0])
