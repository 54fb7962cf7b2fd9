"""Loss without the logits of a whole batch in memory: projection and cross entropy chunk by chunk."""

import types

from torch import Tensor, nn

from mindspeed_mm.fsdp.loss.loss_func import chunked_lm_loss
from mindspeed_mm.fsdp.params.feature_args import ChunkLossPlanConfig
from mindspeed_mm.fsdp.utils.str_match import module_name_match


def get_chunkloss_module(model: nn.Module, plan: ChunkLossPlanConfig) -> nn.Linear:
    """Return the one linear layer that the plan names; ValueError when it is not exactly one."""
    found = [module for name, module in model.named_modules() if module_name_match(plan.apply_module, name)]
    if len(found) != 1 or not isinstance(found[0], nn.Linear):
        raise ValueError(f"features.chunkloss_plan.apply_module {plan.apply_module!r} must name one linear layer.")
    return found[0]


def apply_chunkloss_module(module: nn.Linear, chunk_size: int) -> None:
    """Make `module(hidden_states, labels)` return the loss in place of logits."""

    def forward(self: nn.Linear, hidden_states: Tensor, labels: Tensor) -> Tensor:
        return chunked_lm_loss(hidden_states, self.weight, self.bias, labels, chunk_size)

    module.forward = types.MethodType(forward, module)
