"""The model folder before anything of it is loaded: whether it is there, and whether its JSON can be read."""

from __future__ import annotations

import json
import os
from typing import Any

CONFIG = "config.json"
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.json", "tokenizer.model", "vocab.txt", "spiece.model")


def described(path: Any) -> dict[str, Any]:
    """What a folder holds.

    Returns:
        `path`, `exists`, `file` (whether the path is that of a file), `config` (None when it can be read; else what is
        wrong with config.json, "missing" when it is not there) and `tokenizer` (the tokenizer files there).
    """
    text = str(path or "")
    if not text or not os.path.isdir(text):
        return {"path": text, "exists": False, "file": os.path.isfile(text), "config": "missing", "tokenizer": []}
    return {
        "path": text,
        "exists": True,
        "file": False,
        "config": _problem(os.path.join(text, CONFIG)),
        "tokenizer": [name for name in TOKENIZER if os.path.isfile(os.path.join(text, name))],
    }


def architecture(config: Any, cls: Any) -> dict[str, Any]:
    """Whether a config that Transformers loaded from the folder is of the kind that a model class declares.

    Returns:
        `type` and `declared` (the model types), `declared_class`, `fits`, and `classes` (names of the config's classes,
        those of its parts included); nothing when one of the two does not say its type.
    """
    wanted = getattr(cls, "config_class", None)
    declared, own = getattr(wanted, "model_type", None), getattr(config, "model_type", None)
    if not isinstance(wanted, type) or not declared or not own:
        return {}
    parts = _parts(config)
    types = {getattr(part, "model_type", None) for part in parts}
    return {
        "type": own,
        "declared": declared,
        "declared_class": wanted.__name__,
        "fits": declared in types or isinstance(config, wanted),
        "classes": sorted({type(part).__name__ for part in parts}),
    }


def _parts(config: Any) -> list[Any]:
    """A config and the configs in it."""
    found = [config]
    for part in found:
        inside = [value for value in vars(part).values() if isinstance(getattr(value, "model_type", None), str)]
        found.extend(value for value in inside if not any(value is one for one in found))
    return found


def stamp(path: Any) -> list[tuple[str, int, int]]:
    """Name, size and time of change of what a folder holds: equal stamps, equal folder. [] where there is none."""
    try:
        with os.scandir(path) as entries:
            held = [(entry.name, entry.stat(follow_symlinks=os.path.exists(entry.path))) for entry in entries]
    except (OSError, TypeError, ValueError):
        return []
    return sorted((name, status.st_size, status.st_mtime_ns) for name, status in held)


def _problem(path: str) -> str | None:
    if not os.path.isfile(path):
        return "missing"
    try:
        with open(path, encoding="utf-8") as stream:
            value = json.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"
    return None if isinstance(value, dict) else f"it holds {type(value).__name__}, no object"
