"""Short dtype names of the YAML file."""

import torch

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def get_dtype(name: str | None) -> torch.dtype | None:
    """Return the dtype called `name`, None for None; ValueError for any other name."""
    if name is None:
        return None
    if name not in _DTYPES:
        raise ValueError(f"Unknown dtype {name!r}: use one of {', '.join(_DTYPES)}.")
    return _DTYPES[name]
