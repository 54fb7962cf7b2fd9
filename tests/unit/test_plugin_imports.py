"""What the import of the plugins shows at level cpu, beside what the files already tell."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from python_repo import MODEL, PLUGIN, Repo

from pytest_mindspeed_migration.checks.registry import Blocked, judge
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.launch import CopyInstruction
from pytest_mindspeed_migration.facts.runtime import ProbeFacts, Raised, StepFacts
from pytest_mindspeed_migration.findings import Finding

MODELING = f"{PLUGIN}/modeling_toy.py"
FRAME = {"file": MODELING, "line": 5, "function": "<module>"}


def _missing(module: str) -> Raised:
    return Raised("ModuleNotFoundError", f"No module named '{module}'", [FRAME], missing=module)


def _view(tmp_path: Path, error: Raised | None = None, hidden: Raised | None = None) -> TargetView:
    """A target whose README has the user copy `configuration_toy.py`, and a probe in which an import failed so."""
    text = f"{MODEL}from .configuration_toy import ToyConfig\n"
    copies = [CopyInstruction(PLUGIN, ["configuration_toy.py"], 7)]
    facts = Repo(tmp_path, {MODELING: text}, copies=copies).facts()
    data: dict[str, Any] = {"entries": [{"entry": PLUGIN, "hidden": []}], "after": {"model": []}}
    if hidden is not None:
        data["entries"][0]["hidden"] = [{"module": "mindspeed_mm.fsdp.models.toy", "error": asdict(hidden)}]
    plugins = StepFacts("plugins", "ok" if error is None else "error", data=data, error=error)
    steps = {"config": StepFacts("config", "ok"), "plugins": plugins}
    probe = ProbeFacts("plugins", "done", steps)
    probes: Any = SimpleNamespace(facts=lambda view, name: probe)
    return TargetView(facts, facts.targets[0], probes=probes)


def _errors(view: TargetView, contract: str = "model.imports") -> list[Finding]:
    return [finding for finding in judge(contract, view, "cpu") if finding.fails]


def test_a_file_that_the_user_has_to_bring_is_no_defect_of_the_code(tmp_path: Path) -> None:
    module = "mindspeed_mm.fsdp.models.toy.configuration_toy"
    for view in (_view(tmp_path, error=_missing(module)), _view(tmp_path, hidden=_missing(module))):
        (found,) = _errors(view)
        assert (found.message, found.args["module"], found.where) == ("imports.expected_file", module, f"{MODELING}:5")


def test_a_package_for_npu_only_is_not_to_be_installed_but_guarded(tmp_path: Path) -> None:
    (found,) = _errors(_view(tmp_path, error=_missing("torch_npu")))
    assert (found.message, found.args, found.where) == ("effects.npu_import", {"detail": "torch_npu"}, f"{MODELING}:5")


def test_another_package_that_is_missing_is_to_be_installed(tmp_path: Path) -> None:
    (found,) = _errors(_view(tmp_path, error=_missing("decord")))
    assert (found.message, found.value) == ("cpu.package_missing", "decord")


def test_what_is_not_registered_since_an_import_failed_is_not_judged(tmp_path: Path) -> None:
    with pytest.raises(Blocked, match=r"model\.imports"):
        _errors(_view(tmp_path, hidden=_missing("decord")), "model.registration")


def test_what_is_not_registered_although_all_imports_went_well_fails(tmp_path: Path) -> None:
    (found,) = _errors(_view(tmp_path), "model.registration")
    assert found.message == "cpu.not_registered"
