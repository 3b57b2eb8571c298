"""The workers of a loader: processes or threads. One asks for batches, and hears what became of them."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Protocol

from ..common.by_value import pickled
from ..common.locks import Lock
from ..errors import ArgumentError, MissingPackageError, WorkerError
from .fetch import Fetch
from .parcels import Parcel, Unpacker, folder
from .timeline import clock
from .worker import Answer, Order, WorkerInfo, serve

GRACE = 0.3  # seconds in which a process may end by itself
Begin = Callable[[int], Any] | None
Starts = dict[int, tuple[float, float]]


class Crew(Protocol):
    """What a pass over a data set needs of its workers."""

    size: int
    starts: Starts  # of each worker, on the clock: begun, and ready
    stop: Any  # a finaliser: it ends the workers, whatever they are doing; afterwards it is no longer ``alive``

    def ask(self, worker: int, turn: int, number: int, samples: Any) -> None:
        """Ask a worker for a batch."""

    def answers(self, timeout: float | None) -> list[tuple[int, Answer]]:
        """Wait until somebody answers, or for so many seconds. Raises `WorkerError` if a worker is gone."""


class Threads:
    """Workers that are threads of this process: they share its memory, and Python's lock."""

    def __init__(self, fetch: Fetch, size: int, seed: int, begin: Begin) -> None:
        self.size = size
        self.starts: Starts = {}
        self._answers: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
        self._orders: list[queue.SimpleQueue[Order | None]] = [queue.SimpleQueue() for _ in range(size)]
        self._begun = clock()
        for number, orders in enumerate(self._orders):
            desk = _ThreadDesk(number, orders, self._answers)
            task = (desk, fetch, WorkerInfo(number, size, seed + number, fetch.dataset), begin)
            threading.Thread(target=serve, args=task, name=f"DataLoader worker {number}", daemon=True).start()
        self.stop = weakref.finalize(self, _dismiss, self._orders)

    def ask(self, worker: int, turn: int, number: int, samples: Any) -> None:
        """Ask a worker for a batch."""
        self._orders[worker].put(Order(turn, number, samples))

    def answers(self, timeout: float | None) -> list[tuple[int, Answer]]:
        """Wait until somebody answers, or for so many seconds."""
        found = []
        with suppress(queue.Empty):
            found.append(self._answers.get(timeout=timeout))
            while True:
                found.append(self._answers.get_nowait())
        return _without_starts(found, self.starts, self._begun)


class _ThreadDesk:
    def __init__(self, number: int, orders: Any, answers: Any) -> None:
        self.number, self._orders, self._answers = number, orders, answers

    def orders(self) -> Iterator[Order]:
        return iter(self._orders.get, None)

    def give(self, answer: Answer) -> None:
        answer.times = (*answer.times, clock())
        self._answers.put((self.number, answer))


def _dismiss(orders: list[Any]) -> None:
    for one in orders:
        one.put(None)


class Processes:
    """Workers that are processes: each has a copy of the data set, and an interpreter of its own."""

    def __init__(self, fetch: Fetch, size: int, seed: int, begin: Begin, context: Any) -> None:
        from multiprocessing import current_process

        if current_process().daemon:
            why, mend = "a worker process may not start processes of its own", "use worker='thread', or num_workers=0"
            raise WorkerError("DataLoader with worker processes, in a worker process", why, mend)
        self.size = size
        self.starts: Starts = {}
        self._begun = clock()
        forked = context.get_start_method() == "fork"
        task = None if forked else _pickled(fetch, begin)
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
        self._unpackers = [Unpacker() for _ in range(size)]
        self._doing: list[dict[int, None]] = [{} for _ in range(size)]  # numbers of the batches that each was asked for
        place = folder()
        self.stop = weakref.finalize(self, _end, os.getpid(), self._processes, self._pipes, place)
        for number in range(size):
            ours, theirs = context.Pipe()
            told: tuple[Any, ...] = (theirs, place, number, size, seed + number)
            if forked:
                told = (*told, (fetch, begin), [*self._pipes, ours])
            process = context.Process(target=_work, args=told, name=f"DataLoader worker {number}", daemon=True)
            with _main_out_of_sight():
                process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        for number, pipe in enumerate(self._pipes):
            if task is not None:
                with self._blaming(number):
                    pipe.send_bytes(task)

    def ask(self, worker: int, turn: int, number: int, samples: Any) -> None:
        """Ask a worker for a batch."""
        self._doing[worker][number] = None
        with self._blaming(worker):
            self._pipes[worker].send(Order(turn, number, samples, self._unpackers[worker].returned()))

    def answers(self, timeout: float | None) -> list[tuple[int, Answer]]:
        """Wait until somebody answers, or for so many seconds. Raises `WorkerError` if a worker is gone."""
        from multiprocessing.connection import wait

        ready = set(wait([*self._pipes, *(one.sentinel for one in self._processes)], timeout))
        found: list[tuple[int, Answer]] = []
        gone = None
        for worker, (pipe, process) in enumerate(zip(self._pipes, self._processes, strict=True)):
            if pipe in ready or process.sentinel in ready:
                try:
                    while pipe.poll():
                        found.append((worker, self._opened(worker, pipe.recv())))
                except (EOFError, OSError):
                    gone = worker
                if process.sentinel in ready:
                    gone = worker
        if gone is not None and not found:
            raise self._lost(gone)
        return _without_starts(found, self.starts, self._begun)

    def _opened(self, worker: int, answer: Answer) -> Answer:
        """An answer with its batch unpacked."""
        self._doing[worker].pop(answer.number, None)
        if isinstance(answer.batch, Parcel):
            answer.batch = self._unpackers[worker].unpack(answer.batch)
        return answer

    @contextmanager
    def _blaming(self, worker: int) -> Iterator[None]:
        try:
            yield
        except OSError:
            raise self._lost(worker) from None

    def _lost(self, worker: int) -> WorkerError:
        """The error for a worker that is gone; the others are ended."""
        process, doing = self._processes[worker], list(self._doing[worker])
        process.join(GRACE)
        code, pid = process.exitcode, process.pid
        self.stop()
        how = "closed its pipe" if code is None else _ending(code)
        what = f" while it read batch {doing[0]}" if doing else " before it was asked for a batch"
        mend = "if memory ran out, use fewer workers or smaller batches; with num_workers=0 the error itself is seen"
        return WorkerError(f"the loader's worker {worker} (process {pid})", f"it {how}{what}", mend)


