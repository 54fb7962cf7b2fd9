"""Whether a migration can be judged and run at all: the repo, the assets, the entry points, the paths it may change."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator
from typing import Any

from ..analysis.asset_paths import placeholder
from ..facts.assets import AssetFacts
from ..findings import Finding, near
from .registry import NothingToJudge, check
from .view import TargetView

_NEEDED = ("fsdp/utils/register.py", "fsdp/models/modelhub.py", "fsdp/train/trainer.py")
_ASSET_KEYS = ("model_path", "dataset_path", "image_root")
_CORE = (
    "mindspeed_mm/fsdp/train",
    "mindspeed_mm/fsdp/params",
    "mindspeed_mm/fsdp/distributed",
    "mindspeed_mm/fsdp/utils",
)


@check("preflight.repo")
def repo_is_a_checkout(view: TargetView) -> list[Finding]:
    """The target repo holds MindSpeed-MM's FSDP2 backend: plugin registers, ModelHub and trainer."""
    facts = view.facts
    if facts.repo.problem is not None:
        return [Finding("preflight.not_mindspeed_mm", path=f"{facts.repo.package}/fsdp")]
    if not facts.files:
        return []
    missing = [name for name in _NEEDED if f"{facts.repo.package}/{name}" not in facts.files]
    return [Finding("preflight.framework_file_missing", path=f"{facts.repo.package}/{name}") for name in missing]


@check("preflight.assets")
def assets_are_there(view: TargetView) -> list[Finding]:
    """Checkpoint, data and media that the manifest or the command line names exist and can be read."""
    runtime = (view.manifest or {}).get("runtime_assets") or {}
    if not any(key in runtime for key in _ASSET_KEYS):
        raise NothingToJudge("preflight.no_assets")
    found: list[Finding] = []
    for key in _ASSET_KEYS:
        if key not in runtime:
            if not view.is_framework:
                found.append(Finding("preflight.asset_not_named", {"key": key}, severity="note"))
            continue
        for dotted, value in _written(runtime[key], f"runtime_assets.{key}"):
            found.extend(_judge_path(view, dotted, value, "preflight.asset"))
    return found


@check("preflight.entrypoints")
def entrypoints_are_there(view: TargetView) -> list[Finding]:
    """The source repo and the files of it that the manifest names exist."""
    manifest = view.manifest or {}
    if view.is_framework or "model_identity" not in manifest:
        raise NothingToJudge("preflight.no_manifest")
    found: list[Finding] = []
    source = manifest.get("source_repo_path")
    if source is None:
        return [Finding("preflight.source_not_named", path=view.target.manifest, severity="note")]
    found.extend(_judge_path(view, "source_repo_path", source, "preflight.asset"))
    if not found:
        for key, value in (manifest.get("source_entrypoints") or {}).items():
            for dotted, path in _written(value, f"source_entrypoints.{key}"):
                found.extend(_judge_path(view, dotted, path, "preflight.source"))
    return found


@check("preflight.editable_paths")
def target_stays_where_it_may(view: TargetView) -> list[Finding]:
    """The patterns in `constraints.editable_paths` lie inside the repo, and the target's own files lie inside them.

    A plugin that other targets list too was there before this migration: using it changes nothing.
    """
    constraints = (view.manifest or {}).get("constraints") or {}
    patterns = constraints.get("editable_paths")
    if view.is_framework or not isinstance(patterns, list):
        raise NothingToJudge("preflight.no_editable_paths")
    found: list[Finding] = []
    for number, pattern in enumerate(patterns):
        found.extend(_judge_pattern(view, f"constraints.editable_paths[{number}]", pattern, constraints))
    others = [TargetView(view.facts, other) for other in view.facts.targets if other.name != view.target.name]
    shared = {plugin for other in others for plugin in other.plugins}
    own = [view.target.config, *view.target.scripts, *(plugin for plugin in view.plugins if plugin not in shared)]
    for path in dict.fromkeys(posixpath.normpath(path) for path in own if path):
        if not any(covers(pattern, path) for pattern in patterns):
            expected = ", ".join(patterns)
            found.append(Finding("preflight.outside_editable", path=path, expected=expected))
    return found


