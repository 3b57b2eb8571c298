"""`DistributedSampler`: each worker reads its own part of a data set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data import Sampler
from ..errors import ArgumentError
from .functions import get_rank, get_world_size


class DistributedSampler(Sampler):
    """Every n-th sample, for n workers, from that of the worker's rank on; in random order with ``shuffle``.

    Call ``set_epoch(epoch)`` before each pass, or the order is the same each time: it depends on ``seed`` and the epoch
    alone, so that the workers agree. So that all have as many, some samples come twice, or none of the last ones with
    ``drop_last``. Raises `ArgumentError` for a rank that there is not.
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        self.dataset, self.shuffle, self.seed, self.drop_last = dataset, shuffle, seed, drop_last
        self.num_replicas = get_world_size() if num_replicas is None else num_replicas
        self.rank = get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            why = f"there are {self.num_replicas} workers"
            raise ArgumentError(f"DistributedSampler(rank={self.rank})", why, "give a rank from 0")
        self.epoch = 0
        count = len(dataset) / self.num_replicas
        self.num_samples = math.floor(count) if drop_last else math.ceil(count)

    def __iter__(self) -> Iterator[int]:
        numbers = np.arange(len(self.dataset))
        if self.shuffle:
            np.random.default_rng([self.seed, self.epoch]).shuffle(numbers)
        wanted = self.num_samples * self.num_replicas
        numbers = np.resize(numbers, wanted) if wanted > len(numbers) else numbers[:wanted]
        return iter(numbers[self.rank :: self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Take another order, the one of this epoch."""
        self.epoch = epoch
