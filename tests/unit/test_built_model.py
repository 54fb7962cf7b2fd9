"""Loaders, build, checkpoint keys and special tokens: checks on facts that the probe showed, with defects put in."""

from __future__ import annotations

from typing import Any

import pytest
from runtime_facts import Shown, said

from pytest_mindspeed_migration.checks.cpu.model_build import signature_table
from pytest_mindspeed_migration.checks.registry import Blocked, NothingToJudge

FAMILIES = ["qwen3_vl_moe", "qwen3_omni_moe", "qwen3_asr", "qwen3_5", "mimo_v25"]
META = "training.init_model_with_meta_device"
PATH = "model.model_name_or_path"


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("contract", ["model.from_pretrained", "model.from_config", "model.special_tokens"])
def test_real_models_fulfil_these(family: str, contract: str) -> None:
    assert said(Shown(family).judge(contract)) == []


def test_a_trainer_that_cannot_tie_the_embeddings_of_a_model_is_told() -> None:
    """On master, `retie_embeddings` raises for Qwen3-ASR, whose config asks for tied embeddings."""
    error = Shown("qwen3_asr").judge("model.build")[0]
    assert error.args["root"] == "NotImplementedError"
    assert (error.path, error.fails) == ("mindspeed_mm/fsdp/checkpoint/utils.py", True)
    assert [said(Shown(family).judge("model.build")) for family in FAMILIES if family != "qwen3_asr"] == [[]] * 4


def test_a_loader_that_takes_one_parameter_does_not_bind_on_the_transformers_route() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.set(META, False)
    loader = shown.data("model.signatures")["loaders"]["from_pretrained"]
    file = "mindspeed_mm/fsdp/models/qwen3vl/modeling_qwen3_vl_moe.py"
    loader.update(params=["args"], kwonly=[], varargs=None, varkw=None, file=file, line=9, text="(args)")
    error = shown.judge("model.from_pretrained")[0]
    assert said([error]) == [("error", "model.loader_does_not_bind", None)]
    assert error.args["reason"] == "unexpected keyword 'config'"
    assert error.line == 9
    shown.data("model.build")["route"] = ["_build_custom_model"]  # there, ModelHub passes one argument
    assert shown.judge("model.from_pretrained") == []
    table = signature_table(shown.view)["signatures"]
    assert [row["misfit"] for row in table if row["loader"] == "from_pretrained"] == [
        None,
        "unexpected keyword 'config'",
    ]


def test_a_class_without_a_loader_cannot_be_built() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.signatures")["loaders"]["_from_config"] = None
    assert said(shown.judge("model.from_config")) == [("error", "model_build.no_loader", None)]


def test_what_happens_inside_from_config_is_a_matter_of_that_contract() -> None:
    frame = {"file": "mindspeed_mm/fsdp/models/m/m.py", "line": 3, "function": "_from_config"}
    shown = Shown("qwen3_vl_moe")
    shown.fail("model.build", "AttributeError", "no attribute 'rope_parameters'", frame)
    error = shown.judge("model.from_config")[0]
    assert (error.message, error.where) == ("cpu.raised", "mindspeed_mm/fsdp/models/m/m.py:3")
    shown.fail("model.build", "KeyError", "x", {**frame, "function": "build"})
    assert shown.judge("model.from_config") == []
    assert said(shown.judge("model.build")) == [("error", "cpu.raised", None)]


def test_a_config_that_cannot_be_read_is_named_though_the_hub_hides_it() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.folder")["model"]["config"] = "JSONDecodeError: Expecting ',' delimiter: line 3 column 1"
    shown.fail("model.build", "AttributeError", "'ModelArguments' object has no attribute 'dtype'")
    error = shown.judge("model.build")[0]
    assert said([error]) == [("error", "model_build.config_json", PATH)]
    assert "line 3" in error.args["problem"]


