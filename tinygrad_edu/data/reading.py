"""One pass over a data set that workers read ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..common.lines import warn_user
from ..errors import WorkerError
from .crew import Crew
from .timeline import Timeline, clock
from .worker import Answer, retold


class Reading:
    """An iterator of batches. So many are asked for ahead, of the workers in turn; the rest as batches are taken."""

    def __init__(
        self, crew: Crew, orders: Iterator[Any], size: Callable[[Any], int], turn: int, ahead: int, timeline: Timeline,
        *, in_order: bool, timeout: float, keep: bool,
    ) -> None:  # fmt: skip
        self._crew, self._orders, self._turn, self._timeline = crew, enumerate(orders), turn, timeline
        self._size = size
        self._in_order, self._timeout, self._keep = in_order, timeout or None, keep
        # By number, in order: which worker was asked, when, and for how many samples.
        self._asked: dict[int, tuple[int, float, int]] = {}
        self._here: dict[int, Answer] = {}
        self._active = list(range(crew.size))  # workers whose data set has not ended; the next in turn is first
        self._over = False
        for _ in range(ahead):
            self._ask()
        timeline.open()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        wanted = clock()
        while self._asked:
            number = self._next_here()
            if number is None:
                self._receive(wanted)
                continue
            worker, asked, size = self._asked.pop(number)
            answer = self._here.pop(number)
            if answer.ended:
                self._retire(worker, answer)
            elif answer.failed is None:
                self._timeline.note(number, size, worker, asked, *answer.times, wanted, clock())
            self._ask()
            if answer.failed is not None:
                raise retold(answer.failed, f"in worker {worker} of the loader")
            if not answer.ended:
                return answer.batch
        self._end(wanted)
        raise StopIteration

    def _next_here(self) -> int | None:
        """The number of the batch to give next, if it is here."""
        if not self._in_order:
            return next(iter(self._here), None)
        first = next(iter(self._asked))
        return first if first in self._here else None

    def _ask(self) -> None:
        """Ask the next worker for one more batch, if there is one."""
        if not self._active:
            return
        try:
            number, samples = next(self._orders)
        except StopIteration:
            return
        worker = self._active.pop(0)
        self._active.append(worker)
        self._asked[number] = worker, clock(), self._size(samples)
        self._crew.ask(worker, self._turn, number, samples)

    def _receive(self, wanted: float) -> None:
        """Wait for answers. Raises `WorkerError` if none comes in time."""
        left = None if self._timeout is None else max(0.0, wanted + self._timeout - clock())
        found = self._crew.answers(left)
        self._timeline.starts = {
            worker: (begun - self._timeline.origin, ready - self._timeline.origin)
            for worker, (begun, ready) in self._crew.starts.items()
            if ready > self._timeline.origin
        }
        for _, answer in found:
            if answer.turn == self._turn:  # not of a pass that was left half-way
                self._here[answer.number] = answer
        if not found and left is not None and clock() - wanted >= (self._timeout or 0):
            waiting = ", ".join(sorted({f"worker {worker}" for worker, *_ in self._asked.values()}))
            why = f"no batch came in {self._timeout:g} s; asked are {waiting}"
            mend = "raise timeout, or see what takes the data set so long"
            raise WorkerError("the next batch of a loader with workers", why, mend)

    def _retire(self, worker: int, answer: Answer) -> None:
        """A worker's data set has ended."""
        if worker in self._active:
            self._active.remove(worker)
            if answer.alike and self._crew.size > 1 and worker == 0:
                warn_user(
                    f"DataLoader with num_workers={self._crew.size}: each worker gives all samples of the data set. "
                    "Let its __iter__ ask get_worker_info() for its share"
                )

    def _end(self, wanted: float) -> None:
        if not self._over:
            self._over = True
            if not self._keep:
                self._crew.stop()  # the loop waits for that, too
            self._timeline.end(wanted)
