"""One training step on the unsharded model, by the parts of the target's own engine, and what it left behind."""

from __future__ import annotations

import copy
import inspect
import re
import sys
from typing import Any
from unittest import mock

from .batches import describe_value
from .framework import Started

_RANDOM = ("normal_.default", "uniform_.default")  # of aten
_LISTED = 40  # names that are kept of a long list


def engine_of(started: Started, model: Any, loader: Any) -> Any:
    """The target's training engine around a model; what needs optimizer or checkpoints gets placeholders.

    Returns:
        None when the trainer has no engine with a `train_step`.
    """
    for module in (started.module, *(sys.modules[cls.__module__] for cls in started.trainer_class.__mro__)):
        for value in vars(module).values():
            if inspect.isclass(value) and callable(getattr(value, "train_step", None)):
                return value(**_arguments(value, started.args, model, loader))
    return None


def _arguments(engine: type, args: Any, model: Any, loader: Any) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(engine).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if name == "args":
            given[name] = args
        elif name == "model":
            given[name] = model
        elif "dataloader" in name and "val" not in name:
            given[name] = loader
        elif parameter.default is parameter.empty or "checkpointer" in name:
            given[name] = mock.MagicMock(name=name)
    return given


def prepare(engine: Any, batch: Any) -> tuple[Any, list[str]]:
    """The batch as the engine hands it to the model, and the fields it left out on the way."""
    taken = engine.get_batch(iter([batch])) if callable(getattr(engine, "get_batch", None)) else dict(batch)
    dropped = [str(key) for key in batch if key not in taken]
    if callable(getattr(engine, "set_loss_func", None)):
        engine.set_loss_func(taken)
    return taken, dropped


def binding(model: Any, batch: Any) -> dict[str, Any]:
    """How the fields of a batch, and use_cache, meet the parameters of `forward`.

    Returns:
        `fields`: by batch key its `parameter` ("**name" when only the catch-all takes it, None when nothing does) and
        its description; `missing`: parameters without a default that nothing fills; `file` and `line` of the function.
    """
    function = inspect.unwrap(type(model).forward)
    parameters = inspect.signature(function).parameters
    rest = next((f"**{one.name}" for one in parameters.values() if one.kind is one.VAR_KEYWORD), None)
    named = [name for name, one in parameters.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)][1:]
    given = {**batch, "use_cache": False}
    return {
        "fields": {
            str(key): {"parameter": key if key in named else rest, **describe_value(value)}
            for key, value in given.items()
        },
        "missing": [
            name for name in named if parameters[name].default is inspect.Parameter.empty and name not in given
        ],
        "file": inspect.getsourcefile(function),
        "line": function.__code__.co_firstlineno,
        "class": type(model).__name__,
    }


class Executed:
    """Which modules ran in a forward pass, and the shapes of what those for media made."""

    def __init__(self, model: Any) -> None:
        self.names: set[str] = set()
        self.media: dict[str, list[int]] = {}
        self._hooks = [module.register_forward_hook(self._keep(name)) for name, module in model.named_modules() if name]

    def _keep(self, name: str) -> Any:
        import torch

        def hook(module: Any, given: Any, output: Any) -> None:
            self.names.add(name)
            if re.search(r"visual|vision|image|audio|projector|merger", name):
                tensor = next((one for one in _tensors(output) if isinstance(one, torch.Tensor)), None)
                if tensor is not None:
                    self.media[name] = list(tensor.shape)

        return hook

    def remove(self) -> None:
        """Take the hooks off the model."""
        for hook in self._hooks:
            hook.remove()


def loss_facts(output: Any) -> dict[str, Any]:
    """The loss of an output: `has_loss`, and its `shape`, `value`, `finite` and `differentiable`."""
    import torch

    loss = getattr(output, "loss", None)
    found: dict[str, Any] = {"output": type(output).__name__, "has_loss": loss is not None}
    if not isinstance(loss, torch.Tensor):
        return {**found, "loss_type": type(loss).__name__}
    single = loss.numel() == 1
    value = float(loss.detach().float().reshape(-1)[0]) if loss.numel() else float("nan")
    return {
        **found,
        "loss_type": "Tensor",
        "shape": list(loss.shape),
        "value": value if value - value == 0 else None,
        "finite": bool(torch.isfinite(loss).all()),
        "scalar": single,
        "differentiable": loss.requires_grad,
    }