@check("preflight.editable_paths")
def changes_stay_where_they_may(view: TargetView) -> list[Finding]:
    """Every file that differs from the base revision lies inside `constraints.editable_paths`."""
    patterns = ((view.manifest or {}).get("constraints") or {}).get("editable_paths")
    changes = view.facts.repo.changes
    if view.is_framework or not isinstance(patterns, list):
        raise NothingToJudge("preflight.no_editable_paths")
    if changes is None:
        return [Finding("preflight.no_base", severity="note")]
    place: dict[str, Any] = {"value": changes.base, "expected": ", ".join(patterns)}
    return [
        Finding("preflight.changed_core" if _is_core(path) else "preflight.changed_outside", {}, path=path, **place)
        for file in changes.files
        for path in filter(None, (file.path, file.before))
        if not any(covers(pattern, path) for pattern in patterns)
    ]


def _is_core(path: str) -> bool:
    return any(covers(core, path) for core in _CORE)


def covers(pattern: str, path: str) -> bool:
    """Whether an editable path (a file, a folder or a glob) contains `path`."""
    pattern = posixpath.normpath(pattern).removesuffix("/**").removesuffix("/*")
    parts = path.split("/")
    return any(fnmatch.fnmatchcase("/".join(parts[:length]), pattern) for length in range(1, len(parts) + 1))


def _judge_pattern(view: TargetView, key: str, pattern: str, constraints: dict[str, Any]) -> Iterator[Finding]:
    normal = posixpath.normpath(pattern)
    place: dict[str, Any] = {"path": view.target.manifest, "yaml_path": key, "value": pattern}
    if normal.startswith(("/", "..", "~")):
        yield Finding("preflight.editable_outside_repo", **place)
    elif normal in (".", "*", "**"):
        yield Finding("preflight.editable_everything", **place)
    elif constraints.get("no_core_modification") and any(covers(normal, core) for core in _CORE):
        yield Finding("preflight.editable_core", expected="no_core_modification: false", **place)
    else:
        known = view.manifest_asset(key)
        if known is not None and not known.exists and known.kind == "path":
            folders = {posixpath.dirname(path) for path in view.facts.files}
            new = posixpath.dirname(normal) in folders  # a folder that is still to be made, not a misspelt one
            suggestion = None if new else near(normal, folders)
            yield Finding("preflight.editable_missing", suggestion=suggestion, severity="note", **place)


def _written(value: Any, key: str) -> list[tuple[str, str]]:
    """Dotted key and text of a path or of each in a list of paths."""
    if isinstance(value, list):
        return [(f"{key}[{number}]", str(item)) for number, item in enumerate(value)]
    return [(key, str(value))]


def _judge_path(view: TargetView, key: str, value: str, prefix: str) -> Iterator[Finding]:
    asset = view.manifest_asset(key)
    place: dict[str, Any] = {"path": view.target.manifest, "yaml_path": key, "value": value}
    if asset is not None and asset.line is not None:
        place["line"] = asset.line
    part = placeholder(value)
    if part is not None:
        yield Finding(f"{prefix}_placeholder", {"part": part}, **place)
    elif asset is not None:
        yield from _judge_asset(asset, prefix, place)


def _judge_asset(asset: AssetFacts, prefix: str, place: dict[str, Any]) -> Iterator[Finding]:
    if asset.kind == "pattern" and not asset.exists:
        return
    if asset.problem is not None:
        yield Finding("preflight.path_problem", {"detail": asset.problem}, **place)
    elif not asset.exists:
        yield Finding(f"{prefix}_missing", **place)
    elif not asset.readable:
        yield Finding("preflight.path_unreadable", **place)
    elif asset.size == 0:
        yield Finding("preflight.path_empty", **place)
