"""Makes a model folder as a user of MindSpeed-MM has it, without a download.

    PYTHON tests/upstream/model_folders.py FAMILY FOLDER [--tiny]

At full size the folder holds the published figures in ``config.json``, a tokenizer with the published special tokens at
their published ids, processor settings, a chat template and a generation config: everything but the weights. With
``--tiny`` the model is small and has random weights. Run it by the interpreter that will train the model: tiny weights
are made by the classes of its transformers, or of the framework (which must be on ``PYTHONPATH``).
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import model_families
import speech_families
from model_families import Family, Tree
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

FAMILIES: dict[str, Family] = {
    "qwen3_vl_moe": model_families.QWEN3_VL_MOE,
    "qwen3_5": model_families.QWEN3_5,
    "qwen3_5_moe": model_families.QWEN3_5_MOE,
    "qwen3_omni_moe": speech_families.QWEN3_OMNI_MOE,
    "qwen3_asr": speech_families.QWEN3_ASR,
    "mimo_v25": speech_families.MIMO_V25,
    "moss_tts_delay": speech_families.MOSS_TTS_DELAY,
    "cosyvoice3_encoder": speech_families.COSYVOICE3_ENCODER,
    "qwen3_tts": speech_families.QWEN3_TTS,
}
TINY_WORDS = 256

CHAT_TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.content is string -%}
{{ message.content }}
{%- else -%}
{%- for part in message.content -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>
{%- elif part.type == 'video' -%}<|vision_start|><|video_pad|><|vision_end|>
{%- elif part.type == 'audio' -%}<|audio_start|><|audio_pad|><|audio_end|>
{%- elif part.text is defined -%}{{ part.text }}
{%- endif -%}
{%- endfor -%}
{%- endif -%}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""


def merged(base: Tree, reduction: Tree) -> Tree:
    """``base`` with the values of ``reduction`` laid over it, level by level."""
    result = dict(base)
    for name, value in reduction.items():
        old = result.get(name)
        result[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def with_ids(value: Any, ids: dict[str, int]) -> Any:
    """The same tree, where every ``token:<name>`` is the id of that token."""
    if isinstance(value, dict):
        return {name: with_ids(item, ids) for name, item in value.items()}
    if isinstance(value, list):
        return [with_ids(item, ids) for item in value]
    if isinstance(value, str) and value.startswith("token:"):
        return ids[value.removeprefix("token:")]
    return value


def write_json(path: Path, content: Tree) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def token_ids(family: Family, words: int) -> dict[str, int]:
    """The vocabulary: all bytes first, words that no text ever gives up to ``words``, then the special tokens."""
    entries = sorted(pre_tokenizers.ByteLevel.alphabet())
    entries += [f"unused word {number}" for number in range(len(entries), words)]
    return {entry: number for number, entry in enumerate([*entries, *family.tokens])}


def write_tokenizer(folder: Path, family: Family, ids: dict[str, int]) -> None:
    """A byte-level tokenizer without merges, saved in the files that the Qwen tokenizers are published in."""
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in family.tokens])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "vocab.json", ids)
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    settings = {
        "tokenizer_class": "Qwen2Tokenizer",
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {str(ids[token]): {"content": token, **flags} for token in family.tokens},
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "errors": "replace",
        "model_max_length": 131072,
        "split_special_tokens": False,
        "unk_token": None,
    }
    if family.token_names:
        settings["extra_special_tokens"] = family.token_names
    write_json(folder / "tokenizer_config.json", settings)


def model_class(name: str) -> Any:
    """The class ``Name`` of transformers or ``module:Name`` of the framework."""
    module, _, attribute = name.rpartition(":")
    return getattr(importlib.import_module(module or "transformers"), attribute)


def write_weights(folder: Path, family: Family) -> None:
    """Random weights for the config of ``folder``, in the file and with the names that a published model has."""
    import torch
    from transformers import AutoConfig

    build = model_class(family.weights)
    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    torch.manual_seed(0)
    model = build(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if not torch.isfinite(parameter).all():  # some plugins leave parameters to their own init hook
                parameter.normal_(std=0.02)
    with tempfile.TemporaryDirectory() as scratch:
        # Only the weights are taken: saving also rewrites the config in the manner of this transformers version.
        model.save_pretrained(scratch)
        for path in Path(scratch).glob("*.safetensors*"):
            shutil.copy(path, folder / path.name)


def make(name: str, folder: Path, tiny: bool) -> None:
    """Write the model folder of family ``name``.

    Raises:
        KeyError: no family has that name.
    """
    family = FAMILIES[name]
    folder.mkdir(parents=True, exist_ok=True)
    ids = token_ids(family, TINY_WORDS if tiny else family.words)
    config = with_ids(merged(family.config, family.tiny) if tiny else family.config, ids)
    write_json(folder / "config.json", config)
    write_json(
        folder / "generation_config.json",
        {
            "bos_token_id": ids["<|endoftext|>"],
            "eos_token_id": [ids["<|im_end|>"], ids["<|endoftext|>"]],
            "pad_token_id": ids["<|endoftext|>"],
            "do_sample": True,
            "temperature": 0.7,
            "top_k": 20,
            "top_p": 0.8,
        },
    )
    for file, content in family.files.items():
        write_json(folder / file, content)
    for file, origin in family.code.items():
        module, _, attribute = origin.partition(":")
        # A published folder carries its config class; here that file hands on the plugin's own.
        (folder / file).write_text(f"from {module} import {attribute}\n\n__all__ = [{attribute!r}]\n", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    write_tokenizer(folder, family, ids)
    if tiny:
        write_weights(folder, family)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a model folder of a published family, without a download.")
    parser.add_argument("family", choices=sorted(FAMILIES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tiny", action="store_true", help="a small model with random weights")
    options = parser.parse_args()
    make(options.family, options.folder, options.tiny)


if __name__ == "__main__":
    main()
