"""From the numbers of samples to a batch: the same in the loop that trains, in a thread, and in another process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .collate import default_collate
from .datasets import IterableDataset, read_batch
from .timeline import clock


class Ended(Exception):
    """A data set without numbers has no more samples."""


@dataclass(frozen=True)
class Fetch:
    """What reads a batch. ``size`` is that of a batch of an `IterableDataset`; None gives its samples one by one."""

    dataset: Any
    collate_fn: Callable[[Any], Any]
    joins: bool
    size: int | None = None
    drop_last: bool = False

    def begin(self) -> Callable[[Any], tuple[Any, float]]:
        """Begin a pass: what gives the batch for an order, and says when its samples were read."""
        if not isinstance(self.dataset, IterableDataset):
            return self._numbered
        samples = iter(self.dataset)
        return lambda order: self._next(samples)

    def _numbered(self, order: Any) -> tuple[Any, float]:
        if not self.joins:
            found = self.dataset[order]
        elif self.collate_fn is default_collate and (whole := read_batch(self.dataset, order)) is not None:
            return whole, clock()
        else:
            found = [self.dataset[number] for number in order]
        read = clock()
        return self.collate_fn(found), read

    def _next(self, samples: Iterator[Any]) -> tuple[Any, float]:
        found = list(itertools.islice(samples, self.size if self.joins else 1))
        if not found or (self.joins and self.drop_last and len(found) < (self.size or 1)):
            raise Ended
        read = clock()
        return self.collate_fn(found if self.joins else found[0]), read
