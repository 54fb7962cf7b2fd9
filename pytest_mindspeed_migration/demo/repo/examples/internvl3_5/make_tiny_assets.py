"""Write the tiny InternVL3.5 checkpoint and the sample data that the example configuration names.

    python examples/internvl3_5/make_tiny_assets.py [--root FOLDER] [--no-weights]

Everything is made on the spot: nothing is downloaded.
"""

import argparse
import json
from pathlib import Path

import torch
from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import InternVLConfig, InternVLForConditionalGeneration, PreTrainedTokenizerFast

SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>"]
COLOURS = {"red": (220, 30, 30), "green": (30, 180, 60), "blue": (40, 60, 210), "yellow": (240, 220, 40)}
SIZES = [(32, 32), (64, 32), (32, 64), (64, 64)]


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer: one token a byte, and the special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={symbol: index for index, symbol in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def make_config(tokenizer: PreTrainedTokenizerFast) -> InternVLConfig:
    """Two layers in each tower, 32 channels, tiles of 32 x 32 pixels that take 4 tokens."""
    return InternVLConfig(
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": [32, 32],
            "patch_size": [8, 8],
        },
        text_config={
            "model_type": "qwen3",
            "vocab_size": 512,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "max_position_embeddings": 1024,
            "tie_word_embeddings": False,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
        tie_word_embeddings=False,
        architectures=["InternVLForConditionalGeneration"],
    )


def write_tokenizer_config(path: Path) -> None:
    """Name the class as published checkpoints do: the one that Transformers 5 writes is unknown to Transformers 4."""
    values = json.loads(path.read_text(encoding="utf-8"))
    values.pop("backend", None)
    values["tokenizer_class"] = "PreTrainedTokenizerFast"
    path.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def make_checkpoint(folder: Path, weights: bool) -> None:
    """Write config and tokenizer, and random weights when asked for."""
    tokenizer = make_tokenizer()
    config = make_config(tokenizer)
    tokenizer.save_pretrained(folder)
    write_tokenizer_config(folder / "tokenizer_config.json")
    config.save_pretrained(folder)
    if weights:
        torch.manual_seed(0)
        InternVLForConditionalGeneration(config).save_pretrained(folder)


def make_data(folder: Path) -> None:
    """Write images of one colour in several shapes, and rows that ask for the colour; two rows have no image."""
    rows = []
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for (colour, rgb), size in zip(COLOURS.items(), SIZES, strict=True):
        Image.new("RGB", size, rgb).save(folder / "images" / f"{colour}.png")
        rows.append((f"{colour}.png", "<image>\nWhich colour is this?", colour))
    rows.append((["red.png", "blue.png"], "<image><image>\nWhich two colours?", "red and blue"))
    rows.append((["green.png"], "Look.\n<image>\nName it.", "green"))
    rows.append((None, "Say red.", "red"))
    rows.append((None, "Say blue.", "blue"))
    annotations = []
    for image, question, answer in rows:
        turns = [{"from": "human", "value": question}, {"from": "gpt", "value": answer}]
        annotations.append({"conversations": turns} | ({"image": image} if image else {}))
    text = ",\n".join(json.dumps(row) for row in annotations)
    (folder / "train.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--no-weights", action="store_true")
    options = parser.parse_args()
    make_checkpoint(options.root / "ckpt/hf_path/InternVL3_5-tiny", weights=not options.no_weights)
    make_data(options.root / "data/internvl3_5")
