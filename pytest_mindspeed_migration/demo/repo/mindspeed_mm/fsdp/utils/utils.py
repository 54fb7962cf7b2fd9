"""Moving batches, seeding, and weights of models that were built without storage."""

import random
from typing import Any

import numpy as np
import torch
from torch import nn

from mindspeed_mm.fsdp.utils.device import get_device_type


def set_seed(seed: int) -> None:
    """Seed every generator the training uses."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def move_to_device(value: Any, float_dtype: torch.dtype | None = None) -> Any:
    """Move the tensors in nested containers to the training device; floating ones also change to `float_dtype`."""
    if isinstance(value, torch.Tensor):
        dtype = float_dtype if value.is_floating_point() else None
        return value.to(device=get_device_type(), dtype=dtype)
    if isinstance(value, dict):
        return {key: move_to_device(item, float_dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(move_to_device(item, float_dtype) for item in value)
    return value


def materialize(model: nn.Module, device: str) -> None:
    """Give storage to a model on the meta device, and initialize it unless a checkpoint follows."""
    if any(parameter.is_meta for parameter in model.parameters()):
        model.to_empty(device=device)


@torch.no_grad()
def init_model_weights(model: nn.Module) -> None:
    """Initialize every weight and computed buffer with the model's own rules."""
    if not hasattr(model, "init_weights"):
        raise AttributeError(f"{type(model).__name__} has no init_weights(), so it cannot start from the meta device.")
    model.init_weights()
