"""Collators: functions that make a batch of samples, by id."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from mindspeed_mm.fsdp.data.data_utils.func_utils.convert import IGNORE_INDEX

PAD_VALUES = {"input_ids": 0, "attention_mask": 0, "labels": IGNORE_INDEX}


class DataCollatorForPaddedText:
    """Text only.

    Args:
        pad_to_multiple_of: the padded length is a multiple of it.
        dataset_param: arguments of the dataset; not needed here.
    """

    def __init__(self, pad_to_multiple_of: int = 8, dataset_param=None, **kwargs):
        self.pad_to_multiple_of = pad_to_multiple_of

    def __call__(self, samples: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """Return the batch."""
        batch = {}
        for name, value in PAD_VALUES.items():
            rows = pad_sequence([sample[name] for sample in samples], batch_first=True, padding_value=value)
            missing = -rows.shape[1] % self.pad_to_multiple_of
            batch[name] = torch.nn.functional.pad(rows, (0, missing), value=value)
        return batch


DATA_COLLATOR = {
    "padded_text": DataCollatorForPaddedText,
}


def resolve_data_collator(collate_param: dict[str, Any], dataset_param=None) -> tuple[type, dict[str, Any]]:
    """Return the collator class that `collator_id` names, and the remaining options for it.

    Raises:
        ValueError: no id, or one that is not registered.
    """
    options = dict(collate_param)
    collator_id = options.pop("collator_id", None)
    if collator_id not in DATA_COLLATOR:
        raise ValueError(
            f"data.dataloader_param.collate_param.collator_id is {collator_id!r}: "
            f"use one of {', '.join(sorted(DATA_COLLATOR))}, or give the dataset a collate_fn."
        )
    return DATA_COLLATOR[collator_id], options
