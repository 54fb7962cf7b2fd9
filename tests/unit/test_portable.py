"""What a run on CPU ranks replaces in a config, and what the evidence says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.probes.portable import overrides_of

BASE = Path("/srv/migration")


def _overrides(data: dict[str, Any], **assets: Any) -> dict[str, Any]:
    facts = StaticFacts(configs={"c.yaml": ConfigFacts("c.yaml", data)})
    view = TargetView(facts, TargetFacts("t", "c.yaml"), {"runtime_assets": assets} if assets else None)
    return {one.yaml_path: one.value for one in overrides_of(view, BASE)}


def test_only_values_that_need_a_device_are_replaced() -> None:
    data = {
        "model": {
            "attn_implementation": "flash_attention_2",
            "gdn_implementation": "eager",
            "skip_gdn_recompute": True,
        },
        "training": {"adam_fused": False},
        "data": {"dataloader_param": {"num_workers": 8, "pin_memory": False}},
    }
    assert _overrides(data) == {
        "model.attn_implementation": "eager",
        "model.skip_gdn_recompute": False,
        "data.dataloader_param.num_workers": 0,
    }


def test_a_number_is_not_taken_for_a_switch() -> None:
    assert _overrides({"features": {"enable_chunk_loss": 1}}) == {}


def test_the_model_folder_replaces_every_place_that_named_the_old_one() -> None:
    data = {
        "model": {"model_name_or_path": "/home/data/M"},
        "data": {"dataset_param": {"preprocess_parameters": {"model_name_or_path": "/home/data/M"}}},
        "training": {"load": "/home/data/other"},
    }
    found = _overrides(data, model_path="ckpt/M")
    assert found == {
        "model.model_name_or_path": "/srv/migration/ckpt/M",
        "data.dataset_param.preprocess_parameters.model_name_or_path": "/srv/migration/ckpt/M",
    }


def test_data_and_media_go_where_the_config_has_them() -> None:
    basic = {"dataset_dir": "/data", "dataset": "/data/train.json"}
    found = _overrides(
        {"data": {"dataset_param": {"basic_parameters": basic}}},
        dataset_path=["a.json", "/b.json"],
        image_root="images",
    )
    assert found == {
        "data.dataset_param.basic_parameters.dataset_dir": "/srv/migration/images",
        "data.dataset_param.basic_parameters.dataset": ["/srv/migration/a.json", "/b.json"],
    }


def test_media_of_a_section_of_the_model_are_replaced_there() -> None:
    params = {"basic_parameters": {"dataset": "/data/train.json"}, "my_extra": {"image_root": "/data/images"}}
    assert _overrides({"data": {"dataset_param": params}}, image_root="images") == {
        "data.dataset_param.my_extra.image_root": "/srv/migration/images"
    }


def test_where_one_path_is_data_and_folder_the_media_do_not_replace_the_data() -> None:
    basic = {"dataset_dir": "/data/data.list", "dataset": "/data/data.list"}
    found = _overrides(
        {"data": {"dataset_param": {"basic_parameters": basic}}}, dataset_path="/d.list", image_root="/images"
    )
    assert found == {f"data.dataset_param.basic_parameters.{key}": "/d.list" for key in basic}


def test_a_folder_of_media_is_written_only_where_the_config_has_a_key_for_it() -> None:
    basic = {"dataset": "/data/train.json"}
    found = _overrides({"data": {"dataset_param": {"basic_parameters": basic}}}, image_root="images")
    assert found == {}