def gradient_facts(model: Any, executed: set[str]) -> dict[str, Any]:
    """Where gradients are after backward, layer numbers folded into `*`.

    Returns:
        Counts `trainable`, `frozen`, `with_gradient`; and by pattern of names, with how many parameters it stands for:
        `detached` (trainable, their module ran, no gradient), `beside` (the same, but others of their module have one),
        `idle` (trainable, their module did not run), `not_finite`, `zero` (a gradient of zeros only), `unexpected`
        (frozen, and yet a gradient) and `routed` (experts that got no token).
    """
    import torch

    found: dict[str, Any] = {"trainable": 0, "frozen": 0, "with_gradient": 0}
    lists: dict[str, dict[str, int]] = {
        name: {} for name in ("detached", "beside", "idle", "not_finite", "zero", "unexpected", "routed")
    }
    reached = {name.rpartition(".")[0] for name, parameter in model.named_parameters() if parameter.grad is not None}
    for name, parameter in model.named_parameters():
        module = name.rpartition(".")[0]
        pattern = re.sub(r"(?<=\.)\d+(?=\.|$)", "*", name)

        def note(kind: str, pattern: str = pattern) -> None:
            lists[kind][pattern] = lists[kind].get(pattern, 0) + 1

        gradient = parameter.grad
        if not parameter.requires_grad:
            found["frozen"] += 1
            if gradient is not None:
                note("unexpected")
            continue
        found["trainable"] += 1
        if gradient is None:
            if ".experts." in name:
                note("routed")
            else:
                ran = module in executed or not module
                note("idle" if not ran else "beside" if module in reached else "detached")
            continue
        found["with_gradient"] += 1
        if not bool(torch.isfinite(gradient).all()):
            note("not_finite")
        elif not bool(gradient.any()):
            note("routed" if ".experts." in name else "zero")
    return {**found, **{kind: dict(list(names.items())[:_LISTED]) for kind, names in lists.items()}}


def built_with_storage(model: Any) -> Any:
    """A model of the same config whose construction computed every buffer for real; None where that cannot be done.

    Loading may leave computed buffers without a value, too: a loaded model is no measure.
    """
    config = getattr(model, "config", None)
    if config is None:
        return None
    try:
        with _without_random_values():
            return type(model)._from_config(copy.deepcopy(config))
    except Exception:  # the class builds in another way; what it would have shown is not judged
        return None


def _without_random_values() -> Any:
    """A context that fills no parameter with random numbers: nobody looks at them, and a vocabulary has many."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Skipping(TorchDispatchMode):  # type: ignore[misc,unused-ignore]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function.__name__ in _RANDOM and isinstance(args[0], torch.nn.Parameter):
                return args[0]
            return function(*args, **(kwargs or {}))

    return Skipping()


def storage_facts(model: Any, reference: Any = None) -> dict[str, Any]:
    """Whether every parameter and buffer of a model that came from the meta device holds a value.

    Args:
        model: materialised and initialised while `uninitialised_is_nan` held.
        reference: the same model built with storage; its computed buffers are what those of `model` should be.

    Returns:
        By pattern of names with counts: `on_meta`; `uninitialised` (what a checkpoint could hold); `differing` (buffers
        with another value than that of `reference`, and computed buffers without one).
    """
    import torch

    lists: dict[str, dict[str, int]] = {"on_meta": {}, "uninitialised": {}, "differing": {}}

    def note(kind: str, name: str) -> None:
        pattern = re.sub(r"(?<=\.)\d+(?=\.|$)", "*", name)
        lists[kind][pattern] = lists[kind].get(pattern, 0) + 1

    expected = dict(reference.named_buffers()) if reference is not None else {}
    buffers = dict(model.named_buffers())
    computed = {
        f"{prefix}.{name}" if prefix else name
        for prefix, module in model.named_modules()
        for name in module._non_persistent_buffers_set
    }
    for name, held in {**dict(model.named_parameters()), **buffers}.items():
        value = held.to_local() if hasattr(held, "to_local") else held
        if value.is_meta:
            note("on_meta", name)
        elif _unfilled(value):
            note("differing" if name in computed else "uninitialised", name)
        elif name in buffers and name in expected:
            other = expected[name]
            if not other.is_meta and (other.shape != value.shape or not torch.equal(other.to(value.dtype), value)):
                note("differing", name)
    return {**lists, "parameters": sum(1 for _ in model.parameters()), "buffers": len(buffers)}


def _unfilled(value: Any) -> bool:
    import torch

    if not value.numel():
        return False
    value = value.detach()
    if value.is_floating_point():
        return bool(torch.isnan(value).any())
    if value.dtype == torch.bool:
        return False
    return bool((value == torch.iinfo(value.dtype).max).all())


def _tensors(output: Any) -> list[Any]:
    if isinstance(output, dict):
        return [one for value in output.values() for one in _tensors(value)]
    if isinstance(output, (list, tuple)):
        return [one for value in output for one in _tensors(value)]
    return [output]
