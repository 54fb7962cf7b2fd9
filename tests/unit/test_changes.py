"""What a migration changed against a base revision, and whether it may."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mindspeed_migration.checks.preflight import changes_stay_where_they_may
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.errors import UsageProblem
from pytest_mindspeed_migration.facts.codec import from_json, to_json
from pytest_mindspeed_migration.facts.static import RepoFacts, StaticFacts, TargetFacts
from pytest_mindspeed_migration.facts.target import ChangedFile, ChangeFacts
from pytest_mindspeed_migration.scan.changes import changes_since


def _git(repo: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(repo), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A checkout whose branch left `base`, which went on afterwards; with changes not committed, and new files."""
    repo = tmp_path / "checkout"
    repo.mkdir()
    _git(repo, "init", "-q", "-b", "base")
    for name in ("kept.py", "edited.py", "gone.py", "old name.py"):
        (repo / name).write_text("".join(f"{name} {number}\n" for number in range(20)))
    _git(repo, "add", ".")
    _git(repo, "commit", "-qm", "one")
    _git(repo, "checkout", "-qb", "migration")
    _git(repo, "mv", "old name.py", "新名.py")
    _git(repo, "rm", "-q", "gone.py")
    _git(repo, "commit", "-qm", "two")
    _git(repo, "checkout", "-q", "base")
    (repo / "kept.py").write_text("by somebody else\n")
    _git(repo, "commit", "-qam", "three")
    _git(repo, "checkout", "-q", "migration")
    (repo / "edited.py").write_text((repo / "edited.py").read_text() + "a\nb\n")
    (repo / "models").mkdir()
    (repo / "models" / "new.py").write_text("a\n")
    (repo / "migration-report").mkdir()
    (repo / "migration-report" / "x.md").write_text("a\n")
    return repo


def test_committed_uncommitted_and_new_files_count_and_what_others_did_does_not(repo: Path) -> None:
    found = changes_since(repo, "base", ("migration-report",))
    assert [(file.path, file.action, file.added, file.removed) for file in found.files] == [
        ("edited.py", "modified", 2, 0),
        ("gone.py", "deleted", 0, 20),
        ("models/new.py", "added", 1, 0),
        ("新名.py", "renamed", 20, 0),
    ]
    assert found.files[3].before == "old name.py"
    assert len(found.commit) == 40


def test_a_folder_of_a_checkout_sees_itself(repo: Path) -> None:
    assert [file.path for file in changes_since(repo / "models", "base").files] == ["new.py"]


@pytest.mark.parametrize("base", ["none", "--help", "", "a\0b"])
def test_a_revision_that_git_does_not_know_is_refused(repo: Path, base: str) -> None:
    with pytest.raises(UsageProblem):
        changes_since(repo, base)


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem):
        changes_since(tmp_path, "HEAD")


def _view(*files: ChangedFile, base: bool = True) -> TargetView:
    changes = ChangeFacts("main", "c" * 40, list(files)) if base else None
    facts = StaticFacts(repo=RepoFacts(changes=changes))
    manifest = {"constraints": {"editable_paths": ["examples/toy", "mindspeed_mm/fsdp/models/toy"]}}
    return TargetView(facts, TargetFacts("toy", None), manifest)


def test_a_change_outside_the_editable_paths_is_found() -> None:
    found = changes_stay_where_they_may(
        _view(
            ChangedFile("examples/toy/toy.yaml", "modified"),
            ChangedFile("mindspeed_mm/fsdp/models/toy/toy.py", "added"),
            ChangedFile("mindspeed_mm/fsdp/models/other/x.py", "modified"),
            ChangedFile("mindspeed_mm/fsdp/train/trainer.py", "modified"),
            ChangedFile("examples/toy/y.py", "renamed", before="docs/y.py"),
        )
    )
    assert [(item.message, item.path) for item in found] == [
        ("preflight.changed_outside", "mindspeed_mm/fsdp/models/other/x.py"),
        ("preflight.changed_core", "mindspeed_mm/fsdp/train/trainer.py"),
        ("preflight.changed_outside", "docs/y.py"),
    ]


def test_without_a_base_the_change_is_not_judged_and_that_is_said() -> None:
    (note,) = changes_stay_where_they_may(_view(base=False))
    assert (note.message, note.severity) == ("preflight.no_base", "note")


def test_changes_are_facts() -> None:
    facts = _view(ChangedFile("a", "renamed", 1, None, "b")).facts
    assert from_json(StaticFacts, to_json(facts)) == replace(facts)
