"""How the keys of a checkpoint become names of the model: Transformers' conversion, and the framework's own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

Renamed = dict[str, list[str]]
"""By checkpoint key, the names of the model it fills."""


def ways(model: Any, folder: str, keys: list[str], package: str) -> dict[str, tuple[Renamed, set[str]]]:
    """Every way of reading that this environment has: names by key, and the names that a conversion computes.

    A computed name's shape is not the key's: experts that are merged, for example.
    """
    mapping = _key_mapping(model, folder)
    found: dict[str, tuple[Renamed, set[str]]] = {"as it stands": ({key: [key] for key in keys}, set())}
    for name, way in (("transformers", _transformers5), ("transformers", _transformers4)):
        try:
            found[name] = way(model, keys, mapping)
            break
        except (ImportError, AttributeError, TypeError):
            continue
    own = _framework(model, package)
    if own is not None:
        found["framework"] = ({key: [own(key)] for key in keys}, set())
    return found


class _Captured(BaseException):
    """Ends a loader where Transformers would have begun to read weights."""


def _key_mapping(model: Any, folder: str) -> Any:
    """The `key_mapping` that the class's own `from_pretrained` hands to that of Transformers; None when none."""
    base = importlib.import_module("transformers").PreTrainedModel
    if not isinstance(model, base):
        return None
    given: dict[str, Any] = {}

    def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> None:
        given.update(kwargs)
        raise _Captured

    original = vars(base)["from_pretrained"]
    base.from_pretrained = classmethod(from_pretrained)
    try:
        type(model).from_pretrained(folder, config=model.config)
    except (_Captured, Exception):  # a loader that fails by itself is judged where it is really called
        pass
    finally:
        base.from_pretrained = original
    return given.get("key_mapping")


def _transformers4(model: Any, keys: list[str], mapping: Any) -> tuple[Renamed, set[str]]:
    """Source: `PreTrainedModel.from_pretrained` and `_load_pretrained_model` of Transformers 4.5x."""
    utils = importlib.import_module("transformers.modeling_utils")
    names = [cls.__name__.lower() for cls in type(model).__mro__[:-1]]
    if mapping is None and any(allowed in name for name in names for allowed in utils.VLMS):
        mapping = model._checkpoint_conversion_mapping
    prefix = model.base_model_prefix
    has = bool(prefix) and any(key.startswith(prefix) for key in keys)
    expects = bool(prefix) and hasattr(model, prefix)
    renamed = model._get_key_renaming_mapping(
        keys,
        mapping,
        loading_base_model_from_task_state_dict=has and not expects,
        loading_task_model_from_base_state_dict=expects and not has,
    )
    return {key: [name] for key, name in renamed.items()}, set()


def _transformers5(model: Any, keys: list[str], mapping: Any) -> tuple[Renamed, set[str]]:
    """Source: `convert_and_load_state_dict_in_model` of Transformers 5.x."""
    loading = importlib.import_module("transformers.core_model_loading")
    known = importlib.import_module("transformers.conversion_mapping")
    conversions = known.get_model_conversion_mapping(model, mapping)
    renamings = [item for item in conversions if isinstance(item, loading.WeightRenaming)]
    converters = [item for item in conversions if isinstance(item, loading.WeightConverter)]
    state = model.state_dict()
    renamed: Renamed = {}
    computed: set[str] = set()
    for key in keys:
        name, source = loading.rename_source_key(key, renamings, converters, model.base_model_prefix, state)
        if name not in state and key in state:
            name, source = key, None
        renamed[key] = [name]
        if source is None:
            continue
        targets = next(item.target_patterns for item in converters if source in item.source_patterns)
        renamed[key] = [name.replace(targets[0], target) for target in targets]
        computed.update(renamed[key])
    return renamed, computed


def _framework(model: Any, package: str) -> Callable[[str], str] | None:
    """The framework's own renaming of keys, of generations that load Hugging Face weights themselves."""
    utils = sys.modules.get(f"{package}.fsdp.checkpoint.hf_utils")
    rename = getattr(utils, "convert_weight_key", None)
    if not callable(rename):
        return None
    return lambda key: str(rename(key, model))
