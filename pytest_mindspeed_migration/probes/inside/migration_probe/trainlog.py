"""Reads the line a trainer prints for each step; the same form in all generations (`fsdp/train/train_engine.py`)."""

from __future__ import annotations

import re
from typing import Any

_STEP = re.compile(r"\biteration\s+(\d+)\s*/\s*(\d+)\s*\|(.*)")
_NUMBER = r"([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf))"
_FIELD = re.compile(r"^\s*(.+?):\s*" + _NUMBER + r"\s*$", re.IGNORECASE)


def step_of(line: str) -> dict[str, Any] | None:
    """What a line says about a step; None when it is about something else.

    Returns:
        `iteration`, `of`, `loss`, `grad_norm`, `lr`, `milliseconds` and `losses` (values whose name ends in "loss").
    """
    found = _STEP.search(line)
    if found is None:
        return None
    values: dict[str, float] = {}
    for part in found.group(3).split("|"):
        field = _FIELD.match(part)
        if field:
            values[field.group(1).strip().lower()] = float(field.group(2))
    return {
        "iteration": int(found.group(1)),
        "of": int(found.group(2)),
        "loss": values.get("loss"),
        "grad_norm": values.get("grad norm"),
        "lr": values.get("learning rate"),
        "milliseconds": values.get("elapsed time per iteration (ms)"),
        "losses": {name: value for name, value in values.items() if name.endswith("loss")},
    }
