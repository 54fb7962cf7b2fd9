"""The probe `model` on the demo: its contracts pass, and each fails when its own defect is put in.

`MIGRATE_DEMO_PYTHON` names an interpreter that has torch and Transformers; without it these tests say so.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest
from demo_target import CHECKPOINT, CONFIG, MODELING, PYTHON, DemoTarget, demo_target, failures, lines

pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")

CONTRACTS = (
    "model.from_pretrained",
    "model.from_config",
    "model.build",
    "model.checkpoint_keys",
    "model.special_tokens",
    "config.apply_modules",
    "config.feature_plans",
)
LAYERS = "      - model.language_model.layers.{*}\n    param_dtype"
FREEZE = "    - model.vision_tower.embeddings\n"
WEIGHTS = f"{CHECKPOINT}/model.safetensors"
HUB_META = "  init_model_with_meta_device: true\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoTarget]:
    with demo_target(tmp_path_factory.mktemp("demo")) as target:
        yield target


def test_the_demo_fulfils_them_all(demo: DemoTarget) -> None:
    for contract, outcome in demo.judge(*CONTRACTS).items():
        assert failures(outcome) == [], f"{contract}: {lines(outcome)}"


DEFECTS = [
    (
        "a pattern below a parent that is not there",
        "config.apply_modules",
        "audit.dead_at",
        (CONFIG, "      - model.vision_tower.encoder.layer.{*}\n", "      - vision_tower.encoder.layer.{*}\n"),
    ),
    (
        "a list itself",
        "config.apply_modules",
        "audit.container",
        (CONFIG, "      - model.vision_tower.encoder.layer.{*}\n", "      - model.vision_tower.encoder.layer\n"),
    ),
    (
        "a misspelt module to freeze",
        "config.feature_plans",
        "audit.dead_at",
        (CONFIG, FREEZE, "    - model.vision_tower.embedding\n"),
    ),
    (
        "everything frozen",
        "config.feature_plans",
        "audit.all_frozen",
        (CONFIG, FREEZE, "    - model\n    - lm_head\n"),
    ),
    (
        "a loader that takes a path only",
        "model.from_pretrained",
        "model.loader_does_not_bind",
        (
            MODELING,
            "def from_pretrained(cls, path_or_section, *args, config=None, **options):",
            "def from_pretrained(cls, path_or_section, config=None, *args, options={}):",
        ),
        (CONFIG, HUB_META, "  init_model_with_meta_device: false\n"),
    ),
    (
        "data where there is none",
        "model.from_config",
        "cpu.raised",
        (
            MODELING,
            "        return super()._from_config(config, **options)\n",
            "        model = super()._from_config(config, **options)\n"
            "        next(model.parameters()).sum().item()\n"
            "        return model\n",
        ),
    ),
    (
        "a hook that is called on the way to the model",
        "model.build",
        "cpu.raised",
        (
            MODELING,
            "    def overwrite_transformer_config(",
            "    def overwrite_transformer_config(cls, *parts):\n"
            "        raise RuntimeError('no such option')\n\n"
            "    @classmethod\n    def _overwrite(",
        ),
    ),
    (
        "a mapping that misses the checkpoint's names",
        "model.checkpoint_keys",
        "checkpoint.missing",
        (
            MODELING,
            '        options.setdefault("key_mapping", cls._checkpoint_conversion_mapping)\n',
            '        options.setdefault("key_mapping", {"^language_model.lm_head": "head"})\n',
        ),
        (CONFIG, HUB_META, "  init_model_with_meta_device: false\n"),
    ),
]


@pytest.mark.parametrize(
    ("contract", "key", "changes"),
    [pytest.param(contract, key, changes, id=name) for name, contract, key, *changes in DEFECTS],
)
def test_a_defect_fails_its_contract(
    demo: DemoTarget, contract: str, key: str, changes: list[tuple[str, str, str]]
) -> None:
    with demo.edited(*changes):
        outcome = demo.judge(contract)[contract]
    assert key in failures(outcome), lines(outcome)


def test_blocks_left_out_are_a_note_with_the_pattern_that_covers_them(demo: DemoTarget) -> None:
    with demo.edited((CONFIG, LAYERS, "    param_dtype")):
        outcome = demo.judge("config.apply_modules")["config.apply_modules"]
    assert failures(outcome) == []
    assert [item.suggestion for item in outcome if item.message == "audit.gap"] == ["model.language_model.layers.{*}"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("path", "content", "contract", "expected"),
    [
        (f"{CHECKPOINT}/config.json", b'{"model_type": "internvl",', "model.build", "config.json"),
        (f"{CHECKPOINT}/config.json", b"[]", "model.build", "config.json"),
        (WEIGHTS, None, "model.checkpoint_keys", "checkpoint.no_weights"),
        (WEIGHTS, (1 << 20).to_bytes(8, "little") + b"{", "model.checkpoint_keys", "model.safetensors is cut off"),
        (WEIGHTS, b"version https://git-lfs.github.com/spec/v1\n", "model.checkpoint_keys", "model.safetensors"),
        (f"{CHECKPOINT}/tokenizer.json", b"{", "model.special_tokens", "AutoTokenizer.from_pretrained raised"),
    ],
    ids=["cut config", "config of another shape", "no weights", "cut weights", "lfs pointer", "broken tokenizer"],
)
def test_a_broken_model_folder_is_named(
    demo: DemoTarget, path: str, content: bytes | None, contract: str, expected: str
) -> None:
    with demo.written(path, content):
        outcome = demo.judge(contract)[contract]
    assert expected in lines(outcome)


def test_a_folder_without_tokenizer_is_named(demo: DemoTarget) -> None:
    with demo.written(f"{CHECKPOINT}/tokenizer.json", None), demo.written(f"{CHECKPOINT}/tokenizer_config.json", None):
        outcome = demo.judge("model.special_tokens")["model.special_tokens"]
    assert failures(outcome) == ["tokens.no_tokenizer"], lines(outcome)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"image_token_id": 65}, "tokens.ordinary"),
        ({"image_token_id": 400}, "tokens.unknown"),
    ],
    ids=["ordinary text", "beyond the tokenizer"],
)
def test_token_ids_that_do_not_agree_are_named(demo: DemoTarget, changes: dict[str, int], key: str) -> None:
    path = f"{CHECKPOINT}/config.json"
    config = json.loads((demo.repo / path).read_text(encoding="utf-8"))
    with demo.written(path, json.dumps({**config, **changes}).encode()):
        outcome = demo.judge("model.special_tokens")["model.special_tokens"]
    assert failures(outcome) == [key], lines(outcome)


def test_the_folder_of_another_model_is_named_and_the_model_is_not_accused(demo: DemoTarget) -> None:
    with demo.written(f"{CHECKPOINT}/config.json", json.dumps({"model_type": "qwen2"}).encode()):
        outcomes = demo.judge("preflight.assets", "config.assets", "model.build")
    assert failures(outcomes.pop("preflight.assets")) == ["model_folder.of_another"]
    assert list(outcomes.values()) == ["blocked by preflight.assets"] * 2
    assert failures(demo.judge("preflight.assets")["preflight.assets"]) == []


SAVE = """
import sys, torch.distributed.checkpoint as dcp
from transformers import InternVLForConditionalGeneration
state = InternVLForConditionalGeneration.from_pretrained(sys.argv[1]).state_dict()
prefix = len("model.") if sys.argv[3] == "flat" else 0
dcp.save({"model": {name[prefix if name.startswith("model.") else 0:]: value for name, value in state.items()}},
         checkpoint_id=sys.argv[2] + "/iter_0000010")
open(sys.argv[2] + "/latest_checkpointed_iteration.txt", "w").write("10")
"""


@pytest.mark.parametrize(("names", "expected"), [("same", []), ("flat", ["checkpoint.missing"])])
def test_a_distributed_checkpoint_of_other_names_is_named(demo: DemoTarget, names: str, expected: list[str]) -> None:
    """`Missing key in checkpoint state_dict`, or silence where the framework loads what is there."""
    assert PYTHON is not None
    command = [PYTHON, "-c", SAVE, str(demo.repo / CHECKPOINT), str(demo.repo / names), names]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    with demo.edited((CONFIG, HUB_META, f"{HUB_META}  load: {names}\n")):
        outcome = demo.judge("model.checkpoint_keys")["model.checkpoint_keys"]
    assert sorted(set(failures(outcome))) == expected, lines(outcome)
    assert isinstance(outcome, list)
    for item in outcome:
        if item.fails:
            assert item.yaml_path == "training.load"
            assert item.suggestion == item.args["name"].removeprefix("model.")
