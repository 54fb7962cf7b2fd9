"""Which functions judge which contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..findings import Finding

if TYPE_CHECKING:
    from .view import TargetView


class NothingToJudge(Exception):  # noqa: N818  (no error: the contract is not run, and says why)
    """A check finds nothing it could judge: what it needs was not given, or cannot be read from the source text.

    Args:
        key: reason, a text in `contracts/messages/`.
        values: of the placeholders of that text.
    """

    def __init__(self, key: str, **values: Any) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


class NothingAtAll(NothingToJudge):
    """A check cannot do its part, and without it no other check may call the contract passed."""


class Blocked(Exception):  # noqa: N818  (no error: the contract is blocked, and says by what)
    """What a check needs to see comes after something that failed and that other contracts judge.

    Args:
        contracts: ids of the contracts that judge it.
    """

    def __init__(self, *contracts: str) -> None:
        super().__init__(*contracts)
        self.contracts = contracts


Check = Callable[["TargetView"], list[Finding]]
_CHECKS: dict[str, dict[str, list[Check]]] = {}  # by level and contract
Detail = Callable[["TargetView"], dict[str, Any]]
_DETAILS: dict[str, Detail] = {}
_SUPERSEDED: dict[str, set[str]] = {}


def check(contract: str, level: str = "static", instead_of: tuple[str, ...] = ()) -> Callable[[Check], Check]:
    """Register a function as (one of) the checks of the contract with that id.

    Args:
        contract: its id.
        level: "static" for a function of static facts; "cpu" for one that looks at probes (`view.probe`).
        instead_of: notes of a lower level, by key, that say from the text what this check sees in what was built.
    """

    def decorate(function: Check) -> Check:
        _SUPERSEDED.setdefault(contract, set()).update(instead_of)
        _CHECKS.setdefault(level, {}).setdefault(contract, []).append(function)
        return function

    return decorate


def detail(contract: str) -> Callable[[Detail], Detail]:
    """Register the function that says, once a contract is judged at level cpu, what the report shows beside it.

    It returns plain JSON, which is kept as a file of its own beside the evidence.
    """

    def decorate(function: Detail) -> Detail:
        _DETAILS[contract] = function
        return function

    return decorate


def superseded(contract: str) -> frozenset[str]:
    """Keys of the notes that a judgement at a higher level takes the place of."""
    return frozenset(_SUPERSEDED.get(contract, ()))


def details_of(contract: str, view: TargetView) -> dict[str, Any] | None:
    """What the report shows beside a judged contract; None when there is nothing, or what it needs did not run."""
    from . import areas

    areas.load("cpu")
    function = _DETAILS.get(contract)
    if function is None:
        return None
    try:
        return function(view)
    except (NothingToJudge, Blocked):
        return None


def checks_of(contract: str, level: str = "static") -> list[Check]:
    """The checks of a contract, in the order they were registered; importing the areas on first use."""
    from . import areas

    areas.load(level)
    return _CHECKS.get(level, {}).get(contract, [])


def judge(contract: str, view: TargetView, level: str = "static") -> list[Finding]:
    """Run all checks of one contract on one target at one level, errors first, each place once.

    Raises:
        NothingToJudge: when none of the checks had anything to judge, or one could not do its part: nothing may be
            called passed then.
        Blocked: when something they look at comes after a failure that another contract judges.
    """
    found: dict[str, Finding] = {}
    idle: list[NothingToJudge] = []
    at_all: NothingAtAll | None = None
    checks = checks_of(contract, level)
    for function in checks:
        try:
            for finding in function(view):
                found.setdefault(repr(finding), finding)
        except NothingAtAll as reason:
            at_all = reason
        except NothingToJudge as reason:
            idle.append(reason)
    if at_all is not None and not any(finding.fails for finding in found.values()):
        raise at_all
    if idle and len(idle) == len(checks):
        raise idle[0]
    return sorted(found.values(), key=lambda f: (f.severity != "error", f.path or "", f.line or 0))
