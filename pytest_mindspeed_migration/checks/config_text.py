"""The text of a config: that the framework's loader takes it, and that its paths are filled in."""

from __future__ import annotations

import posixpath

from ..analysis.asset_paths import asset_values, placeholder
from ..findings import Finding
from .registry import check
from .view import TargetView

_UNTEXT = ("(bool)", "(NoneType)")


@check("config.parse")
def yaml_is_taken_as_written(view: TargetView) -> list[Finding]:
    """The YAML parses as `yaml.safe_load` would, and no value in it is lost on the way."""
    if view.is_framework:
        return []
    if view.config is None:
        name = view.target.name
        return [Finding("config_parse.missing", {"name": name}, expected=f"examples/{name}/{name}_config.yaml")]
    found = []
    for problem in view.config.problems:
        detail = problem.detail
        note = problem.kind == "key_not_text" and not detail.endswith(_UNTEXT)
        found.append(
            Finding(
                f"config_parse.{problem.kind}",
                {"detail": detail, "anchor": detail[1:].partition(",")[0]}
                if problem.kind == "duplicate_anchor"
                else {"detail": detail},
                path=view.config.path,
                line=problem.line,
                severity="note" if note else "error",
            )
        )
    return found


@check("config.assets")
def paths_are_filled_in(view: TargetView) -> list[Finding]:
    """Input paths hold no placeholder and exist.

    An example that ships with the framework is a form to fill in: its placeholders and the paths of its author's
    machine are notes. A target with a manifest is somebody's migration, which starts with exactly these paths: errors.
    """
    config = view.config
    if view.is_framework or config is None:
        return []
    own = "model_identity" in (view.manifest or {})
    found: list[Finding] = []
    seen: set[str] = set()
    for yaml_path, value in asset_values(config):
        line = config.line_of(yaml_path)
        if value in seen:  # an alias, or the same path in several places: one finding is enough
            continue
        seen.add(value)
        part = placeholder(value)
        asset = view.facts.assets.get(f"config:{config.path}:{yaml_path}")
        args: dict[str, str] = {}
        if part is not None:
            message, args = "config_assets.placeholder", {"part": part}
        elif asset is not None and asset.kind == "path" and not asset.exists:
            message = "config_assets.missing"
        elif asset is not None and asset.exists and not asset.readable:
            message = "config_assets.unreadable"
        else:
            continue
        severity = "error" if own else "note"
        found.append(
            Finding(message, args, path=config.path, line=line, yaml_path=yaml_path, value=value, severity=severity)  # type: ignore[arg-type]
        )
    return found


def _same_or_below(value: str, path: str) -> bool:
    """Whether a config's path is the manifest's or lies in it; one of them may count from another folder (`../..`)."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    given = [part for part in value.split("/") if part not in ("", ".", "..")]
    if not parts or len(given) < len(parts):
        return False
    rooted = value.startswith("/") and path.startswith("/")
    starts = [0] if rooted else range(len(given) - len(parts) + 1)
    return any(given[start : start + len(parts)] == parts for start in starts)


@check("config.assets")
def manifest_paths_are_used(view: TargetView) -> list[Finding]:
    """The checkpoint and the data of the manifest are those the config opens."""
    config = view.config
    manifest = view.manifest or {}
    if view.is_framework or config is None or "model_identity" not in manifest:
        return []
    values = {posixpath.normpath(value) for _, value in asset_values(config)}
    found = []
    for key in ("model_path", "dataset_path"):
        given = (manifest.get("runtime_assets") or {}).get(key)
        wanted = [str(item) for item in (given if isinstance(given, list) else [given]) if item]
        for path in wanted:
            if not any(_same_or_below(value, posixpath.normpath(path)) for value in values):
                args = {"key": f"runtime_assets.{key}"}
                found.append(Finding("config_assets.not_used", args, path=config.path, expected=path, severity="note"))
    return found
