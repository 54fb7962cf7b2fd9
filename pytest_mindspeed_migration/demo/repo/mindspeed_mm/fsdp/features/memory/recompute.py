"""Activation recomputation."""

import functools
import logging
from collections.abc import Callable

from torch import nn
from torch.utils.checkpoint import checkpoint

from mindspeed_mm.fsdp.params.feature_args import RecomputePlanConfig
from mindspeed_mm.fsdp.utils.log import print_rank
from mindspeed_mm.fsdp.utils.str_match import module_name_match

logger = logging.getLogger(__name__)


def recompute_modules(model: nn.Module, plan: RecomputePlanConfig) -> None:
    """Checkpoint the forward of every module the plan selects.

    Raises:
        RuntimeError: the plan selects none.
    """
    selected = [
        (name, module)
        for name, module in model.named_modules()
        if any(module_name_match(pattern, name) for pattern in plan.apply_modules)
    ]
    if not selected:
        raise RuntimeError(f"features.recompute_plan: no module matches {plan.apply_modules}.")
    for name, module in selected:
        print_rank(logger.info, f"recomputing {name}")
        module.forward = with_recompute(module.forward, plan.use_reentrant)


def with_recompute(forward: Callable, use_reentrant: bool) -> Callable:
    """Return `forward` under checkpointing. It is called with `past_key_values=None`: a cache cannot be recomputed."""

    @functools.wraps(forward)
    def wrapper(*args, **kwargs):
        kwargs["past_key_values"] = None
        return checkpoint(functools.partial(forward, **kwargs), *args, use_reentrant=use_reentrant)

    return wrapper
