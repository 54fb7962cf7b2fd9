"""Parameters that two modules share, or that the framework ties after it has built the model."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

_OWN = re.compile(r"\b(?!_tied_weights_keys)\w*tied_\w+")
_KEY = "tie_word_embeddings"
_TIES = re.compile(r"\b(\w*tie_\w+)\(")


def tied(modules: dict[str, Any], model: Any) -> list[list[str]]:
    """Groups of names of one parameter, each name at a module of its own.

    Building on the meta device may break a tie (`accelerate.init_empty_weights` makes a new parameter of every
    assignment), so the pair that the config wants tied counts as one although two objects stand there.
    """
    names: dict[int, list[str]] = {}
    for path, module in modules.items():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                names.setdefault(id(parameter), []).append(f"{path}.{name}" if path else name)
    groups = [group for group in names.values() if len(group) > 1]
    for holder in (model, *model.children()):
        wanted = _embeddings(modules, holder)
        if wanted and not any(set(wanted) <= set(group) for group in groups):
            groups.append(wanted)
    return groups


def units(group: list[str], sharded: set[str]) -> list[str]:
    """By name of a shared parameter, the module whose group takes it: the nearest outer one, "" for the root."""
    found = []
    for name in group:
        parts = name.split(".")[:-1]
        outer = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
        found.append(next((path for path in outer if path in sharded), ""))
    return found


def tying_function(trainer_class: type) -> str | None:
    """The function by which the trainer ties embeddings again once the model is sharded; None when it has none."""
    try:
        found = _TIES.search(inspect.getsource(trainer_class.get_model))  # type: ignore[attr-defined]
    except (OSError, TypeError):
        return None
    return found[1] if found else None


def other_tying(model: Any, package: str) -> str | None:
    """Code besides `get_model` that may keep split embeddings equal: of the framework, or of the model's own class."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith(f"{package}.") and ".models." not in name:
            for item, value in vars(module).items():
                if inspect.isfunction(value) and value.__module__ == name and _TIES.match(f"{item}("):
                    return f"{name}.{item}"
    for cls in type(model).__mro__:
        if cls.__module__.split(".")[0] == package:
            try:
                found = _OWN.search(inspect.getsource(cls))
            except (OSError, TypeError):
                continue
            if found:
                return f"{cls.__qualname__} ({found[0]})"
    return None


def _embeddings(modules: dict[str, Any], model: Any) -> list[str]:
    """Names of input and output embedding of a model, [] unless its config ties them.

    Source: the defaults are those of `retie_embeddings` (`fsdp/checkpoint/utils.py`) and of `PretrainedConfig`.
    """
    config: Any = getattr(model, "config", None)
    if config is None or not hasattr(model, "get_output_embeddings"):
        return []
    text = config.get_text_config(decoder=True) if hasattr(config, "get_text_config") else config
    if not any(hasattr(item, _KEY) for item in (config, text)):
        return []
    if not all(getattr(item, _KEY, True) for item in (config, text)):
        return []
    try:
        ends = [model.get_input_embeddings(), model.get_output_embeddings()]
    except (NotImplementedError, AttributeError):
        return []
    paths = {id(module): path for path, module in modules.items()}
    found = [paths.get(id(end)) for end in ends if end is not None]
    return [f"{path}.weight" for path in found if path] if len(set(found)) == 2 else []
