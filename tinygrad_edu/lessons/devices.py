"""Tasks of the lesson on devices: read a timeline, place a wait, copy less often, and decide what is worth a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import sim
from ..errors import DeviceError, RaceError
from ..tensor import Tensor
from ..tensor.random import rand, seeded
from .checking import NOTHING, numbers, quiz, task
from .device_programs import BUS, COPY, DEVICE, HOST, LAUNCH, LIMIT, batches, layers, milliseconds, timed_on_t4


def _ends(count: int, launch: float, kernel: float) -> float:
    """When the last of so many kernels is done."""
    done = 0.0
    for i in range(1, count + 1):
        done = max(done, i * launch) + kernel
    return done


@task(
    "last_kernel",
    "Four kernels, each launched in 5 µs. When is the last one done, if each runs for 20 µs, and if for 2 µs?",
    "long kernels wait for each other, short ones for their launch.",
)
def _last_kernel(answer: Any) -> str:
    given = numbers(answer).reshape(-1)
    if given.size != 2:
        return "give two numbers, in microseconds: for kernels of 20 µs, and for kernels of 2 µs."
    right = _ends(4, 5, 20), _ends(4, 5, 2)
    if np.allclose(given, right):
        return ""
    if np.isclose(given[0], 4 * 25):
        return "the host need not wait for a kernel before it launches the next one."
    if np.isclose(given[0], 4 * 20):
        return "the first kernel begins when it has been launched, not at 0."
    if np.isclose(given[0], right[0]) and np.isclose(given[1], 5 + 4 * 2):
        return "the first is right. A kernel of 2 µs is done before the next one has been launched. What happens then?"
    if np.isclose(given[0], right[0]):
        return "the first is right. For the second, draw when each of the four is launched."
    return "draw both lanes: the host launches at 5, 10, 15, 20 µs. Which kernel begins when?"


def _score_on_host(given: Any, weights: list[Tensor]) -> int:
    """What the programs count, computed on the CPU."""
    right = 0
    for x, labels in given:
        for w in weights:
            x = (x @ w).tanh()
        right += int((x.argmax(1) == labels).sum().item())
    return right


def _count(found: Any) -> int | None:
    """A count as a number; None if it is none."""
    try:
        return int(found.item() if isinstance(found, Tensor) else found)
    except (TypeError, ValueError):
        return None


def _wrong_result(found: Any, right: int) -> str:
    if found is None:
        return NOTHING
    if _count(found) is None:
        return "return the number of records that were classed right."
    return (
        "" if _count(found) == right else "it counts another number of records. Is each batch used once, and all of it?"
    )


@task(
    "place_wait",
    "Fix overlapped(batches, weights): the same count, no race, and copies that run beside the products.",
    "one stream waits for the other where it needs the data, and the host goes on.",
    function=True,
)
def _place_wait(answer: Any) -> str:
    given, weights = batches(6, pinned=True), [w.to("sim") for w in layers()]
    right = _score_on_host(given, layers())
    try:
        found, seen = timed_on_t4(answer, given, weights)
    except RaceError as error:
        return f"{error.tried}, too early. Which stream has to wait for which, and before which line?"
    if hint := _wrong_result(found, right):
        return hint
    beside = seen.overlap() / 1e6
    if beside < 0.2:
        return (
            f"the numbers are right, but copies run beside products for only {beside:.2f} ms. Does somebody wait for "
            "everything, or is one stream used for both?"
        )
    return ""


@task(
    "fewer_copies",
    "Fix send(rows): the same tensor on the device, with one copy.",
    "the host puts small pieces together more cheaply than the bus carries them one by one.",
    function=True,
)
def _fewer_copies(answer: Any) -> str:
    with seeded(3):
        rows = [rand(64) for _ in range(200)]
    before = sim.counts()["copies to device"]
    found = answer(rows)
    copies = sim.counts()["copies to device"] - before
    if found is None:
        return NOTHING
    if not isinstance(found, Tensor) or tuple(found.shape) != (200, 64):
        return "return a tensor with a row for each of the rows: (200, 64) here."
    if found.device != "sim":
        return "the result is still on the host."
    if not np.array_equal(found.cpu().numpy(), np.stack([row.numpy() for row in rows])):
        return "the numbers are not those of the rows, in their order."
    return "" if copies <= 1 else f"there are {copies} copies. What can be put together before it travels?"


@task(
    "seconds",
    "Write seconds(n): what a product of two n × n float32 matrices takes on the host, and on the device with copies.",
    "three copies grow with n², the work with n³: that decides.",
    function=True,
)
def _seconds(answer: Any) -> str:
    def device(n: int, copies: int = 3, size: int = 4, work: int = 2, launch: float = LAUNCH) -> float:
        return copies * (COPY + size * n * n / BUS) + launch + work * n**3 / DEVICE

    for n in (64, 300, 1500):
        found = answer(n)
        if found is None:
            return NOTHING
        given = numbers(found).reshape(-1)
        if given.size != 2:
            return "return two numbers, in seconds: host, device."
        if not np.isclose(given[0], 2 * n**3 / HOST, rtol=0.02):
            half = np.isclose(given[0], n**3 / HOST, rtol=0.02)
            return (
                "the host's time is half of what it should be: n³ multiplications, and as many additions." if half
                else "the host does 2 n³ operations, at its rate."
            )  # fmt: skip
        if np.isclose(given[1], device(n), rtol=0.02):
            continue
        known = {
            "the result has to come back, too.": device(n, copies=2),
            "each number takes 4 bytes.": device(n, size=1),
            "the device does 2 n³ operations, too.": device(n, work=1),
            "the kernel has to be launched.": device(n, launch=0.0),
            "each of the three copies costs 8 µs before the first byte moves.": device(n) - 2 * COPY,
            "each copy costs 8 µs before the first byte moves.": device(n) - 3 * COPY,
        }
        near = [hint for hint, value in known.items() if np.isclose(given[1], value, rtol=1e-3)]
        return near[0] if near else "the device's time is three copies, one launch and the work. Add them up."
    return ""


@task(
    "under_limit_device",
    f"Bring score(batches, weights) to at most {LIMIT} ms, with the same count.",
    "weights travel once, values are read once, and the next batch travels beside the work.",
    function=True,
)
def _under_limit(answer: Any) -> str:
    given, weights = batches(12), layers()
    try:
        found, seen = timed_on_t4(answer, given, weights)
    except RaceError as error:
        return f"there is a race: {error.tried}, too early. Which stream has to wait for which?"
    except DeviceError as error:
        return f"{error.sentence()}"
    if hint := _wrong_result(found, _score_on_host(given, weights)):
        return hint
    if not any(work.kind == "kernel" and work.name == "matmul" for work in seen):
        return "the products do not run on the device."
    took = milliseconds(seen)
    if took <= LIMIT:
        return ""
    told = f"it takes {took:.2f} ms, and {LIMIT} are allowed."
    moved = sum(work.read for work in seen if work.lane == "sim to device")
    needed = sum(part.nbytes for batch in given for part in batch) + sum(w.nbytes for w in weights)
    if moved > 1.2 * needed:
        return f"{told} {moved / 1e6:.0f} MB travel, and {needed / 1e6:.0f} would do. What travels more than once?"
    reads = sum(work.kind == "copy" and work.lane == "sim to host" for work in seen)
    if reads > 3:
        return f"{told} The host reads {reads} values. When does it need the first of them?"
    if seen.overlap() < 0.2e6 and not any(work.name == "pin memory" for work in seen):
        return f"{told} No copy runs beside a kernel. What would have to be in another queue?"
    return f"{told} Look at its timeline: what does the device wait for?"


quiz(
    "quiz_devices",
    "1 the clock, 2 the wait, 3 the copies",
    "a call asks, a value waits, and bytes that need not travel cost nothing.",
    (
        {"a": "the products are in the queue by then. Who has waited for them?", "b": "",
         "c": "each launch takes the host some microseconds."},
        {"a": "that makes the host wait, and no launch happens meanwhile. Is it the host that needs the data?",
         "b": "it was asked for, but is it there?", "c": ""},
        {"a": "", "b": "it pins every batch for one use. Which bytes travel for nothing?",
         "c": "streams hide copies. Is it necessary to copy the weights at all?"},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
