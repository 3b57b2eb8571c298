"""Right and wrong answers to the tasks of the lesson on devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import accelerator
from tinygrad_edu.lessons.device_programs import BUS, COPY, DEVICE, HOST, LAUNCH

DEVICE_SOLUTIONS: dict[str, str] = {
    "last_kernel": "answer = [85, 22]",
    "place_wait": """
from tinygrad_edu import accelerator

def overlapped(batches, weights):
    side, main = accelerator.Stream(), accelerator.current_stream()
    right = tg.zeros((), dtype="int64", device="sim")
    for x, labels in batches:
        with accelerator.stream(side):
            x = x.to("sim", non_blocking=True)
            labels = labels.to("sim", non_blocking=True)
        main.wait_stream(side)
        x.record_stream(main), labels.record_stream(main)
        for w in weights:
            x = (x @ w).tanh()
        right += (x.argmax(1) == labels).sum()
    return right.item()

answer = overlapped""",
    "fewer_copies": """
def send(rows):
    return tg.stack(rows).to("sim")

answer = send""",
    "seconds": """
from tinygrad_edu.lessons.device_programs import BUS, COPY, DEVICE, HOST, LAUNCH

def seconds(n):
    work, size = 2 * n**3, 4 * n * n
    return work / HOST, 3 * (COPY + size / BUS) + LAUNCH + work / DEVICE

answer = seconds""",
    "under_limit_device": """
from tinygrad_edu import accelerator

def score(batches, weights):
    side, main = accelerator.Stream(), accelerator.current_stream()
    right = tg.zeros((), dtype="int64", device="sim")
    weights = [w.to("sim") for w in weights]
    now = None
    for batch in [*batches, None]:
        main.wait_stream(side)
        if now is not None:
            x, labels = now
            x.record_stream(main), labels.record_stream(main)
            for w in weights:
                x = (x @ w).tanh()
            right += (x.argmax(1) == labels).sum()
        if batch is not None:
            with accelerator.stream(side):
                now = [part.to("sim", non_blocking=True) for part in batch]
    return right.item()

