"""From samples to batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..ops.movement import stack
from ..random import generator
from ..tensor import Tensor, as_tensor, wrap


class TensorDataset:
    """Tensors that belong together along their first axis: sample i is element i of each."""

    def __init__(self, *tensors: Any) -> None:
        self.tensors = tuple(as_tensor(t) for t in tensors)
        lengths = [len(t) for t in self.tensors]
        if len(set(lengths)) != 1:
            raise ShapeError(
                f"TensorDataset of tensors with {lengths} samples",
                "sample i is element i of each, so all have equally many",
                "check that images and labels come from the same rows",
            )

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)


class DataLoader:
    """Batches of a data set, in order or shuffled anew each time it is walked through.

    A data set is anything with ``len`` and integer indexing. One that accepts an index array, such as
    `TensorDataset`, is read a batch at a time. The last batch may be smaller, unless ``drop_last``.
    """

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, drop_last: bool = False) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size={batch_size}: a batch has at least one sample")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last

    def __len__(self) -> int:
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        order = generator().permutation(count) if self.shuffle else np.arange(count)
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            yield self._batch(order[start : start + self.batch_size])

    def _batch(self, indices: Any) -> Any:
        if isinstance(self.dataset, TensorDataset):
            return self.dataset[wrap(indices)]
        samples: Sequence[Any] = [self.dataset[int(i)] for i in indices]
        if isinstance(samples[0], tuple):
            return tuple(stack(column) for column in zip(*samples, strict=True))
        return stack(samples)
