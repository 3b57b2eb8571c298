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
    layers,
    melodies,
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
    "both are right. Now say why they differ.",
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
        return "the first is right. For kernels of 3 µs: when is the fourth launched?"
    if np.isclose(given[0], right[0]):
        return "the first is right. For the second, draw when each of the four is launched."
    return "draw both lanes: the host launches at 5, 10, 15, 20 µs. Which kernel begins when?"


def _read(program: Any, *given: Any) -> Any:
    """The program, and its results read as the host would: at once."""

    def read() -> Any:
        found = program(*given)
        parts = found if isinstance(found, (list, tuple)) else []
        here = [tensor(one.tolist(), dtype=one.dtype) if _on_host(one) else one for one in parts]
        return here or found

    return read


def _on_host(one: Any) -> bool:
    return isinstance(one, Tensor) and one.device == "cpu"


def _differs(found: Any, right: list[np.ndarray[Any, Any]], what: str) -> str:
    """A hint for results that are not those of the program."""
    if found is None:
        return NOTHING
    if isinstance(found, Tensor):
        found = list(found)
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, Tensor) for one in found):
        return f"return a list of tensors: {what}."
    if len(found) != len(right):
        return f"it returns {len(found)} tensors, and {len(right)} are asked for: {what}."
    if not all(map(_on_host, found)):
        return "the results are still on the device, and the host needs them."
    same = all(
        tuple(one.shape) == x.shape and np.allclose(one.numpy(), x, atol=1e-4)
        for one, x in zip(found, right, strict=True)
    )
    return "" if same else "the numbers differ. Is everything used once, and in order?"


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
    "Fix scored(batches, weights): the same scores on the host, no race, and copies that run beside the products.",
    "the right scores, no race, and copies beside the products.",
    function=True,
)
def _place_wait(answer: Any) -> str:
    given, weights = [x for x, _ in batches(6)], layers()
    right = [_scores(x, weights).numpy() for x in given]
    read = _read(answer, [x.to("sim") for x in given], [w.to("sim") for w in weights])
    try:
        found, seen = timed_on_t4(read)
    except RaceError as error:
        if error.tried.startswith("the host reads"):
            return "the host reads scores that are still on their way. What must it wait for, once, at the end?"
        if "writes" in error.tried:
            return f"{error.tried}, which is still in use. How long must the memory of x be kept?"
        return _where_the_wait_is(read)
    if hint := _hidden(seen) or _differs(found, right, "the scores of each batch"):
        return hint
    if (waited := _waiting_before_the_end(seen)) > 0:
        return (
            f"the scores are right, but the host waits for {waited:.2f} ms (simulated) before it has launched "
            "everything. Let one stream wait for the other, not the host."
        )
    if seen.overlap() < 0.03e6:
        return "the scores are right, but hardly any copy runs beside a product. Is one stream used for both?"
    return ""


def _scores(x: Tensor, weights: list[Tensor]) -> Tensor:
    for w in weights:
        x = (x @ w).tanh()
    return x


def _where_the_wait_is(program: Any) -> str:
    """A hint for a wait between streams that does not prevent the race."""
    before = sim.on_race("warn")
    try:
        _, seen = timed_on_t4(program)
    finally:
        sim.on_race(before)
    waits = [place for place, work in enumerate(seen) if work.kind == "order" and work.waited_for]
    launches = [place for place, work in enumerate(seen) if work.kind == "launch" and work.name != "copy to host"]
    copies = [place for place, work in enumerate(seen) if work.kind == "launch" and work.name == "copy to host"]
    lead = "a copy to the host reads scores that are not there yet. "
    if not waits:
        return f"{lead}No stream waits for another. Which of the two needs what the other makes?"
    if all(seen[place].waited_for != "sim stream 0" for place in waits):
        return f"{lead}The stream that computes waits for the one that copies. Which of them needs the other's result?"
    if waits[-1] < launches[0]:
        return f"{lead}The wait stands before the loop, and it is for what was queued by then. What was?"
    if copies and waits[0] > copies[0]:
        return f"{lead}The wait comes after the copy has been queued. What does it hold back?"
    return f"{lead}Does each copy wait for its own batch?"


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
    def device(n: int, copies: int = 3, size: float = 4, work: int = 2, launch: float = LAUNCH) -> float:
        return copies * (COPY + size * n * n / BUS) + launch + work * n**3 / DEVICE

    def beside(n: int) -> float:
        return max(3 * (COPY + 4 * n * n / BUS), LAUNCH + 2 * n**3 / DEVICE)

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
            "BUS counts bytes, not bits: a number has 4.": device(n, size=32),
            "a matrix has n² numbers.": device(n, size=4 / n),
            "nothing can overlap here: the product needs both matrices, and the copy back needs the product.": beside(
                n
            ),
            "there is one product, so one launch.": device(n, launch=3 * LAUNCH),
            "the device does 2 n³ operations, too.": device(n, work=1),
            "the kernel has to be launched.": device(n, launch=0.0),
            "each of the three copies costs 8 µs before the first byte moves.": device(n) - 2 * COPY,
            "each copy costs 8 µs before the first byte moves.": device(n) - 3 * COPY,
        }
        near = [hint for hint, value in known.items() if np.isclose(given[1], value, rtol=1e-3)]
        return near[0] if near else (
            "the host's time is right. For the device, write down all that happens, from two matrices on the host to "
            "a result on the host."
        )  # fmt: skip
    return ""


