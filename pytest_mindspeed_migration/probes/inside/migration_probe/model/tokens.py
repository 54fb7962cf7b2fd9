"""Token ids as config, tokenizer and model have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_ID = re.compile(r"_token_(?:id|index)s?$")
_IMAGE = ("image_seq_length", "num_image_token", "image_size", "force_image_size", "patch_size", "downsample_ratio")


def token_facts(model: Any, tokenizer: Any) -> dict[str, Any]:
    """Facts about token ids.

    Returns:
        `tokenizer` (class), `size` (ids it knows: one more than its highest), `named` (`image_token` -> text and id),
        `ids` (from the config: `path`, `value`, the `token` of that id and whether it is an `added` one),
        `embedding` (rows of the input embedding, None when the model does not tell) and `image` (numbers of the config
        that say how many tokens an image takes).
    """
    added = {int(number): str(token) for number, token in tokenizer.added_tokens_decoder.items()}
    vocabulary = tokenizer.get_vocab()
    size = max([*vocabulary.values(), *added], default=-1) + 1
    by_id = {number: text for text, number in vocabulary.items()}
    by_id.update(added)
    config = getattr(model, "config", None)
    values = config.to_dict() if config is not None and hasattr(config, "to_dict") else {}
    return {
        "tokenizer": type(tokenizer).__name__,
        "size": size,
        "named": _named(tokenizer, vocabulary),
        "ids": [
            {"path": path, "value": value, "token": by_id.get(value), "added": value in added}
            for path, value in _ids(values)
        ],
        "embedding": _rows(model),
        "image": dict(_numbers(values)),
    }


def _named(tokenizer: Any, vocabulary: dict[str, int]) -> dict[str, Any]:
    """The tokenizer's `*_token` names, those of its class and those of its config file."""
    texts: dict[str, Any] = {**getattr(tokenizer, "init_kwargs", {}), **dict(tokenizer.special_tokens_map)}
    texts.update(
        texts.pop("extra_special_tokens", None) or {} if isinstance(texts.get("extra_special_tokens"), dict) else {}
    )
    for name, value in vars(tokenizer).items():
        texts.setdefault(name, value)
    found = {}
    for name, value in texts.items():
        text = value.get("content") if isinstance(value, dict) else str(value) if value is not None else None
        if name.endswith("_token") and text in vocabulary:
            found[name] = {"text": text, "id": vocabulary[text]}
    return found


def _ids(values: Any, path: str = "") -> Iterator[tuple[str, int]]:
    for name, value in values.items():
        below = f"{path}.{name}" if path else str(name)
        if isinstance(value, dict):
            yield from _ids(value, below)
        elif _ID.search(str(name)):
            for number in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(number, int) and not isinstance(number, bool):
                    yield below, number


def _numbers(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        below = f"{path}.{name}" if path else str(name)
        if isinstance(value, dict):
            yield from _numbers(value, below)
        elif name in _IMAGE and value is not None:
            yield below, value


def _rows(model: Any) -> int | None:
    try:
        embedding = model.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        return None
    weight = getattr(embedding, "weight", None)
    return int(weight.shape[0]) if weight is not None and len(weight.shape) == 2 else None
