"""The target's trainer, started for one process: its own steps up to the model, then its own `get_model`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .framework import Started

SHARDING = (
    "the trainer's parallel applier: leaves a loaded model as it is, shards one from the meta device as one group"
)


class _ModelIsNext(BaseException):
    """Ends the trainer's construction where it would get its model."""

    def __init__(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        super().__init__()
        self.arguments, self.options = arguments, options


class Assembly:
    """A trainer whose constructor ran as far as the model.

    Args:
        started: what the start-up code of the trainer was given.
    """

    def __init__(self, started: Started) -> None:
        self._args = started.args
        self._class: Any = started.trainer_class
        self._given: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

        def stop(trainer: Any, *arguments: Any, **options: Any) -> None:
            raise _ModelIsNext(arguments, options)

        paused: Any = type(
            self._class.__name__, (self._class,), {"get_model": stop, "__module__": self._class.__module__}
        )
        self.trainer: Any = object.__new__(paused)
        try:
            self.trainer.__init__(started.args, **started.providers)
        except _ModelIsNext as reached:
            self._given = reached.arguments, reached.options
        self.trainer.__class__ = self._class

    def foundation_model(self) -> Any:
        """The model as the trainer first gets it, loaded by `from_pretrained`."""
        arguments, options = self._given
        provider = next((one for one in (*arguments, *options.values()) if callable(one)), None)
        with self._on_meta(False):
            return provider() if provider is not None else self.trainer.get_foundation_model()

    def loaded_model(self, foundation: Any) -> Any:
        """What the trainer's `get_model` makes of a loaded model: features applied, not sharded."""
        with self._on_meta(False), self._in_place_of_sharding(_as_it_is):
            return self._class.get_model(self.trainer, lambda: foundation)

    def initialised_model(self) -> Any:
        """The model by `get_model` from the meta device, sharded as one group: what is initialised is sharded."""
        arguments, options = self._given
        with self._on_meta(True), self._in_place_of_sharding(_as_one_group):
            return self._class.get_model(self.trainer, *arguments, **options)

    @contextmanager
    def _on_meta(self, value: bool) -> Iterator[None]:
        training = self._args.training
        before = training.init_model_with_meta_device
        training.init_model_with_meta_device = value
        try:
            yield
        finally:
            training.init_model_with_meta_device = before

    @contextmanager
    def _in_place_of_sharding(self, applier: Any) -> Iterator[None]:
        names = [name for name, value in vars(self.trainer).items() if type(value).__name__.startswith("Parallel")]
        before = {name: getattr(self.trainer, name) for name in names}
        for name in names:
            setattr(self.trainer, name, applier)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self.trainer, name, value)


def use_one_process(args: Any) -> None:
    """Sizes of parallelism and what only several processes or a device need, set on parsed arguments where they exist.

    Nothing is loaded or saved either: the model starts from the small checkpoint.
    """
    for name, value in vars(args.parallel).items():
        if name.endswith("_size") and type(value) is int and value > 1:
            setattr(args.parallel, name, 1)
    plan = getattr(args.parallel, "fsdp_plan", None)
    if hasattr(plan, "param_dtype"):
        plan.param_dtype = None  # type: ignore[union-attr]  # batches stay in the precision of the unsharded model
    for name in ("load", "save"):
        if hasattr(args.training, name):
            _put(args.training, name, None)


def _put(section: Any, name: str, value: Any) -> None:
    """Set a value whether or not the schema declares that it may be none of its type."""
    try:
        setattr(section, name, value)
    except Exception:
        vars(section)[name] = value


@contextmanager
def uninitialised_is_nan() -> Iterator[None]:
    """Storage that nobody fills holds NaN, or the largest integer, in this context."""
    import torch

    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.utils.deterministic.fill_uninitialized_memory = filled


def _as_it_is(model: Any) -> Any:
    return model


def _as_one_group(model: Any) -> Any:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    return fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
