"""Gives the target's trainer wrong configs, one at a time, and keeps what it says to them."""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import standins
from ..describe import describe, print_error
from ..framework import Started, start
from ..isolate import in_child
from ..plugins import import_plugins
from ..steps import Steps
from ..warned import warned

_SECONDS = 60


def probe(request: dict[str, Any], steps: Steps) -> None:
    """One step a case of `request["cases"]`: its `overrides` hold the mistake, `until` says how far the run goes.

    The plugins are imported once, before: a mistake in the list of plugins is a matter of the probe `plugin_errors`.
    """
    standins.use_with_torch()
    with steps.step("plugins"):
        _import(request, start(request, request.get("overrides")))
    give(request, steps)


def give(request: dict[str, Any], steps: Steps) -> None:
    """Give each case to a child of this process."""
    for case in request["cases"]:
        with steps.step(case["name"]) as data:
            overrides = {**request.get("overrides", {}), **case["overrides"]}
            data["case"] = case
            run = partial(_run, request, overrides, case["until"])
            data["result"] = in_child(run, request["repo"], _SECONDS)


def _run(request: dict[str, Any], overrides: dict[str, Any], until: str) -> dict[str, Any]:
    """The start of a training run: parse, import plugins, then build the model or the dataset."""
    started = start(request, overrides)
    answer: dict[str, Any] = {"hidden": _import(request, started), "error": None}
    with warned(request["repo"]) as warnings:
        try:
            _build(started, until)
        except Exception as error:
            print_error()
            answer["error"] = describe(error, request["repo"])
    return {**answer, "warned": warnings}


def _import(request: dict[str, Any], started: Started) -> list[dict[str, Any]]:
    """Import the plugins of a config; the imports that were hidden on the way."""
    plugins = list(getattr(started.args.training, "plugin", None) or [])
    entries = import_plugins(plugins, started.named("import_plugin"), request["repo"])
    return [item for entry in entries for item in entry["hidden"]]


def _build(started: Started, until: str) -> None:
    if until == "model":
        started.trainer().get_foundation_model()
    elif until == "dataset":
        started.named("build_mm_dataset")(started.args.data.dataset_param)
