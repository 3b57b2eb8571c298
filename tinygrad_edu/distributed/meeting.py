"""Where workers meet: each brings a value, and when all have come, each gets what they make together.

Every collective operation is such a meeting. Workers that ask for different things, or for tensors that do not fit, all
get an error that says so; where one is gone or does not come, the others get an error that names it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.wording import listed, seconds_text
from ..errors import WorkerError

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


class Meeting:
    """The place for ``size`` workers. ``timeout`` is how many seconds one waits for the others."""

    def __init__(self, size: int, timeout: float) -> None:
        self.size, self.timeout = size, timeout
        self._changed = threading.Condition()
        self._round = 0
        self._brought: dict[int, tuple[str, Any]] = {}
        self._result: Any = None
        self._gone: dict[int, str] = {}

    def meet(self, rank: int, what: str, value: Any) -> Any:
        """Bring a value, and get the result: of "sum" and the like, of "gather", or of "from 0".

        Raises `WorkerError` where a worker is gone, asks for something else, or does not come in time.
        """
        with self._changed:
            self._refuse_if_gone(what)
            mine = self._round
            self._brought[rank] = what, value
            if len(self._brought) == self.size:
                self._result = _together(self._brought)
                self._brought, self._round = {}, mine + 1
                self._changed.notify_all()
            else:
                self._wait(mine, what)
            if isinstance(self._result, WorkerError):
                raise self._result
            return self._result

    def leave(self, rank: int, why: str) -> None:
        """A worker will not come any more. Those that wait for it are told."""
        with self._changed:
            self._gone.setdefault(rank, why)
            self._changed.notify_all()

    def _wait(self, mine: int, what: str) -> None:
        until = time.monotonic() + self.timeout
        while self._round == mine:
            self._refuse_if_gone(what)
            left = until - time.monotonic()
            if left <= 0:
                missing = [rank for rank in range(self.size) if rank not in self._brought]
                why = f"{_workers(missing)} did not come within {seconds_text(self.timeout)}"
                self._brought = {}
                raise WorkerError(f"{what} of {self.size} workers", why, "let every worker take part, as often as all")
            self._changed.wait(left)

    def _refuse_if_gone(self, what: str) -> None:
        if self._gone:
            (rank, why), *_ = self._gone.items()
            mend = "see its own error; the others go on no further than to this point"
            raise WorkerError(f"{what} of {self.size} workers", f"worker {rank} is gone: {why}", mend)


def _together(brought: dict[int, tuple[str, Any]]) -> Any:
    """What the values make together, or the error that every worker is to get."""
    asked = {what for what, _ in brought.values()}
    tried = f"{' and '.join(sorted(asked))} of {len(brought)} workers"
    if len(asked) > 1:
        said = listed([f"worker {rank} asks for {what}" for rank, (what, _) in sorted(brought.items())])
        return WorkerError(tried, said, "let every worker call the same operations in the same order")
    (what,) = asked
    values = [brought[rank][1] for rank in sorted(brought)]
    if what in REDUCTIONS:
        kinds = {(value.shape, str(value.dtype)) for value in values}
        if len(kinds) > 1:
            said = listed([f"worker {i} brings {v.dtype} {v.shape}" for i, v in enumerate(values)])
            return WorkerError(tried, said, "give tensors of one shape and dtype")
        result = values[0].copy()
        for value in values[1:]:  # in the order of ranks: the same sum each time
            REDUCTIONS[what](result, value, out=result)
        return result
    if what.startswith("from "):
        return values[int(what.removeprefix("from "))]
    return values


def _workers(ranks: list[int]) -> str:
    return f"worker{'s' * (len(ranks) > 1)} {listed([str(rank) for rank in ranks])}"
