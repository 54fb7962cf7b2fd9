"""Loss without the logits of a whole batch in memory: the output projection calls the loss function itself."""

import types
from collections.abc import Callable

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from mindspeed_mm.fsdp.params.feature_args import ChunkLossPlanConfig
from mindspeed_mm.fsdp.utils.str_match import module_name_match


def get_chunkloss_module(model: nn.Module, plan: ChunkLossPlanConfig) -> nn.Linear:
    """Return the one linear layer that the plan names; ValueError when it is not exactly one."""
    found = [module for name, module in model.named_modules() if module_name_match(plan.apply_module, name)]
    if len(found) != 1 or not isinstance(found[0], nn.Linear):
        raise ValueError(f"features.chunkloss_plan.apply_module {plan.apply_module!r} must name one linear layer.")
    return found[0]


def apply_chunkloss_module(module: nn.Linear) -> None:
    """Make `module(hidden_states, loss_func)` return the loss in place of logits."""

    def forward(
        self: nn.Linear, hidden_states: Tensor, loss_func: Callable[..., Tensor], labels: Tensor | None = None
    ) -> Tensor:
        return loss_func(hidden_states, _local(self.weight), _local(self.bias), labels)

    module.forward = types.MethodType(forward, module)


def _local(parameter: Tensor | None) -> Tensor | None:
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter
