"""On a real MindSpeed-MM checkout (`MINDSPEED_MM_REPO`): every target is judged, and an export judges like the repo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mindspeed_migration.facts import store
from pytest_mindspeed_migration.scan.cache import ScanCache
from pytest_mindspeed_migration.scan.static import scan
from pytest_mindspeed_migration.survey import survey

REPO = os.environ.get("MINDSPEED_MM_REPO")
pytestmark = [
    pytest.mark.upstream,
    pytest.mark.skipif(REPO is None, reason="MINDSPEED_MM_REPO names no MindSpeed-MM checkout"),
]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", f"--migrate-repo={REPO}", "--migrate-level=static", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_every_target_is_judged_without_an_internal_error(tmp_path: Path) -> None:
    done = run(tmp_path, "--migrate-target=all", "-n", "2")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    summary = json.loads((tmp_path / "migration-report" / "summary.json").read_text(encoding="utf-8"))
    targets = {item.parent.name for item in (tmp_path / "migration-report").glob("*/evidence.json")}
    assert len(targets) > 3
    assert summary
    for name in targets:
        evidence = json.loads((tmp_path / "migration-report" / name / "evidence.json").read_text(encoding="utf-8"))
        statuses = {contract["status"] for contract in evidence["contracts"]}
        assert statuses <= {"passed", "failed", "blocked", "not_run"}
        assert "internal" not in json.dumps(evidence["contracts"])


def test_an_export_gives_the_findings_of_the_repo(tmp_path: Path) -> None:
    facts = scan(Path(REPO or ""))
    store.save(facts, tmp_path / "facts.json")
    assert [s.line for s in survey(store.load(tmp_path / "facts.json"))] == [s.line for s in survey(facts)]


def test_one_target_alone_gives_the_findings_it_has_among_all(tmp_path: Path) -> None:
    everything = scan(Path(REPO or ""))
    expected = survey(everything)
    for target in everything.targets[:3]:
        alone = survey(scan(Path(REPO or ""), [target.name], ScanCache(tmp_path / "cache.json")))
        own = [s.line for s in alone if s.target == target.name]
        assert own == [s.line for s in expected if s.target == target.name]
