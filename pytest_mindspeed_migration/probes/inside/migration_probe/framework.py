"""The target's own entry points: its config loader, its trainer and what that trainer was given.

Nothing here knows a generation of the framework: the start-up code of the target's trainer is run as it stands, with
the trainer class replaced by one that keeps its arguments. Sources: `mindspeed_mm/fsdp/train/trainer.py` (`__main__`),
`mindspeed_mm/fsdp/tasks/*/train*.py`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

REMOVED = {"removed": True}
"""An override that takes the key out of the config, where null is another value than none."""

DEFAULT_TRAINER = "mindspeed_mm/fsdp/train/trainer.py"


@dataclass
class Started:
    """What the trainer's start-up code asked for.

    Attributes:
        module: the trainer's module.
        trainer_class: the class it starts.
        args: parsed arguments: model, data, training, parallel, features, ...
        providers: further keyword arguments, such as `model_provider` and `dataloader_provider`.
    """

    module: ModuleType
    trainer_class: type
    args: Any
    providers: dict[str, Any]

    def named(self, name: str) -> Any:
        """What the trainer's code knows by that name: in its own module, else in that of a class it derives from.

        Raises:
            AttributeError: when none of them does.
        """
        for module in (self.module, *(sys.modules[cls.__module__] for cls in self.trainer_class.__mro__)):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(f"the trainer {self.trainer_class.__qualname__} knows no {name}")

    def trainer(self, **attributes: Any) -> Any:
        """A trainer that has its arguments and nothing else: its methods can be called one at a time."""
        made: Any = object.__new__(self.trainer_class)
        made.args = self.args
        for name, value in attributes.items():
            setattr(made, name, value)
        return made


class NoTrainerError(Exception):
    """The program that the launch script starts holds no trainer that could be started."""


def trainer_module(request: dict[str, Any]) -> ModuleType:
    """Import the program that the target's launch script starts."""
    path = request.get("trainer") or DEFAULT_TRAINER
    return importlib.import_module(path[: -len(".py")].replace("/", "."))


def start(request: dict[str, Any], overrides: dict[str, Any] | None = None) -> Started:
    """Load the target's config as its trainer loads it.

    Args:
        request: the probe's request: `repo`, `config`, `trainer`, `work` (a folder to write to).
        overrides: values by dotted path of the YAML, which replace those of the config.

    Raises:
        NoTrainerError: when the program starts no trainer.
        Exception: whatever the framework's loader raises.
    """
    module = trainer_module(request)
    main = _main_block(module)
    config = write_config(request, overrides or {})
    return _capture(module, main, config)


def write_config(request: dict[str, Any], overrides: dict[str, Any]) -> str:
    """The target's YAML, with `overrides` where there are any, as a file; its path."""
    path: str = os.path.join(request["repo"], request["config"])
    if not overrides:
        return path
    import yaml

    data = read_yaml(path)
    for dotted, value in overrides.items():
        if value == REMOVED:
            _remove(data, dotted)
        else:
            put(data, dotted, value)
    name = os.path.splitext(os.path.basename(path))[0]
    written = os.path.join(request["work"], f"{name}.rehearsal.yaml")
    with open(written, "w", encoding="utf-8") as stream:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        yaml.dump(data, stream, dumper, allow_unicode=True, sort_keys=False)
    return written


def read_yaml(path: str) -> Any:
    """What a YAML file holds; by the parser in C where there is one, since a probe reads its config many times."""
    import yaml

    with open(path, encoding="utf-8") as stream:
        return yaml.load(stream, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def configured(request: dict[str, Any], dotted: str) -> Any:
    """A value of the target's YAML as it is written, by its dotted path; None where it has none."""
    found: Any = read_yaml(os.path.join(request["repo"], request["config"]))
    for name in dotted.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _remove(data: dict[str, Any], dotted: str) -> None:
    *parents, last = dotted.split(".")
    for name in parents:
        data = data.get(name) or {}
    data.pop(last, None)


def put(data: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a value by its dotted path, making the mappings on the way."""
    *parents, last = dotted.split(".")
    for name in parents:
        following = data.get(name)
        if not isinstance(following, dict):
            following = data[name] = {}
        data = following
    data[last] = value


def _main_block(module: ModuleType) -> CodeType:
    source = inspect.getsource(module)
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test) and "__main__" in ast.dump(node.test):
            block = ast.Module(body=node.body, type_ignores=[])
            return compile(block, module.__file__ or "<trainer>", "exec")
    raise NoTrainerError(f"{module.__name__} has no `if __name__ == '__main__'` block")


class _Captured(BaseException):
    """Ends the start-up code where the trainer would have begun its work."""


def _capture(module: ModuleType, main: CodeType, config: str) -> Started:
    found: dict[str, Any] = {}

    def capturing(cls: type) -> type:
        def keep(self: Any, *args: Any, **kwargs: Any) -> None:
            given = inspect.signature(cls).bind(*args, **kwargs).arguments
            found.update(cls=cls, given=dict(given))
            raise _Captured

        return type(cls.__name__, (cls,), {"__init__": keep, "__module__": cls.__module__})

    names = {name: value for name, value in vars(module).items() if _is_trainer(value)}
    sys.argv = [module.__file__ or "trainer.py", config]  # and it stays: plugins may read it while they are imported
    vars(module).update({name: capturing(value) for name, value in names.items()})
    try:
        exec(main, vars(module))
    except _Captured:
        pass
    finally:
        vars(module).update(names)
    if "cls" not in found:
        raise NoTrainerError(f"{module.__name__} starts no trainer class")
    given = found["given"]
    args = given.pop("args", None)
    given = {**given.pop("kwargs", {}), **given}
    return Started(module, found["cls"], args, {name: value for name, value in given.items() if value is not None})


def _is_trainer(value: Any) -> bool:
    return (
        inspect.isclass(value)
        and callable(getattr(value, "train", None))
        and callable(getattr(value, "get_model", None))
    )