@task(
    "under_limit_device",
    f"Bring matches(recordings, melodies) to at most {LIMIT} ms, simulated on a T4, with the same results on the host.",
    "under the limit, and nothing is read too early. Now defend what you changed.",
    function=True,
)
def _under_limit(answer: Any) -> str:
    given, index = recordings(), melodies()
    right = [(x @ index.T).argmax(1).numpy() for x in given]
    try:
        found, seen = timed_on_t4(_read(answer, given, index))
    except RaceError as error:
        if error.tried.startswith("the host reads"):
            return "the host reads a result that is still on its way. Which result did it not wait for?"
        if "a tensor that is gone" in error.why:
            return "the memory of x goes to the next copy while a product may still read it. Which stream uses x last?"
        return f"there is a race: {error.tried}, too early. Which stream has to wait for which?"
    except DeviceError as error:
        return f"{error.sentence()}"
    if hint := _hidden(seen) or _differs(found, right, "the numbers of the melodies, for each group"):
        return hint
    if not any(work.kind == "kernel" and work.name == "matmul" for work in seen):
        return "the products do not run on the device."
    if sum(work.read for work in seen if work.lane == "sim to device") == sum(one.nbytes for one in given):
        return "the melodies were on the device before. Their copy counts, too."
    if sum(work.read for work in seen if work.lane == "sim to device") < 0.99 * sum(x.nbytes for x in (*given, index)):
        return "fewer bytes travel than the inputs have in float32. Keep float32 here: the task is when things happen."
    written = sum(work.written for work in seen if work.kind == "kernel" and work.name == "matmul")
    if written < 0.99 * sum(4 * len(x) * len(index) for x in given):
        return "a product is not in float32. Keep float32 here: the task is when things happen."
    took = milliseconds(seen)
    lead = f"it takes {took:.2f} ms, and {LIMIT} are allowed (simulated, T4). "
    return "" if took <= LIMIT else lead + _what_is_slow([*given, index], seen)


def _what_is_slow(needed: list[Tensor], seen: sim.Timeline) -> str:
    """What costs most, of what can be helped."""
    moved = sum(work.read for work in seen if work.lane == "sim to device")
    enough = sum(one.nbytes for one in needed)
    if moved > 1.2 * enough:
        return f"{moved / 1e6:.1f} MB travel to the device, and {enough / 1e6:.1f} would do. What travels again?"
    host = [work for work in seen if work.lane == "host"]
    pinning = sum(work.duration for work in host if work.name in ("pin memory", "copy to pinned memory")) / 1e6
    if pinning > 0.2:
        return f"Pinning takes {pinning:.2f} ms of it. How many times is each pinned page used?"
    copies = [work.end for work in seen if work.lane == "sim to device"]
    products = [work.start for work in seen if work.kind == "kernel" and work.name == "matmul"]
    if max(copies) <= min(products):
        return "All copies have been made before the first product begins. Which product could begin earlier?"
    waited = {
        place: sum(work.duration for work in host if work.kind == "wait" and work.name == f"copy to {place}") / 1e6
        for place in ("device", "host")
    }
    if waited["device"] > max(waited["host"], 0.1):
        return (
            f"For {waited['device']:.2f} ms the host waits until a copy to the device may begin: it queues behind "
            "everything in its stream. Could it go into another?"
        )
    if waited["host"] > 0.5 and sum(work.kind == "copy" and work.name == "copy to host" for work in host) > 1:
        return (
            f"For {waited['host']:.2f} ms the host waits for results, and asks for nothing meanwhile. When does it "
            "need the first? (Reading later saves no time by itself; it lets copies run ahead.)"
        )
    return (
        f"A copy and a product run at the same time for {seen.overlap() / 1e6:.2f} ms. Which stream is each of them in?"
    )


quiz(
    "quiz_devices",
    "1 the clock, 2 the wait, 3 the copies",
    "a call only queues work, reading a value waits for it, and bytes that stay where they are cost nothing.",
    (
        {"a": "the product is in the queue by then. Who has waited for it?", "b": "",
         "c": "each launch takes the host some microseconds."},
        {"a": "that makes the host wait, and no launch happens meanwhile. Is it the host that needs the data?",
         "b": "it was asked for, but is it there?", "c": ""},
        {"a": "", "b": "it pins every batch for one use. Which bytes travel for nothing?",
         "c": "streams hide copies. Is it necessary to copy the weights again and again?"},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
