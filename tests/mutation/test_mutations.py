"""Each defect put into the demo migration turns red what it breaks, at its place, and nothing else."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from demo_mutations import MANIFEST, MUTATIONS, NOT_SEEN, Mutation

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.demo import demo_repo
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.manifest import load_manifest
from pytest_mindspeed_migration.manifests import read_manifests
from pytest_mindspeed_migration.outcomes import Judge, Verdict
from pytest_mindspeed_migration.scan import assets, static, targets

TARGET = "internvl3_5"


@dataclass(frozen=True)
class Judged:
    """Verdicts of all contracts on one copy of the demo."""

    repo: Path
    verdicts: dict[str, Verdict]

    @property
    def failed(self) -> set[str]:
        """Contracts that failed."""
        return {name for name, verdict in self.verdicts.items() if verdict.status == "failed"}

    def errors(self, contract: str) -> list[Finding]:
        """What made a contract fail."""
        return [finding for finding in self.verdicts[contract].findings if finding.fails]

    def describe(self) -> str:
        """What failed and why, for an assertion message."""
        lines = [
            f"{name}: {error.message} at {error.where} {error.value or ''}"
            for name in sorted(self.failed)
            for error in self.errors(name)
        ]
        return "\n".join(["failed:", *lines])


def copy_of_demo(folder: Path) -> Path:
    """Copy the demo repo."""
    return Path(shutil.copytree(demo_repo(), folder / "repo", ignore=shutil.ignore_patterns("__pycache__")))


def judge(repo: Path) -> Judged:
    """Scan a copy of the demo and judge every contract of its target."""
    manifest = load_manifest(repo / MANIFEST)
    found = targets.discover(repo)
    target = replace(targets.match(TARGET, found.targets), manifest=MANIFEST)
    facts = static.scan(repo, [target.name], None, found)
    assets.attach(facts, repo, read_manifests([repo / MANIFEST], {}, repo))
    catalogue = load_catalogue()
    judge = Judge(catalogue, TargetView(facts, target, manifest), ("static",))
    return Judged(repo, {contract.id: judge.verdict(contract.id) for contract in catalogue.contracts})


def test_the_demo_itself_fails_no_contract(tmp_path: Path) -> None:
    judged = judge(copy_of_demo(tmp_path))
    assert not judged.failed, judged.describe()
    assert "blocked" not in {verdict.status for verdict in judged.verdicts.values()}


def _parameters() -> list[Any]:
    beyond = pytest.mark.xfail(strict=True, reason="not seen at level static; once it is, move it to MUTATIONS")
    return [
        *(pytest.param(mutation, id=mutation.name) for mutation in MUTATIONS),
        *(pytest.param(mutation, id=mutation.name, marks=beyond) for mutation in NOT_SEEN),
    ]


@pytest.mark.parametrize("mutation", _parameters())
def test_a_defect_turns_its_contracts_red_and_no_others(mutation: Mutation, tmp_path: Path) -> None:
    repo = copy_of_demo(tmp_path)
    for edit in mutation.edits:
        edit.apply(repo)

    judged = judge(repo)

    assert judged.failed == set(mutation.contracts), judged.describe()
    errors = judged.errors(mutation.contracts[0])
    assert [error for error in errors if points_at(error, mutation, repo)], judged.describe()


def points_at(error: Finding, mutation: Mutation, repo: Path) -> bool:
    """Whether a finding names the file of the mutation and, where that has one, its line."""
    if error.path != mutation.path:
        return False
    if not mutation.at:
        return True
    lines = (repo / mutation.path).read_text(encoding="utf-8").splitlines()
    return error.line is not None and mutation.at.strip() in lines[error.line - 1]


def test_every_mutation_has_a_name_of_its_own() -> None:
    names = [mutation.name for mutation in [*MUTATIONS, *NOT_SEEN]]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names)
