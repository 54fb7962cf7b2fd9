"""Text for --migrate-list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..catalogue import AREAS
from ..messages import shown, text

if TYPE_CHECKING:
    from ..catalogue import Catalogue
    from ..facts.static import TargetFacts


def list_targets(targets: Sequence[TargetFacts], lang: str) -> str:
    """One line a target: its name, its config, its model_id."""
    width = max((len(target.name) for target in targets), default=0)
    lines = [text("listing.targets", {}, lang)]
    for target in targets:
        config = target.config or ("" if target.name == "framework" else text("listing.no_config", {}, lang))
        model = f"  [{shown(target.model_id)}]" if target.model_id else ""
        lines.append(f"  {target.name.ljust(width)}  {shown(config)}{model}".rstrip())
    return "\n".join(lines) + "\n"


def list_contracts(catalogue: Catalogue, lang: str) -> str:
    """One line a contract, by area: id, severity, levels, title."""
    width = max(len(contract.id) for contract in catalogue.contracts)
    lines = [text("listing.contracts", {}, lang)]
    for area in AREAS:
        inside = [contract for contract in catalogue.contracts if contract.area == area]
        if inside:
            lines.append(f"  {catalogue.area_titles[area][lang]}")
        for contract in inside:
            levels = ",".join(contract.levels)
            lines.append(f"    {contract.id.ljust(width)}  {contract.severity}  {levels:<10}  {contract.title[lang]}")
    return "\n".join(lines)
