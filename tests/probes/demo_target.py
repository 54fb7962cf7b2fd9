"""A copy of the demo with its assets, a warm interpreter for it, and edits that last for one judgement."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_mindspeed_migration.checks.registry import Blocked, NothingToJudge, judge
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.demo import demo_repo
from pytest_mindspeed_migration.evidence.diagnosis import diagnosis_of
from pytest_mindspeed_migration.facts.runtime import ProbeFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.manifest import load_manifest
from pytest_mindspeed_migration.messages import finding_line
from pytest_mindspeed_migration.outcomes import Verdict
from pytest_mindspeed_migration.probes.limits import Limits
from pytest_mindspeed_migration.probes.run import ProbeRun, TargetProbes
from pytest_mindspeed_migration.probes.settings import _FIXED, _WITHOUT_NPU
from pytest_mindspeed_migration.probes.warm import Interpreter, WarmInterpreter
from pytest_mindspeed_migration.scan import static, targets
from pytest_mindspeed_migration.triage import load_dictionary

PYTHON = os.environ.get("MIGRATE_DEMO_PYTHON")
TARGET = "internvl3_5"
EXAMPLE = "examples/internvl3_5"
CONFIG = f"{EXAMPLE}/internvl3_5_config.yaml"
MODELING = "mindspeed_mm/fsdp/models/internvl3_5/modeling_internvl3_5.py"
CHECKPOINT = "ckpt/hf_path/InternVL3_5-tiny"


class DemoTarget:
    """The demo's target at level cpu. Every judgement scans and probes anew."""

    def __init__(self, repo: Path, warm: WarmInterpreter, interpreter: Interpreter) -> None:
        self.repo = repo
        self._warm, self._interpreter = warm, interpreter
        self._count = 0
        self.looked_at: list[ProbeFacts] = []  # in the last judgement

    @contextmanager
    def edited(self, *changes: tuple[str, str, str]) -> Iterator[None]:
        """Replace texts, each of which stands exactly once in its file, and put the files back afterwards."""
        before = {path: (self.repo / path).read_bytes() for path, _, _ in changes}
        try:
            for path, old, new in changes:
                text = (self.repo / path).read_text(encoding="utf-8")
                assert text.count(old) == 1, f"{path} has {text.count(old)} x {old!r}"
                (self.repo / path).write_text(text.replace(old, new), encoding="utf-8")
            yield
        finally:
            for path, content in before.items():
                (self.repo / path).write_bytes(content)

    @contextmanager
    def written(self, path: str, content: bytes | None) -> Iterator[None]:
        """Write a file, or take it away, and put it back afterwards."""
        file = self.repo / path
        before = file.read_bytes() if file.exists() else None
        try:
            file.unlink(missing_ok=True) if content is None else file.write_bytes(content)
            yield
        finally:
            file.unlink(missing_ok=True) if before is None else file.write_bytes(before)

    def judge(self, *contracts: str) -> dict[str, list[Finding] | str]:
        """Findings by contract; the reason's key, or what blocks it, where a contract cannot be judged."""
        self._count += 1
        folder = self._warm.folder / f"judgement-{self._count}"
        folder.mkdir()
        run = ProbeRun(
            interpreter=self._interpreter,
            limits=Limits(seconds=120, memory=1 << 40),
            folder=folder,
            address=self._warm.address,
            repo=self.repo,
            evidence="migration-report",
            assets_base=self.repo / EXAMPLE,
        )
        found = targets.discover(self.repo)
        target = targets.match(TARGET, found.targets)
        facts = static.scan(self.repo, [target.name], None, found)
        manifest = load_manifest(self.repo / EXAMPLE / "migration.yaml")
        probes = TargetProbes(run.facts)
        self.looked_at = probes.looked_at
        view = replace(TargetView(facts, target, manifest), probes=probes)
        return {contract: _outcome(contract, view) for contract in contracts}

    def diagnosis(self, contract: str, outcome: list[Finding] | str) -> dict[str, Any]:
        """The diagnosis that goes with what the last judgement found."""
        assert isinstance(outcome, list), outcome
        verdict = Verdict(contract, "failed", tuple(outcome), level="cpu", probes=tuple(self.looked_at))
        found = diagnosis_of(verdict, load_dictionary(), "en")
        assert found is not None
        return found


def _outcome(contract: str, view: TargetView) -> list[Finding] | str:
    try:
        return judge(contract, view, "cpu")
    except NothingToJudge as idle:
        return idle.key
    except Blocked as blocked:
        return f"blocked by {', '.join(blocked.contracts)}"


def failures(outcome: list[Finding] | str) -> list[str]:
    """Keys of what fails."""
    assert isinstance(outcome, list), outcome
    return [finding.message for finding in outcome if finding.fails]


def lines(outcome: list[Finding] | str) -> str:
    """Everything an outcome says."""
    return outcome if isinstance(outcome, str) else "\n".join(finding_line(finding) for finding in outcome)


@contextmanager
def demo_target(folder: Path) -> Iterator[DemoTarget]:
    """Copy the demo, make its checkpoint and data, and start an interpreter for it."""
    assert PYTHON is not None
    repo = folder / "repo"
    shutil.copytree(demo_repo(), repo, ignore=shutil.ignore_patterns("__pycache__"))
    shown = {**_FIXED, **_WITHOUT_NPU, "PYTHONPATH": str(repo), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **shown}
    make = [PYTHON, "examples/internvl3_5/make_tiny_assets.py"]
    subprocess.run(make, cwd=repo, env=environment, check=True, capture_output=True)
    boot = {"repo": str(repo), "modules": ["torch", "transformers", "mindspeed_mm.fsdp.train.trainer"]}
    interpreter = Interpreter(PYTHON, environment, shown, boot)
    warm = WarmInterpreter(interpreter)
    warm.start()
    try:
        yield DemoTarget(repo, warm, interpreter)
    finally:
        warm.stop()
