"""`manifest`: a valid migration.yaml is returned as it is; a wrong one is one sentence with file, line and key."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pytest_mindspeed_migration.errors import UsageProblem
from pytest_mindspeed_migration.manifest import SCHEMA, load_manifest

FULL = """\
source_repo_path: /src/toy
target_repo_path: .
model_identity: {name: toy_vlm, modality: vlm}
source_entrypoints: {train: train.py, model: [toy/model.py, toy/vit.py], dataset: toy/data.py}
runtime_assets:
  model_path: /ckpt/toy
  dataset_path: [/data/a.jsonl, /data/b.jsonl]
  image_root: /data/images
constraints:
  editable_paths: [examples/toy, mindspeed_mm/fsdp/models/toy]
  no_core_modification: true
  reuse_first: true
acceptance: {functional: true, reliability: true, distributed_e2e_run_once: true}
environment:
  python: /envs/toy/bin/python
  pythonpath: /src/MindSpeed
  env: {NON_MEGATRON: true, OMP_NUM_THREADS: 1}
"""


def load(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "migration.yaml"
    path.write_text(text)
    return load_manifest(path)


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text()))


def test_a_full_manifest_is_returned_as_written(tmp_path: Path) -> None:
    manifest = load(tmp_path, FULL)
    assert manifest["runtime_assets"] == {
        "model_path": "/ckpt/toy",
        "dataset_path": ["/data/a.jsonl", "/data/b.jsonl"],
        "image_root": "/data/images",
    }


def test_a_name_is_enough(tmp_path: Path) -> None:
    assert load(tmp_path, "model_identity: {name: toy}\n") == {"model_identity": {"name": "toy"}}


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (
            "model_identity: {name: toy}\nruntime_asets: {}\n",
            "manifest_unknown_key_near",
            "migration.yaml:2 has the unknown key runtime_asets; did you mean runtime_assets?",
        ),
        (
            "model_identity: {name: toy}\nruntime_assets:\n  model_pth: /x\n",
            "manifest_unknown_key_near",
            ":3 has the unknown key runtime_assets.model_pth; did you mean runtime_assets.model_path?",
        ),
        ("model_identity: {name: toy}\nzzz: 1\n", "manifest_unknown_key", "allowed here: source_repo_path"),
        ("source_repo_path: /x\n", "manifest_missing_key", "lacks the key model_identity"),
        ("model_identity: {modality: vlm}\n", "manifest_missing_key", "lacks the key model_identity.name"),
        ("model_identity: {name: 3}\n", "manifest_bad_value", "model_identity.name is 3, but has to be: text"),
        ("model_identity: {name: a/b}\n", "manifest_bad_value", "a name without slashes"),
        ("model_identity: {name: ''}\n", "manifest_bad_value", "not empty"),
        ("model_identity: {name: t}\nruntime_assets:\n  dataset_path: 3\n", "manifest_bad_value", "text / a list"),
        ("model_identity: {name: t}\nconstraints:\n  reuse_first: maybe\n", "manifest_bad_value", "true or false"),
        ("model_identity: {name: t}\nmodel_identity: {name: u}\n", "manifest_duplicate_key", ":2"),
        ("- a\n", "manifest_not_yaml", "root_not_mapping"),
        ("", "manifest_not_yaml", "empty"),
        ("a: [\n", "manifest_not_yaml", "syntax"),
        ("a: *b\n", "manifest_not_yaml", "undefined_alias"),
    ],
)
def test_a_wrong_manifest_names_file_line_and_key(tmp_path: Path, text: str, key: str, said: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        load(tmp_path, text)
    assert caught.value.key == f"usage.{key}"
    assert said in caught.value.render()
    assert str(tmp_path / "migration.yaml") in caught.value.render("zh")


def test_a_missing_manifest_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        load_manifest(tmp_path / "none.yaml")
