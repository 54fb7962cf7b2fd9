"""Samples of different lengths in one tensor."""

from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


def pad_batch(samples: list[dict[str, Tensor]], pad_values: dict[str, int]) -> dict[str, Tensor]:
    """Pad the named one-dimensional fields on the right to the length of the longest sample, and stack them."""
    return {
        name: pad_sequence([sample[name] for sample in samples], batch_first=True, padding_value=value)
        for name, value in pad_values.items()
    }
