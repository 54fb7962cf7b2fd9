"""Which functions judge which contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..findings import Finding

if TYPE_CHECKING:
    from .view import TargetView

Check = Callable[["TargetView"], list[Finding]]
_CHECKS: dict[str, list[Check]] = {}


def check(contract: str) -> Callable[[Check], Check]:
    """Register a function as (one of) the static checks of the contract with that id."""

    def decorate(function: Check) -> Check:
        _CHECKS.setdefault(contract, []).append(function)
        return function

    return decorate


def checks_of(contract: str) -> list[Check]:
    """The checks of a contract, in the order they were registered; importing the areas on first use."""
    from . import areas

    areas.load()
    return _CHECKS.get(contract, [])


def judge(contract: str, view: TargetView) -> list[Finding]:
    """Run all static checks of one contract on one target, errors first, each place once."""
    found: list[Finding] = []
    for function in checks_of(contract):
        found.extend(finding for finding in function(view) if finding not in found)
    return sorted(found, key=lambda f: (f.severity != "error", f.path or "", f.line or 0))
