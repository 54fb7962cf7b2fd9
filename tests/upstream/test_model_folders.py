"""The model folders that the upstream tests train on agree with themselves and with what is published."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("MIGRATE_TEST_PYTHON")
pytestmark = [
    pytest.mark.upstream,
    pytest.mark.skipif(PYTHON is None, reason="MIGRATE_TEST_PYTHON names no interpreter with tokenizers"),
]
SCRIPT = Path(__file__).with_name("model_folders.py")
PUBLISHED = {
    "qwen3_vl_moe": {"image_token_id": 151655, "video_token_id": 151656, "vision_start_token_id": 151652},
    "qwen3_5": {"image_token_id": 248056, "video_token_id": 248057, "vision_start_token_id": 248053},
    "qwen3_omni_moe": {"im_start_token_id": 151644, "tts_bos_token_id": 151672},
    "qwen3_asr": {},
    "moss_tts_delay": {"audio_start_token_id": 151652, "audio_assistant_delay_slot_token_id": 151662},
    "qwen3_tts": {"tts_pad_token_id": 151671, "tts_eos_token_id": 151673},
}
NESTED = {"qwen3_omni_moe": {"audio_token_id": 151675}, "qwen3_asr": {"audio_token_id": 151676}}


def values(tree: Any, name: str) -> list[Any]:
    """Every value of the key ``name``, at any depth."""
    if not isinstance(tree, dict):
        return []
    found = [tree[name]] if name in tree else []
    return found + [value for item in tree.values() for value in values(item, name)]


@pytest.mark.parametrize("family", sorted(PUBLISHED))
def test_special_tokens_have_their_published_ids_and_fit_the_vocabulary(family: str, tmp_path: Path) -> None:
    assert PYTHON is not None
    subprocess.run([PYTHON, str(SCRIPT), family, str(tmp_path)], check=True, timeout=120)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    assert {name: config[name] for name in PUBLISHED[family]} == PUBLISHED[family]
    for name, token_id in NESTED.get(family, {}).items():
        assert values(config, name) == [token_id]
    ids = [entry["id"] for entry in tokenizer["added_tokens"]]
    assert ids == list(range(min(ids), min(ids) + len(ids)))
    assert max(ids) < max(values(config, "vocab_size") + values(config, "text_vocab_size"))
    assert not list(tmp_path.glob("*.safetensors"))
