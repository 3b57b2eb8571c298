"""From samples to batches."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .. import backends
from ..common.lines import user_line
from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from ..tensor import Tensor
from ..tensor.random import AnyGenerator, stream
from .collate import default_collate, default_convert
from .crew import Crew, context_of, crew
from .datasets import IterableDataset
from .fetch import Ended, Fetch
from .reading import Reading
from .samplers import BatchSampler, RandomSampler, SequentialSampler
from .timeline import Timeline, clock

KINDS = "process", "thread"


class DataLoader:
    """Batches of a data set: in order, shuffled again for each pass, or in the order of a sampler.

    ``dataset`` is anything with ``len`` and numbered samples, or an `IterableDataset`. ``collate_fn`` joins the samples
    of a batch, by default `default_collate`; a `TensorDataset` and its parts are read a batch at a time, with the same
    result. The last batch may be smaller, unless ``drop_last``. ``batch_size=None`` gives the samples one by one,
    unjoined. A ``batch_sampler`` gives the lists of numbers itself.

    Shuffling follows `manual_seed`, or a ``generator``. With ``pin_memory=True`` batches lie in memory from which an
    accelerator copies by itself, as soon as one is in use; see `Tensor.pin_memory`.

    ``num_workers`` processes read ahead, ``prefetch_factor`` batches each (2), and come again for each pass unless
    ``persistent_workers``. Each has a copy of the data set and random numbers of its own, for Python, NumPy and this
    package, which follow the seed; ``worker_init_fn(number)`` is called in each before its first sample. With
    ``worker="thread"`` they are threads, which share the data set, and Python's lock: they help where reading waits, or
    lets the lock go, as decoders and NumPy do. ``in_order=False`` gives batches as they come. ``timeout`` is how many
    seconds one may take; 0 waits. ``multiprocessing_context`` is "fork", "spawn" or "forkserver" (where there is one,
    the default: processes are copies of a clean one, and start fast).

    ``timeline`` says what each worker did in the last pass, and how long the loop waited.

    Raises `ArgumentError` for arguments that exclude each other, and `WorkerError` if a worker is gone; an error in a
    worker is raised here, with its traceback.

    >>> import tinygrad_edu as tg
    >>> [batch.tolist() for batch in tg.data.DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    >>> [batch.tolist() for batch in tg.data.DataLoader(range(5), batch_size=2, num_workers=2, worker="thread")]
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
        worker: str = "process",
    ) -> None:
        _check(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last)
        _check_workers(num_workers, prefetch_factor, persistent_workers, timeout, multiprocessing_context, worker)
        stream(generator)
        self.dataset, self.generator, self.num_workers = dataset, generator, num_workers
        self.prefetch_factor = (prefetch_factor or 2) if num_workers else None
        self.persistent_workers, self.timeout, self.worker_init_fn = bool(persistent_workers), timeout, worker_init_fn
        self.worker, self.in_order = worker, bool(in_order)
        processes = num_workers and worker == "process"
        self.multiprocessing_context = context_of(multiprocessing_context) if processes else None
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
        self.timeline: Timeline | None = None  # of the last pass; None before the first
        self._crew: Crew | None = None  # workers that are kept
        self._turn = 0

    def __len__(self) -> int:
        """The number of batches. Raises `TypeError` if the data set or sampler does not know its length."""
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        batches = self._read_ahead() if self.num_workers else self._read_here()
        pinning = self.pin_memory and backends.in_use() is not None
        return map(_pinned, batches) if pinning else batches

    def _orders(self) -> Iterator[Any]:
        """What to read for each batch. A data set without numbers just goes on."""
        if self.streams:
            return itertools.repeat(None)
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _size(self, samples: Any) -> int:
        """How many samples an order asks for; the last of a stream may get fewer."""
        return len(samples) if isinstance(samples, (list, tuple)) else self.batch_size or 1

    def _fetch(self) -> Fetch:
        return Fetch(self.dataset, self.collate_fn, self.batch_sampler is not None, self.batch_size, self.drop_last)

    def _read_here(self) -> Iterator[Any]:
        """The batches of one pass, each read when it is wanted."""
        timeline = self.timeline = Timeline(0, line=user_line())
        read = self._fetch().begin()
        for number, samples in enumerate(self._orders()):
            began = clock()
            try:
                batch, done = read(samples)
            except Ended:
                break
            joined = clock()
            timeline.note(number, self._size(samples), None, began, began, done, joined, joined, began, joined)
            yield batch
        timeline.end(clock())

    def _read_ahead(self) -> Reading:
        """The batches of one pass, read by workers."""
        timeline = self.timeline = Timeline(self.num_workers, self.worker, line=user_line())
        workers = self._crew
        if workers is None or not workers.stop.alive:
            workers = crew(self.worker, self._fetch(), self.num_workers, self._seed(), self.worker_init_fn,
                           self.multiprocessing_context)  # fmt: skip
        self._crew = workers if self.persistent_workers else None
        self._turn += 1
        ahead = self.num_workers * (self.prefetch_factor or 2)
        return Reading(workers, self._orders(), self._size, self._turn, ahead, timeline, in_order=self.in_order,
                       timeout=self.timeout, keep=self.persistent_workers)  # fmt: skip

    def _seed(self) -> int:
        """A seed for the workers. It follows that of the loader, and takes no number from its stream: with workers and
        without, samples are shuffled alike."""
        return int(stream(self.generator).spawn(1)[0].integers(2**62))


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


def _check(dataset: Any, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    """Raise `ArgumentError` for the first of PyTorch's rules that the arguments break."""
    ordered = {"shuffle": shuffle, "sampler": sampler is not None, "batch_sampler": batch_sampler is not None}
    named = " and ".join(f"{name}=…" for name, given in ordered.items() if given)
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


def _check_workers(
    num_workers: Any, prefetch_factor: Any, persistent_workers: Any, timeout: Any, context: Any, worker: Any
) -> None:
    """Raise `ArgumentError` for what does not go with the workers, or for workers that there are not."""
    if not isinstance(num_workers, int) or num_workers < 0:
        why = "it is how many processes or threads help to read, from 0 up"
        raise ArgumentError(f"DataLoader with num_workers={num_workers!r}", why, "leave it out")
    if worker not in KINDS:
        raise ArgumentError(f"DataLoader with worker={worker!r}", f"there are {' and '.join(KINDS)}", "leave it out")
    if not timeout >= 0:
        why = "it is how many seconds a batch may take; 0 waits"
        raise ArgumentError(f"DataLoader with timeout={timeout!r}", why, "leave it out")
    for name, given in {"prefetch_factor": prefetch_factor, "persistent_workers": persistent_workers or None,
                        "timeout": timeout or None, "multiprocessing_context": context}.items():  # fmt: skip
        if given is not None and not num_workers:
            why = "it is about workers, and there are none"
            raise ArgumentError(f"DataLoader with {name}={given!r} and num_workers=0", why, "use num_workers=2, say")
    if prefetch_factor is not None and (not isinstance(prefetch_factor, int) or prefetch_factor < 1):
        why = "it is how many batches each worker reads ahead, from 1 up"
        raise ArgumentError(f"DataLoader with prefetch_factor={prefetch_factor!r}", why, "leave it out: 2")


explain_all(globals())
