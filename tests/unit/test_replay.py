"""Facts exported from real MindSpeed-MM revisions give the findings that were read against their code."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_mindspeed_migration.facts import store
from pytest_mindspeed_migration.facts.codec import from_json, to_json
from pytest_mindspeed_migration.facts.static import StaticFacts
from pytest_mindspeed_migration.scan.overlay import overlay
from pytest_mindspeed_migration.survey import survey

DATA = Path(__file__).parents[1] / "data"
REVISIONS = ["master", "26.1.0", "26.0.0", "fsdp2_dev"]
CONFIGS = os.environ.get("UPSTREAM_CONFIGS")
"""A folder with one subfolder a revision that holds its YAMLs (`<revision>/examples/...`)."""


def expected(revision: str) -> list[str]:
    lines: list[str] = json.loads((DATA / "findings" / f"{revision}.json").read_text(encoding="utf-8"))
    return lines


@pytest.fixture(scope="module", params=REVISIONS)
def replayed(request: pytest.FixtureRequest) -> tuple[str, StaticFacts]:
    return request.param, store.load(DATA / "facts" / f"{request.param}.json")


def test_an_export_gives_the_findings_of_its_revision(replayed: tuple[str, StaticFacts]) -> None:
    revision, facts = replayed
    assert [said.line for said in survey(facts)] == expected(revision)


def test_each_error_has_an_owner_and_a_fix_of_its_own(replayed: tuple[str, StaticFacts]) -> None:
    said = [one for one in survey(replayed[1]) if one.finding.fails]
    assert [one.remedy for one in said if " | -" in one.remedy] == []


def test_owners_and_fixes_on_master_are_those_that_were_read_against_its_code() -> None:
    lines: list[str] = json.loads((DATA / "remedies.json").read_text(encoding="utf-8"))
    facts = store.load(DATA / "facts" / "master.json")
    assert [one.remedy for one in survey(facts) if one.finding.fails] == lines


def test_facts_of_a_real_revision_survive_json(replayed: tuple[str, StaticFacts]) -> None:
    document = to_json(replayed[1])
    assert to_json(from_json(StaticFacts, json.loads(json.dumps(document)))) == document


@pytest.mark.skipif(CONFIGS is None, reason="UPSTREAM_CONFIGS names no folder with the YAMLs of the revisions")
def test_code_facts_judge_configs_read_from_a_folder(replayed: tuple[str, StaticFacts]) -> None:
    revision, facts = replayed
    folder = Path(CONFIGS or "") / revision
    laid = overlay(facts, folder)
    assert len(laid.targets) == len(facts.targets) > 0
    of_configs = [line for line in expected(revision) if " | config." in line and not line.startswith("framework")]
    found = {said.line for said in survey(laid)}
    assert [line for line in of_configs if line not in found] == []


def test_the_traps_of_master_are_not_reported() -> None:
    """What looks like a defect and is none: an own collate_fn, README copies, merge keys, anchors, floats as text."""
    errors = [line for line in expected("master") if " | error | " in line]
    assert not [line for line in errors if "data.collate" in line or "data.registration" in line]
    assert not [line for line in errors if "kimik2_5" in line and "model.imports" in line]
    assert not [line for line in errors if "quantization_plan" in line or "ltx2_dataset_custom" in line]
    assert not [line for line in errors if line.startswith("qwen3_5")]