def test_why_the_hub_took_its_other_route_is_told() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.fail("model.build", "AttributeError", "no attribute 'thinker_config'")
    hidden = {"type": "AttributeError", "message": "no attribute 'use_sliding_window'", "frames": [], "chain": []}
    shown.steps["model.route"] = {"name": "model.route", "status": "error", "error": hidden, "data": {}}
    found = shown.judge("model.build")
    assert said(found) == [("error", "cpu.raised", None), ("note", "model_build.hidden_config", None)]


def test_an_unregistered_model_is_the_matter_of_registration() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.steps["model.signatures"]["data"] = {"cls": None}
    with pytest.raises(Blocked) as blocked:
        shown.judge("model.from_pretrained")
    assert blocked.value.contracts == ("model.registration",)


def test_no_weights_no_judgement() -> None:
    with pytest.raises(NothingToJudge) as idle:
        Shown("qwen3_vl_moe").judge("model.checkpoint_keys")
    assert idle.value.values == {"folder": "/models/qwen3_vl_moe"}


def test_experts_that_no_key_fills_are_an_error_where_training_reads_the_checkpoint_as_it_is() -> None:
    """Transformers 5.1 fuses the experts of this checkpoint, and the plugin of master has single ones."""
    shown = Shown("qwen3_omni_moe", "qwen3_omni_moe_checkpoint")
    found = shown.judge("model.checkpoint_keys")
    assert {item.severity for item in found} == {"note"}  # converted before training: init on meta, another load path
    shown.set(META, False)
    errors = [item for item in shown.judge("model.checkpoint_keys") if item.fails]
    assert [item.args["name"] for item in errors] == [
        f"model.layers.{{*}}.mlp.experts.{{*}}.{name}.weight" for name in ("gate_proj", "up_proj", "down_proj")
    ]


def _checkpoint(**data: Any) -> Shown:
    shown = Shown("qwen3_vl_moe")
    shown.set(META, False)
    shown.steps["model.checkpoint"]["data"] = {
        "folder": "/models/x",
        "files": ["model.safetensors"],
        "problems": [],
        "tensors": 64,
        "way": "as it stands",
        "renamed": 0,
        "missing": [],
        "unexpected": [],
        "shapes": [],
        **data,
    }
    return shown


def test_a_checkpoint_that_fits() -> None:
    assert _checkpoint().judge("model.checkpoint_keys") == []
    assert said(_checkpoint(renamed=64, way="transformers").judge("model.checkpoint_keys")) == [
        ("note", "checkpoint.renamed", PATH)
    ]


def test_a_distributed_checkpoint_is_compared_though_the_model_folder_has_no_weights() -> None:
    shown = Shown("qwen3_vl_moe")
    missing = [{"name": "model.visual.blocks.{*}.attn.qkv.weight", "count": 27, "first": "model.visual.blocks.0"}]
    other = [{"name": "visual.blocks.{*}.attn.qkv.weight", "count": 27, "first": "visual.blocks.0"}]
    shown.steps["model.sharded"] = {
        "name": "model.sharded",
        "status": "ok",
        "data": {"compared": {"folder": "/c", "tensors": 27, "missing": missing, "unexpected": other, "shapes": []}},
    }
    error, note = shown.judge("model.checkpoint_keys")
    assert said([error, note]) == [
        ("error", "checkpoint.missing", "training.load"),
        ("note", "checkpoint.unexpected", "training.load"),
    ]
    assert error.suggestion == "visual.blocks.{*}.attn.qkv.weight"


@pytest.mark.parametrize("problem", ["missing", "truncated", "header", "index", "lacks"])
def test_a_file_that_cannot_be_read_is_named(problem: str) -> None:
    shown = _checkpoint(problems=[{"file": "model-2-of-2.safetensors", "problem": problem, "detail": "x"}])
    error = shown.judge("model.checkpoint_keys")[0]
    assert said([error]) == [("error", f"checkpoint.file_{problem}", PATH)]
    assert error.args["file"] == "model-2-of-2.safetensors"


