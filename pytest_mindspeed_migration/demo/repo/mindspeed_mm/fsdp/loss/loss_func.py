"""Next-token losses. Labels of -100 do not count."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


def build_loss_func(
    loss_type: str, ignore_index: int = -100, chunk_size: int | None = 1024, labels: Tensor | None = None, **batch
) -> Callable[..., Tensor]:
    """Return the loss function of one batch, to be set as the model's `loss_function`.

    Args:
        loss_type: "default" is the mean over the tokens that count.
        ignore_index: the label that does not count.
        chunk_size: tokens whose logits are in memory at a time; the function is then called by the output projection
            with (hidden_states, weight, bias), else by the model with (logits, labels).
        labels: of the batch, for a call that brings none.

    Raises:
        NotImplementedError: for a type that is not known.
    """
    if loss_type != "default":
        raise NotImplementedError(f"features.loss_cfg.loss_type {loss_type!r} is not known.")
    batch_labels = labels

    def of_logits(logits: Tensor, labels: Tensor | None = None, vocab_size: int | None = None, **kwargs) -> Tensor:
        rows = logits.float().view(-1, vocab_size or logits.shape[-1])
        return _mean(_total(rows, targets(labels), ignore_index), targets(labels), ignore_index)

    def of_hidden_states(
        hidden_states: Tensor, head_weight: Tensor, head_bias: Tensor | None, labels: Tensor | None = None
    ) -> Tensor:
        def chunk_total(rows: Tensor, chunk: Tensor) -> Tensor:
            return _total(functional.linear(rows, head_weight, head_bias).float(), chunk, ignore_index)

        rows, wanted = hidden_states.flatten(0, 1), targets(labels)
        totals = [
            checkpoint(chunk_total, row_chunk, target_chunk, use_reentrant=False)
            for row_chunk, target_chunk in zip(rows.split(chunk_size), wanted.split(chunk_size), strict=True)
        ]
        return _mean(torch.stack(totals).sum(), wanted, ignore_index)

    def targets(labels: Tensor | None) -> Tensor:
        return shift_labels(batch_labels if labels is None else labels, ignore_index).flatten()

    return of_hidden_states if chunk_size else of_logits


def shift_labels(labels: Tensor, ignore_index: int = -100) -> Tensor:
    """Labels moved so that each position holds the token that follows it."""
    return functional.pad(labels[..., 1:], (0, 1), value=ignore_index)


def _total(logits: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    return functional.cross_entropy(logits, targets.to(logits.device), ignore_index=ignore_index, reduction="sum")


def _mean(total: Tensor, targets: Tensor, ignore_index: int) -> Tensor:
    return total / (targets != ignore_index).sum().clamp(min=1)
