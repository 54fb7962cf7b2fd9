"""What importing the plugins shows: imports that fail, in silence too, and what is registered afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...facts.runtime import Raised
from ...findings import Finding, near
from ...scan.effects import NPU_ONLY
from ..imports import expected_files
from ..registry import Blocked, check
from ..view import TargetView
from .steps import data_of, failure, finding_of, judged_step

_PROBE = "plugins"


@check("config.parse", level="cpu")
def config_loads(view: TargetView) -> list[Finding]:
    """The framework's own loader, started as the target's trainer starts it, takes the config."""
    data_of(view, _PROBE, "boot")
    return failure(view, _PROBE, judged_step(view, _PROBE, "config"), view.target.config or "config")


@check("model.imports", level="cpu")
def plugins_import(view: TargetView) -> list[Finding]:
    """Every plugin imports, and none of its modules fails in silence."""
    data_of(view, _PROBE, "config")
    step = judged_step(view, _PROBE, "plugins")
    found = [_told(view, step.error, finding) for finding in failure(view, _PROBE, step, "import_plugin")]
    for entry in step.data.get("entries", []):
        for item in entry["hidden"]:
            error = Raised(**item["error"])
            finding = _told(view, error, finding_of(error, f"import {item['module']}"))
            found.append(_at_entry(view, finding, entry["entry"]))
    return found


def _told(view: TargetView, error: Raised | None, finding: Finding) -> Finding:
    """What the static facts know of a missing module: a file that the user has to bring, or one for NPU only."""
    missing = error.root.missing if error is not None else None
    if missing is None:
        return finding
    if missing.split(".")[0] in NPU_ONLY:
        return replace(finding, message="effects.npu_import", args={"detail": missing}, value=None)
    told = expected_files(view).get(missing)
    if told is None:
        return finding
    return replace(finding, message="imports.expected_file", args={"module": missing, "doc": told})


@check("model.registration", level="cpu")
def model_registers(view: TargetView) -> list[Finding]:
    """After the plugins are imported, a register knows `model.model_id`."""
    return _registered(view, "model.model_id")


@check("data.registration", level="cpu")
def dataset_registers(view: TargetView) -> list[Finding]:
    """After the plugins are imported, a register knows the `dataset_type`."""
    return _registered(view, "data.dataset_param.dataset_type")


def _registered(view: TargetView, yaml_path: str) -> list[Finding]:
    step = data_of(view, _PROBE, "plugins")
    registers: dict[str, list[str]] = step["after"]
    wanted = view.config.string(yaml_path) if view.config else None
    kind = "model" if yaml_path.startswith("model.") else "data"
    ids = [name for register, names in registers.items() if kind in register for name in names]
    if wanted is None or wanted in ids:
        return []
    if any(entry["hidden"] for entry in step["entries"]):  # the module that registers it may be the one that failed
        raise Blocked("model.imports")
    return [
        Finding(
            "cpu.not_registered",
            {"id": wanted, "known": ", ".join(sorted(ids)) or "-"},
            path=view.target.config,
            line=view.config.line_of(yaml_path) if view.config else None,
            yaml_path=yaml_path,
            value=wanted,
            suggestion=near(wanted, ids),
        )
    ]


def _at_entry(view: TargetView, finding: Finding, entry: str) -> Finding:
    """Without a place in the target's code, the place is the plugin entry that leads there."""
    if finding.path is not None or view.config is None:
        return finding
    plugins: list[Any] = view.config.get("training.plugin") or []
    index = plugins.index(entry) if isinstance(plugins, list) and entry in plugins else None
    yaml_path = "training.plugin" if index is None else f"training.plugin[{index}]"
    return Finding(
        finding.message,
        finding.args,
        path=view.target.config,
        line=view.config.line_of(yaml_path),
        yaml_path=yaml_path,
        value=finding.value,
    )
