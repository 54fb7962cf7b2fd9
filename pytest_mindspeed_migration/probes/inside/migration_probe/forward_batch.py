"""Which batch a forward pass is shown with: few rows and short ones, since each token costs a row of the vocabulary.

Logits of one real batch can take more memory than a laptop has: 2,800 tokens over a vocabulary of 248,000 are 2.8 GB,
and a loss holds several tensors of that size.
"""

from __future__ import annotations

from typing import Any

from .batches import label_facts

_ROWS = 2  # one row has no neighbour whose values it could take


def rows_for_forward(args: Any) -> int:
    """Rows that show what `micro_batch_size` rows would.

    Args:
        args: parsed arguments. A module that runs a batch in chunks gets more rows than go into one (source:
            `fsdp/features/communication/chunk_mbs.py`).
    """
    features = getattr(args, "features", None)
    chunk = 0
    if getattr(features, "enable_chunk_mbs", False):
        stated = getattr(getattr(features, "chunkmbs_plan", None), "chunk_mbs", 0)
        chunk = stated if isinstance(stated, int) else 0
    return min(int(args.training.micro_batch_size), max(_ROWS, chunk + 1))


def shortest(batches: list[Any], tokens: dict[str, int]) -> Any:
    """The smallest of the batches that hold most kinds of media, if it can be one that has something to learn.

    Args:
        batches: one or more.
        tokens: see `media_tokens`. Text alone may have media fields, too: of a blank picture that no token stands for.
    """

    def rank(batch: Any) -> tuple[bool, int, int, int]:
        return not _learns(batch), -_kinds(batch, tokens), -len(media_fields(batch)), _numbers(batch)

    return min(batches, key=rank)


def rows_of(batch: Any) -> int:
    """Rows of a batch: of its input_ids, where samples are not packed into one row. 0 where there are none."""
    return next((len(value) for name, value in _tensors(batch) if name == "input_ids" and value.ndim), 0)


def media_fields(batch: Any) -> list[str]:
    """The float fields of a batch that hold something: those of media, since text is integers."""
    return [str(name) for name, value in _tensors(batch) if value.is_floating_point() and value.numel()]


def _learns(batch: Any) -> bool:
    facts = label_facts(batch)
    return facts is None or facts["counted"] > 0


def _kinds(batch: Any, tokens: dict[str, int]) -> int:
    ids = next((value for name, value in _tensors(batch) if name == "input_ids"), None)
    return 0 if ids is None else sum(bool((ids == token).any()) for token in tokens.values())


def _numbers(batch: Any) -> int:
    return sum(value.numel() for _, value in _tensors(batch))


def _tensors(batch: Any) -> list[tuple[Any, Any]]:
    import torch

    return [(name, value) for name, value in batch.items() if isinstance(value, torch.Tensor)]