answer = score""",
    "quiz_devices": 'answer = "bca"',
}


def _overlapped(
    order: Callable[[Any, Any], Any] = lambda side, main: None, late: bool = False, one: bool = False,
    part: slice = slice(None), end: Callable[[Any], Any] = lambda right: right.item(),
) -> Callable[..., Any]:  # fmt: skip
    """Task 2, more or less right: ``order`` is the missing line; ``late`` puts it after the products."""

    def overlapped(batches: Any, weights: Any) -> Any:
        side, main = accelerator.Stream(), accelerator.current_stream()
        right = tg.zeros((), dtype="int64", device="sim")
        for x, labels in batches[part]:
            with accelerator.stream(main if one else side):
                x, labels = (value.to("sim", non_blocking=True) for value in (x, labels))
            if not late:
                order(side, main)
            x.record_stream(main), labels.record_stream(main)
            for w in weights:
                x = (x @ w).tanh()
            if late:
                order(side, main)
            right += (x.argmax(1) == labels).sum()
        return end(right)

    return overlapped


def _score(
    once: bool = True, read: str = "end", pin: bool = False, host: bool = False, wait: bool = False
) -> Callable[..., Any]:
    """Task 5 on the way to its limit."""

    def score(batches: Any, weights: Any) -> Any:
        total: Any = 0
        place = "cpu" if host else "sim"
        if once:
            weights = [w.to(place) for w in weights]
        for batch in batches:
            x, labels = (one.pin_memory().to(place, non_blocking=True) if pin else one.to(place) for one in batch)
            for w in weights:
                x = (x @ w.to(place)).tanh()
            found = (x.argmax(1) == labels).sum()
            total = total + (found.item() if read == "each" else found)
        return total if read == "each" else total.item()

    return score


def _seconds(
    copies: int = 3, size: int = 4, work: int = 2, launch: float = LAUNCH, start: int = 3, host: int = 2
) -> Any:
    def seconds(n: int) -> Any:
        device = copies * size * n * n / BUS + min(start, copies) * COPY + launch + work * n**3 / DEVICE
        return host * n**3 / HOST, device

    return seconds


DEVICE_ALSO_RIGHT: dict[str, list[Any]] = {
    "last_kernel": [(85.0, 22.0)],
    "place_wait": [
        _overlapped(lambda side, main: main.wait_event(side.record_event())),
        _overlapped(lambda side, main: side.synchronize()),  # the host waits, but only for the copy
        _overlapped(lambda side, main: main.wait_stream(side), end=lambda right: right),
    ],
    "fewer_copies": [lambda rows: tg.stack([*rows]).pin_memory().to("sim")],
    "seconds": [_seconds()],
    "under_limit_device": [_score(pin=True)],
    "quiz_devices": ["b c a", "BCA"],
}

DEVICE_WRONG: dict[str, list[tuple[Any, str]]] = {
    "last_kernel": [
        (85, "give two numbers"),
        ([100, 28], "the host need not wait for a kernel"),
        ([80, 8], "begins when it has been launched"),
        ([85, 13], "the first is right. A kernel of 2 µs is done before"),
        ([85, 20], "the first is right. For the second"),
        ([1, 2], "draw both lanes"),
    ],
    "place_wait": [
        (_overlapped(), "too early. Which stream has to wait for which"),
        (_overlapped(lambda side, main: main.wait_stream(side), late=True), "too early"),
        (_overlapped(lambda side, main: side.wait_stream(main)), "too early"),
        (_overlapped(lambda side, main: main.wait_stream(side), one=True), "is one stream used for both?"),
        (_overlapped(lambda side, main: main.wait_stream(side), part=slice(1, None)), "Is each batch used once"),
        (_overlapped(lambda side, main: main.wait_stream(side), end=lambda right: None), "is there a return?"),
        (
            _overlapped(lambda side, main: main.wait_stream(side), end=lambda right: "many"),
            "return the number of records",
        ),
        (3, "hand in the function itself"),
    ],
    "fewer_copies": [
        (lambda rows: tg.stack([row.to("sim") for row in rows]), "there are 200 copies"),
        (tg.stack, "still on the host"),
        (lambda rows: tg.stack(rows[::-1]).to("sim"), "in their order"),
        (lambda rows: rows[0].to("sim"), "(200, 64) here"),
        (lambda rows: None, "is there a return?"),
    ],
    "seconds": [
        (_seconds(host=1), "the host's time is half"),
        (_seconds(host=3), "the host does 2 n³ operations"),
        (_seconds(copies=2, start=2), "the result has to come back"),
        (_seconds(size=1), "each number takes 4 bytes"),
        (_seconds(work=1), "the device does 2 n³"),
        (_seconds(launch=0.0), "has to be launched"),
        (_seconds(start=1), "each of the three copies costs 8 µs"),
        (_seconds(start=0), "each copy costs 8 µs"),
        (lambda n: (2 * n**3 / HOST, 1.0), "three copies, one launch and the work"),
        (lambda n: 1.0, "return two numbers"),
        (lambda n: None, "is there a return?"),
    ],
    "under_limit_device": [
        (_score(once=False, read="each"), "What travels more than once?"),
        (_score(read="each"), "When does it need the first of them?"),
        (_score(), "What would have to be in another queue?"),
        (_score(host=True), "do not run on the device"),
        (lambda batches, weights: 1, "it counts another number"),
        (lambda batches, weights: None, "is there a return?"),
    ],
    "quiz_devices": [
        ("aca", "Who has waited for them?"),
        ("cca", "some microseconds"),
        ("baa", "Is it the host that needs the data?"),
        ("bba", "but is it there?"),
        ("bcb", "Which bytes travel for nothing?"),
        ("bcc", "necessary to copy the weights"),
        ("b", "give three letters"),
    ],
}
