"""`model.special_tokens`: the ids that config, tokenizer and model go by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...findings import Finding, Level
from ..registry import NothingToJudge, check
from ..view import MODEL_KEY, TargetView
from .model_build import step_of
from .model_folder import PROBE
from .steps import data_of, failure

_TOKENIZER_KEY = "data.dataset_param.preprocess_parameters.model_name_or_path"
_MODAL = re.compile(r"(?:^|_)(image|video|audio|vision)(?:_|$)")
_SENTENCE = re.compile(r"^(?:pad|eos|bos)_")


@check("model.special_tokens", level="cpu")
def token_ids_agree(view: TargetView) -> list[Finding]:
    """Ids of the config are those of the tokenizer, and the embedding has a row for each of the tokenizer's tokens."""
    step = step_of(view, "model.tokenizer")
    folder = data_of(view, PROBE, "model.folder")["tokenizer"]
    if folder["file"]:
        raise NothingToJudge("tokens.no_folder", path=folder["path"])
    if not folder["tokenizer"]:  # Transformers 5 makes an empty tokenizer from the config then
        args = {"folder": folder["path"]}
        return [Finding("tokens.no_tokenizer", args, yaml_path=_TOKENIZER_KEY, value=folder["path"])]
    found = failure(view, PROBE, step, "AutoTokenizer.from_pretrained")
    if found:
        return found
    data = step.data
    return [*_ids(data), *_coverage(data), *_image_tokens(data["image"])]


def _ids(data: dict[str, Any]) -> Iterator[Finding]:
    for item in data["ids"]:
        name = item["path"].rsplit(".", 1)[-1]
        if _MODAL.search(name) and "codec" not in item["path"]:
            yield from _modal(data, item, name)
        elif _SENTENCE.search(name) and "." not in item["path"].replace("text_config.", ""):
            yield from _sentence(data, item, name)


def _modal(data: dict[str, Any], item: dict[str, Any], name: str) -> Iterator[Finding]:
    """The id that a model looks for in input_ids must be the one its tokenizer gives to that token."""
    value = item["value"]
    if value < 0:
        return
    attribute = re.sub(r"_(?:id|index)$", "", name)
    named = data["named"].get(attribute)
    if named is not None and named["id"] != value:
        args = {"path": item["path"], "token": named["text"], "attribute": attribute}
        yield _finding("differs", args, value, str(named["id"]))
    elif item["token"] is None:
        yield _finding("unknown", {"path": item["path"], "size": data["size"]}, value, None)
    elif not item["added"]:
        suggestion = _like(data, name)
        yield _finding("ordinary", {"path": item["path"], "token": item["token"]}, value, suggestion)


def _sentence(data: dict[str, Any], item: dict[str, Any], name: str) -> Iterator[Finding]:
    """Where a sentence ends is a matter of the template, so config and tokenizer may differ in it; padding is not."""
    named = data["named"].get("pad_token")
    rows = data["embedding"]
    if rows is not None and item["value"] >= rows:
        yield _finding("no_row", {"path": item["path"], "rows": rows}, item["value"], None)
    elif name.startswith("pad_") and named is not None and named["id"] != item["value"]:
        args = {"path": item["path"], "token": named["text"], "attribute": "pad_token"}
        yield _finding("differs", args, item["value"], str(named["id"]), "note")


def _like(data: dict[str, Any], name: str) -> str | None:
    """The tokenizer's name whose modality is the one of a config key."""
    kind = _MODAL.search(name)
    hits = [item for key, item in data["named"].items() if kind is not None and kind[1] in key]
    return f"{hits[0]['id']} ({hits[0]['text']})" if len(hits) == 1 else None


def _coverage(data: dict[str, Any]) -> Iterator[Finding]:
    rows = data["embedding"]
    if rows is not None and data["size"] > rows:
        yield _finding("embedding", {"size": data["size"], "rows": rows}, rows, f">= {data['size']}")


def _image_tokens(numbers: dict[str, Any]) -> Iterator[Finding]:
    """InternVL's kind of config: (image_size / patch_size * downsample_ratio)^2 tokens a tile."""
    by_name = {path.rsplit(".", 1)[-1]: value for path, value in numbers.items()}
    told = by_name.get("image_seq_length", by_name.get("num_image_token"))
    size, patch = _side(by_name.get("image_size")), _side(by_name.get("patch_size"))
    ratio = by_name.get("downsample_ratio")
    if not isinstance(told, int) or not size or not patch or not isinstance(ratio, (int, float)):
        return
    wanted = int((size / patch * ratio) ** 2)
    if told != wanted:
        yield _finding("image_count", {"size": size, "patch": patch, "ratio": ratio}, told, str(wanted))


def _side(value: Any) -> float | None:
    if isinstance(value, (list, tuple)):
        value = value[0] if value and len(set(value)) == 1 else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _finding(key: str, args: dict[str, Any], value: int, expected: str | None, severity: Level = "error") -> Finding:
    return Finding(f"tokens.{key}", args, yaml_path=MODEL_KEY, value=str(value), expected=expected, severity=severity)
