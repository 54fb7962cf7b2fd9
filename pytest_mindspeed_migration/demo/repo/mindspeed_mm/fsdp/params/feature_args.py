"""Section `features`."""

from typing import Literal

from pydantic import Field

from mindspeed_mm.config.arguments.base_args import BaseArguments


class RecomputePlanConfig(BaseArguments):
    """Modules whose activations are computed again in the backward pass."""

    apply_modules: list[str] = Field(default_factory=list)
    use_reentrant: bool = False


class ChunkLossPlanConfig(BaseArguments):
    """The output projection that computes its loss chunk by chunk, and the tokens in a chunk."""

    apply_module: str = "lm_head"
    chunk_size: int = 1024


class LossArguments(BaseArguments):
    """`raw` keeps the loss the model computes itself."""

    loss_type: Literal["raw", "default"] = "raw"


class FeatureArguments(BaseArguments):
    """Switches of optional features, each beside its plan."""

    recompute: bool = False
    recompute_plan: RecomputePlanConfig = Field(default_factory=RecomputePlanConfig)
    enable_chunk_loss: bool = False
    chunkloss_plan: ChunkLossPlanConfig = Field(default_factory=ChunkLossPlanConfig)
    loss_cfg: LossArguments = Field(default_factory=LossArguments)