def test_a_key_with_another_prefix_is_suggested_and_shapes_are_compared() -> None:
    name, key = "model.visual.blocks.{*}.attn.qkv.weight", "visual.blocks.{*}.attn.qkv.weight"
    shown = _checkpoint(
        missing=[{"name": name, "count": 27, "first": name.replace("{*}", "0")}],
        unexpected=[{"name": key, "count": 27, "first": key.replace("{*}", "0")}],
        shapes=[{"key": "lm_head.weight", "name": "lm_head.weight", "checkpoint": [5, 2], "model": [4, 2]}],
    )
    missing, shape, unexpected = shown.judge("model.checkpoint_keys")
    assert (missing.message, missing.suggestion) == ("checkpoint.missing", key)
    assert (shape.message, shape.value, shape.expected) == ("checkpoint.shape", "[5, 2]", "[4, 2]")
    assert (unexpected.severity, unexpected.args["count"]) == ("note", 27)


def _tokens(**changes: Any) -> Shown:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.tokenizer").update(changes)
    return shown


def _id(path: str, value: int, token: str | None, added: bool) -> dict[str, Any]:
    return {"path": path, "value": value, "token": token, "added": added}


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"ids": [_id("image_token_id", 151655, None, False)]}, "tokens.unknown"),
        ({"ids": [_id("image_token_id", 100, "the", False)]}, "tokens.ordinary"),
        (
            {
                "ids": [_id("image_token_id", 7, "<|video_pad|>", True)],
                "named": {"image_token": {"text": "<|image_pad|>", "id": 9}},
            },
            "tokens.differs",
        ),
        ({"ids": [_id("text_config.eos_token_id", 151936, None, False)]}, "tokens.no_row"),
        ({"size": 151937}, "tokens.embedding"),
        (
            {
                "image": {
                    "image_seq_length": 5,
                    "downsample_ratio": 0.5,
                    "vision_config.image_size": [32, 32],
                    "vision_config.patch_size": [8, 8],
                }
            },
            "tokens.image_count",
        ),
    ],
)
def test_ids_that_do_not_agree_are_named(changes: dict[str, Any], key: str) -> None:
    assert said(_tokens(**changes).judge("model.special_tokens")) == [("error", key, PATH)]


def test_ids_that_mean_nothing_here_are_left_alone() -> None:
    ids = [
        _id("image_token_id", -1, None, False),
        _id("talker_config.codec_audio_token_id", 40, "I", False),
        _id("text_config.bos_token_id", 5, "&", False),
    ]
    assert _tokens(ids=ids, embedding=None, size=10**6).judge("model.special_tokens") == []


def test_a_folder_without_a_tokenizer_is_named() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.folder")["tokenizer"].update(path="/models/none", tokenizer=[])
    shown.fail("model.tokenizer", "OSError", "Can't load tokenizer for '/models/none'")
    error = shown.judge("model.special_tokens")[0]
    assert (error.message, error.value) == ("tokens.no_tokenizer", "/models/none")
    shown.data("model.folder")["tokenizer"]["tokenizer"] = ["tokenizer.json"]
    assert said(shown.judge("model.special_tokens")) == [("error", "cpu.raised", None)]


def test_a_model_that_is_one_file_says_nothing_of_its_tokenizer() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.folder")["tokenizer"].update(path="/models/llm.pt", exists=False, file=True, tokenizer=[])
    with pytest.raises(NothingToJudge) as idle:
        shown.judge("model.special_tokens")
    assert idle.value.key == "tokens.no_folder"


def test_a_key_of_another_module_that_ends_alike_is_not_suggested() -> None:
    name, key = "model.layers.{*}.mlp.experts.{*}.up_proj.weight", "vocoder.layers.{*}.mlp.up_proj.weight"
    shown = _checkpoint(
        missing=[{"name": name, "count": 8, "first": name}], unexpected=[{"name": key, "count": 1, "first": key}]
    )
    assert shown.judge("model.checkpoint_keys")[0].suggestion is None
