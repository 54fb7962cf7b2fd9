"""The device mesh of this run, one per process."""

from dataclasses import dataclass

import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from mindspeed_mm.fsdp.utils.device import get_device_type


@dataclass(frozen=True)
class ParallelState:
    """Mesh and sizes. A shard size below the world size means hybrid sharding: replicas of sharded copies."""

    data_parallel_size: int
    fully_shard_parallel_size: int
    mesh: DeviceMesh

    def get_dp_group(self) -> dist.ProcessGroup:
        """The ranks that read different data: all of them."""
        return dist.group.WORLD

    def get_hsdp_device_mesh(self) -> DeviceMesh:
        """The mesh to shard over."""
        return self.mesh


_state: ParallelState | None = None


def init_parallel_state(data_parallel_size: int, fully_shard_parallel_size: int) -> ParallelState:
    """Build the mesh. The process group must exist."""
    global _state
    shape, names = (fully_shard_parallel_size,), ("fsdp",)
    replicas = data_parallel_size // fully_shard_parallel_size
    if replicas > 1:
        shape, names = (replicas, fully_shard_parallel_size), ("replicate", "fsdp")
    mesh = init_device_mesh(get_device_type(), shape, mesh_dim_names=names)
    _state = ParallelState(data_parallel_size, fully_shard_parallel_size, mesh)
    return _state


def get_parallel_state() -> ParallelState:
    """The state of this process; RuntimeError before `init_parallel_state`."""
    if _state is None:
        raise RuntimeError("Parallel state is not initialized: call init_parallel_state() first.")
    return _state
