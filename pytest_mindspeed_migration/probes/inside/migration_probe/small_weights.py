"""The weights of the small checkpoint against those of the model that was loaded from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def not_loaded(model: Any, path: str) -> list[str]:
    """Parameters whose values are not those of the checkpoint."""
    import torch

    return [name for name, held, kept in _pairs(model, path) if not torch.equal(kept.to(held.dtype), held.detach())]


def fill(model: Any, path: str, fresh: Any) -> None:
    """Give a model what loading left out: parameters of the checkpoint, and the buffers that a built model computes.

    Args:
        model: as `from_pretrained` gave it.
        path: the small checkpoint.
        fresh: a model of the same config, built with storage; None where there is none.
    """
    import torch

    with torch.no_grad():
        for _, held, kept in _pairs(model, path):
            if held.shape == kept.shape:
                held.copy_(kept)
        sound = dict(fresh.named_buffers()) if fresh is not None else {}
        for name, buffer in model.named_buffers():
            if name in sound and sound[name].shape == buffer.shape and not sound[name].is_meta:
                buffer.copy_(sound[name])


def _pairs(model: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Name, parameter and tensor of what the checkpoint has under the parameter's name."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as stream:
        kept = set(stream.keys())
        for name, parameter in model.named_parameters():
            plain = name.replace("_checkpoint_wrapped_module.", "")
            if plain in kept:
                yield name, parameter, stream.get_tensor(plain)
