"""Facts about code outside the target repo: attributes of base classes, signatures of MindSpeed functions."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ..facts.codec import from_json
from ..facts.source import Signature
from ..resources import resource_dir


@cache
def attributes_of(name: str) -> frozenset[str] | None:
    """Every attribute an instance of that external class may have; None when the class is not known."""
    entry = _load("attributes.json").get(name)
    if entry is None:
        return None
    inherited = attributes_of(entry["base"]) if entry["base"] else frozenset()
    return frozenset(entry["names"]) | (inherited or frozenset())


@cache
def signature_of(name: str) -> Signature | None:
    """The signature of a MindSpeed function by its dotted name; None when it is not known."""
    entry = _load("mindspeed.json")["functions"].get(name)
    return None if entry is None else from_json(Signature, entry)


@cache
def packages_with_signatures() -> frozenset[str]:
    """Top-level packages of which signatures are known."""
    return frozenset(name.partition(".")[0] for name in _load("mindspeed.json")["functions"])


@cache
def _load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((resource_dir("contracts") / "external" / name).read_text(encoding="utf-8"))
    return loaded
