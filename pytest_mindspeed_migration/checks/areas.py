"""Imports every module that registers checks. A new area is added to `AREAS`."""

from __future__ import annotations

from importlib import import_module

AREAS: tuple[str, ...] = (
    "preflight",
    "config_text",
    "launch",
    "config_schema",
    "config_keys",
    "schema_readers",
    "validation",
    "registration",
    "imports",
    "code_names",
    "code_calls",
    "import_effects",
)


def load() -> None:
    """Import all areas (cheap after the first call)."""
    for area in AREAS:
        import_module(f"{__package__}.{area}")
