"""Writes `contracts/external/attributes.json`: the attributes of base classes that plugins inherit from.

Run it with an interpreter that has torch, and transformers when its classes are wanted:

    python scripts/export_attributes.py contracts/external/attributes.json

Names already in the file are kept, so that several versions of a library can be merged: an attribute that any version
has is not reported as missing.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
import textwrap
from pathlib import Path

MODULES = ("torch.nn", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data", "torch.utils.data.distributed")
CLASSES = (
    "builtins.object",
    "abc.ABC",
    "torch.autograd.Function",
    "torch.autograd.function.Function",
    "torch.nn.Module",
    "transformers.PreTrainedModel",
    "transformers.modeling_utils.PreTrainedModel",
    "transformers.GenerationMixin",
    "transformers.generation.GenerationMixin",
    "transformers.generation.utils.GenerationMixin",
    "transformers.modeling_layers.GradientCheckpointingLayer",
    "threading.Thread",
)
MODULE = "torch.nn.Module"
SHARDED = "torch.distributed.fsdp.FSDPModule"  # `fully_shard` gives every module these methods


def main(destination: Path) -> None:
    known = json.loads(destination.read_text()) if destination.is_file() else {}
    found = {name: (entry["base"], set(entry["names"])) for name, entry in known.items()}
    sharded = set(dir(_load(SHARDED) or object))
    common, of_modules = _names(object), _names(_load(MODULE) or object) | sharded
    for name in [*CLASSES, *_public_classes()]:
        cls = _load(name)
        if cls is not None:
            is_module = issubclass(cls, _load(MODULE) or ()) and name != MODULE
            names = _names(cls) - (of_modules if is_module else set()) - (common if cls is not object else set())
            base, before = MODULE if is_module else "" if cls is object else "object", found.get(name, ("", set()))[1]
            found[name.removeprefix("builtins.")] = (base, names | before | (sharded if name == MODULE else set()))
    lines = [
        f"{json.dumps(name)}: {json.dumps({'base': base, 'names': sorted(names)})}"
        for name, (base, names) in sorted(found.items())
    ]
    destination.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _names(cls: type) -> set[str]:
    return set(dir(cls)) | set(dir(type(cls))) | {name for base in cls.__mro__ for name in _set_on_self(base)}


def _public_classes() -> list[str]:
    names = []
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        names += [
            f"{module_name}.{name}"
            for name, value in vars(module).items()
            if inspect.isclass(value) and value.__module__.startswith(module_name)
        ]
    return names


def _load(name: str) -> type | None:
    module, _, attribute = name.rpartition(".")
    try:
        value = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return None
    return value if inspect.isclass(value) else None


def _set_on_self(cls: type) -> set[str]:
    """Names a class assigns on `self` or declares by annotation."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return set()
    names = set(inspect.get_annotations(cls))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            names.add(node.attr)
    return names


if __name__ == "__main__":
    main(Path(sys.argv[1]))
