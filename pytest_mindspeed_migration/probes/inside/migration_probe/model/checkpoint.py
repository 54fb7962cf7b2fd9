"""The checkpoint against the built model: keys that fill no parameter, parameters no key fills, other shapes."""

from __future__ import annotations

import re
from typing import Any

from .headers import read_folder
from .renaming import Renamed, ways

_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.)")
_MOST = 40


def compare(model: Any, folder: str, package: str, tied: list[list[str]]) -> dict[str, Any]:
    """Compare the safetensors files of a folder with a model on the meta device.

    Args:
        model: the model.
        folder: the model folder.
        package: name of the framework's package.
        tied: groups of names of one parameter: one of them is enough.

    Returns:
        `files`, `problems`, `tensors` (how many), `way` (how the keys become names), `renamed` (how many change),
        `missing`, `unexpected` (names with numbers as `{*}`, how many each) and `shapes`.
    """
    held = read_folder(folder)
    data: dict[str, Any] = {"folder": folder, "files": held["files"], "problems": held["problems"]}
    shapes: dict[str, list[int]] = held["tensors"]
    data["tensors"] = len(shapes)
    if not shapes:
        return data
    wanted = {name: list(item.shape) for name, item in model.named_parameters(remove_duplicate=False)}
    known = {**wanted, **{name: list(item.shape) for name, item in model.state_dict().items()}}
    found = ways(model, folder, list(shapes), package)

    def fit(item: tuple[str, tuple[Renamed, set[str]]]) -> int:
        return len({name for names in item[1][0].values() for name in names if name in known})

    way, (renamed, computed) = max(found.items(), key=fit)
    filled = {name for names in renamed.values() for name in names}
    for group in tied:
        if filled.intersection(group):
            filled.update(group)
    missing = [name for name in wanted if name not in filled and not _ignored(model, "missing", name)]
    unexpected = [
        key
        for key in shapes
        if not any(name in known for name in renamed.get(key, [])) and not _ignored(model, "unexpected", key)
    ]
    data["way"] = way
    data["renamed"] = sum(names != [key] for key, names in renamed.items())
    data["missing"], data["unexpected"] = grouped(missing), grouped(unexpected)
    data["parameters"] = len(wanted)
    data["shapes"] = [
        {"key": key, "name": name, "checkpoint": shapes[key], "model": known[name]}
        for key, names in renamed.items()
        for name in names
        if name in known and name not in computed and known[name] != shapes[key]
    ][:_MOST]
    return data


def _ignored(model: Any, kind: str, name: str) -> bool:
    patterns = getattr(model, f"_keys_to_ignore_on_load_{kind}", None) or []
    return any(re.search(pattern, name) for pattern in patterns)


def grouped(names: list[str]) -> list[dict[str, Any]]:
    """Names with numbers as `{*}`: each with how many there are and the first."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_INDEX.sub("{*}", name), []).append(name)
    return [{"name": shown, "count": len(held), "first": held[0]} for shown, held in list(groups.items())[:_MOST]]
