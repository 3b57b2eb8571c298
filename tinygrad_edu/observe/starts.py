"""Threads and processes that a block starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial, wraps
from multiprocessing.process import BaseProcess
from typing import Any

from ..common.blocks import block
from .stopping import undoing


@dataclass
class Starts:
    """How many were started so far."""

    threads: int = 0
    processes: int = 0
    _own: list[threading.Thread] = field(default_factory=lambda: [threading.current_thread()])

    def count(self, started: Any) -> None:
        """Note a start, if it is this block's: other threads of the program may start something meanwhile."""
        if threading.current_thread() in self._own:
            if isinstance(started, threading.Thread):
                self.threads += 1
                self._own.append(started)
            else:
                self.processes += 1


@block
def starts(seen: Starts | None = None) -> Iterator[Starts]:
    """``with starts() as seen: …`` counts ``seen.threads`` and ``seen.processes``, if given one, in that.

    They are those of `threading` and `multiprocessing`, and so those of pools and of `concurrent.futures`, started in
    the block's own thread or in one that it has started. Threads inside libraries, such as those of BLAS, are not seen.
    """
    seen = Starts() if seen is None else seen
    with undoing() as undo:
        for kind in (threading.Thread, BaseProcess):
            undo.append(partial(setattr, kind, "start", kind.start))
            kind.start = _counted(kind.start, seen)  # type: ignore[method-assign]
        yield seen


def _counted(start: Callable[..., None], seen: Starts) -> Callable[..., None]:
    @wraps(start)
    def started(one: Any) -> None:
        seen.count(one)
        start(one)

    return started
