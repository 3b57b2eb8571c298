"""Where workers meet: each brings a value, and when all have come, each gets what they make together.

Every collective operation is such a meeting. Workers that ask for different things, or for tensors that do not fit, all
get an error that says so; where one is gone or does not come, the others get an error that names it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

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
                error = missing(what, self.size, set(self._brought), self.timeout)
                self._brought = {}
                raise error
            self._changed.wait(left)

    def _refuse_if_gone(self, what: str) -> None:
        if self._gone:
            raise gone(what, self.size, self._gone)


class Brought(NamedTuple):
    """What a worker asks for, and which array it brings, if it is one."""

    what: str
    shape: tuple[int, ...] | None
    dtype: str

    @classmethod
    def of(cls, what: str, value: Any) -> Brought:
        """That of a worker which brings this value: an array, an offer of a device, or anything else."""
        array = value.values if what.endswith(ON_DEVICES) else value
        if isinstance(array, np.ndarray):
            return cls(what, array.shape, str(array.dtype))
        return cls(what, None, "")


def _together(brought: dict[int, tuple[str, Any]]) -> Any:
    """What the values make together, or the error that every worker is to get."""
    error = unlike({rank: Brought.of(*one) for rank, one in brought.items()})
    if error is not None:
        return error
    what, values = brought[0][0], [brought[rank][1] for rank in sorted(brought)]
    if what == "gather":
        return [value.copy() if isinstance(value, np.ndarray) else value for value in values]  # the others go on
    if not what.endswith(ON_DEVICES):
        return joined(what, values)
    result = joined(what.removesuffix(ON_DEVICES), [one.values for one in values])
    values[0].together(values)
    return result


def joined(what: str, arrays: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """One array of those of all workers, which are alike."""
    if what.startswith("from "):
        return arrays[int(what.removeprefix("from "))].copy()  # its worker may go on, and write to it
    result = arrays[0].copy()
    for array in arrays[1:]:  # in the order of ranks: the same sum each time
        REDUCTIONS[what](result, array, out=result)
    return result


def unlike(asked: dict[int, Brought]) -> WorkerError | None:
    """The error that every worker gets where they ask for different things, or for sums of what does not fit."""
    whats = sorted({one.what for one in asked.values()})
    tried = f"{' and '.join(whats)} of {len(asked)} workers"
    if len(whats) > 1:
        said = listed([f"worker {rank} asks for {one.what}" for rank, one in sorted(asked.items())])
        return WorkerError(tried, said, "let every worker call the same operations in the same order")
    if whats[0].removesuffix(ON_DEVICES) in REDUCTIONS and len({one[1:] for one in asked.values()}) > 1:
        said = listed([f"worker {rank} brings {one.dtype} {one.shape}" for rank, one in sorted(asked.items())])
        return WorkerError(tried, said, "give tensors of one shape and dtype")
    return None


def gone(what: str, size: int, ranks: dict[int, str]) -> WorkerError:
    """The error of who waits for a worker that is gone: the first of these, and why."""
    (rank, why), *_ = ranks.items()
    mend = "see its own error; the others go on no further than to this point"
    return WorkerError(f"{what} of {size} workers", f"worker {rank} is gone: {why}", mend)


def missing(what: str, size: int, here: set[int], timeout: float) -> WorkerError:
    """The error of who has waited long enough for the others."""
    ranks = [str(rank) for rank in range(size) if rank not in here]
    why = f"worker{'s' * (len(ranks) > 1)} {listed(ranks)} did not come within {seconds_text(timeout)}"
    return WorkerError(f"{what} of {size} workers", why, "let every worker take part, as often as all")
