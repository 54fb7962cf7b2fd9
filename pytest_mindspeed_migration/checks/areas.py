"""Imports every module of this package: that is how checks register, and why none can be forgotten."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def load() -> tuple[str, ...]:
    """Import all areas, once, and return their names."""
    names = tuple(sorted(item.name for item in pkgutil.iter_modules([str(Path(__file__).parent)])))
    for name in names:
        import_module(f"{__package__}.{name}")
    return names
