"""Which functions judge which contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..findings import Finding

if TYPE_CHECKING:
    from .view import TargetView


class NothingToJudge(Exception):  # noqa: N818  (no error: the contract is not run, and says why)
    """A check finds nothing it could judge: what it needs was not given, or cannot be read from the source text.

    Args:
        key: reason, a text in `contracts/messages/`.
    """

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


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
    """Run all static checks of one contract on one target, errors first, each place once.

    Raises:
        NothingToJudge: when none of the checks had anything to judge: nothing may be called passed then.
    """
    found: dict[str, Finding] = {}
    idle: list[NothingToJudge] = []
    checks = checks_of(contract)
    for function in checks:
        try:
            for finding in function(view):
                found.setdefault(repr(finding), finding)
        except NothingToJudge as reason:
            idle.append(reason)
    if idle and len(idle) == len(checks):
        raise idle[0]
    return sorted(found.values(), key=lambda f: (f.severity != "error", f.path or "", f.line or 0))
