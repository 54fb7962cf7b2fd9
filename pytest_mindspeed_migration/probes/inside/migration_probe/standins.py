"""Stand-ins for what a machine without an accelerator lacks. The evidence names each one that was really used.

Every stand-in notes its name when the target first calls it; where a device is there, or torch has the name by itself,
nothing is installed.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

_NO_OPS = (
    "empty_cache",
    "manual_seed",
    "manual_seed_all",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "synchronize",
)
_ZEROS = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved", "mem_get_info")


class _StandIns:
    def __init__(self) -> None:
        self.used: list[str] = []

    def put(self, owner: Any, name: str, value: Callable[..., Any], does: str) -> None:
        """Put a stand-in in the place of `owner.name`."""
        shown = f"{owner.__name__}.{name}: {does}"

        def noted(*args: Any, **kwargs: Any) -> Any:
            if shown not in self.used:
                self.used.append(shown)
            return value(*args, **kwargs)

        setattr(owner, name, noted)

    def instead_of_error(self, owner: Any, name: str, value: Callable[..., Any], does: str) -> None:
        """Put a stand-in beside `owner.name`, for calls that it refuses: what it takes, it goes on doing itself."""
        original = getattr(owner, name, None)
        shown = f"{owner.__name__}.{name}: {does}"

        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                if original is not None:
                    return original(*args, **kwargs)
            except TypeError:
                pass
            if shown not in self.used:
                self.used.append(shown)
            return value(*args, **kwargs)

        setattr(owner, name, called)


@functools.cache
def use_when_needed() -> list[str]:
    """Install the stand-ins a CPU-only interpreter needs, once.

    Returns:
        The names of those the target has called, a list that grows as it does; always empty where a device is there.
    """
    import torch

    made = _StandIns()
    if device_count():
        return made.used
    if hasattr(torch, "accelerator"):
        made.put(torch.accelerator, "set_device_index", _nothing, "does nothing")
    for name in _NO_OPS:
        if not hasattr(torch.cpu, name):
            made.put(torch.cpu, name, _nothing, "does nothing")
    for name in _ZEROS:
        if not hasattr(torch.cpu, name):
            made.put(torch.cpu, name, _zero, "answers 0")
    if not hasattr(torch.cpu, "get_rng_state"):
        made.put(torch.cpu, "get_rng_state", torch.get_rng_state, "answers the state of the CPU generator")
    if not torch.cuda.is_available():
        for name in _ZEROS:
            made.put(torch.cuda, name, _zero, "answers 0")
    _streams(made)
    _on_gloo(made)
    _averages(made)
    _without_device_generators(made)
    return made.used


def use_with_torch() -> list[str]:
    """`use_when_needed`, for a probe that also says what it can of an interpreter where torch did not import."""
    torch = sys.modules.get("torch")
    return use_when_needed() if torch is not None and hasattr(torch, "distributed") else []


def single_process_group() -> str:
    """Make this process a process group of one, without a port; the name of the stand-in, "" when there is a group."""
    import torch.distributed as dist

    if dist.is_initialized():
        return ""
    for name, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1")):
        os.environ.setdefault(name, value)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    return "torch.distributed: process group of one rank (gloo)"


def group_when_needed(package: str) -> list[str]:
    """Start the process group where the framework knows no backend for CPU ranks; the name of the stand-in, if used.

    The framework starts a group where nobody did, and asks its own `get_dist_comm_backend` (`fsdp/utils/device.py`).

    Args:
        package: the framework's package, imported already.
    """
    import torch.distributed as dist

    if device_count() or dist.is_initialized():
        return []
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(package + ".")]
    ask = next((found for module in modules if (found := getattr(module, "get_dist_comm_backend", None))), None)
    try:
        backend = ask() if ask is not None else "gloo"
    except Exception:
        backend = None
    if backend is not None and "gloo" in str(backend):
        return []
    dist.init_process_group("gloo")
    return [f"torch.distributed: process group on gloo, since {package} has no backend for CPU ranks"]


def device_count() -> int:
    """Accelerators this interpreter sees: NPUs, else GPUs."""
    import torch

    npu = getattr(torch, "npu", None)
    if npu is not None:
        try:
            return int(npu.device_count())
        except Exception:
            return 0
    return int(torch.cuda.device_count())


def _on_gloo(made: _StandIns) -> None:
    """A process group for devices becomes one for CPU ranks; one that asks for gloo alone is left as it is."""
    import torch.distributed as dist

    original = dist.init_process_group

    @functools.wraps(original)
    def init_process_group(backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        if backend == "gloo" and kwargs.get("device_id") is None:
            return original(backend, *args, **kwargs)
        name = f"torch.distributed.init_process_group: gloo for {backend}, bound to no device"
        if name not in made.used:
            made.used.append(name)
        kwargs.pop("device_id", None)
        return original("gloo", *args, **kwargs)

    dist.init_process_group = init_process_group
    dist.distributed_c10d.init_process_group = init_process_group


def _streams(made: _StandIns) -> None:
    """Streams and events of the CPU that take the arguments of a device's, and order nothing."""
    import torch

    class Stream:
        def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
            self.device, self.priority = torch.device("cpu"), priority

        wait_stream = wait_event = synchronize = _nothing

        def record_event(self, event: Any = None) -> Any:
            return event if event is not None else Event()

        def query(self) -> bool:
            return True

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            return None

    class Event:
        def __init__(self, enable_timing: bool = False, blocking: bool = False, **kwargs: Any) -> None:
            self.enable_timing = enable_timing

        record = wait = synchronize = _nothing

        def query(self) -> bool:
            return True

        def elapsed_time(self, end: Any) -> float:
            return 0.0

    for name, made_class in (("Stream", Stream), ("Event", Event)):
        made.instead_of_error(torch.cpu, name, made_class, "one that orders nothing, for arguments of a device")


def _averages(made: _StandIns) -> None:
    """gloo has no average: it is the sum over the ranks, divided by their number."""
    import torch.distributed as dist

    original = dist.all_reduce
    name = "torch.distributed.all_reduce: an average is a sum that is divided"

    @functools.wraps(original)
    def all_reduce(tensor: Any, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
        if op != dist.ReduceOp.AVG or async_op or dist.get_backend(group) != "gloo":
            return original(tensor, op, group, async_op)
        if name not in made.used:
            made.used.append(name)
        original(tensor, dist.ReduceOp.SUM, group)
        ranks = dist.get_world_size(group)
        tensor.copy_(tensor / ranks if tensor.is_floating_point() else tensor // ranks)
        return None

    dist.all_reduce = all_reduce


def _without_device_generators(made: _StandIns) -> None:
    """DTensor's random operators would ask a CPU mesh for the generator of a device; each rank uses its own instead."""
    try:
        import torch.distributed.tensor._dispatch as dispatch
    except ImportError:
        return
    if hasattr(dispatch, "is_rng_supported_mesh"):
        made.put(dispatch, "is_rng_supported_mesh", _no, "answers no")


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0


def _no(*args: Any, **kwargs: Any) -> bool:
    return False
