"""Section `parallel`."""

import os

from pydantic import Field

from mindspeed_mm.config.arguments.base_args import BaseArguments


class FSDPPlanConfig(BaseArguments):
    """Which modules form a sharding group of their own, and in which precision they compute."""

    apply_modules: list[str] = Field(default_factory=list)
    ignored_modules: list[str] = Field(default_factory=list)
    param_dtype: str | None = None
    reduce_dtype: str | None = None
    output_dtype: str | None = None
    cast_forward_inputs: bool = True
    reshard_after_forward: bool = True
    num_to_forward_prefetch: int = 0
    num_to_backward_prefetch: int = 0


class ParallelArguments(BaseArguments):
    """How many ranks share one copy of the parameters; every rank reads its own data."""

    data_parallel_size: int | None = None
    fully_shard_parallel_size: str | int = "auto"
    fsdp_plan: FSDPPlanConfig = Field(default_factory=FSDPPlanConfig)

    def model_post_init(self, context) -> None:
        world_size = int(os.environ.get("WORLD_SIZE", "1"))
        if self.fully_shard_parallel_size == "auto":
            self.fully_shard_parallel_size = world_size
        self.fully_shard_parallel_size = int(self.fully_shard_parallel_size)
        if world_size % self.fully_shard_parallel_size != 0:
            raise ValueError(
                f"parallel.fully_shard_parallel_size {self.fully_shard_parallel_size} does not divide "
                f"the world size {world_size}."
            )
        if self.data_parallel_size not in (None, world_size):
            raise ValueError(
                f"parallel.data_parallel_size {self.data_parallel_size} is not the world size {world_size}."
            )
        self.data_parallel_size = world_size
