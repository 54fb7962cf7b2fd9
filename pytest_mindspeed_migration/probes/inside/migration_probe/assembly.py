"""The target's trainer, started for one process: its own steps up to the model, then the model by its own `get_model`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .framework import Started

NOT_SHARDED = "parallel applier of the trainer: leaves the model as it is (one process)"
ONE_GROUP = "parallel applier of the trainer: shards the model as one group over one process"


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
        self._class = started.trainer_class
        self._given: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

        def stop(trainer: Any, *arguments: Any, **options: Any) -> None:
            raise _ModelIsNext(arguments, options)

        paused = type(self._class.__name__, (self._class,), {"get_model": stop, "__module__": self._class.__module__})
        self.trainer = object.__new__(paused)
        try:
            self.trainer.__init__(started.args, **started.providers)  # type: ignore[misc]
        except _ModelIsNext as reached:
            self._given = reached.arguments, reached.options
        self.trainer.__class__ = self._class

    def model(self, on_meta: bool) -> Any:
        """The model by the trainer's own `get_model`, features applied.

        Args:
            on_meta: built on the meta device and initialised, else loaded by `from_pretrained`. The former is sharded as
                one group, since that is what the trainer initialises; the latter is not sharded.
        """
        arguments, options = self._given
        training = self._args.training
        before = training.init_model_with_meta_device
        training.init_model_with_meta_device = on_meta
        try:
            with self._in_place_of_sharding(_as_one_group if on_meta else _as_it_is):
                return self._class.get_model(self.trainer, *arguments, **options)  # type: ignore[attr-defined]
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
