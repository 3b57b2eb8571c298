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
ON_DEVICES = " on devices"  # after what is asked for: values are offers of devices, which know how long it takes


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
    if what == "gather":
        return [value.copy() if isinstance(value, np.ndarray) else value for value in values]  # the others go on
    offers = values if what.endswith(ON_DEVICES) else []
    arrays = [one.values for one in offers] or values
    result = _joined(what.removesuffix(ON_DEVICES), arrays, tried)
    if offers and not isinstance(result, WorkerError):
        offers[0].together(offers)
    return result


def _joined(what: str, arrays: list[Any], tried: str) -> Any:
    """One array of those of all workers."""
    if what.startswith("from "):
        return arrays[int(what.removeprefix("from "))].copy()  # its worker may go on, and write to it
    kinds = {(array.shape, str(array.dtype)) for array in arrays}
    if len(kinds) > 1:
        said = listed([f"worker {i} brings {one.dtype} {one.shape}" for i, one in enumerate(arrays)])
        return WorkerError(tried, said, "give tensors of one shape and dtype")
    result = arrays[0].copy()
    for array in arrays[1:]:  # in the order of ranks: the same sum each time
        REDUCTIONS[what](result, array, out=result)
    return result


def _workers(ranks: list[int]) -> str:
    return f"worker{'s' * (len(ranks) > 1)} {listed([str(rank) for rank in ranks])}"
