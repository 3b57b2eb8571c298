"""Right and wrong answers to the tasks of the lesson on devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import accelerator
from tinygrad_edu.lessons.device_programs import BUS, COPY, DEVICE, HOST, LAUNCH

DEVICE_SOLUTIONS: dict[str, str] = {
    "last_kernel": "answer = [85, 23]",
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

def clean(recordings, filters):
    side, main, back = accelerator.Stream(), accelerator.current_stream(), accelerator.Stream()
    filters = [f.to("sim") for f in filters]
    cleaned = []
    for x in recordings:
        with accelerator.stream(side):
            x = x.pin_memory().to("sim", non_blocking=True)
        main.wait_stream(side)
        x.record_stream(main)
        for f in filters:
            x = (x @ f).tanh()
        back.wait_stream(main)
        x.record_stream(back)
        with accelerator.stream(back):
            cleaned.append(x.to("cpu", non_blocking=True))
    accelerator.synchronize()
    return cleaned

answer = clean""",
    "quiz_devices": 'answer = "bca"',
}


def _overlapped(
    order: Callable[[Any, Any], Any] = lambda side, main: None, late: bool = False, one: bool = False,
    part: slice = slice(None), end: Callable[[Any], Any] = lambda right: right.item(), kept: bool = True,
    blocking: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """Task 2, more or less right: ``order`` is the missing line; ``late`` puts it after the products."""

    def overlapped(batches: Any, weights: Any) -> Any:
        side, main = accelerator.Stream(), accelerator.current_stream()
        right = tg.zeros((), dtype="int64", device="sim")
        for x, labels in batches[part]:
            with accelerator.stream(main if one else side):
                x, labels = (value.to("sim", non_blocking=not blocking) for value in (x, labels))
            if not late:
                order(side, main)
            if kept:
                x.record_stream(main), labels.record_stream(main)
            for w in weights:
                x = (x @ w).tanh()
            if late:
                order(side, main)
            right += (x.argmax(1) == labels).sum()
        return end(right)

    return overlapped


def _quietly(program: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """The program, where a race is no error."""

    def quietly(*given: Any) -> Any:
        before = tg.sim.on_race(mode)
        try:
            return program(*given)
        finally:
            tg.sim.on_race(before)

    return quietly


def _clean(
    once: bool = True, pin: bool = False, ahead: bool = False, back: str = "each", host: bool = False,
    part: slice = slice(None), wait: bool = True, often: bool = False, machine: str = "", race: str = "",
) -> Callable[..., Any]:  # fmt: skip
    """Task 5 on the way to its limit. ``back`` says how results reach the host: "each", "ahead", "last" or "never"."""

    def clean(recordings: Any, filters: Any) -> Any:
        if machine:
            tg.sim.use(machine)
        before = tg.sim.on_race(race) if race else ""
        place = "cpu" if host else "sim"
        filters = [f.to(place) for f in filters] if once else filters
        cleaned = []
        for x in recordings[part]:
            x = x.pin_memory().to(place, non_blocking=True) if pin else x.to(place)
            for f in filters:
                x = (x @ f.to(place)).tanh()
            if often:
                accelerator.synchronize()
            cleaned.append(x.cpu() if back == "each" else x.to("cpu", non_blocking=True) if back == "ahead" else x)
        if back == "last":
            cleaned = list(tg.stack(cleaned).cpu())
        if wait:
            accelerator.synchronize()
        if before:
            tg.sim.on_race(before)
        return cleaned

    return clean


_KEPT: list[Any] = []  # pinned in the first run


def _pinned_before(recordings: Any, filters: Any) -> Any:
    """Task 5, with recordings that were pinned in a run before."""
    if not _KEPT:
        _KEPT.extend(x.pin_memory() for x in recordings)
    on_device = [f.to("sim") for f in filters]
    cleaned = []
    for x in _KEPT:
        x = x.to("sim", non_blocking=True)
        for f in on_device:
            x = (x @ f).tanh()
        cleaned.append(x.to("cpu", non_blocking=True))
    accelerator.synchronize()
    return cleaned


def _looked_at(rows: Any) -> Any:
    """Task 3, and a look at the result."""
    found = tg.stack(rows).to("sim")
    found.cpu()
    return found


def _seconds(
    copies: int = 3, size: int = 4, work: int = 2, launch: float = LAUNCH, start: int = 3, host: int = 2
) -> Any:
    def seconds(n: int) -> Any:
        device = copies * size * n * n / BUS + min(start, copies) * COPY + launch + work * n**3 / DEVICE
        return host * n**3 / HOST, device

    return seconds


DEVICE_ALSO_RIGHT: dict[str, list[Any]] = {
    "last_kernel": [(85.0, 23.0), np.array([85, 23])],
    "place_wait": [
        _overlapped(lambda side, main: main.wait_event(side.record_event())),
        _overlapped(lambda side, main: main.wait_stream(side), end=lambda right: right),
    ],
    "fewer_copies": [lambda rows: tg.stack([*rows]).pin_memory().to("sim")],
    "seconds": [_seconds()],
    "under_limit_device": [_clean(pin=True, back="ahead")],
    "quiz_devices": ["b c a", "BCA"],
}

DEVICE_WRONG: dict[str, list[tuple[Any, str]]] = {
    "last_kernel": [
        (85, "give two numbers"),
        ([100, 32], "the host need not wait for a kernel"),
        ([80, 12], "begins when it has been launched"),
        ([85, 17], "the first is right. A kernel of 3 µs is done before"),
        ("85, 23", "give two numbers"),
        ({85, 23}, "give two numbers"),
        ([85, 20], "the first is right. For the second"),
        ([1, 2], "draw both lanes"),
    ],
    "place_wait": [
        (_overlapped(), "too early. Which stream has to wait for which"),
        (_overlapped(lambda side, main: main.wait_stream(side), late=True), "too early"),
        (_overlapped(lambda side, main: side.wait_stream(main)), "too early"),
        (
            _overlapped(lambda side, main: main.wait_stream(side), kept=False),
            "Until when has the memory of x to be kept?",
        ),
        (_overlapped(lambda side, main: side.synchronize()), "Let one stream wait for the other, not the host"),
        (_overlapped(lambda side, main: accelerator.synchronize()), "Let one stream wait for the other, not the host"),
        (_overlapped(lambda side, main: side.record_event().synchronize()), "Let one stream wait for the other"),
        (_overlapped(blocking=True), "Let one stream wait for the other, not the host"),
        (_quietly(_overlapped(), "warn"), "only nobody reports it"),
        (_quietly(_overlapped(), "stale"), "only nobody reports it"),
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
        (lambda rows: (tg.stack(rows).to("sim").cpu() * 1.0).to("sim"), "there are 2 copies"),
        (_looked_at, "one back to the host"),
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
        (lambda n: [1e6 * one for one in _seconds()(n)], "right in other units"),
        (lambda n: _seconds()(n)[::-1], "in the other order"),
        (lambda n: None, "is there a return?"),
    ],
    "under_limit_device": [
        (_clean(once=False), "What travels more than once?"),
        (_clean(), "the host itself copies recordings"),
        (_clean(back="ahead"), "From which memory can the device fetch them"),
        (_clean(pin=True), "the host itself copies results. When does it need the first"),
        (_clean(pin=True, back="ahead", wait=False), "What has it not waited for?"),
        (_clean(pin=True, back="ahead", often=True), "Which of its waits is needed?"),
        (_pinned_before, "Pin inside clean"),
        (_clean(host=True), "do not run on the device"),
        (_clean(back="never"), "still on the device"),
        (_clean(part=slice(1, None)), "11 of 12 recordings"),
        (_clean(part=slice(None, None, -1)), "the numbers differ"),
        (_clean(machine="H100"), "a T4 is asked for"),
        (_clean(pin=True, back="ahead", wait=False, race="stale"), "still on its way"),
        (lambda recordings, filters: 1, "as a list of tensors"),
        (lambda recordings, filters: None, "is there a return?"),
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
