"""The machine that a time was measured on, and how it is kept quiet meanwhile."""

from __future__ import annotations

import gc
import importlib.util
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..common.blocks import block
from ..errors import TimingError
from ..threads import take_control
from .stopping import undisturbed, undoing

RESOLUTION = time.get_clock_info("perf_counter").resolution  # seconds; no time is shorter
PATIENCE = 60.0  # seconds that one measurement waits for another
_LOOK = 0.1  # seconds between two checks whether it was stopped meanwhile

Progress = Callable[[int, int, float], object]  # (done, total, seconds_left); answers False to stop


@dataclass(frozen=True)
class Conditions:
    """The conditions in which times were measured.

    ``threads`` of BLAS is None if they could not be limited: that needs threadpoolctl, and a library that it knows.
    """

    cpu: str
    cores: int  # that this process may use
    system: str
    python: str
    numpy: str
    blas: str
    threads: int | None
    gc: str
    clock: float  # the least difference it can show, in seconds

    def text(self) -> str:
        """One line for the foot of a figure."""
        threads = "threads not limited" if self.threads is None else f"{self.threads} thread{'s' * (self.threads != 1)}"
        parts = [
            f"{self.cpu}, {self.cores} core{'s' * (self.cores != 1)}, {self.system}",
            f"Python {self.python}, NumPy {self.numpy}, {self.blas}, {threads}",
            f"gc {self.gc}",
        ]
        return " · ".join(parts)


class _Turn:
    """One thread's turn to measure, and what puts back what it has switched."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # taken once; no other thread can release it
        self.thread = 0  # whose turn it is
        self.undo: list[Callable[[], object]] = []
        self._door = threading.Lock()

    def put_back(self, since: int = 0) -> None:
        """Put back what was switched last, all but the first ``since``. `give_up` may have done it."""
        with self._door:
            while len(self.undo) > since:
                self.undo[-1]()
                self.undo.pop()

    def end(self) -> None:
        """Let others measure, if it was this thread's turn."""
        if self.thread == threading.get_ident():
            self.thread = 0
        try:
            self.lock.release()
        except RuntimeError:  # it was not taken, or is released already
            return


_turns = [_Turn()]  # the present one


def give_up(thread: int) -> None:
    """End the turn of a thread that cannot end it itself: put back what it switched, and let others measure."""
    turn = _turns[0]
    if turn.thread == thread:
        _turns[0] = _Turn()
        turn.put_back()


@block
def quiet(progress: Progress | None = None, threads: int | None = 1) -> Iterator[Conditions]:
    """Collect garbage before the block and not inside it; with threadpoolctl, give BLAS and OpenMP one thread.

    ``threads`` is how many they get instead; with None they keep what they have.
    Both hold for the whole process, and are put back afterwards. So threads that measure wait for each other, and
    ``progress(0, 1, seconds)`` is called meanwhile. Raises `TimingError` if it returns False, or after a minute.
    """
    with _alone(progress) as turn:
        gc.collect()
        if gc.isenabled():
            turn.undo.append(gc.enable)
            gc.disable()
        yield conditions(_limited(turn, threads))


@block
def _alone(progress: Progress | None) -> Iterator[_Turn]:
    """Let no other thread of this process measure; put back what the turn has switched meanwhile."""
    with undoing() as undo:
        turn = _turns[0]
        if turn.thread != threading.get_ident():  # else it is inside another measurement
            turn = _taken(undo, progress)
        undo.append(partial(turn.put_back, len(turn.undo)))
        yield turn


def _taken(undo: list[Callable[[], object]], progress: Progress | None) -> _Turn:
    """The turn, once no other thread measures. ``undo`` ends it."""
    since = time.monotonic()
    while True:
        turn = _turns[0]
        undo[:] = [turn.end]  # before it is taken: it cannot be taken and not noted
        if turn.lock.acquire(timeout=_LOOK):
            if turn is _turns[0]:  # it was not given up meanwhile
                turn.thread = threading.get_ident()
                return turn
            turn.end()
        _wait_on(time.monotonic() - since, progress)


def _wait_on(waited: float, progress: Progress | None) -> None:
    """Raises `TimingError` if it was stopped, or has waited too long."""
    if progress is not None and progress(0, 1, max(PATIENCE - waited, 0.0)) is False:
        raise TimingError("measuring", "it was stopped before its turn came", "let it wait, or stop the other")
    if waited > PATIENCE:
        why = f"another measurement has not ended in {PATIENCE:g} s"
        raise TimingError("measuring", why, "stop the other; if it does not end, restart the kernel")


def _limited(turn: _Turn, threads: int | None) -> int | None:
    """Let BLAS work in so many threads. Returns how many it has, or None if that cannot be known."""
    if importlib.util.find_spec("threadpoolctl") is None:
        return None
    import threadpoolctl

    def restore() -> None:
        take_control()
        limits.restore_original_limits()

    if threads is not None:
        with undisturbed():
            take_control()
            limits = threadpoolctl.threadpool_limits(limits=threads)
            turn.undo.append(restore)
    found = {library["num_threads"] for library in threadpoolctl.threadpool_info()}
    return found.pop() if len(found) == 1 else None


def conditions(threads: int | None) -> Conditions:
    """This machine, with this number of threads for BLAS."""
    return Conditions(
        cpu=processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        system=platform.system(),
        python=platform.python_version(),
        numpy=np.__version__,
        blas=_blas(),
        threads=threads,
        gc="off",
        clock=RESOLUTION,
    )


def processor() -> str:
    """The processor's name, if the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:  # not Linux
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _blas() -> str:
    """The library that computes NumPy's matrix products."""
    config = np.show_config(mode="dicts")
    found = config["Build Dependencies"]["blas"]
    name = found["name"].removeprefix("scipy-").replace("openblas", "OpenBLAS")
    return f"{name} {'.'.join(found['version'].split('.')[:3])}"
