"""The worked case at level cpu: every contract of the demo's migration passes, and a rehearsal of 100 steps learns.

`MIGRATE_DEMO_PYTHON` names an interpreter with torch and transformers. CI without it does not run these tests and says
so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.demo import demo_repo

PYTHON = os.environ.get("MIGRATE_DEMO_PYTHON")
CONFIG = "examples/internvl3_5/internvl3_5_config.yaml"
STEPS = 100
NEEDS_DEVICES = {"verify.distributed_e2e", "verify.evidence_complete"}

pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A copy of the demo repo with weights in its tiny checkpoint."""
    assert PYTHON is not None
    copy = Path(shutil.copytree(demo_repo(), tmp_path / "demo", ignore=shutil.ignore_patterns("__pycache__")))
    script = str(copy / "examples/internvl3_5/make_tiny_assets.py")
    subprocess.run([PYTHON, script], check=True, capture_output=True, timeout=120)
    return copy


def judge(pytester: pytest.Pytester, repo: Path, *options: str) -> tuple[dict[str, str], list[float]]:
    """Judge the target at level cpu; return the status of each contract and the loss of each step."""
    result = pytester.runpytest_subprocess(
        f"--migrate-manifest={repo / 'examples/internvl3_5/migration.yaml'}",
        f"--migrate-repo={repo}",
        f"--migrate-python={PYTHON}",
        "--migrate-level=cpu",
        f"--migrate-steps={STEPS}",
        *("-p", "no:cacheprovider"),
        *options,
    )
    assert result.ret == 0, result.stdout.str()[-6000:]
    folder = pytester.path / "migration-report" / "internvl3_5"
    evidence: dict[str, Any] = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
    run = json.loads((folder / "details" / "verify.rehearsal.json").read_text(encoding="utf-8"))
    losses = [step["loss"] for step in run["steps"]]
    return {one["id"]: one["status"] for one in evidence["contracts"]}, losses


def test_every_contract_passes_and_the_rehearsal_learns(pytester: pytest.Pytester, repo: Path) -> None:
    status, losses = judge(pytester, repo)
    assert {name: one for name, one in status.items() if one != "passed"} == dict.fromkeys(NEEDS_DEVICES, "not_run")
    assert len(losses) == STEPS
    assert losses[-1] < 0.75 * losses[0]


def test_the_rehearsal_learns_from_weights_that_were_loaded(pytester: pytest.Pytester, repo: Path) -> None:
    file = repo / CONFIG
    text = file.read_text(encoding="utf-8")
    assert text.count("init_model_with_meta_device: true") == 1
    file.write_text(text.replace("meta_device: true", "meta_device: false"), encoding="utf-8")
    status, losses = judge(pytester, repo, "-k", "rehearsal")
    assert status["verify.rehearsal"] == "passed"
    assert len(losses) == STEPS
    assert losses[-1] < 0.75 * losses[0]
