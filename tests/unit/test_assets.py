"""`scan.assets`: what is looked up, from which folder, and what is said of it."""

from __future__ import annotations

from pathlib import Path

from pytest_mindspeed_migration.analysis.asset_paths import asset_values, placeholder
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import StaticFacts
from pytest_mindspeed_migration.manifests import read_manifests
from pytest_mindspeed_migration.scan.assets import attach
from pytest_mindspeed_migration.scan.lookup import look_up


def test_config_and_manifest_paths_are_looked_up_from_their_own_folders(tmp_path: Path) -> None:
    repo, home = tmp_path / "repo", tmp_path / "home"
    (repo / "ckpt").mkdir(parents=True)
    (home / "src").mkdir(parents=True)
    (home / "src" / "train.py").write_text("x")
    manifest = home / "migration.yaml"
    manifest.write_text("source_repo_path: src\nsource_entrypoints:\n  train: train.py\nmodel_identity: {name: a}\n")
    facts = StaticFacts(configs={"a.yaml": ConfigFacts("a.yaml", {"load": "./ckpt", "hub_path": "org/name"})})
    attach(facts, repo, read_manifests([manifest], {}, repo))
    assert facts.assets["config:a.yaml:load"].is_dir
    assert facts.assets["manifest:source_entrypoints.train"].exists
    assert facts.assets["manifest:source_entrypoints.train"].line == 3
    assert "config:a.yaml:hub_path" not in facts.assets


def test_impossible_paths_are_problems_not_errors(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert not look_up("none", tmp_path).exists
    assert look_up("none", tmp_path).problem is None
    assert look_up("loop", tmp_path).problem is not None
    assert look_up("a\0b", tmp_path).problem is not None
    assert look_up("*.jsonl", tmp_path).kind == "pattern"


def test_outputs_and_names_are_no_input_paths() -> None:
    data = {
        "training": {"load": ["/a", "/b"], "save": "/c", "log_dir": "/d"},
        "tools": {"profile": {"save_path": "/e", "data_path": "/f"}},
        "data": {"dataset": "precomputed", "dataset_dir": "latents/x", "template": "a/b"},
    }
    found = list(asset_values(ConfigFacts("a.yaml", data)))
    assert found == [("training.load[0]", "/a"), ("training.load[1]", "/b"), ("data.dataset_dir", "latents/x")]


def test_placeholders_are_told_from_names() -> None:
    assert placeholder("/ckpt/Qwen35-xxB") == "xxB"
    assert placeholder("<local_path>/x") == "<local_path>"
    assert placeholder("/path/to/data") == "path/to"
    assert placeholder("/data/your_dataset.jsonl") is not None
    assert placeholder("/data/maxxB_path/tools/xxl-model") is None
