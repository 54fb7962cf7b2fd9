"""Where a name is defined: for "it exists over there" suggestions."""

from __future__ import annotations

from ..facts.static import StaticFacts
from .memo import per_facts


@per_facts
def definitions_of(facts: StaticFacts) -> dict[str, list[str]]:
    """Module-level classes and functions by name, with the modules that define them."""
    found: dict[str, list[str]] = {}
    for module in facts.modules.values():
        for name in [*(c.qualname for c in module.classes), *(f.qualname for f in module.functions)]:
            if "." not in name:
                found.setdefault(name, []).append(module.name)
    return found
