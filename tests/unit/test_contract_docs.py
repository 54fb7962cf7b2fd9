"""The pages of `docs/contracts/` are what the catalogue says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.messages import LANGUAGES
from pytest_mindspeed_migration.report.contract_docs import contract_page, pages, symptoms_of

CATALOGUE = load_catalogue()
FOLDER = Path(__file__).parents[2] / "docs" / "contracts"


def test_the_pages_are_those_that_the_catalogue_gives() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written == pages(CATALOGUE), "run: python scripts/write_docs.py"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("contract", CATALOGUE.contracts, ids=lambda contract: contract.id)
def test_a_page_says_everything_about_its_contract(contract, lang: str) -> None:  # type: ignore[no-untyped-def]
    page = contract_page(contract, CATALOGUE, lang)
    assert contract.proves[lang] in page
    assert contract.why[lang] in page
    assert all(action in page for action in contract.fix[lang])
    for entry in symptoms_of(contract):
        assert f"### {entry.text[lang]}\n" in page
        assert entry.cause[lang] in page


def test_symptoms_are_those_named_by_either_side_each_once() -> None:
    found = [entry.id for entry in symptoms_of(CATALOGUE.by_id["config.types"])]
    assert "number_is_text" in found
    assert len(found) == len(set(found))
