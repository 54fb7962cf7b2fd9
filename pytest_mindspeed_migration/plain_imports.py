"""Has the modules of this package imported as Python imports any, past pytest's rewriting of asserts.

pytest rewrites all modules of an installed plugin, for plugins that help tests with asserts of their own. This one has
none, and pytest reads and hashes the source of every module at each start to see whether the rewritten one still holds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class PlainImports(MetaPathFinder):
    """Finds the modules of this package in front of pytest's own finder."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module as Python's own finder finds it; None for a module of somebody else."""
        return PathFinder.find_spec(name, path, target) if name.startswith(f"{__package__}.") else None


def import_plainly(config: pytest.Config) -> None:
    """Have them found so from now on, until pytest is done."""
    finder = PlainImports()
    sys.meta_path.insert(0, finder)

    def end() -> None:
        with suppress(ValueError):  # others change this list, too
            sys.meta_path.remove(finder)

    config.add_cleanup(end)
