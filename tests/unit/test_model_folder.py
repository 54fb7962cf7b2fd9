"""A model folder that is absent or of another model: who is told, what waits for it, what stays the model's matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from runtime_facts import Shown, said

from pytest_mindspeed_migration.checks.registry import Blocked, NothingToJudge, judge
from pytest_mindspeed_migration.checks.view import MODEL_KEY
from pytest_mindspeed_migration.facts.assets import AssetFacts

LACKS = "'Qwen3_5TextConfig' object has no attribute 'num_experts_per_tok'"
DENSE = {
    "type": "qwen3_5",
    "declared": "qwen3_vl_moe",
    "declared_class": "Qwen3VLMoeConfig",
    "fits": False,
    "classes": ["Qwen3_5Config", "Qwen3_5TextConfig", "Qwen3_5VisionConfig"],
}
INSIDE = {"file": "mindspeed_mm/fsdp/models/m/m.py", "line": 3, "function": "_from_config"}
GIVEN = {"runtime_assets": {"model_path": "/models/dense"}}


def _failed(text: str, **types: Any) -> Shown:
    shown = Shown("qwen3_vl_moe")
    shown.fail("model.build", "AttributeError", text, INSIDE)
    shown.steps["model.build"]["data"] = {"config": {**DENSE, **types}}
    return shown


@pytest.mark.parametrize("contract", ["model.from_config", "model.build"])
def test_a_folder_given_for_another_model_is_named_and_the_model_waits_for_it(contract: str) -> None:
    view = replace(_failed(LACKS).view, manifest=GIVEN)
    (error,) = judge("preflight.assets", view, "cpu")
    assert (error.message, error.value, error.expected) == ("model_folder.of_another", "qwen3_5", "qwen3_vl_moe")
    assert error.args["error"] == LACKS
    with pytest.raises(Blocked) as blocked:
        judge(contract, view, "cpu")
    assert blocked.value.contracts == ("preflight.assets",)


def test_a_folder_that_the_config_names_is_a_matter_of_the_config() -> None:
    shown = _failed(LACKS)
    assert said(shown.judge("config.assets")) == [("error", "model_folder.of_another", "model.model_name_or_path")]
    with pytest.raises(Blocked) as blocked:
        shown.judge("model.build")
    assert blocked.value.contracts == ("config.assets",)
    with pytest.raises(NothingToJudge):
        shown.judge("preflight.assets")


@pytest.mark.parametrize(
    ("text", "types", "notes"),
    [
        (LACKS, {"fits": True}, 0),  # the right folder: the plugin reads what its config has not
        ("'Attention' object has no attribute 'num_experts_per_tok'", {}, 1),
        ("name 'partial' is not defined", {}, 1),
    ],
)
def test_what_another_folder_does_not_explain_stays_the_models_matter(
    text: str, types: dict[str, Any], notes: int
) -> None:
    shown = _failed(text, **types)
    found = shown.judge("model.from_config")
    assert [item.message for item in found if item.fails] == ["cpu.raised"]
    assert [item.message for item in found if not item.fails] == ["model_folder.other_type"] * notes
    assert shown.judge("config.assets") == []


def test_a_model_that_is_built_all_the_same_is_told_by_a_note() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.build")["config"] = DENSE
    assert said(shown.judge("model.build")) == [("note", "model_folder.other_type", "model.model_name_or_path")]
    assert shown.judge("config.assets") == []


def test_a_class_that_declares_no_type_is_not_compared() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.fail("model.build", "AttributeError", LACKS, INSIDE)
    shown.steps["model.build"]["data"] = {"config": {}}
    assert shown.judge("config.assets") == []
    assert said(shown.judge("model.from_config")) == [("error", "cpu.raised", None)]


@pytest.mark.parametrize("contract", ["model.imports", "model.registration", "verify.bad_config_errors"])
def test_a_plugin_that_reads_its_absent_folder_while_it_is_imported_is_not_judged(contract: str) -> None:
    """On master, Step3-VL takes its base class out of the model folder when it is imported."""
    shown = Shown("qwen3_vl_moe")
    shown.set(MODEL_KEY, "./ckpt/X")
    shown.fail("plugins", "HFValidationError", "Repo id must be in the form 'repo_name': 'ckpt/X'.", INSIDE)
    with pytest.raises(NothingToJudge) as idle:
        shown.judge(contract)
    assert (idle.value.key, idle.value.values) == ("cpu.no_model_folder", {"path": "./ckpt/X"})


def test_a_plugin_that_fails_by_itself_is_told_though_its_folder_is_absent() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.set(MODEL_KEY, "./ckpt/X")
    shown.fail("plugins", "NameError", "name 'ckpt' is not defined", INSIDE)
    assert said(shown.judge("model.imports")) == [("error", "cpu.raised", None)]


def test_a_plugin_that_cannot_read_the_folder_that_is_there_is_told() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.fail("plugins", "OSError", "/models/dense holds no modeling_x.py", INSIDE)
    there = {"manifest:runtime_assets.model_path": AssetFacts("/models/dense", exists=True, readable=True, size=3)}
    view = replace(shown.view, manifest=GIVEN, facts=replace(shown.view.facts, assets=there))
    assert said(judge("model.imports", view, "cpu")) == [("error", "cpu.raised", None)]
