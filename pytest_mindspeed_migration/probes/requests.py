"""What a probe is asked: the request for one target, from its facts and its manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..checks.registry import NothingToJudge
from ..evidence.collector import folder_name

if TYPE_CHECKING:
    from ..checks.view import TargetView
    from .run import ProbeRun

_WITHOUT_CONFIG = ("environment",)


def request_for(view: TargetView, probe: str, run: ProbeRun) -> dict[str, Any]:
    """The request of a probe for a target, plain JSON.

    Raises:
        NothingToJudge: when the target has no config that could be read and the probe needs one.
    """
    target = view.target
    if probe in _WITHOUT_CONFIG:  # the same for every target of a run
        return {"probe": probe, "repo": str(run.repo), "boot": run.interpreter.boot, "file": _file(None, probe)}
    if view.config is None or view.config.data is None or target.config is None:
        raise NothingToJudge("cpu.no_config")
    return {
        "probe": probe,
        "target": target.name,
        "repo": str(run.repo),
        "config": target.config,
        "trainer": _trainer(view),
        "boot": run.interpreter.boot,
        "overrides": {},
        "file": _file(target.name, probe),
    }


def _trainer(view: TargetView) -> str | None:
    """The program of the launch script, when it lies in the package; None for the framework's own trainer."""
    path = view.target.trainer
    return path if path is not None and path in view.facts.files else None


def _file(target: str | None, probe: str) -> str:
    """Where the controller keeps the request, below the folder of reports, for whoever runs the probe by hand."""
    return f"probes/{probe}.json" if target is None else f"{folder_name(target)}/probes/{probe}.json"
