"""Gradient clipping over shards."""

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor


def clip_grad_norm(model: nn.Module, max_norm: float) -> Tensor:
    """Scale the gradients to a total norm of at most `max_norm` (0: leave them) and return the norm before."""
    limit = max_norm if max_norm > 0 else float("inf")
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    return norm.full_tensor() if isinstance(norm, DTensor) else norm
