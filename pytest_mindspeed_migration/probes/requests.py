"""What a probe is asked: the request for one target, from its facts and its manifest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.plugins import plugins_of
from ..checks.registry import NothingToJudge
from ..checks.view import MODEL_KEY
from ..evidence.collector import folder_name
from ..facts.training import DEVICES, REHEARSAL
from .bad_configs import PLUGINS, bad_configs
from .plan_request import on_meta, plan_uses
from .portable import overrides_of
from .training_request import launch_of, training_overrides

if TYPE_CHECKING:
    from ..checks.view import TargetView
    from .run import ProbeRun

_PLUGIN_ERRORS = "plugin_errors"
_MISTAKES = ("errors", _PLUGIN_ERRORS)
_WITHOUT_CONFIG = ("environment",)
_AS_WRITTEN = ("plugins",)
_WITH_MODEL = ("model", "shrink", "batch", "data_errors", REHEARSAL, DEVICES)


def request_for(view: TargetView, probe: str, run: ProbeRun) -> dict[str, Any]:
    """The request of a probe for a target, plain JSON.

    Raises:
        NothingToJudge: when the target does not have what the probe needs: a config that could be read, a model folder.
    """
    target = view.target
    if probe in _WITHOUT_CONFIG:  # the same for every target of a run
        return {"probe": probe, "repo": str(run.repo), "boot": run.interpreter.boot, "file": _file(None, probe)}
    if view.config is None or view.config.data is None or target.config is None:
        raise NothingToJudge("cpu.no_config")
    trains = probe in (REHEARSAL, DEVICES)
    if probe == DEVICES:
        _need_devices(view, run)
    overrides = overrides_of(view, view.manifest_folder or run.assets_base)
    if probe in _AS_WRITTEN or (trains and not run.training.on_cpu(probe)):
        overrides = [one for one in overrides if not one.why]  # assets stay, what is portable is not asked for
    if trains:
        overrides += training_overrides(view, probe, run.training, run.lang)
    if probe == "model":
        overrides += on_meta(view)
    request: dict[str, Any] = {
        "probe": probe,
        "target": target.name,
        "repo": str(run.repo),
        "config": target.config,
        "trainer": _trainer(view),
        "boot": run.interpreter.boot,
        "overrides": {one.yaml_path: one.value for one in overrides},
        "override_notes": [one.shown(run.lang) for one in overrides],
        "cover": [] if probe in _MISTAKES else sorted(plugins_of(view.facts, target.name).owned),
        "file": _file(target.name, probe),
    }
    if trains:
        request |= {
            "probe": REHEARSAL,
            "launch": launch_of(view, probe, run.training),
            "steps": run.training.steps_of(probe),
            "start_seconds": 2 * run.training.step_seconds,
            "step_seconds": run.training.step_seconds,
            "stand_ins": run.training.on_cpu(probe),
        }
    if probe in _MISTAKES:
        of_plugins = probe == _PLUGIN_ERRORS
        request["cases"] = [case for case in bad_configs(view) if (PLUGINS in case["overrides"]) == of_plugins]
        if not request["cases"]:
            raise NothingToJudge("cpu.no_config")
    if probe == "model":
        request["plans"] = plan_uses(view)
    if probe in _WITH_MODEL:
        request["model_path"] = str(_model_folder(view, run.repo, request["overrides"]))
    return request


def _need_devices(view: TargetView, run: ProbeRun) -> None:
    """The target's interpreter says whether it sees devices."""
    if run.training.device == "cpu":
        return
    step = view.probe("environment").steps.get("devices")
    if step is None or step.status != "ok" or not step.data["npu"]:
        raise NothingToJudge("cpu.no_device")


def _model_folder(view: TargetView, repo: Path, overrides: dict[str, Any]) -> Path:
    """The folder that holds config, tokenizer and processor of the model; weights may be absent."""
    assert view.config is not None
    written = overrides.get(MODEL_KEY) or view.config.get(MODEL_KEY)
    if not isinstance(written, str) or not written:
        raise NothingToJudge("cpu.no_model_path")
    folder = repo / os.path.expanduser(written)
    if not os.path.exists(folder):  # also what no file system takes as a name
        raise NothingToJudge("cpu.no_model_folder", path=written)
    return folder.resolve()


def _trainer(view: TargetView) -> str | None:
    """The program of the launch script, when it lies in the package; None for the framework's own trainer."""
    path = view.target.trainer
    return path if path is not None and path in view.facts.files else None


def _file(target: str | None, probe: str) -> str:
    """Where the controller keeps the request, below the folder of reports, for whoever runs the probe by hand."""
    return f"probes/{probe}.json" if target is None else f"{folder_name(target)}/probes/{probe}.json"
