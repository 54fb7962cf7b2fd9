"""The existing targets nearest to this one, with the numbers that say so (`similar_case_selection.md`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..analysis.hub import model_of
from ..analysis.index import index_of
from ..checks.data_contracts import batch_keys
from ..checks.view import TargetView
from ..facts.static import StaticFacts, TargetFacts
from .mapping import flattened
from .material import Material

NEAREST = 5
"""Targets whose plugins are read: the nearest by config and modality."""

_WORDS = {
    "image": ("image", "pixel", "vision", "visual", "picture", "vlm", "patch"),
    "video": ("video", "frame"),
    "audio": ("audio", "speech", "mel", "codec", "wav", "asr", "tts", "feature_attention_mask", "omni"),
}
_COMPARED = ("modality", "config", "forward", "batch")
_FEW = 8


@dataclass(frozen=True)
class Shape:
    """What two targets are compared by; None where it is not known."""

    modality: frozenset[str] | None
    config: frozenset[str] | None
    forward: frozenset[str] | None = None
    batch: frozenset[str] | None = None


def similar(material: Material) -> dict[str, Any]:
    """Ranked `cases`: shares (Jaccard, 0 to 1) by what is compared, their mean, and what is common and what differs."""
    view = material.view
    others = [one for one in view.facts.targets if one.name != view.target.name and one.config and not one.manifest]
    mine = _shape(view, material.manifest)
    first = sorted(others, key=lambda one: -_score(_numbers(mine, _shape(TargetView(view.facts, one)))))[:NEAREST]
    if not first:
        return {"compared": 0, "cases": []}
    own = [view.target.name] if view.target.config else []
    # where no migration begins nobody chooses a case, and reading plugins is a third of a run's time
    facts = material.read([*own, *(one.name for one in first)]) if material.manifest else view.facts
    mine = _shape(_view(facts, view.target), material.manifest, read=True)
    cases = [_case(mine, facts, one) for one in first]
    return {"compared": len(others), "cases": sorted(cases, key=lambda case: (-case["score"], case["name"]))}


def _case(mine: Shape, facts: StaticFacts, other: TargetFacts) -> dict[str, Any]:
    view = _view(facts, other)
    theirs = _shape(view, read=True)
    numbers = _numbers(mine, theirs)
    return {
        "name": other.name,
        "config": other.config,
        "plugins": view.plugins,
        "numbers": [f"{numbers[name]:.2f}" if numbers[name] is not None else None for name in _COMPARED],
        "score": round(_score(numbers), 4),
        "shown": f"{_score(numbers):.2f}",
        "modality": sorted(theirs.modality or ()),
        "common": _few((mine.forward or frozenset()) & (theirs.forward or frozenset())),
        "only_here": _few((mine.forward or frozenset()) - (theirs.forward or frozenset())) if theirs.forward else None,
        "only_there": _few((theirs.forward or frozenset()) - (mine.forward or frozenset())) if mine.forward else None,
        "keys_only_here": _few((mine.config or frozenset()) - (theirs.config or frozenset())),
        "keys_only_there": _few((theirs.config or frozenset()) - (mine.config or frozenset())),
    }


def _view(facts: StaticFacts, target: TargetFacts) -> TargetView:
    return TargetView(facts, next((one for one in facts.targets if one.name == target.name), target))


def _shape(view: TargetView, manifest: dict[str, Any] | None = None, read: bool = False) -> Shape:
    data = view.config.data if view.config else None
    config = frozenset(key for key, _ in flattened(data)) if data else None
    forward = batch = None
    if read:
        forward, keys = _forward(view), batch_keys(view)
        batch = frozenset(keys[0]) if keys else None
    words = forward or [key for key in config or () if key.startswith("data.")]
    stated = ((manifest or {}).get("model_identity") or {}).get("modality")
    stated = [stated] if isinstance(stated, str) else stated or []
    modality = _modality([*words, *map(str, stated), view.target.name])
    return Shape(modality or None, config, forward, batch)


def _forward(view: TargetView) -> frozenset[str] | None:
    model, index = model_of(view), index_of(view.facts)
    method = index.method(model.ref, "forward") if model and model.ref and model.ref.kind == "class" else None
    return frozenset([*method[1].signature.params[1:], *method[1].signature.kwonly]) if method else None


def _modality(words: Iterable[str]) -> frozenset[str]:
    """Kinds of media that names speak of."""
    names = [re.sub(r"[^a-z0-9]+", "_", word.lower()) for word in words]
    return frozenset(kind for kind, hints in _WORDS.items() if any(hint in name for hint in hints for name in names))


def _numbers(mine: Shape, theirs: Shape) -> dict[str, float | None]:
    return {name: _jaccard(getattr(mine, name), getattr(theirs, name)) for name in _COMPARED}


def _score(numbers: dict[str, float | None]) -> float:
    known = [number for number in numbers.values() if number is not None]
    return sum(known) / len(known) if known else 0.0


def _jaccard(one: frozenset[str] | None, other: frozenset[str] | None) -> float | None:
    return len(one & other) / len(one | other) if one and other else None


def _few(names: Iterable[str]) -> dict[str, Any]:
    found = sorted(names)
    return {"count": len(found), "names": found[:_FEW]}
