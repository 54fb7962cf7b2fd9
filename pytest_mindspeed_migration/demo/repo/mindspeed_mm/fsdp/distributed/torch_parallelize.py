"""Applies the parallel section of the YAML file to a model."""

from torch import nn

from mindspeed_mm.fsdp.distributed.fully_shard_parallel import fully_shard_parallel_modules, set_modules_to_prefetch
from mindspeed_mm.fsdp.distributed.parallel_state import get_parallel_state
from mindspeed_mm.fsdp.params.parallel_args import ParallelArguments


class ParallelApplier:
    """Shards a model.

    Args:
        parallel_config: the `parallel` section.
    """

    def __init__(self, parallel_config: ParallelArguments):
        self.config = parallel_config
        self.parallel_state = get_parallel_state()

    def __call__(self, model: nn.Module) -> nn.Module:
        """Return the sharded model."""
        mesh = self.parallel_state.get_hsdp_device_mesh()
        model = fully_shard_parallel_modules(model, mesh, self.config.fsdp_plan)
        set_modules_to_prefetch(model, self.config.fsdp_plan)
        return model
