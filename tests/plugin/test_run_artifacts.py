"""Artifacts in a run: which targets get them, when they are written, and what they are compared with."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from plugin_project import Project

from pytest_mindspeed_migration.artifacts.names import ARTIFACTS
from pytest_mindspeed_migration.demo import demo_repo
from pytest_mindspeed_migration.evidence.document import SCHEMA

PLUGIN = "mindspeed_mm/fsdp/models/internvl3_5/modeling_internvl3_5.py"


def _there(project: Project, target: str) -> set[str]:
    return {name for name in ARTIFACTS if (project.path / "migration-report" / target / name).exists()}


def test_a_target_that_is_named_gets_all_of_them_and_a_look_at_everything_none(project: Project) -> None:
    project.facts()
    project.run("--migrate-target=alpha,framework")
    assert _there(project, "alpha") == set(ARTIFACTS)
    assert _there(project, "framework") == set()
    project.run("--migrate-target=all")
    assert _there(project, "alpha") == set()  # those of the run before are not about this evidence


def test_a_hostile_target_does_not_break_them(project: Project) -> None:
    project.facts({"alpha": {"code.names": "error"}}, alpha="x\n# |`{{ 1 }}`\ud800<b>")
    assert project.run("--migrate-target=alpha").ret == 1
    for name in ARTIFACTS:
        text = project.read(f"alpha/{name}")
        assert "\n# |" not in text
        assert "<b>" not in text or not name.endswith(".md") or "`" in text
    assert yaml.safe_load(project.read("alpha/contract_matrix.yaml"))["target"] == "alpha"


def test_the_files_over_all_targets_match_their_schemas(project: Project) -> None:
    project.facts({"alpha": {"config.linkage": "error"}, "beta": {}})
    project.run("--migrate-target=all")
    for name, schema in (("summary.json", "summary"), ("compatibility_matrix.yaml", "overview_matrix")):
        path = SCHEMA.parent / "artifacts" / f"{schema}.schema.json"
        validator = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
        document = yaml.safe_load(project.read(name))  # JSON is YAML
        validator.validate(document)
        assert not validator.is_valid({**document, "more": 1})


def _git(repo: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(repo), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(pytester: pytest.Pytester) -> Path:
    """The demo under git, with one file of the plugin changed since."""
    repo = pytester.path / "repo"
    shutil.copytree(demo_repo(), repo, symlinks=True)
    _git(repo, "init", "-q", "-b", "main")
    _git(repo, "add", "-f", ".")
    _git(repo, "commit", "-qm", "base")
    (repo / PLUGIN).write_text((repo / PLUGIN).read_text() + "# changed\n")
    return repo


def _run(pytester: pytest.Pytester, *more: str) -> pytest.RunResult:
    manifest = "--migrate-manifest=repo/examples/internvl3_5/migration.yaml"
    return pytester.runpytest_subprocess("--migrate-repo=repo", "--migrate-level=static", manifest, *more)


def test_what_changed_since_the_base_is_listed_and_judged(pytester: pytest.Pytester, checkout: Path) -> None:
    assert _run(pytester, "--migrate-base=main").ret == 0
    report = pytester.path / "migration-report" / "internvl3_5"
    manifest = report / "changeset_manifest.yaml"
    changes = yaml.safe_load(manifest.read_text())
    assert [(file["path"], file["part"], file["editable"]) for file in changes["files"]] == [(PLUGIN, "model", True)]
    before = {path.name: path.stat().st_mtime_ns for path in report.iterdir()}
    _run(pytester, "--migrate-base=main")
    assert {path.name: path.stat().st_mtime_ns for path in report.iterdir()} == before
    (checkout / "NOTES.txt").write_text("x\n")  # no file that any contract is judged by
    result = _run(pytester, "--migrate-base=main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*NOTES.txt*changed since main, but outside*", "*newly red: preflight.editable_paths"])
    assert len(yaml.safe_load(manifest.read_text())["files"]) == 2


def test_a_base_that_git_does_not_know_is_an_error_of_usage(pytester: pytest.Pytester, checkout: Path) -> None:
    result = _run(pytester, "--migrate-base=nonesuch")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--migrate-base: git knows no revision nonesuch*"])


def test_a_dictionary_with_a_mistake_is_told_before_anything_runs(project: Project) -> None:
    project.facts()
    (project.path / "own.yaml").write_text("toy: {pattern: 1}\n", encoding="utf-8")
    result = project.run("--migrate-target=alpha", "--migrate-errors=own.yaml")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*own.yaml*toy*"])
