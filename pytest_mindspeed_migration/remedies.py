"""What a finding calls for: whose part it is, why it came about, and what mends it.

The texts stand beside the sentence of the finding in `contracts/messages/*.yaml`: `cause`, `fix`, `fix_near` (the fix
where a suggestion is known) and `owner` (where the place of the finding does not tell it).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .facts.target import FRAMEWORK
from .messages import finding_extra

if TYPE_CHECKING:
    from .catalogue import Contract
    from .findings import Finding

OWNERS = ("model", "data", "config", "environment", "framework")
STAGES = {"model": "model", "data": "data", "config": "config", "environment": "main", "framework": "main"}
"""The migration stage (`catalogue.OWNERS`) that an owner's failures go to."""

_PLUGIN = re.compile(r"/fsdp/(?:(?P<data>data/datasets)|models|tasks)/[^/]+/")
_SETTINGS = (".yaml", ".yml", ".sh")


@dataclass(frozen=True)
class Remedy:
    """What to do about one finding, in one language.

    Attributes:
        owner: one of `OWNERS`; None where nothing tells it.
        cause: what is behind it; None where the sentence of the finding says so itself.
        fix: what mends it; None where only the contract's own fix is known.
    """

    owner: str | None
    cause: str | None
    fix: str | None


def remedy_of(finding: Finding, contract: Contract, target: str, lang: str) -> Remedy:
    """The remedy of a finding of a contract on a target."""
    owner = finding_extra(finding, "owner") or _owner(finding.path or "", contract, target)
    cause = finding_extra(finding, "cause", lang)
    near = finding_extra(finding, "fix_near", lang) if finding.suggestion is not None else None
    return Remedy(owner, cause, near or finding_extra(finding, "fix", lang))


def owner_of_place(path: str) -> str | None:
    """Whose file it is: of the config (YAML, scripts, examples), of a data or model plugin, or of the framework."""
    if path.endswith(_SETTINGS) or path.startswith("examples/"):
        return "config"
    if plugin := _PLUGIN.search(path):
        return "data" if plugin["data"] else "model"
    return "framework" if path else None


def _owner(path: str, contract: Contract, target: str) -> str | None:
    """By the contract; by the place where the contract is about whoever's file it is in."""
    place = owner_of_place(path)
    if target == FRAMEWORK:
        return place or "framework"
    if contract.owner == "verification":  # errors of any stage end in files of the framework
        return place if place != "framework" else None
    if contract.owner == "main":
        return "framework" if contract.area == "framework" else "environment"
    if contract.owner == "plugin":
        return place or "model"
    if place in ("model", "data") and contract.owner in ("model", "data"):
        return place
    return contract.owner
