"""Tasks of the lesson on devices: read a timeline, place a wait, copy less often, and decide what is worth a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import sim
from ..errors import DeviceError, RaceError
from ..tensor import Tensor, tensor
from ..tensor.random import rand, seeded
from .checking import NOTHING, numbers, quiz, task
from .device_programs import (
    BUS,
    COPY,
    DEVICE,
    HOST,
    LAUNCH,
    LIMIT,
    batches,
    filters,
    layers,
    milliseconds,
    product_on_host,
    recordings,
    timed_on_t4,
)


def _ends(count: int, launch: float, kernel: float) -> float:
    """When the last of so many kernels is done."""
    done = 0.0
    for i in range(1, count + 1):
        done = max(done, i * launch) + kernel
    return done


def _two_numbers(answer: Any) -> Any:
    """An answer as two numbers; None if it is something else."""
    try:
        given = numbers(list(answer) if isinstance(answer, (tuple, list)) else answer).reshape(-1)
    except (TypeError, ValueError):
        return None
    return given if given.size == 2 else None


@task(
    "last_kernel",
    "Four kernels, each launched in 5 µs. When is the last one done, if each runs for 20 µs, and if for 3 µs?",
    "long kernels wait for each other, short ones for their launch.",
)
def _last_kernel(answer: Any) -> str:
    given = _two_numbers(answer)
    if given is None:
        return "give two numbers, in microseconds, such as [10, 20]: for kernels of 20 µs, and for kernels of 3 µs."
    right = _ends(4, 5, 20), _ends(4, 5, 3)
    if np.allclose(given, right):
        return ""
    if np.isclose(given[0], 4 * 25):
        return "the host need not wait for a kernel before it launches the next one."
    if np.isclose(given[0], 4 * 20):
        return "the first kernel begins when it has been launched, not at 0."
    if np.isclose(given[0], right[0]) and np.isclose(given[1], 5 + 4 * 3):
        return "the first is right. A kernel of 3 µs is done before the next one has been launched. What happens then?"
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


def _hidden(seen: sim.Timeline) -> str:
    """A hint where a race was only not reported, or where it is another machine."""
    if seen.races:
        return "the race is still there: only nobody reports it. Which stream has to wait for which?"
    name = seen.machine.name
    return "" if name == "T4" else f"it ran on a simulated {name}, and a T4 is asked for."


def _waiting_before_the_end(seen: sim.Timeline) -> float:
    """Milliseconds that the host waits for the device while it still has something to launch."""
    host = [work for work in seen if work.lane == "host"]
    last = max((work.start for work in host if work.kind == "launch"), default=0)
    return sum(work.duration for work in host if work.kind == "wait" and work.start < last) / 1e6


@task(
    "place_wait",
    "Fix overlapped(batches, weights): the same count, no race, and copies that run beside the products.",
    "no host waits: the stream that needs the data waits for the one that brings it.",
    function=True,
)
def _place_wait(answer: Any) -> str:
    given, weights = batches(6, pinned=True), [w.to("sim") for w in layers()]
    right = _score_on_host(given, layers())
    try:
        found, seen = timed_on_t4(answer, given, weights)
    except RaceError as error:
        if error.tried.startswith("copy to device"):
            return f"{error.tried}, which is still in use. Until when has the memory of x to be kept?"
        return f"{error.tried}, too early. Which stream has to wait for which, and before which line?"
    if hint := _hidden(seen) or _wrong_result(found, right):
        return hint
    if (waited := _waiting_before_the_end(seen)) > 0:
        return (
            f"the numbers are right, but the host waits for {waited:.2f} ms before it has launched everything. That is "
            "little here, and much where kernels are short. Let one stream wait for the other, not the host."
        )
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
    "each copy costs 8 µs before its first byte moves, and now there is one.",
    function=True,
)
def _fewer_copies(answer: Any) -> str:
    with seeded(3):
        rows = [rand(64) for _ in range(200)]
    before = sim.counts()
    found = answer(rows)
    copies, back = (sim.counts()[name] - before[name] for name in ("copies to device", "copies to host"))
    if found is None:
        return NOTHING
    if not isinstance(found, Tensor) or tuple(found.shape) != (200, 64):
        return "return a tensor with a row for each of the rows: (200, 64) here."
    if found.device != "sim":
        return "the result is still on the host."
    if not np.array_equal(found.cpu().numpy(), np.stack([row.numpy() for row in rows])):
        return "the numbers are not those of the rows, in their order."
    if copies > 1:
        return f"there are {copies} copies. What can be put together before it travels?"
    return "there is one copy, and one back to the host. Who needs that?" if back else ""


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
        given = _two_numbers(found)
        if given is None:
            return "return two numbers, in seconds: host, device."
        if any(
            np.allclose(given, scale * np.array([product_on_host(n), device(n)]), rtol=0.02) for scale in (1e3, 1e6)
        ):
            return "that is right in other units: return seconds."
        if np.allclose(given[::-1], [product_on_host(n), device(n)], rtol=0.02):
            return "these are the right times, in the other order: host, device."
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


def _cleaned(given: list[Tensor], by: list[Tensor]) -> list[np.ndarray[Any, Any]]:
    """What the last program computes, on the CPU."""
    found = []
    for x in given:
        for f in by:
            x = (x @ f).tanh()
        found.append(x.numpy())
    return found


def _not_cleaned(found: Any, right: list[np.ndarray[Any, Any]]) -> str:
    """A hint for results that are not those of the program."""
    if found is None:
        return NOTHING
    if isinstance(found, Tensor):
        found = list(found)
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, Tensor) for one in found):
        return "return the cleaned recordings, as a list of tensors."
    if len(found) != len(right):
        return f"it returns {len(found)} of {len(right)} recordings."
    if any(one.device != "cpu" for one in found):
        return "the results are still on the device, and the host needs them."
    same = all(
        one.shape == x.shape and np.allclose(one.numpy(), x, atol=1e-4) for one, x in zip(found, right, strict=True)
    )
    return "" if same else "the numbers differ. Is each recording cleaned by all filters, in order?"


@task(
    "under_limit_device",
    f"Bring clean(recordings, filters) to at most {LIMIT} ms, with the same results on the host.",
    "under the limit, and nothing is read too early. Now defend what you changed.",
    function=True,
)
def _under_limit(answer: Any) -> str:
    given, by = recordings(12), filters()

    def read() -> Any:
        """The results, read as the host would: at once."""
        found = answer(given, by)
        parts = found if isinstance(found, (list, tuple)) else []
        return [
            tensor(one.tolist()) if isinstance(one, Tensor) and one.device == "cpu" else one for one in parts
        ] or found

    try:
        found, seen = timed_on_t4(read)
        hint = _hidden(seen) or _not_cleaned(found, _cleaned(given, by)) or _pinned_outside(seen)
    except RaceError as error:
        if error.tried.startswith("the host reads"):
            return "the host reads a result that is still on its way. What has it not waited for?"
        return f"there is a race: {error.tried}, too early. Which stream has to wait for which?"
    except DeviceError as error:
        return f"{error.sentence()}"
    if hint:
        return hint
    if not any(work.kind == "kernel" and work.name == "matmul" for work in seen):
        return "the products do not run on the device."
    took = milliseconds(seen)
    return "" if took <= LIMIT else f"it takes {took:.2f} ms, and {LIMIT} are allowed. {_what_is_slow(given, by, seen)}"


def _what_is_slow(given: list[Tensor], by: list[Tensor], seen: sim.Timeline) -> str:
    """What costs most, of what can be helped."""
    moved = sum(work.read for work in seen if work.lane == "sim to device")
    needed = sum(one.nbytes for one in [*given, *by])
    if moved > 1.2 * needed:
        return (
            f"{moved / 1e6:.0f} MB travel to the device, and {needed / 1e6:.0f} would do. What travels more than once?"
        )
    host = [work for work in seen if work.lane == "host" and work.kind == "copy"]
    copies = {to: [work.duration for work in host if work.name == f"copy to {to}"] for to in ("device", "host")}
    back = sum(copies["host"])
    there = sum(copies["device"]) if len(copies["device"]) > len(by) else 0  # filters may come that way, once
    if back > there:
        return f"For {back / 1e6:.1f} ms the host itself copies results. When does it need the first of them?"
    if there:
        return (
            f"For {there / 1e6:.1f} ms the host itself copies recordings. From which memory can the device fetch them?"
        )
    waited = sum(work.duration for work in seen if work.lane == "host" and work.kind == "wait")
    if waited > 1e6:
        return f"For {waited / 1e6:.1f} ms the host waits for the device. Which of its waits is needed?"
    return "Look at its timeline: what does the device wait for?"


def _pinned_outside(seen: sim.Timeline) -> str:
    """A hint where recordings come from pinned memory that nobody pinned in this run."""
    pins = any(work.name == "copy to pinned memory" for work in seen)
    by_engine = sum(work.kind == "launch" and work.name == "copy to device" for work in seen)
    return "" if pins or not by_engine else "pinning counts, and it was done before. Pin inside clean."


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
         "c": "streams hide copies. Is it necessary to copy the weights again and again?"},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
