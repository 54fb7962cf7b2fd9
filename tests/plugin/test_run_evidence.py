"""The files a run leaves: evidence that matches its schema, logs with digests, JUnit properties, no secrets."""

from __future__ import annotations

import hashlib
import os
from xml.etree import ElementTree

import jsonschema
import pytest
from plugin_project import Project

from pytest_mindspeed_migration.evidence.document import schema


def test_evidence_matches_its_schema_and_every_judged_contract_keeps_its_log(
    project: Project, mode: tuple[str, ...]
) -> None:
    project.facts({"alpha": {"config.linkage": "error", "preflight.assets": "note"}})
    project.run("--migrate-target=alpha", *mode)
    document = project.evidence("alpha")
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert list(document)[:5] == ["schema_version", "target", "repo", "environment", "summary"]
    assert document["repo"] == {"commit": "c0ffee" * 6, "dirty": False}
    commands = {command["name"]: command for command in document["commands"]}
    judged = [one for one in document["contracts"] if one["status"] in ("passed", "failed")]
    assert len(judged) == len(commands) > 20
    for contract in judged:
        (name,) = contract["evidence"]
        assert commands[name]["log"]["path"] is None  # short enough for the evidence to hold it whole
        log = commands[name]["log_excerpt"] + "\n"
        assert hashlib.sha256(log.encode()).hexdigest() == commands[name]["log"]["sha256"]
        assert commands[name]["command"] == contract["recheck_command"]
        assert commands[name]["exit_code"] == (0 if contract["status"] == "passed" else 1)


def test_contracts_are_in_catalogue_order(project: Project) -> None:
    from pytest_mindspeed_migration.catalogue import load_catalogue

    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha")
    assert list(project.statuses("alpha")) == [one.id for one in load_catalogue().of_subject("target")]


def test_junit_properties_name_contract_owner_severity_gate_and_target(project: Project, mode: tuple[str, ...]) -> None:
    project.facts({"alpha": {"config.linkage": "error"}})
    project.run("--migrate-target=alpha", "--junit-xml=junit.xml", *mode)
    cases = ElementTree.parse(project.path / "junit.xml").getroot().iter("testcase")
    case = next(case for case in cases if case.get("name") == "test_config_linkage")
    properties = {item.get("name"): item.get("value") for item in case.iter("property")}
    assert properties == {
        "target": "alpha",
        "contract": "config.linkage",
        "owner": "config",
        "severity": "P0",
        "gate": "functional",
        "status": "failed",
    }


def test_failed_cases_exist_only_while_something_fails(project: Project) -> None:
    failed = project.path / "migration-report" / "alpha" / "failed_cases.md"
    project.facts({"alpha": {"config.linkage": "error"}})
    project.run("--migrate-target=alpha")
    text = failed.read_text(encoding="utf-8")
    for key in (
        "symptom",
        "command",
        "exit_code",
        "log_excerpt",
        "root_cause",
        "owner",
        "fix_actions",
        "recheck_command",
    ):
        assert f"- {key}" in text
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha")
    assert not failed.exists()


def test_secrets_are_not_written_anywhere(project: Project) -> None:
    secret = "hunter2hunter2"
    project.facts({"alpha": {"config.linkage": "error"}}, alpha=f"https://user:{secret}@host/m password={secret}")
    project.run("--migrate-target=alpha")
    for path in (project.path / "migration-report").rglob("*"):
        if path.is_file():
            assert secret not in path.read_text(encoding="utf-8"), path


def test_several_targets_get_an_overview(project: Project) -> None:
    project.facts()
    project.run("--migrate-target=all")
    assert '"name": "alpha"' in project.read("summary.json")
    assert "alpha:" in project.read("compatibility_matrix.yaml")
    assert "framework" not in project.read("compatibility_matrix.yaml")


def test_hostile_names_stay_inside_the_report_folder(project: Project) -> None:
    project.facts({"../../escape": {}})
    result = project.run("--migrate-target=all")
    assert result.ret == 0
    assert not list(project.path.parent.glob("escape*"))
    assert len(list((project.path / "migration-report").glob("*escape*"))) == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_report_folder_that_cannot_be_written_is_said_and_fails_the_run(project: Project) -> None:
    (project.path / "locked").mkdir(mode=0o500)
    project.facts({"alpha": {}})
    result = project.run("--migrate-target=alpha", "--migrate-out=locked")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*could not be written*"])


def test_a_report_folder_that_is_a_file_is_said_and_fails_the_run(project: Project) -> None:
    (project.path / "taken").write_text("", encoding="utf-8")
    project.facts({"alpha": {}})
    result = project.run("--migrate-target=alpha", "--migrate-out=taken")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*could not be written*"])
