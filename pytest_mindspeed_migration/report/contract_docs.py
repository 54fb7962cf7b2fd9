"""The page of each contract, from the catalogue and the error dictionary: `docs/contracts/`, and --migrate-explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalogue import AREAS
from ..messages import LANGUAGES, text
from ..templates import environment
from ..triage.dictionary import load_dictionary

if TYPE_CHECKING:
    from ..catalogue import Catalogue, Contract
    from ..triage.dictionary import Entry


def contract_page(contract: Contract, catalogue: Catalogue, lang: str) -> str:
    """What a contract proves, why, how it fails in real life, and how to fix it, as Markdown."""
    return environment(f"docs/{lang}").get_template("contract.md.j2").render(
        contract=contract,
        owner=text(f"owner.{contract.owner}", {}, lang),
        gate=text(f"gate.{contract.gate}", {}, lang),
        required_by=[other.id for other in catalogue.contracts if contract.id in other.requires],
        symptoms=symptoms_of(contract),
    )  # fmt: skip


def symptoms_of(contract: Contract) -> list[Entry]:
    """Entries of the dictionary that say how it fails: those the contract names, and those that name the contract."""
    dictionary = load_dictionary()
    named = [dictionary.by_id[name] for name in contract.symptoms]
    return [*named, *(one for one in dictionary.entries if contract.id in one.contracts and one not in named)]


def pages(catalogue: Catalogue) -> dict[str, str]:
    """All pages by file name, with an index in each language."""
    found = {}
    for lang in LANGUAGES:
        ending = ".md" if lang == "en" else f"_{lang}.md"
        areas = [
            {
                "title": catalogue.area_titles[area][lang],
                "contracts": [contract for contract in catalogue.contracts if contract.area == area],
            }
            for area in AREAS
        ]
        found[f"README{ending}"] = environment(f"docs/{lang}").get_template("index.md.j2").render(areas=areas)
        for contract in catalogue.contracts:
            found[f"{contract.id}{ending}"] = contract_page(contract, catalogue, lang)
    return found
