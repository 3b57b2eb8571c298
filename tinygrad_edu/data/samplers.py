"""Samplers: the order in which a loader takes the samples of a data set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from ..tensor import as_tensor
from ..tensor.random import AnyGenerator, stream


class Sampler:
    """Base of samplers: ``__iter__`` gives the numbers of samples, and ``__len__`` how many there are."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__(): define it to give the numbers of samples")


class SequentialSampler(Sampler):
    """All samples, in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All samples in random order, or ``num_samples`` of them; with ``replacement`` one may come again and again.

    Without replacement none comes a second time before all have come. It follows `manual_seed`, or a ``generator``.
    Raises `ArgumentError` for a number of samples that is not positive.
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: AnyGenerator = None,
    ) -> None:
        if num_samples is not None:
            _positive("RandomSampler", "num_samples", num_samples)
        stream(generator)  # a wrong one is refused here, not in the first pass
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """How many samples one pass gives: asked each time, as a data set may have grown."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, left, rng = len(self.data_source), self.num_samples, stream(self.generator)
        if left and not count:
            raise ArgumentError(f"RandomSampler of {left} samples", "the data set is empty", "give it samples first")
        if self.replacement:
            yield from rng.integers(0, max(count, 1), left).tolist()
            return
        while left:
            order = rng.permutation(count)[:left].tolist()
            left -= len(order)
            yield from order

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The samples at ``indices``, in random order."""

    def __init__(self, indices: Sequence[int], generator: AnyGenerator = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for place in stream(self.generator).permutation(len(self.indices)).tolist():
            yield int(self.indices[place])

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """``num_samples`` samples, drawn in proportion to ``weights``, for example to draw rare classes more often.

    Raises `ArgumentError` unless the weights are a vector of numbers from 0 up with a positive sum, and without
    ``replacement`` for more samples than have a weight.
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: AnyGenerator = None,
    ) -> None:
        _positive("WeightedRandomSampler", "num_samples", num_samples)
        self.weights = as_tensor(weights).detach().cpu().double()
        values = self.weights.numpy()
        tried = f"WeightedRandomSampler with weights {values.shape}"
        if values.ndim != 1 or not np.all(np.isfinite(values) & (values >= 0)) or not values.sum() > 0:
            why = "it takes one finite weight from 0 up for each sample, and not all may be 0"
            raise ArgumentError(tried, why, "use counts, or 1 / counts")
        if not replacement and num_samples > np.count_nonzero(values):
            why = f"{np.count_nonzero(values)} samples have a weight that is not 0, but {num_samples} are wanted"
            raise ArgumentError(tried, why, "draw fewer, or with replacement=True")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        shares = self.weights.numpy() / self.weights.numpy().sum()
        drawn = stream(self.generator).choice(len(shares), self.num_samples, self.replacement, shares)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of ``batch_size`` numbers from another sampler. The last may be shorter, unless ``drop_last``."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, (int, np.integer)) or isinstance(batch_size, bool) or batch_size < 1:
            why, mend = "a batch has at least one sample", "use 1 or more"
            raise ArgumentError(f"batch_size={batch_size}", why, mend)
        self.sampler, self.batch_size, self.drop_last = sampler, int(batch_size), drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + (rest > 0 and not self.drop_last)


def _positive(what: str, name: str, value: Any) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        why, mend = "at least one sample is drawn", f"use {name}=1 or more"
        raise ArgumentError(f"{what} with {name}={value!r}", why, mend)


explain_all(globals())
