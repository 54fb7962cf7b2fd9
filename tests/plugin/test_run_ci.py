"""What a run leaves for CI systems: SARIF and the summary of the job."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from plugin_project import Project

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
# The part of the SARIF 2.1.0 schema (OASIS) that concerns what we write; nothing else may be in it.
SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "help": TEXT,
                                                "defaultConfiguration": {
                                                    "type": "object",
                                                    "properties": {"level": {"enum": ["note", "warning", "error"]}},
                                                },
                                                "properties": {"type": "object"},
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": TEXT,
                                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                                "properties": {"type": "object"},
                                "locations": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "type": "object",
                                        "required": ["physicalLocation"],
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation"],
                                                "additionalProperties": False,
                                                "properties": {
                                                    "artifactLocation": {
                                                        "type": "object",
                                                        "required": ["uri"],
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "uri": {"type": "string", "pattern": r"^[!-~]+$"},
                                                            "uriBaseId": {"type": "string"},
                                                        },
                                                    },
                                                    "region": {
                                                        "type": "object",
                                                        "properties": {"startLine": {"type": "integer", "minimum": 1}},
                                                    },
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


def _sarif(project: Project) -> Any:
    document = json.loads((project.path / "out.sarif").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SHAPE).validate(document)
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    return run["results"]


def test_findings_with_a_file_are_results(project: Project) -> None:
    project.facts({"alpha": {"code.names": "error", "config.linkage": "note", "code.import_effects": "error"}})
    assert project.run("--migrate-target=alpha", "--migrate-sarif=out.sarif").ret == 1
    results = {result["ruleId"]: result for result in _sarif(project)}
    assert {name: result["level"] for name, result in results.items()} == {
        "code.names": "error",
        "config.linkage": "note",
        "code.import_effects": "warning",
    }
    place = results["code.names"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "examples/alpha/alpha.yaml", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 7}
    told = {"yaml_path": "a.b", "owner": "config", "fix": None}
    assert results["code.names"]["properties"] == {"targets": ["alpha"], **told}
    assert "value: seen, expected: wanted" in results["code.names"]["message"]["text"]


def test_a_finding_of_several_targets_is_one_result_and_the_framework_only_warns(project: Project) -> None:
    project.facts({"alpha": {}, "beta": {}})
    project.run("--migrate-target=all", "--migrate-sarif=out.sarif")
    (result,) = _sarif(project)
    assert (result["ruleId"], result["level"]) == ("framework.schema_readers", "warning")


def test_a_run_without_findings_leaves_an_empty_list(project: Project) -> None:
    project.facts({"alpha": {}})
    project.run("--migrate-target=alpha", "--migrate-sarif=out.sarif")
    assert _sarif(project) == []


@pytest.mark.parametrize(("lang", "title"), [("en", "## Migration contracts"), ("zh", "## 迁移契约")])
def test_the_summary_of_the_job_is_appended(
    project: Project, monkeypatch: pytest.MonkeyPatch, lang: str, title: str
) -> None:
    summary = project.path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    project.facts({"alpha": {"code.names": "error"}, "beta": {}})
    project.run("--migrate-target=all", f"--migrate-lang={lang}")
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert title in text
    assert "| alpha | 24 | 1 |" in text
    assert "| alpha code.names | P1 |" in text
    assert "-k test_code_names" in text


def test_a_summary_that_cannot_be_written_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "none" / "summary.md"))
    project.facts({"alpha": {}})
    result = project.run("--migrate-target=alpha")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*summary.md*"])
