"""`model.checkpoint_keys`: names and shapes in the safetensors headers against the built model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...findings import Finding, Level
from ..registry import NothingToJudge, check
from ..view import MODEL_KEY, TargetView
from .model_build import META_KEY, step_of
from .model_folder import PROBE
from .steps import failure

_SHOWN = 8
_PREFIX = 2  # parts of a name that a prefix may have; what is alike after more of them are two modules
_LOAD_KEY = "training.load"


@check("model.checkpoint_keys", level="cpu")
def keys_fit(view: TargetView) -> list[Finding]:
    """Every parameter is in the checkpoint with its shape; files that cannot be read are named.

    An error where the training reads these files as they are. A checkpoint that is converted before training may have
    other names: then they are notes.
    """
    step = step_of(view, "model.checkpoint")
    found = failure(view, PROBE, step, "safetensors")
    if found:
        return found
    data = step.data
    if not data["files"]:
        raise NothingToJudge("checkpoint.no_weights", folder=data["folder"])
    found = [_broken(item, data["folder"]) for item in data["problems"]]
    if not data["tensors"] or "missing" not in data:
        return found
    level: Level = "error" if _read_as_it_is(view) else "note"
    if not data["problems"]:
        found += _missing(data, level)
    found += [_shape(item, level) for item in data["shapes"][:_SHOWN]]
    found += _unexpected(data)
    if data["renamed"]:
        args = {"count": data["renamed"], "way": data["way"]}
        found.append(Finding("checkpoint.renamed", args, yaml_path=MODEL_KEY, severity="note"))
    return found


@check("model.checkpoint_keys", level="cpu")
def continued_state_fits(view: TargetView) -> list[Finding]:
    """Every parameter is in the distributed checkpoint that the training continues from, with its shape.

    Some generations load what is there and leave the rest as it was made, without a word.
    """
    step_of(view, "model.checkpoint")
    step = view.probe(PROBE).steps.get("model.sharded")
    if step is None:
        raise NothingToJudge("checkpoint.not_continued")
    found = failure(view, PROBE, step, "FileSystemReader.read_metadata")
    if found:
        return [replace(one, yaml_path=_LOAD_KEY) for one in found]
    data = step.data["compared"]
    if data is None:
        raise NothingToJudge("checkpoint.not_continued")
    found = [*_missing(data, "error"), *(_shape(item, "error") for item in data["shapes"][:_SHOWN]), *_unexpected(data)]
    return [replace(one, yaml_path=_LOAD_KEY) for one in found]


def _broken(item: dict[str, str], folder: str) -> Finding:
    args = {"file": item["file"], "detail": item["detail"]}
    return Finding(f"checkpoint.file_{item['problem']}", args, yaml_path=MODEL_KEY, value=folder)


def _missing(data: dict[str, Any], level: Level) -> list[Finding]:
    return [
        Finding(
            "checkpoint.missing",
            {"name": item["name"], "count": item["count"]},
            yaml_path=MODEL_KEY,
            value=item["first"],
            suggestion=_counterpart(item["name"], data["unexpected"]),
            severity=level,
        )
        for item in data["missing"][:_SHOWN]
    ]


def _counterpart(name: str, unexpected: list[dict[str, Any]]) -> str | None:
    """A key that fills nothing and differs from the parameter in its beginning: the name that wants a mapping."""
    parts = name.split(".")
    for start in range(1, min(_PREFIX, len(parts) - 2) + 1):
        ending = ".".join(parts[start:])
        for item in unexpected:
            if item["name"] == ending or item["name"].endswith(f".{ending}"):
                return str(item["name"])
    return None


def _shape(item: dict[str, Any], level: Level) -> Finding:
    return Finding(
        "checkpoint.shape",
        {"key": item["key"], "name": item["name"]},
        yaml_path=MODEL_KEY,
        value=str(item["checkpoint"]),
        expected=str(item["model"]),
        severity=level,
    )


def _unexpected(data: dict[str, Any]) -> list[Finding]:
    if not data["unexpected"]:
        return []
    names = ", ".join(item["name"] for item in data["unexpected"][:_SHOWN])
    count = sum(item["count"] for item in data["unexpected"])
    args = {"names": names, "count": count}
    return [Finding("checkpoint.unexpected", args, yaml_path=MODEL_KEY, severity="note")]


def _read_as_it_is(view: TargetView) -> bool:
    """Whether the training itself reads the model folder's weights: by `from_pretrained`, or as what it loads."""
    config = view.config
    assert config is not None
    if config.get(META_KEY) is not True:
        return True
    load = config.get(_LOAD_KEY)
    return isinstance(load, str) and load == config.get(MODEL_KEY)
