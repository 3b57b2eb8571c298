"""The programs of the lesson on devices: batches to score, a network, and what a run takes on the simulated device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import sim
from ..tensor import Tensor
from ..tensor.creation import ones
from ..tensor.random import rand, randint, randn, seeded

Batch = tuple[Tensor, Tensor]
ROWS, WIDTH, CLASSES = 512, 512, 10
LIMIT = 1.6  # milliseconds of virtual time on a T4, for the last task
GROUPS = (1600, 200, 900, 100, 1300, 400, 700, 1100, 300, 1400)  # recordings in each group of the last task
MELODIES, NOTES = 2000, 128
WARM = 3  # runs before the one that counts, at most
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


@sim.alone()  # a widget may be running something there
def timed(program: Callable[..., Any], *given: Any) -> tuple[Any, sim.Timeline]:
    """What a program returns, and what happened on the simulated device. First it runs until its memory is reserved."""
    for _ in range(WARM + 1):
        sim.restart()
        with sim.timeline() as seen:
            found = program(*given)
            sim.finish()
        if not any(work.kind == "reserve" for work in seen):
            break
    return found, seen


@sim.alone()
def timed_on_t4(program: Callable[..., Any], *given: Any) -> tuple[Any, sim.Timeline]:
    """The same on a T4, whichever machine is in use."""
    before = sim.machine()
    sim.use("T4")
    try:
        found, seen = timed(program, *given)
        seen.machine = sim.machine()  # which the program may have changed
        return found, seen
    finally:
        sim.finish()
        sim.use(before)


@sim.alone()
def with_a_wait(after: int | None, program: Callable[..., Any], *given: Any) -> float:
    """Milliseconds that a program takes, if the host also waits after the kernel of this number."""
    timed(program, *given)  # so that memory is reserved
    sim.restart()
    with sim.timeline() as seen, sim.stopped_after(after or 0):
        program(*given)
        sim.finish()
    return milliseconds(seen)


def melodies() -> Tensor:
    """The index of the last task, on the host: a row of features for each melody."""
    with seeded(11):
        return randn(MELODIES, NOTES)


def recordings() -> list[Tensor]:
    """What people have hummed, in groups of unequal size, on the host: features of melodies of the index, and noise."""
    index = melodies()
    with seeded(9):
        return [index[randint(0, MELODIES, (n,))] + 0.3 * randn(n, NOTES) for n in GROUPS]


def values_read(copied_beside: Callable[[Tensor], Tensor]) -> str:
    """Which batch the product of ``copied_beside`` reads on a device that does not check."""
    fixed = ones(ROWS, WIDTH).pin_memory()
    before = sim.on_race("stale")
    try:
        found = copied_beside(fixed).item()
    finally:
        sim.finish()
        sim.on_race(before)
    return "whatever is there at that moment" if found == 0 else "the new batch"


def product_on_host(n: int) -> float:
    """Seconds for the product of two n × n matrices on the host of part 4."""
    return 2 * n**3 / HOST


def product_on_device(n: int) -> float:
    """Seconds for the same on the device: three copies, a launch, the work."""
    return 3 * (COPY + 4 * n * n / BUS) + LAUNCH + 2 * n**3 / DEVICE


def worth_it() -> str:
    """From which size on the device is quicker: the nearest of three."""
    first = next(n for n in range(2, 4000) if product_on_device(n) < product_on_host(n))
    return min(("about 20", "about 200", "about 2,000"), key=lambda words: abs(first - int(words[6:].replace(",", ""))))


def milliseconds(seen: sim.Timeline) -> float:
    """How long it took, in virtual time."""
    return seen.end / 1e6
