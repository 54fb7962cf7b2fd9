"""Next-token losses. Labels of -100 do not count."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

IGNORE_INDEX = -100


def build_loss_func(loss_type: str) -> Callable[..., Tensor]:
    """Return the loss function of that type, to be set as the model's `loss_function`.

    Raises:
        NotImplementedError: for a type that is not known.
    """
    if loss_type == "default":
        return lm_loss
    raise NotImplementedError(f"features.loss_cfg.loss_type {loss_type!r} is not known.")


def shift_labels(labels: Tensor) -> Tensor:
    """Labels moved so that each position holds the token that follows it."""
    return functional.pad(labels[..., 1:], (0, 1), value=IGNORE_INDEX)


def lm_loss(logits: Tensor, labels: Tensor, vocab_size: int | None = None, **kwargs) -> Tensor:
    """Mean cross entropy over the tokens that count."""
    logits = logits.float().view(-1, vocab_size or logits.shape[-1])
    targets = shift_labels(labels).view(-1).to(logits.device)
    total = functional.cross_entropy(logits, targets, ignore_index=IGNORE_INDEX, reduction="sum")
    return total / (targets != IGNORE_INDEX).sum().clamp(min=1)


def chunked_lm_loss(hidden: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, chunk_size: int) -> Tensor:
    """The same loss with the logits of at most `chunk_size` tokens alive at a time."""

    def chunk_total(rows: Tensor, targets: Tensor) -> Tensor:
        logits = functional.linear(rows, weight, bias).float()
        return functional.cross_entropy(logits, targets, ignore_index=IGNORE_INDEX, reduction="sum")

    rows, targets = hidden.flatten(0, 1), shift_labels(labels).flatten()
    totals = [
        checkpoint(chunk_total, row_chunk, target_chunk, use_reentrant=False)
        for row_chunk, target_chunk in zip(rows.split(chunk_size), targets.split(chunk_size), strict=True)
    ]
    return torch.stack(totals).sum() / (targets != IGNORE_INDEX).sum().clamp(min=1)
