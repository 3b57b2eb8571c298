"""Which worker of a program a thread is. What each has of its own, as a program of its own would, is kept with it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any


class Worker:
    """A thread that takes the place of a program. ``parent`` is the worker that started it; None: the program itself.

    ``own`` holds things for those who ask, by who asks. ``ended`` is called when the threads have ended, by who waited.
    """

    __slots__ = ("ended", "own", "parent", "rank")

    def __init__(self, rank: int, parent: Worker | None) -> None:
        self.rank, self.parent = rank, parent
        self.own: dict[Any, Any] = {}
        self.ended: list[Callable[[], None]] = []


WORKER: ContextVar[Worker | None] = ContextVar("worker", default=None)
