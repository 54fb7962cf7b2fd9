"""Imports every module of this package: that is how checks register, and why none can be forgotten."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def load() -> tuple[str, ...]:
    """Import all areas, once, and return their names."""
    root = str(Path(__file__).parent)
    names = tuple(sorted(item.name for item in pkgutil.walk_packages([root], prefix=f"{__package__}.")))
    for name in names:
        import_module(name)
    return names
