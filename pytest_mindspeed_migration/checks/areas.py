"""Imports every module of this package: that is how checks register, and why none can be forgotten."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def load(level: str) -> tuple[str, ...]:
    """Import all areas that judge at a level, once, and return their names.

    Those of the levels that run code are in packages of their own, which a run at level `static` does not need.
    """
    root, prefix = str(Path(__file__).parent), f"{__package__}."
    if level == "static":
        found = [item for item in pkgutil.iter_modules([root], prefix) if not item.ispkg]
    else:
        found = list(pkgutil.walk_packages([root], prefix))
    names = tuple(sorted(item.name for item in found))
    for name in names:
        import_module(name)
    return names
