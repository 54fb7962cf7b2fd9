"""The demo's migration, unchanged, on a copy of a real checkout: every contract passes, and 100 steps learn.

`MINDSPEED_MM_REPO` and `MINDSPEED_PATH` name checkouts, `MIGRATE_TEST_PYTHON` an interpreter that imports both and has
InternVL in its Transformers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mindspeed_migration.demo.overlay import MANIFEST, apply_overlay, overlay_files

REPO = os.environ.get("MINDSPEED_MM_REPO")
MINDSPEED = os.environ.get("MINDSPEED_PATH")
PYTHON = os.environ.get("MIGRATE_TEST_PYTHON")
STEPS = 100
NEEDS_DEVICES = {"verify.distributed_e2e", "verify.evidence_complete"}

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.skipif(REPO is None, reason="MINDSPEED_MM_REPO names no MindSpeed-MM checkout"),
]
needs_python = pytest.mark.skipif(
    PYTHON is None or MINDSPEED is None, reason="MIGRATE_TEST_PYTHON and MINDSPEED_PATH name nothing to run it with"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the real checkout with the migration on it."""
    ignore = shutil.ignore_patterns("__pycache__", ".git")
    copy = Path(shutil.copytree(REPO or "", tmp_path / "checkout", ignore=ignore, symlinks=True))
    assert apply_overlay(copy) == overlay_files(), "the checkout has a migration of this name already"
    return copy


def judge(checkout: Path, *options: str) -> tuple[dict[str, str], Path]:
    """Run pytest beside the checkout; return the status of each contract and the folder of the report."""
    command = [sys.executable, "-m", "pytest", f"--migrate-manifest={checkout / MANIFEST}", "-p", "no:cacheprovider"]
    command += [f"--migrate-repo={checkout}", *options]
    done = subprocess.run(command, cwd=checkout.parent, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    folder = checkout.parent / "migration-report" / "internvl3_5"
    evidence = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
    return {one["id"]: one["status"] for one in evidence["contracts"]}, folder


def test_every_static_contract_passes(checkout: Path) -> None:
    status, _ = judge(checkout, "--migrate-level=static")
    assert set(status.values()) == {"passed", "not_run"}
    assert sum(one == "passed" for one in status.values()) > 20


@needs_python
@pytest.mark.parametrize("meta", ["true", "false"])
def test_every_cpu_contract_passes_and_the_rehearsal_learns(checkout: Path, meta: str) -> None:
    assert PYTHON is not None
    subprocess.run(
        [PYTHON, str(checkout / "examples/internvl3_5/make_tiny_assets.py")],
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        check=True,
        capture_output=True,
        timeout=300,
    )
    file = checkout / "examples/internvl3_5/internvl3_5_config.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("meta_device: true", f"meta_device: {meta}"), "utf-8")
    status, folder = judge(
        checkout,
        "--migrate-level=cpu",
        f"--migrate-python={PYTHON}",
        f"--migrate-pythonpath={MINDSPEED}",
        f"--migrate-steps={STEPS}",
    )
    assert {name: one for name, one in status.items() if one != "passed"} == dict.fromkeys(NEEDS_DEVICES, "not_run")
    run = json.loads((folder / "details" / "verify.rehearsal.json").read_text(encoding="utf-8"))
    losses = [step["loss"] for step in run["steps"]]
    assert len(losses) == STEPS
    assert losses[-1] < 0.75 * losses[0]