def _work(*told: Any) -> None:
    """What a worker process runs. What it needs is imported there."""
    from .process import main

    main(*told)


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended by itself, with exit code {code},"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _without_starts(found: list[Any], starts: Starts, begun: float) -> list[tuple[int, Answer]]:
    """Answers to orders. That a worker is ready is noted on the way."""
    for worker, answer in found:
        if answer.number < 0:
            starts[worker] = (begun, answer.times[0])
    return [(worker, answer) for worker, answer in found if answer.number >= 0]


def _end(owner: int, processes: list[Any], pipes: list[Any], place: str) -> None:
    """End the processes: without a pipe they end by themselves, and those that are busy are ended."""
    if os.getpid() != owner:  # a process that was forked has this finaliser, too, but not the workers
        return
    for pipe in pipes:
        pipe.close()
    until = clock() + GRACE
    for process in processes:
        process.join(max(0.0, until - clock()))
    for end in ("terminate", "kill"):
        for process in processes:
            if process.exitcode is None:
                getattr(process, end)()
        for process in processes:
            process.join(GRACE)
    shutil.rmtree(place, ignore_errors=True)
    processes.clear()
    pipes.clear()


_hiding = Lock()


@contextmanager
def _main_out_of_sight() -> Iterator[None]:
    """Start a process that does not run the program again.

    multiprocessing would, to find its classes; here they travel by value. So a program needs no line
    ``if __name__ == "__main__"``, and a notebook works like a program.
    """
    with _hiding:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _pickled(*task: Any) -> bytes:
    """What a worker needs, with classes and functions of a notebook or a program by value."""
    try:
        return pickled(task)
    except ModuleNotFoundError as error:
        if error.name != "cloudpickle":
            raise _unsendable(error) from error
        why = "a worker process gets the data set by value, and only cloudpickle can send a notebook's classes"
        mend = "pip install cloudpickle, or use worker='thread'"
        raise MissingPackageError("DataLoader with worker processes", why, mend) from None
    except Exception as error:
        raise _unsendable(error) from error


def _unsendable(error: Exception) -> WorkerError:
    why = f"a part of the data set, collate_fn or worker_init_fn cannot be sent: {error}"
    mend = "open files and locks in the worker, when first used; or use worker='thread'"
    return WorkerError("DataLoader with worker processes", why, mend)


def context_of(given: Any) -> Any:
    """multiprocessing's way to start a process: as asked for, or one that is safe in a program with threads."""
    import multiprocessing

    known = multiprocessing.get_all_start_methods()
    if given is None:
        given = "forkserver" if "forkserver" in known else "spawn"
    if isinstance(given, str):
        if given not in known:
            tried = f"DataLoader with multiprocessing_context={given!r}"
            raise ArgumentError(tried, f"this system has {', '.join(known)}", "leave it out")
        given = multiprocessing.get_context(given)
    if given.get_start_method() == "forkserver":
        given.set_forkserver_preload(["tinygrad_edu.data.preload"])  # each worker begins with it
    return given


def crew(kind: str, fetch: Fetch, size: int, seed: int, begin: Begin, context: Any) -> Crew:
    """Workers of a kind: "process" or "thread"."""
    return Threads(fetch, size, seed, begin) if kind == "thread" else Processes(fetch, size, seed, begin, context)
