"""A distributed checkpoint that the training continues from, against the built model: names and shapes, no weights.

Sources: `mindspeed_mm/fsdp/checkpoint/dcp_checkpointer.py` (the model's state lies under `model.`) and `utils.py` there
(the tracker file, folders `release` and `iter_0000010`).
"""

from __future__ import annotations

import os
from typing import Any

from .checkpoint import grouped

_METADATA = ".metadata"
_TRACKER = "latest_checkpointed_iteration.txt"
_STATE = "model."
_MOST = 40


def compare(model: Any, folder: str, tied: list[list[str]]) -> dict[str, Any] | None:
    """Compare the tensors of a distributed checkpoint with the parameters of a model.

    Args:
        model: the model.
        folder: `training.load`.
        tied: groups of names of one parameter: one of them is enough.

    Returns:
        `folder`, `tensors` (how many), `missing`, `unexpected` and `shapes`, as for the model folder; None when the
        folder holds no such checkpoint.
    """
    place = _place(folder)
    if place is None:
        return None
    from torch.distributed.checkpoint import FileSystemReader

    entries = FileSystemReader(place).read_metadata().state_dict_metadata
    held = {
        key[len(_STATE) :]: list(entry.size)
        for key, entry in entries.items()
        if key.startswith(_STATE) and hasattr(entry, "size")
    }
    wanted = {name: list(item.shape) for name, item in model.named_parameters(remove_duplicate=False)}
    filled = set(held)
    for group in tied:
        if filled.intersection(group):
            filled.update(group)
    known = {*wanted, *model.state_dict()}
    return {
        "folder": place,
        "tensors": len(held),
        "missing": grouped([name for name in wanted if name not in filled]),
        "unexpected": grouped([name for name in held if name not in known]),
        "shapes": [
            {"key": _STATE + name, "name": name, "checkpoint": held[name], "model": shape}
            for name, shape in wanted.items()
            if name in held and held[name] != shape
        ][:_MOST],
    }


def _place(folder: str) -> str | None:
    """The folder of the state that is loaded: the one named, else the one of its tracker file."""
    places = [folder]
    tracker = os.path.join(folder, _TRACKER)
    if os.path.isfile(tracker):
        with open(tracker, encoding="utf-8") as stream:
            said = stream.read().strip()
        places.insert(0, os.path.join(folder, f"iter_{int(said):07d}" if said.isdigit() else said))
    return next((place for place in places if os.path.isfile(os.path.join(place, _METADATA))), None)
