"""Data sets: samples by number, or one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import Any

import numpy as np

from ..errors import ArgumentError, IndexRangeError, ShapeError
from ..inputs.kinds import explain_all
from ..tensor import Tensor, as_tensor, wrap
from ..tensor.random import AnyGenerator, stream


class Dataset:
    """Base of data sets with a length and numbered samples: a subclass defines ``__len__`` and ``__getitem__``.

    Anything else that has the two can be used in its place, even a list. ``a + b`` is a `ConcatDataset` of both.
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # Dataset[Tensor] is a type hint, as in PyTorch

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__(): define it to give sample number index")

    def __len__(self) -> int:
        # TypeError and not NotImplementedError: list(dataset) asks for a length, and does without one.
        raise TypeError(f"{type(self).__name__} has no __len__(): define it to say how many samples there are")

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base of data sets that give samples one after the other, without numbers: a subclass defines ``__iter__``."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__(): define it to give one sample at a time")


class TensorDataset(Dataset):
    """Tensors that belong together along their first axis: sample i is the tuple of element i of each.

    Raises `ShapeError` unless they are equally long.
    """

    def __init__(self, *tensors: Any) -> None:
        self.tensors = tuple(as_tensor(t) for t in tensors)
        lengths = [len(t) for t in self.tensors]
        if len(set(lengths)) != 1:
            raise ShapeError(
                f"TensorDataset of tensors with {lengths} samples",
                "sample i is element i of each, so all need the same length",
                "check that images and labels come from the same rows",
            )

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)


class Subset(Dataset):
    """The samples of ``dataset`` at ``indices``, in that order."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[int(self.indices[index])]


class ConcatDataset(Dataset):
    """Several data sets in a row. Raises `ArgumentError` for an empty list, and for one without numbered samples."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset([])", "there is nothing to join", "give it at least one data set")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                why = "its samples have no numbers, so no others can follow them"
                mend = "join the streams instead: itertools.chain(a, b)"
                raise ArgumentError(f"ConcatDataset with a {type(dataset).__name__}", why, mend)
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            why = f"there are {len(self)} samples, so it lies between {-len(self)} and {len(self) - 1}"
            raise IndexRangeError(f"sample {index} of a ConcatDataset", why, "count the samples from 0")
        which = bisect.bisect_right(self.cumulative_sizes, place)
        return self.datasets[which][place - (self.cumulative_sizes[which - 1] if which else 0)]


def random_split(dataset: Any, lengths: Sequence[float], generator: AnyGenerator = None) -> list[Subset]:
    """Random parts of ``dataset`` with no sample in common: ``[800, 200]`` samples, or fractions ``[0.8, 0.2]``.

    Samples left over by rounding go to the parts in turn, one each. The split follows `manual_seed`, or a
    ``generator``. Raises `ArgumentError` for numbers that do not add up to all samples, or to 1.

    >>> train, test = random_split(range(10), [0.75, 0.25])
    >>> len(train), len(test), sorted([*train, *test])
    (8, 2, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    count, total = len(dataset), sum(lengths)
    tried = f"random_split of {count} samples into {list(lengths)}"
    if any(not size >= 0 for size in lengths):
        raise ArgumentError(tried, "a part cannot be smaller than nothing", "use sizes or fractions from 0 up")
    if math.isclose(total, 1):
        sizes = [math.floor(count * share) for share in lengths]
        for i in range(count - sum(sizes)):
            sizes[i % len(sizes)] += 1
    elif total == count and all(size == int(size) for size in lengths):
        sizes = [int(size) for size in lengths]
    else:
        why = f"they add up to {total:g}, neither to {count} samples nor to 1"
        raise ArgumentError(tried, why, "let one part be the rest: [n, len(dataset) - n]")
    order = stream(generator).permutation(count).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[start:end]) for start, end in itertools.pairwise([0, *ends])]


def read_batch(dataset: Any, indices: list[int]) -> Any:
    """The samples at these numbers joined, by indexing each tensor once; None where that is not possible.

    It is for a `TensorDataset` and for parts of one. A subclass with its own ``__getitem__`` is asked for each sample.
    """
    own = type(dataset).__getitem__
    if isinstance(dataset, Subset) and own is Subset.__getitem__:
        return read_batch(dataset.dataset, [int(dataset.indices[i]) for i in indices])
    if isinstance(dataset, TensorDataset) and own is TensorDataset.__getitem__:
        return [*dataset[wrap(np.array(indices, np.int64))]]
    return None


explain_all(globals(), "read_batch")
