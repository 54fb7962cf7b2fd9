"""What a small config keeps of a large one."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

import pytest_mindspeed_migration

INSIDE = Path(pytest_mindspeed_migration.__file__).parent / "probes" / "inside"
sys.path.insert(0, str(INSIDE))
from migration_probe.shrink_config import shrink  # noqa: E402

VISION = {
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_heads": 16,
    "patch_size": 16,
    "out_hidden_size": 2048,
    "deepstack_visual_indexes": [8, 16, 24],
}
TEXT = {
    "hidden_size": 2048,
    "head_dim": 128,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "num_hidden_layers": 48,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "rope_scaling": {"mrope_section": [24, 20, 20]},
    "vocab_size": 151936,
    "eos_token_id": 151645,
    "top_k": 50,
}
MODEL = {"image_token_id": 151655, "text_config": TEXT, "vision_config": VISION}


def _small(config: dict[str, Any], *kinds: str) -> dict[str, Any]:
    return shrink(config, kinds)[0] if kinds else shrink(config)[0]


def test_every_reduction_is_named_and_nothing_else_changes() -> None:
    before = copy.deepcopy(MODEL)
    small, changes = shrink(MODEL)
    assert before == MODEL
    assert {"path": "text_config.num_hidden_layers", "was": 48, "now": 2} in changes
    for change in changes:
        section, _, key = change["path"].rpartition(".")
        holder = small[section] if section else small
        assert holder.pop(key) == change["now"]
        holder[key] = change["was"]
    assert small == MODEL


def test_vocabulary_tokens_heads_sizes_and_rotary_sections_stay() -> None:
    text = _small(MODEL)["text_config"]
    assert {key: text[key] for key in ("vocab_size", "eos_token_id", "head_dim", "rope_scaling", "top_k")} == {
        key: TEXT[key] for key in ("vocab_size", "eos_token_id", "head_dim", "rope_scaling", "top_k")
    }


def test_layers_go_first_and_alone_when_asked() -> None:
    small = _small(MODEL, "layers")
    assert (small["text_config"]["num_hidden_layers"], small["vision_config"]["depth"]) == (2, 2)
    assert small["text_config"]["num_experts"] == 128
    assert small["text_config"]["hidden_size"] == 2048


def test_fewer_experts_are_used_than_there_are_where_that_was_so() -> None:
    text = _small(MODEL)["text_config"]
    assert (text["num_experts"], text["num_experts_per_tok"]) == (4, 2)
    assert _small({"num_experts": 64, "num_experts_per_tok": 1})["num_experts_per_tok"] == 1


def test_sizes_that_were_equal_stay_equal_and_others_differ() -> None:
    small = _small(MODEL)
    text, vision = small["text_config"], small["vision_config"]
    assert vision["out_hidden_size"] == text["hidden_size"] < 2048
    sizes = [text["hidden_size"], text["intermediate_size"], text["moe_intermediate_size"], vision["hidden_size"]]
    assert len(set(sizes)) == 4


def test_heads_without_a_size_of_their_own_keep_the_size_they_had() -> None:
    vision = _small(MODEL)["vision_config"]
    assert vision["hidden_size"] // vision["num_heads"] == 1152 // 16


def test_groups_of_heads_stay_groups() -> None:
    text = _small(MODEL)["text_config"]
    assert (text["num_attention_heads"], text["num_key_value_heads"]) == (4, 2)
    linear = _small(
        {"head_dim": 64, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "num_key_value_heads": 1}
    )
    assert linear == {
        "head_dim": 64,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "num_key_value_heads": 1,
    }


def test_layer_indexes_stay_a_part_of_the_layers() -> None:
    assert _small(MODEL)["vision_config"]["deepstack_visual_indexes"] == [1]
    full = _small({"depth": 28, "fullatt_block_indexes": [0, 9, 18, 27]})
    assert full == {"depth": 2, "fullatt_block_indexes": [0]}


def test_an_interval_is_kept_whole() -> None:
    types = (["linear"] * 3 + ["full"]) * 8
    small = _small({"num_hidden_layers": 32, "full_attention_interval": 4, "layer_types": types})
    assert small == {"num_hidden_layers": 4, "full_attention_interval": 4, "layer_types": types[:4]}


def test_a_pattern_without_an_interval_keeps_one_layer_of_each_kind() -> None:
    pattern, moe = [0, 1, 1, 1, 1, 0] + [1] * 42, [0] + [1] * 47
    small = _small({"num_hidden_layers": 48, "hybrid_layer_pattern": pattern, "moe_layer_freq": moe})
    assert small == {"num_hidden_layers": 3, "hybrid_layer_pattern": [0, 1, 0], "moe_layer_freq": [0, 1, 1]}


def test_a_number_of_a_layer_stays_within_the_layers_of_other_sections() -> None:
    small = _small({"accept_hidden_layer": 24, "thinker": {"num_hidden_layers": 48}, "feature_layer": -2})
    assert small == {"accept_hidden_layer": 1, "thinker": {"num_hidden_layers": 2}, "feature_layer": -2}


def test_dense_layers_at_the_start_leave_room_for_others() -> None:
    small = _small(
        {"num_hidden_layers": 61, "first_k_dense_replace": 3, "n_routed_experts": 256, "n_group": 8, "topk_group": 4}
    )
    assert small["first_k_dense_replace"] < small["num_hidden_layers"]
    assert small["n_routed_experts"] % small["n_group"] == 0
    assert small["topk_group"] <= small["n_group"]


@pytest.mark.parametrize(
    "config", [{}, {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}, {"layer_types": []}]
)
def test_what_is_small_already_stays(config: dict[str, Any]) -> None:
    assert shrink(config) == (config, [])
