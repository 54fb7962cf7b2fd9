"""Dataloaders."""

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor
from torch.distributed import ProcessGroup
from torch.utils.data import DataLoader, Dataset

from mindspeed_mm.fsdp.data.dataloader.data_collator import resolve_data_collator
from mindspeed_mm.fsdp.data.dataloader.sampler import BaseRandomBatchSampler


def build_collate_fn(collate_param: dict[str, Any], dataset_param=None, model=None) -> Callable:
    """Return an instance of the collator that `collator_id` names."""
    collator_cls, options = resolve_data_collator(collate_param, dataset_param)
    return collator_cls(dataset_param=dataset_param, model=model, **options)


def prepare_base_dataloader(
    dataset: Dataset,
    batch_size: int = 1,
    shuffle: bool = False,
    drop_last: bool = False,
    pin_memory: bool = False,
    num_workers: int = 0,
    collate_param: dict[str, Any] | None = None,
    dataset_param=None,
    model=None,
    **kwargs,
) -> DataLoader:
    """A plain dataloader over the whole dataset."""
    if hasattr(dataset, "collate_fn"):
        collate_fn = dataset.collate_fn
    else:
        collate_fn = build_collate_fn(collate_param or {}, dataset_param, model)
    return DataLoader(
        dataset,
        batch_size=batch_size,
        shuffle=shuffle,
        drop_last=drop_last,
        pin_memory=pin_memory,
        num_workers=num_workers,
        collate_fn=collate_fn,
    )


def prepare_sampler_dataloader(
    dataset: Dataset,
    process_group: ProcessGroup,
    sampler_type: str = "BaseRandomBatchSampler",
    batch_size: int = 1,
    shuffle: bool = True,
    seed: int = 0,
    drop_last: bool = True,
    pin_memory: bool = False,
    num_workers: int = 0,
    collate_param: dict[str, Any] | None = None,
    dataset_param=None,
    model=None,
    **kwargs,
) -> DataLoader:
    """A dataloader over this rank's share.

    Raises:
        NotImplementedError: for a sampler that is not known.
    """
    if sampler_type != "BaseRandomBatchSampler":
        raise NotImplementedError(f"data.dataloader_param.sampler_type {sampler_type!r} is not known.")
    if hasattr(dataset, "collate_fn"):
        collate_fn = dataset.collate_fn
    else:
        collate_fn = build_collate_fn(collate_param or {}, dataset_param, model)
    sampler = BaseRandomBatchSampler(
        dataset,
        batch_size=batch_size,
        num_replicas=process_group.size(),
        rank=process_group.rank(),
        shuffle=shuffle,
        seed=seed,
        drop_last=drop_last,
    )
    return DataLoader(
        dataset,
        batch_sampler=sampler,
        pin_memory=pin_memory,
        num_workers=num_workers,
        collate_fn=collate_fn,
    )


def endless(dataloader: DataLoader) -> Iterator[dict[str, Tensor]]:
    """The batches of one epoch after the other."""
    while True:
        yield from dataloader
