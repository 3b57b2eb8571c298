"""A contender in a process of its own: what others import, allocate and free there cannot make it faster or slower."""

from __future__ import annotations

import gc
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import numpy as np

from benchmarks.contenders.base import Contender, Running, Unsupported
from benchmarks.contenders.registry import CONTENDERS
from benchmarks.harness import Here
from benchmarks.workloads import WORKLOADS, Workload

STEPS = 3  # whose numbers are compared


class Absent(Exception):
    """A contender does not run this workload here; the message says why."""


@dataclass(frozen=True)
class Numbers:
    """What the first steps gave: the value of each, how far the state moved, and the seconds that they took."""

    values: list[Any]
    moved: dict[str, Any]
    seconds: float = 0.0


def first_steps(running: Running, workload: Workload) -> Numbers:
    """Run the first steps and keep their numbers."""
    start, _ = workload.fresh()
    with running.scope():
        begun = time.perf_counter()
        values = [running.read(running.step()) for _ in range(STEPS)]
        seconds = time.perf_counter() - begun
        after = {name: running.read(value) for name, value in running.state().items()}
    moved = {name: array - start[name] if workload.kind == "train" else array for name, array in after.items()}
    return Numbers(values, {} if workload.kind == "value" else moved, seconds)


def prepare(contender: Contender, workload: Workload) -> tuple[Running, Numbers]:
    """The contender, ready to run, and its first numbers. Raises `Absent` for a peer that cannot."""
    try:
        running = contender.make(workload)
        return running, first_steps(running, workload)
    except Unsupported as reason:
        raise Absent(str(reason)) from None
    except Exception as error:
        if contender.group in ("ours", "numpy"):
            raise
        raise Absent(f"it does not run here: {type(error).__name__}: {str(error)[:200]}") from error


class Worker:
    """Asks the process. Raises `Absent` at once if the contender cannot run."""

    def __init__(self, contender: Contender, workload: Workload) -> None:
        context = multiprocessing.get_context("spawn")
        self.name = f"{workload.name}, {contender.name}"
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, contender.name, workload.name), daemon=True)
        self.process.start()
        other.close()
        try:
            self.numbers: Numbers = self._answer()
        except BaseException:
            self.close()
            raise

    def _answer(self) -> Any:
        try:
            answer = self.pipe.recv()
        except EOFError:
            raise RuntimeError(f"{self.name}: its process has died; what it said stands above") from None
        if isinstance(answer, Absent):
            raise answer
        return answer

    def calls_for(self, seconds: float) -> int:
        """How many calls fill ``seconds``, after a warm-up."""
        self.pipe.send(("calls_for", seconds))
        return int(self._answer())

    def timed(self, calls: int) -> float:
        """Seconds per call."""
        self.pipe.send(("timed", calls))
        return float(self._answer())

    def finite(self) -> bool:
        """Whether one more step gives numbers, and no infinities or NaNs."""
        self.pipe.send(("finite", None))
        return bool(self._answer())

    def close(self) -> None:
        """End the process."""
        self.pipe.close()
        self.process.join(5)
        if self.process.is_alive():  # a library's threads may keep it
            self.process.kill()
            self.process.join()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def serve(pipe: Connection, contender_name: str, workload_name: str) -> None:
    """The process: it sends the first numbers, then answers until the pipe is closed."""
    contender = next(one for one in CONTENDERS if one.name == contender_name)
    try:
        running, numbers = prepare(contender, WORKLOADS[workload_name])
    except Absent as reason:
        pipe.send(reason)
        return
    pipe.send(numbers)
    del numbers
    timer = Here(running.step, running.scope)
    gc.collect()
    gc.freeze()  # what libraries made on import need not be looked through each time
    while True:
        try:
            question, argument = pipe.recv()
        except EOFError:
            return
        pipe.send(finite(running) if question == "finite" else getattr(timer, question)(argument))


def finite(running: Running) -> bool:
    """Whether one more step gives numbers, and no infinities or NaNs."""
    with running.scope():
        return bool(np.isfinite(running.read(running.step())).all())
