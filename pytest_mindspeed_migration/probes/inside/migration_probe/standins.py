"""Stand-ins for what a machine without an accelerator lacks. Each one that a probe uses is named in its evidence.

`use_when_needed` installs only those the interpreter needs: a name that torch has by itself is left alone.
"""

from __future__ import annotations

import os
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


def use_when_needed() -> list[str]:
    """Install stand-ins for a CPU-only interpreter and return their names; none where a device is there."""
    import torch

    if device_count():
        return []
    used: list[str] = []

    def stand_in(owner: Any, name: str, value: Callable[..., Any], shown: str) -> None:
        setattr(owner, name, value)
        used.append(shown)

    if hasattr(torch, "accelerator"):
        stand_in(torch.accelerator, "set_device_index", _nothing, "torch.accelerator.set_device_index: does nothing")
    missing = [name for name in _NO_OPS if not hasattr(torch.cpu, name)]
    for name in missing:
        setattr(torch.cpu, name, _nothing)
    zeros = [name for name in _ZEROS if not hasattr(torch.cpu, name)]
    for name in zeros:
        setattr(torch.cpu, name, _zero)
    if not hasattr(torch.cpu, "get_rng_state"):
        torch.cpu.get_rng_state = torch.get_rng_state
        missing.append("get_rng_state")
    if missing or zeros:
        used.append("torch.cpu: {} do nothing or answer 0".format(", ".join(sorted(missing + zeros))))
    if not torch.cuda.is_available():
        for name in _ZEROS:
            setattr(torch.cuda, name, _zero)
        used.append("torch.cuda: memory counters answer 0")
    return used


def single_process_group() -> str:
    """Make this process a process group of one, without a port; the name of the stand-in, "" when there is a group."""
    import torch.distributed as dist

    if dist.is_initialized():
        return ""
    for name, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1")):
        os.environ.setdefault(name, value)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    return "torch.distributed: process group of one rank (gloo)"


def initialise_shards_without_device() -> str:
    """Let sharded parameters draw random numbers on the CPU, where torch wants a device mesh that can; its name."""
    from torch.distributed.tensor import _dispatch

    _dispatch.is_rng_supported_mesh = lambda mesh: False
    return "torch.distributed.tensor: random numbers of sharded parameters from the CPU generator"


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


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0
