"""The distributed run with its device profile pointed at the CPU: the code path of the run on devices, on the demo.

`MIGRATE_DEMO_PYTHON` names an interpreter with torch and transformers.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.demo import demo_repo

PYTHON = os.environ.get("MIGRATE_DEMO_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")


def _contracts(folder: Path) -> dict[str, dict[str, Any]]:
    text = (folder / "migration-report/internvl3_5/evidence.json").read_text(encoding="utf-8")
    return {one["id"]: one for one in json.loads(text)["contracts"]}


def test_tried_out_on_the_cpu_the_run_trains_and_decides_nothing(pytester: pytest.Pytester) -> None:
    shutil.copytree(demo_repo(), pytester.path / "repo", ignore=shutil.ignore_patterns("__pycache__"))
    result = pytester.runpytest_subprocess(
        "--migrate-target=internvl3_5",
        "--migrate-repo=repo",
        "--migrate-manifest=repo/examples/internvl3_5/migration.yaml",
        f"--migrate-python={PYTHON}",
        "--migrate-level=npu",
        "--migrate-device=cpu",
        "--migrate-steps=5",
        "-k",
        "distributed_e2e or rehearsal or evidence_complete",
    )
    found = _contracts(pytester.path)
    assert (found["verify.distributed_e2e"]["status"], found["verify.distributed_e2e"]["level"]) == ("passed", "cpu")
    assert found["verify.rehearsal"]["status"] == "passed"
    assert found["verify.evidence_complete"]["status"] == "failed"
    report = (pytester.path / "migration-report/internvl3_5/verification_report.md").read_text(encoding="utf-8")
    assert report.startswith("Not accepted")
    assert "loss_distributed_e2e.svg" in report
    assert result.ret == 1


def test_without_devices_level_npu_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--migrate-target=internvl3_5", "--migrate-repo=demo", "--migrate-level=npu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*level npu is not available*--migrate-device=cpu*"])
