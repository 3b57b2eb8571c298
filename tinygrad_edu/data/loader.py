"""From samples to batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import backends
from ..common.lines import warn_user
from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from ..tensor import Tensor
from ..tensor.random import AnyGenerator, stream
from .collate import default_collate, default_convert
from .datasets import IterableDataset, read_batch
from .samplers import BatchSampler, RandomSampler, SequentialSampler


class DataLoader:
    """Batches of a data set: in order, shuffled again for each pass, or in the order of a sampler.

    ``dataset`` is anything with ``len`` and numbered samples, or an `IterableDataset`. ``collate_fn`` joins the samples
    of a batch, by default `default_collate`; a `TensorDataset` and its parts are read a batch at a time, with the same
    result. The last batch may be smaller, unless ``drop_last``. ``batch_size=None`` gives the samples one by one,
    unjoined. A ``batch_sampler`` gives the lists of numbers itself.

    Shuffling follows `manual_seed`, or a ``generator``. With ``pin_memory=True`` batches lie in memory from which an
    accelerator copies by itself, as soon as one is in use; see `Tensor.pin_memory`. Samples are read in this process:
    PyTorch's arguments for workers are taken and have no effect, with a warning for ``num_workers`` above 0. Raises
    `ArgumentError` for arguments that exclude each other.

    >>> import tinygrad_edu as tg
    >>> [batch.tolist() for batch in tg.data.DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: AnyGenerator = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, drop_last)
        stream(generator)
        if num_workers:
            text = "there are no worker processes: samples are read in this one"
            warn_user(f"DataLoader with num_workers={num_workers}: {text}")
        self.dataset, self.generator, self.num_workers = dataset, generator, num_workers
        self.streams = isinstance(dataset, IterableDataset)
        if self.streams:
            order: Iterable[Any] = dataset  # its samples come in place of their numbers
        elif sampler is not None:
            order = sampler
        else:
            order = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(order, batch_size, drop_last)
        self.sampler, self.batch_sampler, self.batch_size, self.drop_last = order, batch_sampler, batch_size, drop_last
        self.pin_memory = bool(pin_memory)
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)

    def __len__(self) -> int:
        """The number of batches. Raises `TypeError` if the data set or sampler does not know its length."""
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        pinning = self.pin_memory and backends.in_use() is not None
        return map(_pinned, self._batches()) if pinning else self._batches()

    def _batches(self) -> Iterator[Any]:
        if self.batch_sampler is None:
            for number in self.sampler:
                yield self.collate_fn(number if self.streams else self.dataset[number])
        else:
            for numbers in self.batch_sampler:
                yield self._batch(numbers)

    def _batch(self, numbers: list[Any]) -> Any:
        if self.streams:
            return self.collate_fn(numbers)
        joined = read_batch(self.dataset, numbers) if self.collate_fn is default_collate else None
        return self.collate_fn([self.dataset[number] for number in numbers]) if joined is None else joined


def _pinned(batch: Any) -> Any:
    """A batch with every tensor in pinned memory."""
    if isinstance(batch, Tensor):
        return batch.pin_memory() if batch.device == backends.CPU.name else batch
    if isinstance(batch, Mapping):
        return {key: _pinned(value) for key, value in batch.items()}
    if isinstance(batch, tuple):
        parts = [_pinned(one) for one in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    return [_pinned(one) for one in batch] if isinstance(batch, list) else batch


def _check(
    dataset: Any, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, num_workers: Any, drop_last: bool
) -> None:
    """Raise `ArgumentError` for the first of PyTorch's rules that the arguments break."""
    ordered = {"shuffle": shuffle, "sampler": sampler is not None, "batch_sampler": batch_sampler is not None}
    named = " and ".join(f"{name}=…" for name, given in ordered.items() if given)
    if not isinstance(num_workers, int) or num_workers < 0:
        why = "it is how many processes help to read, from 0 up"
        raise ArgumentError(f"DataLoader with num_workers={num_workers!r}", why, "leave it out")
    if isinstance(dataset, IterableDataset) and named:
        why = "an IterableDataset has its own order, and its samples have no numbers"
        raise ArgumentError(f"DataLoader with {named}", why, "leave it out, and shuffle in the data set")
    if shuffle and sampler is not None:
        why, mend = "both decide the order", "leave one out; RandomSampler shuffles"
        raise ArgumentError(f"DataLoader with {named}", why, mend)
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        why = "a batch_sampler itself decides which samples make up a batch"
        mend = "leave out batch_size, shuffle, sampler and drop_last"
        raise ArgumentError("DataLoader with a batch_sampler and more", why, mend)
    if batch_size is None and drop_last:
        why, mend = "batch_size=None makes no batches, so none can be too small", "leave one out"
        raise ArgumentError("DataLoader with batch_size=None and drop_last=True", why, mend)


explain_all(globals())
