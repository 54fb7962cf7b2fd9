"""FSDP2 sharding by the plan of the YAML file."""

import logging

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from mindspeed_mm.fsdp.params.parallel_args import FSDPPlanConfig
from mindspeed_mm.fsdp.utils.dtype import get_dtype
from mindspeed_mm.fsdp.utils.log import print_rank
from mindspeed_mm.fsdp.utils.str_match import module_name_match

logger = logging.getLogger(__name__)


def fully_shard_parallel_modules(model: nn.Module, fsdp_mesh: DeviceMesh, fsdp_plan: FSDPPlanConfig) -> nn.Module:
    """Shard the modules of the plan, innermost first, then the rest of the model as the root group.

    A model with a `fully_shard(fsdp_plan=...)` of its own that returns True has sharded itself.
    """
    own = getattr(model, "fully_shard", None)
    if callable(own) and own(fsdp_plan=fsdp_plan):
        return model
    options = {
        "mesh": fsdp_mesh,
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=get_dtype(fsdp_plan.param_dtype),
            reduce_dtype=get_dtype(fsdp_plan.reduce_dtype),
            output_dtype=get_dtype(fsdp_plan.output_dtype),
            cast_forward_inputs=fsdp_plan.cast_forward_inputs,
        ),
        "reshard_after_forward": fsdp_plan.reshard_after_forward,
        "ignored_params": get_ignored_params(model, fsdp_plan) or None,
    }
    for module in get_fsdp_modules(model, fsdp_plan):
        fully_shard(module, **options)
    fully_shard(model, **options)
    return model


def get_fsdp_modules(model: nn.Module, fsdp_plan: FSDPPlanConfig) -> list[nn.Module]:
    """Modules that `apply_modules` selects, children before parents, each once.

    Raises:
        RuntimeError: a pattern selects nothing, so a part of the model would silently stay in the root group.
    """
    unused = set(fsdp_plan.apply_modules)
    selected = []
    for name, module in reversed(list(model.named_modules())):
        hits = [pattern for pattern in fsdp_plan.apply_modules if module_name_match(pattern, name)]
        if hits:
            selected.append(module)
            unused.difference_update(hits)
            print_rank(logger.info, f"sharding {name}")
    if unused:
        raise RuntimeError(f"fsdp_plan.apply_modules: no module matches {sorted(unused)}.")
    return selected


def get_ignored_params(model: nn.Module, fsdp_plan: FSDPPlanConfig) -> set[nn.Parameter]:
    """Parameters of the modules that `ignored_modules` selects: they stay whole on every rank."""
    return {
        parameter
        for name, module in model.named_modules()
        if any(module_name_match(pattern, name) for pattern in fsdp_plan.ignored_modules)
        for parameter in module.parameters()
    }


def set_modules_to_prefetch(model: nn.Module, fsdp_plan: FSDPPlanConfig) -> None:
    """Let each sharded module fetch the parameters of its neighbours while it computes."""
    groups = [module for module in model.modules() if hasattr(module, "set_modules_to_forward_prefetch")]
    groups = [module for module in groups if module is not model]
    ahead, behind = fsdp_plan.num_to_forward_prefetch, fsdp_plan.num_to_backward_prefetch
    for position, module in enumerate(groups):
        if ahead:
            module.set_modules_to_forward_prefetch(groups[position + 1 : position + 1 + ahead])
        if behind:
            module.set_modules_to_backward_prefetch(groups[max(0, position - behind) : position][::-1])
