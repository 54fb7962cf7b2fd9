"""Applies the features section of the YAML file to a model."""

from torch import nn

from mindspeed_mm.fsdp.features.memory.chunkloss.chunkloss_lm_head import apply_chunkloss_module, get_chunkloss_module
from mindspeed_mm.fsdp.features.memory.recompute import recompute_modules
from mindspeed_mm.fsdp.params.feature_args import FeatureArguments


class FeaturesApplier:
    """Wraps the modules that the feature plans name.

    Args:
        feature_config: the `features` section.
    """

    def __init__(self, feature_config: FeatureArguments):
        self.config = feature_config

    def pre_fully_shard_apply(self, model: nn.Module) -> None:
        """Features that must be inside the sharding hooks."""
        if self.config.recompute:
            recompute_modules(model, self.config.recompute_plan)
        if self.config.enable_chunk_loss:
            model.enable_chunk_loss = True
            apply_chunkloss_module(get_chunkloss_module(model, self.config.chunkloss_plan))
