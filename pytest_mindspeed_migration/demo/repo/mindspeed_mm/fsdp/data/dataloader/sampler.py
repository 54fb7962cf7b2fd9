"""Which samples a rank reads."""

from collections.abc import Iterator

import torch
from torch.utils.data import Dataset, Sampler


class BaseRandomBatchSampler(Sampler[list[int]]):
    """Batches of indexes, the same permutation on all ranks, each rank its own part of it.

    Args:
        dataset: what is sampled.
        batch_size: indexes in a batch.
        num_replicas: number of ranks.
        rank: this rank.
        shuffle: permute the samples anew in each epoch.
        seed: of the permutation.
        drop_last: leave out what does not fill a batch on every rank; the only mode there is.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        num_replicas: int,
        rank: int,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = True,
    ):
        if not drop_last:
            raise ValueError("BaseRandomBatchSampler needs drop_last: true.")
        if len(dataset) < batch_size * num_replicas:
            raise ValueError(f"{len(dataset)} samples do not fill a batch of {batch_size} on {num_replicas} ranks.")
        self.size = len(dataset)
        self.batch_size = batch_size
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return self.size // (self.batch_size * self.num_replicas)

    def __iter__(self) -> Iterator[list[int]]:
        order = list(range(self.size))
        if self.shuffle:
            generator = torch.Generator().manual_seed(self.seed + self.epoch)
            order = torch.randperm(self.size, generator=generator).tolist()
        self.epoch += 1
        mine = order[self.rank :: self.num_replicas]
        for batch in range(len(self)):
            yield mine[batch * self.batch_size : (batch + 1) * self.batch_size]
