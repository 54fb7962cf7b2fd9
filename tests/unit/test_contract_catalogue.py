"""The catalogue that ships, and what its loader refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mindspeed_migration.catalogue import (
    AREAS,
    CatalogueError,
    Contract,
    load_catalogue,
    read_catalogue,
    validate,
)
from pytest_mindspeed_migration.checks.registry import checks_of
from pytest_mindspeed_migration.resources import resource_dir
from pytest_mindspeed_migration.triage import load_dictionary

CATALOGUE = load_catalogue()
BY_ID = CATALOGUE.by_id
SYMPTOMS = load_dictionary().by_id


def test_every_area_has_contracts_in_area_order() -> None:
    assert list(dict.fromkeys(contract.area for contract in CATALOGUE.contracts)) == list(AREAS)


@pytest.mark.parametrize("contract", CATALOGUE.contracts, ids=lambda contract: contract.id)
def test_texts_are_whole_sentences_in_both_languages(contract: Contract) -> None:
    for lang, stop in (("en", "."), ("zh", "。")):
        for sentence in (contract.proves[lang], contract.why[lang], *contract.fix[lang]):
            assert sentence.endswith(stop), sentence
            assert '"""' not in sentence
            assert "\\" not in sentence
        assert contract.title[lang]
        assert "\n" not in contract.title[lang]
    assert len(contract.fix["en"]) == len(contract.fix["zh"])
    assert any("\u4e00" <= char <= "\u9fff" for char in contract.proves["zh"])


@pytest.mark.parametrize("contract", CATALOGUE.contracts, ids=lambda contract: contract.id)
def test_symptoms_are_known(contract: Contract) -> None:
    assert set(contract.symptoms) <= set(SYMPTOMS)


def test_no_test_name_is_part_of_another_so_that_a_recheck_runs_one_contract() -> None:
    names = [contract.test_name for contract in CATALOGUE.contracts]
    assert [(a, b) for a in names for b in names if a != b and a in b] == []


def test_every_gate_has_a_contract_that_can_fail_it() -> None:
    assert {contract.gate for contract in CATALOGUE.contracts} == {
        "functional",
        "reliability",
        "distributed_e2e",
        "evidence",
    }


def test_the_decisive_level_is_the_highest_without_a_device() -> None:
    assert BY_ID["code.names"].decisive_level == "static"
    assert BY_ID["config.parse"].decisive_level == "cpu"
    assert BY_ID["verify.distributed_e2e"].decisive_level == "npu"


@pytest.mark.parametrize("contract", CATALOGUE.contracts, ids=lambda contract: contract.id)
def test_a_contract_is_judged_at_each_of_its_levels(contract: Contract) -> None:
    """A level at which nothing judges it could never be passed, and the target never be accepted."""
    assert [level for level in contract.levels if not checks_of(contract.id, level)] == []


def test_an_unknown_requirement_is_refused() -> None:
    with pytest.raises(CatalogueError, match=r"requires 'no\.such'"):
        validate([replace(BY_ID["preflight.repo"], requires=("no.such",))])


def test_a_cycle_is_refused_and_named() -> None:
    first = replace(BY_ID["code.names"], requires=("code.calls",))
    second = replace(BY_ID["code.calls"], requires=("code.names",))
    with pytest.raises(CatalogueError, match=r"code\.names -> code\.calls -> code\.names"):
        validate([first, second])


def test_an_id_used_twice_is_refused() -> None:
    with pytest.raises(CatalogueError, match="defined twice"):
        validate([BY_ID["preflight.repo"], BY_ID["preflight.repo"]])


def test_a_requirement_that_cannot_be_judged_as_early_is_refused() -> None:
    with pytest.raises(CatalogueError, match="can be judged at a level where"):
        validate([BY_ID["preflight.repo"], *([BY_ID[name] for name in BY_ID if name != "preflight.repo"]),
                  replace(BY_ID["code.names"], id="code.more", requires=("model.build",))])  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"owner": "nobody"}, "owner 'nobody'"),
        ({"severity": "P9"}, "severity 'P9'"),
        ({"levels": ["gpu"]}, r"levels \['gpu'\]"),
        ({"colour": "red"}, r"unknown \['colour'\]"),
        ({"id": "model.other"}, "does not belong to area"),
        ({"title": {"en": "only"}}, "title needs the languages"),
    ],
)
def test_a_malformed_entry_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    document = yaml.safe_load((resource_dir("contracts") / "preflight.yaml").read_text(encoding="utf-8"))
    document["contracts"][0].update(change)
    (tmp_path / "preflight.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(CatalogueError, match=message):
        read_catalogue(tmp_path)
