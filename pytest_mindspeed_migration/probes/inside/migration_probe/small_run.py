"""What the config of a target becomes for a run on few rows, a small model and one process: overrides of its YAML."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .framework import read_yaml, write_config
from .rows import data_files, first_rows, is_array, write_rows

DATA = "data.dataset_param"
_SHARDING = ("fully_shard_parallel_size", "data_parallel_size")
_OVER_ALL_RANKS = (*_SHARDING, "expert_parallel_size", "expert_fully_shard_parallel_size", "expert_data_parallel_size")
"""Sizes that do not split a sample; source: `fsdp/distributed/parallel_state.py`."""

_FEW_ROWS = {"preprocessing_num_workers": None, "max_samples": None, "val_dataset": None, "val_max_samples": None}
"""Keys below `data.dataset_param`, and what they are for a few rows read in one process."""


def one_process(request: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """The overrides, and sizes of parallelism that one process can have."""
    sizes = _load(request, overrides).get("parallel") or {}
    single = {
        f"parallel.{name}": 1
        for name, value in sizes.items()
        if name.endswith("_size") and type(value) is int and value > 1
    }
    return {**overrides, **single}


def sizes_for(request: dict[str, Any], overrides: dict[str, Any], ranks: int) -> dict[str, Any]:
    """The overrides, and sizes of parallelism that so many ranks can have: those that fit stay as they are.

    Sizes that split one sample (tensor, sequence) have to divide the ranks together; sharding takes all of them.
    """
    sizes = _load(request, overrides).get("parallel") or {}
    changed: dict[str, Any] = {}
    together = 1
    for name, value in sizes.items():
        if not name.endswith("_size") or type(value) is not int or value == 1:
            continue
        if name in _OVER_ALL_RANKS:
            if value > ranks or ranks % value:
                changed[f"parallel.{name}"] = ranks if name in _SHARDING else 1
        elif ranks % (together * value):
            changed[f"parallel.{name}"] = 1
        else:
            together *= value
    return {**overrides, **changed}


def small_model(request: dict[str, Any], overrides: dict[str, Any], folder: str) -> dict[str, Any]:
    """Overrides that put the small model folder wherever the config names that of the user."""
    config = _load(request, overrides)
    named = (config.get("model") or {}).get("model_name_or_path")
    return {path: folder for path, value in _leaves(config) if value == named}


def absent_files(request: dict[str, Any], overrides: dict[str, Any]) -> list[str]:
    """Data files that the config names and this machine does not have."""
    named = data_files(_section(request, overrides), DATA).values()
    return [path for paths in named for path in paths if not os.path.exists(path)]


def few_rows(
    request: dict[str, Any], overrides: dict[str, Any], count: int
) -> tuple[dict[str, Any], dict[str, list[Any]], dict[str, Any]]:
    """Overrides that read copies of the first rows, caches in the work folder.

    Returns:
        The overrides; rows by the path of their file; and the config's section `data.dataset_param`.

    Raises:
        RowsError: a data file is missing or no JSON.
    """
    section = _section(request, overrides)
    changed: dict[str, Any] = {}
    rows: dict[str, list[Any]] = {}
    for key, paths in data_files(section, DATA).items():
        copies = []
        for number, path in enumerate(paths):
            rows[path] = first_rows(path, count)
            copy = os.path.join(request["work"], "rows", f"{number}-{os.path.basename(path)}")
            copies.append(write_rows(rows[path], copy, is_array(path)))
        changed[key] = copies if isinstance(_at(section, key), list) else copies[0]
    for path, _ in _leaves(section, DATA):
        name = path.rpartition(".")[2]
        if name in _FEW_ROWS:
            changed[path] = _FEW_ROWS[name]
        elif name == "cache_dir":
            changed[path] = os.path.join(request["work"], "cache")
    return changed, rows, section


def _section(request: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    found = (_load(request, overrides).get("data") or {}).get("dataset_param")
    return found if isinstance(found, dict) else {}


def _at(section: dict[str, Any], path: str) -> Any:
    found: Any = section
    for name in path[len(DATA) + 1 :].split("."):
        found = found[name]
    return found


def _leaves(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _leaves(value, f"{path}.{name}" if path else str(name))
    elif path:
        yield path, node


def _load(request: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    found = read_yaml(write_config(request, overrides))
    return found if isinstance(found, dict) else {}
