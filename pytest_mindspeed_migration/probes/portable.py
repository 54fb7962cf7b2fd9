"""The portable values for a target: `contracts/portable.yaml` against its config, and the assets of its manifest."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..analysis.asset_paths import asset_values
from ..analysis.conditions import UNKNOWN
from ..analysis.features import default_of
from ..checks.view import MODEL_KEY
from ..messages import text
from ..resources import resource_dir
from ..yaml_files import load_yaml

if TYPE_CHECKING:
    from ..checks.view import TargetView
    from ..facts.config import ConfigFacts

DATA_KEYS = ("dataset", "dataset_path", "data_path", "data_files", "dataset_dir")
MEDIA_KEYS = ("dataset_dir", "image_root", "media_root", "data_dir")
"""Keys below `data.dataset_param` that hold the data and the folder of its media, the first that is there counts."""

PARAMS = "data.dataset_param"
BASIC = f"{PARAMS}.basic_parameters"

ANY = "any"


@dataclass(frozen=True)
class Override:
    """One value of the YAML that a run replaces.

    Attributes:
        yaml_path: dotted path.
        value: what replaces it.
        was: what the config says, None when it says nothing.
        why: by language; empty for an asset that manifest or command line name.
    """

    yaml_path: str
    value: Any
    was: Any
    why: dict[str, str]

    def shown(self, lang: str = "en") -> str:
        """For the evidence."""
        args = {"key": self.yaml_path, "value": _yaml(self.value), "was": _yaml(self.was)}
        why = self.why.get(lang) or text("probe.override_asset", {}, lang)
        return text("probe.override", {**args, "why": why}, lang)


def overrides_of(view: TargetView, base: Path) -> list[Override]:
    """What a run on CPU ranks replaces in the config of a target, assets first.

    Args:
        view: the target.
        base: folder that relative paths of the manifest count from.
    """
    config = view.config
    if config is None or config.data is None:
        return []
    return [*_assets(view, config, base), *_portable(view, config)]


def _assets(view: TargetView, config: ConfigFacts, base: Path) -> Iterator[Override]:
    """Paths of manifest and command line for those the config names; what it calls by one path stays one path."""
    given = (view.manifest or {}).get("runtime_assets") or {}
    data_key = _key_of(config, DATA_KEYS) or f"{BASIC}.{DATA_KEYS[0]}"
    media_key = _key_of(config, MEDIA_KEYS)  # None: a strict section takes no key that it does not declare
    if media_key is not None and config.get(media_key) == config.get(data_key):
        media_key = None  # one path for both is the data, not a folder
    wanted = {"model_path": MODEL_KEY, "image_root": media_key, "dataset_path": data_key}
    replaced: dict[str, Override] = {}
    for name, key in wanted.items():
        if key is None or given.get(name) is None:
            continue
        was = config.get(key)
        same = [path for path, value in asset_values(config) if value == was]
        for path in dict.fromkeys([key, *same]):
            if "[" not in path:
                replaced[path] = Override(path, _absolute(given[name], base), was, {})
    yield from replaced.values()


def _key_of(config: ConfigFacts, keys: tuple[str, ...]) -> str | None:
    """Where the config has the first of these keys: in its basic parameters, a section beside them, or above them."""
    params = config.get(PARAMS)
    beside = [f"{PARAMS}.{name}" for name in params] if isinstance(params, dict) else []
    for section in dict.fromkeys([BASIC, *beside, PARAMS]):
        node = config.get(section)
        for key in keys:
            if isinstance(node, dict) and key in node:
                return f"{section}.{key}"
    return None


def _portable(view: TargetView, config: ConfigFacts) -> Iterator[Override]:
    for entry in _table():
        section, _, name = entry["key"].rpartition(".")
        node = config.get(section)
        names = [str(key) for key in node if fnmatch.fnmatchcase(str(key), name)] if isinstance(node, dict) else []
        for key in names:
            value = config.get(f"{section}.{key}")
            if _replaced(value, entry):
                yield Override(f"{section}.{key}", entry["portable"], value, entry["why"])
        if not names and entry.get("default"):
            value = default_of(view.facts, section, name)
            if value is not UNKNOWN and _replaced(value, entry):
                yield Override(entry["key"], entry["portable"], value, entry["why"])


def _absolute(value: Any, base: Path) -> Any:
    if isinstance(value, list):
        return [_absolute(item, base) for item in value]
    return str(base / os.path.expanduser(str(value)))


def _replaced(value: Any, entry: dict[str, Any]) -> bool:
    if entry["values"] == ANY:
        return bool(value != entry["portable"])
    return any(value == one and type(value) is type(one) for one in entry["values"])


@cache
def _table() -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = load_yaml(resource_dir("contracts") / "portable.yaml")
    return table


def _yaml(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
