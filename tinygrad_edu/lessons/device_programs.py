"""The programs of the lesson on devices: batches to score, a network, and what a run takes on the simulated device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import sim
from ..tensor import Tensor
from ..tensor.random import rand, randint, randn, seeded

Batch = tuple[Tensor, Tensor]
ROWS, WIDTH, CLASSES = 512, 512, 10
LIMIT = 4.6  # milliseconds of virtual time on a T4, for the last task
HOST = 100e9  # operations a second of the host in part 4
BUS, COPY, LAUNCH, DEVICE = 5e9, 8e-6, 5e-6, 8.1e12  # bytes/s, seconds, seconds, operations/s


def batches(count: int, pinned: bool = False) -> list[Batch]:
    """Records and their classes, on the host."""
    with seeded(5):
        found = [(rand(ROWS, WIDTH), randint(0, CLASSES, (ROWS,))) for _ in range(count)]
    return [(x.pin_memory(), y.pin_memory()) for x, y in found] if pinned else found


def layers() -> list[Tensor]:
    """The weights of four layers, on the host."""
    with seeded(7):
        return [*(randn(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(3)), randn(WIDTH, CLASSES)]


def timed(program: Callable[..., Any], *given: Any) -> tuple[Any, sim.Timeline]:
    """What a program returns, and what happened on the simulated device. It runs twice, first to reserve memory."""
    sim.restart()
    program(*given)
    sim.finish()
    sim.restart()
    with sim.timeline() as seen:
        found = program(*given)
        sim.finish()
    return found, seen


def timed_on_t4(program: Callable[..., Any], *given: Any) -> tuple[Any, sim.Timeline]:
    """The same on a T4, whichever machine is in use."""
    before = sim.machine()
    sim.use("T4")
    try:
        return timed(program, *given)
    finally:
        sim.finish()
        sim.use(before)


def milliseconds(seen: sim.Timeline) -> float:
    """How long it took, in virtual time."""
    return seen.end / 1e6
