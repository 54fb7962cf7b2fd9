"""Gives the target's trainer a wrong list of plugins, where none is imported: what they register would hide that."""

from __future__ import annotations

from typing import Any

from .. import standins
from ..steps import Steps
from .errors import give


def probe(request: dict[str, Any], steps: Steps) -> None:
    """One step a case, as in the probe `errors`."""
    standins.use_with_torch()
    give(request, steps)
