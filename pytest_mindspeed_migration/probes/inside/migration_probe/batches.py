"""What is in a sample and in a batch, as plain JSON: shapes, types, labels, and tokens that stand for media."""

from __future__ import annotations

from typing import Any

IGNORED = -100
_TOKEN_KEYS = ("image", "video", "audio")


def describe_value(value: Any) -> dict[str, Any]:
    """Type of a value; of tensors and arrays also dtype and shape."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return {"type": type(value).__name__, "dtype": _dtype(value), "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        first = describe_value(value[0]) if value else None
        return {"type": type(value).__name__, "length": len(value), "first": first}
    return {"type": type(value).__name__}


def describe_fields(sample: Any) -> dict[str, Any]:
    """Description of each field of a mapping."""
    return {str(key): describe_value(value) for key, value in sample.items()}


def label_facts(batch: Any) -> dict[str, Any] | None:
    """How labels and input_ids of a batch agree; None where one of them is missing.

    Returns:
        `shapes` of both, `counted` and `total` (labels), `empty` (rows of the batch with no label that counts), `equal`
        (counted labels that are the token at their place) and `next` (those that are the token after it).
    """
    import torch

    ids, labels = batch.get("input_ids"), batch.get("labels")
    if not isinstance(ids, torch.Tensor) or not isinstance(labels, torch.Tensor):
        return None
    found: dict[str, Any] = {"shapes": [list(ids.shape), list(labels.shape)]}
    counted = labels != IGNORED
    rows = counted.reshape(len(labels), -1) if labels.ndim else counted.reshape(1, -1)
    found.update(counted=int(counted.sum()), total=labels.numel())
    found["empty"] = [number for number, row in enumerate(rows) if not bool(row.any())]
    if ids.shape == labels.shape and ids.ndim == 2:
        found["equal"] = int((ids[counted] == labels[counted]).sum())
        shifted = counted[:, :-1]
        found["next"] = int((ids[:, 1:][shifted] == labels[:, :-1][shifted]).sum())
    return found


def media_tokens(config: Any) -> dict[str, int]:
    """Ids of the tokens that stand for media, by kind, from the model's config and the configs in it."""
    found: dict[str, int] = {}
    for section in _configs(config):
        for kind in _TOKEN_KEYS:
            for name in (f"{kind}_token_id", f"{kind}_token_index", f"{kind}_context_token_id"):
                value = section.get(name)
                if kind not in found and type(value) is int and value >= 0:
                    found[kind] = value
    return found


def alignment(batch: Any, tokens: dict[str, int], merge: int | None, per_tile: int | None) -> list[dict[str, Any]]:
    """Tokens of each kind in input_ids, and the features that the other fields say there are.

    Args:
        batch: fields by name.
        tokens: see `media_tokens`.
        merge: patches along one side that become one feature, for fields with a grid.
        per_tile: features of one tile, for fields with flags.

    Returns:
        An item for each kind that occurs: `kind`, `tokens`, `features` (None when no field tells), `by` (the field).
    """
    import torch

    found = []
    ids = batch.get("input_ids")
    if not isinstance(ids, torch.Tensor):
        return []
    for kind, token in tokens.items():
        count = int((ids == token).sum())
        features, by = _features(batch, kind, merge, per_tile)
        if count or features:
            found.append({"kind": kind, "token": token, "tokens": count, "features": features, "by": by})
    return found


def merge_size(config: Any) -> int | None:
    """`spatial_merge_size` of the model's vision config."""
    return next(
        (value["spatial_merge_size"] for value in _configs(config) if type(value.get("spatial_merge_size")) is int),
        None,
    )


def tile_length(config: Any) -> int | None:
    """Features of one image tile, for models that cut images into tiles."""
    for section in _configs(config):
        for name in ("image_seq_length", "num_image_token"):
            if type(section.get(name)) is int:
                return int(section[name])
    return None


def _features(batch: Any, kind: str, merge: int | None, per_tile: int | None) -> tuple[int | None, str | None]:
    grid = batch.get(f"{kind}_grid_thw")
    if grid is not None and merge and getattr(grid, "numel", int)():
        return int((grid.reshape(-1, 3).prod(-1) // merge**2).sum()), f"{kind}_grid_thw"
    flags = batch.get(f"{kind}_flags")
    if flags is not None and per_tile:
        return int(flags.sum()) * per_tile, f"{kind}_flags"
    return None, None


def _configs(config: Any) -> list[dict[str, Any]]:
    values = config.to_dict() if hasattr(config, "to_dict") else config
    found: list[dict[str, Any]] = []
    if isinstance(values, dict):
        found.append(values)
        for value in values.values():
            if isinstance(value, dict):
                found += _configs(value)
    return found


def _dtype(value: Any) -> str:
    return str(value.dtype).replace("torch.", "")
