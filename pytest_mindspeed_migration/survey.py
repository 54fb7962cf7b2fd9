"""Everything the static checks say about a set of facts, for comparing revisions and replaying exports."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from .catalogue import load_catalogue
from .checks.registry import NothingToJudge, judge
from .checks.view import FRAMEWORK, TargetView
from .facts.static import StaticFacts, TargetFacts
from .findings import Finding
from .remedies import remedy_of


@dataclass(frozen=True)
class Said:
    """One finding with the target and the contract it belongs to."""

    target: str
    contract: str
    finding: Finding

    @property
    def line(self) -> str:
        """The finding as one line that does not depend on a language."""
        f = self.finding
        parts = [self.target, self.contract, f.severity, f.message, f.where, f.yaml_path, f.value, f.suggestion]
        return " | ".join(part or "-" for part in parts)

    @property
    def remedy(self) -> str:
        """What the report says is to be done about the finding: whose part it is, and what mends it."""
        found = remedy_of(self.finding, load_catalogue().by_id[self.contract], self.target, "en")
        parts = [self.target, self.contract, self.finding.message, self.finding.where, found.owner, found.fix]
        return " | ".join(part or "-" for part in parts)


def survey(facts: StaticFacts) -> list[Said]:
    """Judge every target of the facts and the framework by every contract."""
    said: list[Said] = []
    contracts = [contract.id for contract in load_catalogue().contracts]
    for target in [*facts.targets, TargetFacts(FRAMEWORK, None)]:
        view = TargetView(facts, target)
        for contract in contracts:
            with suppress(NothingToJudge):
                said.extend(Said(target.name, contract, finding) for finding in judge(contract, view))
    return said
