"""The target's own trainer under torchrun: some steps on ranks of this machine."""

from __future__ import annotations

import importlib
import os
import tempfile
from typing import Any

from ..distributed import Launch
from ..framework import DEFAULT_TRAINER, REMOVED, configured, write_config
from ..shrink import folder_as_published, folder_with_every_expert
from ..small_run import few_rows, sizes_for, small_model
from ..steps import Steps
from .shrink import shrunk

_ROWS_A_RANK = 16


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: those of `shrink` where the run is on a small model, then `train`, which holds what `Launch.run` returns.

    `request["launch"]["small"]` asks for the small model and few rows; without it the config is run as it is.
    """
    request = {**request, "trainer": request.get("trainer") or DEFAULT_TRAINER}
    overrides = dict(request["overrides"])
    folder = ""
    if request["launch"]["small"]:
        made = shrunk(dict(request), steps)  # whose overrides become those of one process
        if made is None or made[1] is None:
            return
        folder = made[1]
        if request["launch"]["every_expert"]:
            folder, _ = folder_with_every_expert(folder)
        overrides.update(small_model(request, overrides, folder))
    with steps.step("train") as data:
        if request["launch"]["small"]:
            overrides = _small(request, overrides, folder)
        data["overrides"] = [*request.get("override_notes", []), *_shown(request["overrides"], overrides)]
        out = tempfile.mkdtemp(prefix="ranks-", dir=request["work"])
        launch = Launch(request, write_config(request, overrides), out)
        data["command"] = launch.command
        data.update(launch.run(lambda said: steps.say({"event": "progress", **said})))
        print(f"==== torchrun ====\n{data['launcher']}", flush=True)
        for rank in data["ranks"]:
            printed = rank.pop("printed")
            print(f"==== rank {rank['rank']} ====\n{printed}", flush=True)


def _small(request: dict[str, Any], overrides: dict[str, Any], folder: str) -> dict[str, Any]:
    """Few rows, sizes that the ranks can have, and no checkpoint read or written but the small one."""
    nproc = request["launch"]["nproc"]
    rows, _, _ = few_rows(request, overrides, _ROWS_A_RANK * nproc)
    sized = sizes_for(request, {**overrides, **rows}, nproc)
    return {**sized, **_loaded(request, folder), "training.save": REMOVED}


def _loaded(request: dict[str, Any], folder: str) -> dict[str, Any]:
    """Instead of the checkpoint that the config loads the small one, where this generation reads such a folder.

    A model may leave to the checkpoint what its own initialisation does not fill.
    """
    package = request["trainer"].split("/")[0]
    reader = os.path.join(request["repo"], package, "fsdp", "checkpoint", "hf_checkpointer.py")
    if not configured(request, "training.load") or not os.path.exists(reader):
        return {"training.load": REMOVED}
    weights_only = {f"training.no_load_{part}": True for part in ("optim", "rng")}
    transform = _transform(f"{package}.fsdp.checkpoint.convert", configured(request, "model.model_id"))
    published = folder if transform is None else folder_as_published(folder, transform)
    return {"training.load": published, "training.load_format": "hf", **weights_only}


def _transform(module: str, model_id: Any) -> Any:
    """The framework's conversion of a model's checkpoint while it is loaded; None where it has none."""
    try:
        pipelines = importlib.import_module(module).WEIGHT_TRANSFORM_PIPELINES
    except (ImportError, AttributeError):
        return None
    return pipelines[model_id]() if model_id in pipelines else None


def _shown(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What the run on a small model replaced besides, for the evidence."""
    changed = {path: value for path, value in after.items() if path not in before or before[path] != value}
    return [f"{path}: {'(removed)' if value == REMOVED else value}" for path, value in changed.items()]
