"""A worker: it reads the batches that it is asked for, in a process or a thread of its own."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..common.lines import cell_of, failing_line
from ..common.locks import local
from ..errors import EduError
from ..tensor.random import seeded
from .fetch import Ended, Fetch
from .timeline import clock


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this is: number ``id`` of ``num_workers``, the ``seed`` it began with, and its data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Own(local):
    info: WorkerInfo | None = None
    asked = False  # whether the data set wanted to know which worker it is in


_own = _Own()


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a `DataLoader` runs this code; None in the loop that trains.

    An `IterableDataset` uses it to give each worker samples of its own.

    >>> get_worker_info() is None
    True
    """
    _own.asked = True
    return _own.info


@dataclass(frozen=True)
class Order:
    """A batch that is wanted: its number in a pass, what to read, and the blocks that have been emptied."""

    turn: int
    number: int
    samples: Any
    emptied: tuple[str, ...] = ()


@dataclass
class Answer:
    """What became of an order. ``number`` is -1 when the worker is ready for its first one.

    ``batch`` is it; from another process it comes as a `Parcel`. ``failed`` is the error with the text of its
    traceback. A data set without numbers may have ``ended``, and may give the same samples in each worker (``alike``).
    """

    turn: int
    number: int
    batch: Any = None
    times: tuple[float, ...] = ()
    failed: tuple[BaseException, str] | None = None
    ended: bool = False
    alike: bool = False


class Desk(Protocol):
    """Where orders come from, and answers go."""

    def orders(self) -> Iterator[Order]: ...

    def give(self, answer: Answer) -> None: ...


def serve(desk: Desk, fetch: Fetch, info: WorkerInfo, begin: Callable[[int], Any] | None) -> None:
    """Read what is asked for, until nobody asks any more."""
    _own.info = info
    with seeded(info.seed):
        failed, text = None, ""
        try:
            if begin is not None:
                begin(info.id)
        except Exception as error:
            failed, text = told(error)
        desk.give(Answer(-1, -1, times=(clock(),)))
        reader = _Reader(fetch)
        for order in desk.orders():
            if not text:
                desk.give(reader.answer(order))
                continue
            # The error itself is given once: kept here, it would keep all that it is raised through.
            once = failed or RuntimeError("the worker could not begin")
            failed = None
            desk.give(Answer(order.turn, order.number, failed=(once, text)))
            del once


class _Reader:
    """Reads what is ordered, from a new beginning in each pass."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch, self.turn = fetch, -1

    def answer(self, order: Order) -> Answer:
        answer, began = Answer(order.turn, order.number), clock()
        try:
            if order.turn != self.turn:
                _own.asked = False
                self.turn, self.read = order.turn, self.fetch.begin()
            answer.batch, done = self.read(order.samples)
            answer.times = (began, done, clock())
        except Ended:
            answer.ended, answer.alike = True, not _own.asked
        except Exception as error:
            answer.failed = told(error)
        return answer


def told(error: BaseException) -> tuple[BaseException, str]:
    """An error, without the frames that would keep its values alive, and its traceback as text."""
    text = "".join(traceback.format_exception(error))
    if isinstance(error, EduError) and failing_line(error) is None:
        error.line = ""  # no line of the user's runs here: the one that wants the batch is to blame
    return error.with_traceback(None), text


def retold(failed: tuple[BaseException, str], where: str) -> BaseException:
    """What `told` gave, as an error whose cause is the traceback; ``where`` it was."""
    error, text = failed
    if isinstance(error, EduError) and not error.line:
        error = type(error)(error.tried, error.why, error.mend)
    error.__cause__ = _Original(f'\n"""{where}:\n{_with_source(text)}"""')
    return error


class _Original(Exception):
    """The traceback of an error in a worker, as text."""


def _with_source(text: str) -> str:
    """A traceback with the lines that only this process knows: those of a notebook's cells."""
    lines = text.splitlines()
    told = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        place = re.match(r'  (File "(.+)"), line (\d+), in (.+)', line)
        if place is None or after.startswith("    "):
            told.append(line)
            continue
        named, file, row, function = place.groups()
        told.append(f"  {cell_of(file) or named}, line {row}, in {function}")
        source = linecache.getline(file, int(row)).strip()
        if source:
            told.append(f"    {source}")
    return "\n".join(told)
