"""The schema check against jsonschema, acceptance by gates, records, and the collector's files."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.evidence.collector import EXCERPT_LINES, JOURNAL, Collector, folder_name
from pytest_mindspeed_migration.evidence.document import schema
from pytest_mindspeed_migration.evidence.record import owner_of, require_plain
from pytest_mindspeed_migration.evidence.schema import MismatchError, check
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.report.acceptance import assess

CATALOGUE = load_catalogue()


def _document() -> dict[str, Any]:
    contract = {
        "id": "code.names", "target": "t", "status": "failed", "level": "static", "owner": "model",
        "gate": "reliability",
        "severity": "P1", "reason": None, "blocked_by": [], "evidence": ["code.names@static"], "fix_actions": ["x"],
        "recheck_command": "pytest",
        "findings": [{"key": "k", "message": "m", "path": None, "line": 3, "yaml_path": None, "value": None,
                      "expected": None, "suggestion": None, "severity": "error", "owner": "model",
                      "cause": None, "fix": None}],
    }  # fmt: skip
    command = {
        "name": "code.names@static", "command": "pytest", "exit_code": 1, "timestamp": "2026-01-01T00:00:00+00:00",
        "duration": 0.1, "level": "static", "device": None, "stand_ins": [], "overrides": [],
        "log": {"path": "logs/x.log", "sha256": "0" * 64}, "log_excerpt": "",
    }  # fmt: skip
    gates = dict.fromkeys(("functional", "reliability", "distributed_e2e_run_once", "evidence"), "not_run")
    return {
        "schema_version": "1.0",
        "target": {"name": "t", "config": None, "model_id": None},
        "repo": {"commit": None, "dirty": None},
        "environment": {"python": "3", "platform": "x", "pytest": "9", "pytest_mindspeed_migration": "0",
                        "catalogue": "c", "levels": ["static"]},
        "summary": {"accepted": False, **gates, "failed": [], "missing": ["model.build"]},
        "commands": [command],
        "tests": [{"name": "code.names", "status": "failed", "evidence": "code.names@static"}],
        "contracts": [contract],
        "notes": [],
    }  # fmt: skip


def _spoil(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    document = copy.deepcopy(_document())
    node = document
    for key in path[:-1]:
        node = node[key]
    if value is KeyError:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return document


SPOILED = [
    _spoil(("schema_version",), "2.0"),
    _spoil(("summary",), KeyError),
    _spoil(("extra",), 1),
    _spoil(("summary", "accepted"), "yes"),
    _spoil(("summary", "functional"), "ok"),
    _spoil(("commands", 0, "exit_code"), True),
    _spoil(("commands", 0, "exit_code"), 1.5),
    _spoil(("commands", 0, "duration"), -1),
    _spoil(("commands", 0, "timestamp"), "yesterday"),
    _spoil(("commands", 0, "log", "sha256"), "short"),
    _spoil(("contracts", 0, "level"), "gpu"),
    _spoil(("contracts", 0, "findings", 0, "line"), "3"),
    _spoil(("contracts", 0, "findings", 0, "value"), 3),
    _spoil(("notes",), {}),
    _spoil(("notes",), [None]),
]


def test_the_document_is_accepted_by_both_validators() -> None:
    check(_document(), schema())
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.Draft202012Validator(schema()).validate(_document())


@pytest.mark.parametrize("document", SPOILED, ids=range(len(SPOILED)))
def test_a_spoiled_document_is_refused_by_both_validators(document: dict[str, Any]) -> None:
    assert not jsonschema.Draft202012Validator(schema()).is_valid(document)
    with pytest.raises(MismatchError, match=r"^\$"):
        check(document, schema())


def test_a_schema_keyword_that_is_not_implemented_is_refused_loudly() -> None:
    with pytest.raises(NotImplementedError, match="oneOf"):
        check(1, {"oneOf": []})


def _records(**changes: tuple[str, str | None]) -> list[dict[str, Any]]:
    records = []
    for contract in CATALOGUE.of_subject("target"):
        status, level = changes.get(contract.id.replace(".", "_"), ("passed", contract.decisive_level))
        records.append({"id": contract.id, "gate": contract.gate, "status": status, "level": level})
    return records


def test_acceptance_needs_every_gate_at_the_level_that_decides() -> None:
    assert assess(_records(), CATALOGUE).accepted
    static_only = assess(_records(config_parse=("passed", "static")), CATALOGUE)
    assert not static_only.accepted
    (functional,) = [gate for gate in static_only.gates if gate.name == "functional"]
    assert (functional.status, functional.missing) == ("incomplete", ("config.parse",))


@pytest.mark.parametrize("status", ["failed", "blocked", "unproven"])
def test_a_gate_fails_by_any_contract_that_is_not_proven(status: str) -> None:
    acceptance = assess(_records(code_names=(status, None)), CATALOGUE)
    assert {gate.name: gate.status for gate in acceptance.gates}["reliability"] == "failed"
    assert not acceptance.accepted


def test_without_the_distributed_run_nothing_is_accepted() -> None:
    acceptance = assess(_records(verify_distributed_e2e=("not_run", None)), CATALOGUE)
    assert {gate.name: gate.status for gate in acceptance.gates}["distributed_e2e"] == "not_run"
    assert not acceptance.accepted


def test_no_records_prove_nothing() -> None:
    assert not assess([], CATALOGUE).accepted


def test_plugin_code_is_owned_by_whose_plugin_it_is_in() -> None:
    contract = CATALOGUE.by_id["code.names"]
    data = Finding("k", path="mindspeed_mm/fsdp/data/datasets/x/y.py")
    model = replace(data, path="mindspeed_mm/fsdp/models/x/y.py")
    assert owner_of(contract, (data,)) == "data"
    assert owner_of(contract, (model, data)) == "model"
    assert owner_of(contract, ()) == "model"


@pytest.mark.parametrize("value", [{"a": {1, 2}}, {"a": (1,)}, {1: "a"}, [object()]])
def test_what_is_not_plain_json_is_refused_where_it_is_made(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^record"):
        require_plain(value)


def _record(target: str, contract: str, **more: Any) -> dict[str, Any]:
    return {"id": contract, "target": target, "status": "passed", **more}


def test_the_collector_journals_each_record_as_it_happens_and_clears_what_is_old(tmp_path: Path) -> None:
    old = tmp_path / "t" / "logs" / "old.log"
    old.parent.mkdir(parents=True)
    old.write_text("old", encoding="utf-8")
    (tmp_path / "t" / JOURNAL).write_text("old\n", encoding="utf-8")
    collector = Collector(tmp_path)
    long = "line\n" * 30 + "password=x\n"
    collector.add(_record("t", "a.b", run={"log": long, "command": "c"}))
    collector.add(_record("t", "a.c"))
    lines = (tmp_path / "t" / JOURNAL).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a.b", "a.c"]
    assert (tmp_path / "t" / "logs" / "a.b.log").read_text(encoding="utf-8") == "line\n" * 30 + "password=***\n"
    assert not old.exists()
    collector.close("t")
    assert not (tmp_path / "t" / JOURNAL).exists()


def test_an_excerpt_of_a_long_log_has_its_first_and_its_last_lines(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    lines = [f"line {number}" for number in range(50)]
    collector.add(_record("t", "a.b", run={"log": "\n".join(lines), "command": "c"}))
    excerpt = collector.records("t")["a.b"]["run"]["log"]["excerpt"].splitlines()
    assert len(excerpt) == EXCERPT_LINES
    assert (excerpt[0], excerpt[8], excerpt[-1]) == ("line 0", "... (31 lines)", "line 49")


def test_a_log_that_the_record_holds_whole_has_no_file(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    collector.add(_record("t", "a.b", run={"log": "line\npassword=x\n", "command": "c"}))
    log = collector.records("t")["a.b"]["run"]["log"]
    assert (log["path"], log["excerpt"]) == (None, "line\npassword=***")
    assert log["sha256"] == hashlib.sha256(b"line\npassword=***\n").hexdigest()
    assert not (tmp_path / "t" / "logs").exists()


@pytest.mark.parametrize("name", ["../x", "/etc", "..", "a b", "名称", "", "x" * 300])
def test_a_targets_folder_is_one_safe_name(name: str) -> None:
    folder = folder_name(name)
    assert folder.isascii()
    assert "/" not in folder
    assert not folder.startswith(".")
    assert len(folder) < 100
    assert folder != folder_name(name + "!")


def test_an_ordinary_name_is_its_own_folder() -> None:
    assert folder_name("internvl3.5_8B-a") == "internvl3.5_8B-a"
