"""Imports every module of this package: that is how checks register, and why none can be forgotten."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def load(level: str) -> tuple[str, ...]:
    """Import all areas that judge at a level, once, and return their names.

    Those of the levels that run code are in packages of their own, which a run at level `static` does not need.
    """
    root = Path(__file__).parent
    files = root.glob("*.py") if level == "static" else root.rglob("*.py")
    modules = {file.relative_to(root).with_suffix("") for file in files if file.stem != "__init__"}
    names = tuple(sorted(".".join((__package__, *module.parts)) for module in modules))
    for name in names:
        import_module(name)
    return names
