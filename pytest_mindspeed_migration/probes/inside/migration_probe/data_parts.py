"""Dataset and dataloader of a target, each by the target's own code and each by itself."""

from __future__ import annotations

import itertools
from typing import Any

from .framework import Started

_BUILDER = "build_mm_dataset"


def build_dataset(started: Started) -> Any:
    """The training dataset, as `build_mm_dataset` makes it of the config's section."""
    found = started.named(_BUILDER)(started.args.data.dataset_param)
    return found[0] if isinstance(found, tuple) else found


def build_loader(started: Started, trainer: Any, dataset: Any) -> Any:
    """The training dataloader by the trainer's own `get_dataloader`, around a dataset that is there already.

    Args:
        started: a provider of dataloaders, where the start-up code names one, is asked instead.
        trainer: has `args` and `model`.
        dataset: None when the provider makes it.
    """
    provider = started.providers.get("dataloader_provider")
    if provider is not None:
        found = provider(started.args)
    else:
        names = type(trainer).get_dataloader.__globals__
        builder = names.get(_BUILDER)
        if dataset is not None and builder is not None:
            names[_BUILDER] = lambda *_, **__: dataset
        try:
            found = trainer.get_dataloader()
        finally:
            if builder is not None:
                names[_BUILDER] = builder
    return found[0] if isinstance(found, tuple) else found


def inner(loader: Any) -> Any:
    """The loader that collates, below one that counts tokens (`PrefetchGradAccDataLoader`)."""
    return getattr(loader, "base_dataloader", loader)


def first_samples(dataset: Any, count: int) -> list[Any]:
    """The first samples, of a dataset with or without indexes."""
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"):
        return [dataset[index] for index in range(min(count, len(dataset)))]
    return list(itertools.islice(iter(dataset), count))


def length_of(dataset: Any) -> int | None:
    """Number of samples, None when it is not known."""
    try:
        return len(dataset)
    except TypeError:
        return None
