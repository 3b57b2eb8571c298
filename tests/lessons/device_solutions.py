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

def scored(batches, weights):
    main, back = accelerator.current_stream(), accelerator.Stream()
    scores = []
    for x in batches:
        for w in weights:
            x = (x @ w).tanh()
        back.wait_stream(main)
        with accelerator.stream(back):
            scores.append(x.to("cpu", non_blocking=True))
        x.record_stream(back)
    accelerator.synchronize()
    return scores

answer = scored""",
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

def matches(recordings, melodies):
    side, main = accelerator.Stream(), accelerator.current_stream()
    index = melodies.to("sim").T
    found = []
    for x in recordings:
        with accelerator.stream(side):
            x = x.to("sim")
        main.wait_stream(side)
        x.record_stream(main)
        found.append((x @ index).argmax(1))
    return list(tg.cat(found).cpu().split([len(x) for x in recordings]))

answer = matches""",
    "quiz_devices": 'answer = "bca"',
}


def _scored(
    order: Callable[[Any, Any], Any] = lambda back, main: None, where: str = "before", one: bool = False,
    part: slice = slice(None), give: Callable[[Any], Any] = lambda scores: scores, kept: bool = True,
    wait: bool = True, blocking: bool = False, stay: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """Task 2, more or less right: ``order`` is the missing line, and ``where`` it stands, as seen from the copy."""

    def scored(batches: Any, weights: Any) -> Any:
        main, back = accelerator.current_stream(), accelerator.Stream()
        scores = []
        if where == "first":
            order(back, main)
        for x in batches[part]:
            for w in weights:
                x = (x @ w).tanh()
            if where == "before":
                order(back, main)
            with accelerator.stream(main if one else back):
                scores.append(x if stay else x.to("cpu", non_blocking=not blocking))
            if kept:
                x.record_stream(back)
            if where == "after":
                order(back, main)
        if wait:
            accelerator.synchronize()
        return give(scores)

    return scored


def _each_product_awaited(batches: Any, weights: Any) -> Any:
    """Task 2, with a wait for each product."""
    main, back = accelerator.current_stream(), accelerator.Stream()
    scores = []
    for x in batches:
        for w in weights:
            x = (x @ w).tanh()
            back.wait_stream(main)
        with accelerator.stream(back):
            scores.append(x.to("cpu", non_blocking=True))
        x.record_stream(back)
    accelerator.synchronize()
    return scores


def _right_way(back: Any, main: Any) -> None:
    back.wait_stream(main)


def _quietly(program: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """The program, where a race is no error."""

    def quietly(*given: Any) -> Any:
        before = tg.sim.on_race(mode)
        try:
            return program(*given)
        finally:
            tg.sim.on_race(before)

    return quietly


def _matches(
    once: bool = True, pin: bool = False, beside: bool = False, order: bool = True, back: str = "each",
    host: bool = False, part: slice = slice(None), wait: bool = True, machine: str = "", race: str = "",
    kept: bool = True,
) -> Callable[..., Any]:  # fmt: skip
    """Task 5 on the way to its limit. ``back`` says how results reach the host: "each", "ahead", "last" or "never"."""

    def matches(recordings: Any, melodies: Any) -> Any:
        if machine:
            tg.sim.use(machine)
        before = tg.sim.on_race(race) if race else ""
        place = "cpu" if host else "sim"
        side, main = accelerator.Stream(), accelerator.current_stream()
        index = melodies.to(place).T if once else None
        found: list[Any] = []
        for x in recordings[part]:
            with accelerator.stream(side if beside else main):
                x = x.pin_memory().to(place, non_blocking=True) if pin else x.to(place)
            if beside and order:
                main.wait_stream(side)
            if kept:
                x.record_stream(main)
            best = (x @ (melodies.to(place).T if index is None else index)).argmax(1)
            found.append(
                best.cpu() if back == "each" else best.to("cpu", non_blocking=True) if back == "ahead" else best
            )
        if back == "last":
            found = list(tg.cat(found).cpu().split([len(x) for x in recordings]))
        if wait:
            accelerator.synchronize()
        if before:
            tg.sim.on_race(before)
        return found

    return matches


_KEPT: list[Any] = []  # on the device since the first run


def _there_before(recordings: Any, melodies: Any) -> Any:
    """Task 5, with melodies that came in a run before."""
    if not _KEPT:
        _KEPT.append(melodies.to("sim").T)
    found = [(x.to("sim") @ _KEPT[0]).argmax(1) for x in recordings]
    return list(tg.cat(found).cpu().split([len(x) for x in recordings]))


def _all_at_once(recordings: Any, melodies: Any) -> Any:
    """Task 5, with one copy of all recordings, and so one product."""
    best = (tg.cat(recordings).to("sim") @ melodies.to("sim").T).argmax(1)
    return list(best.cpu().split([len(x) for x in recordings]))


def _copied_first(recordings: Any, melodies: Any) -> Any:
    """Task 5, with all copies in a stream of their own, before the first product."""
    side, main = accelerator.Stream(), accelerator.current_stream()
    index = melodies.to("sim").T
    with accelerator.stream(side):
        there = [x.to("sim") for x in recordings]
    main.wait_stream(side)
    found = []
    for x in there:
        x.record_stream(main)
        found.append((x @ index).argmax(1))
    return list(tg.cat(found).cpu().split([len(x) for x in recordings]))


def _halved_there(recordings: Any, melodies: Any) -> Any:
    """Task 5, with products in half precision."""
    index = melodies.to("sim").half().T
    return [(x.to("sim").half() @ index).argmax(1).cpu() for x in recordings]


def _in_half(recordings: Any, melodies: Any) -> Any:
    """Task 5, with half of the bytes."""
    index = melodies.half().to("sim").T
    found = [(x.half().to("sim") @ index).argmax(1) for x in recordings]
    return list(tg.cat(found).cpu().split([len(x) for x in recordings]))


def _overlapping_seconds(n: int) -> Any:
    """Task 4, as if the copies ran beside the product."""
    return 2 * n**3 / HOST, max(3 * (COPY + 4 * n * n / BUS), LAUNCH + 2 * n**3 / DEVICE)


def _seconds_of_rows(n: int) -> Any:
    """Task 4, with n numbers in a matrix."""
    return 2 * n**3 / HOST, 3 * (COPY + 4 * n / BUS) + LAUNCH + 2 * n**3 / DEVICE


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
        _scored(lambda back, main: back.wait_event(main.record_event())),
        _scored(_right_way, give=tuple),
        _each_product_awaited,
    ],
    "fewer_copies": [lambda rows: tg.stack([*rows]).pin_memory().to("sim")],
    "seconds": [_seconds()],
    "under_limit_device": [_matches(beside=True, back="ahead"), _matches(beside=True, order=False, back="last")],
    "quiz_devices": ["b c a", "BCA"],
}

DEVICE_WRONG: dict[str, list[tuple[Any, str]]] = {
    "last_kernel": [
        (85, "give two numbers"),
        ([100, 32], "the host need not wait for a kernel"),
        ([80, 12], "begins when it has been launched"),
        ([85, 17], "when is the fourth launched?"),
        ("85, 23", "give two numbers"),
        ({85, 23}, "give two numbers"),
        ([85, 20], "the first is right. For the second"),
        ([1, 2], "draw both lanes"),
    ],
    "place_wait": [
        (_scored(), "Which of the two needs what the other makes?"),
        (_scored(lambda back, main: main.wait_stream(back)), "The stream that computes waits for the one that copies."),
        (_scored(_right_way, where="after"), "The wait comes after the copy has been queued."),
        (_scored(_right_way, where="first"), "The wait stands before the loop"),
        (_scored(_right_way, kept=False), "How long must the memory of x be kept?"),
        (_scored(lambda back, main: main.synchronize()), "Let one stream wait for the other, not the host"),
        (_scored(lambda back, main: accelerator.synchronize()), "Let one stream wait for the other, not the host"),
        (_scored(lambda back, main: main.record_event().synchronize()), "Let one stream wait for the other"),
        (_scored(_right_way, blocking=True), "Let one stream wait for the other, not the host"),
        (_scored(_right_way, wait=False), "What must it wait for, once, at the end?"),
        (_quietly(_scored(), "warn"), "only nobody reports it"),
        (_quietly(_scored(), "stale"), "only nobody reports it"),
        (_scored(_right_way, one=True), "Is one stream used for both?"),
        (_scored(_right_way, part=slice(1, None)), "it returns 5 tensors, and 6 are asked for"),
        (_scored(_right_way, part=slice(None, None, -1)), "Is everything used once, and in order?"),
        (_scored(_right_way, stay=True), "still on the device"),
        (_scored(_right_way, give=lambda scores: None), "is there a return?"),
        (_scored(_right_way, give=lambda scores: "many"), "return a list of tensors"),
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
        (_seconds(size=32), "BUS counts bytes, not bits"),
        (_seconds(launch=3 * LAUNCH), "so one launch"),
        (_overlapping_seconds, "nothing can overlap here"),
        (_seconds_of_rows, "a matrix has n² numbers"),
        (_seconds(work=1), "the device does 2 n³"),
        (_seconds(launch=0.0), "has to be launched"),
        (_seconds(start=1), "each of the three copies costs 8 µs"),
        (_seconds(start=0), "each copy costs 8 µs"),
        (lambda n: (2 * n**3 / HOST, 1.0), "write down all that happens"),
        (lambda n: 1.0, "return two numbers"),
        (lambda n: [1e6 * one for one in _seconds()(n)], "right in other units"),
        (lambda n: _seconds()(n)[::-1], "in the other order"),
        (lambda n: None, "is there a return?"),
    ],
    "under_limit_device": [
        (_matches(once=False), "What travels again?"),
        (_matches(), "the host waits for results, and asks for nothing meanwhile"),
        (_matches(beside=True), "the host waits for results, and asks for nothing meanwhile"),
        (_matches(back="last"), "Could it go into another?"),
        (_matches(back="ahead"), "Could it go into another?"),
        (_all_at_once, "Which product could begin earlier?"),
        (_copied_first, "Which product could begin earlier?"),
        (_in_half, "Keep float32 here"),
        (_halved_there, "Keep float32 here"),
        (_matches(beside=True, back="last", kept=False), "Which stream uses x last?"),
        (_matches(pin=True, beside=True, back="last"), "How many times is each pinned page used?"),
        (_matches(beside=True, order=False, pin=True, back="last"), "Which stream has to wait for which?"),
        (_matches(beside=True, back="ahead", wait=False), "Which result did it not wait for?"),
        (_there_before, "Their copy counts, too"),
        (_matches(host=True), "do not run on the device"),
        (_matches(back="never"), "still on the device"),
        (_matches(part=slice(1, None)), "it returns 9 tensors, and 10 are asked for"),
        (_matches(part=slice(None, None, -1)), "the numbers differ"),
        (_matches(machine="H100"), "a T4 is asked for"),
        (_matches(beside=True, back="ahead", wait=False, race="stale"), "still on its way"),
        (lambda recordings, melodies: 1, "return a list of tensors"),
        (lambda recordings, melodies: None, "is there a return?"),
    ],
    "quiz_devices": [
        ("aca", "Who has waited for it?"),
        ("cca", "some microseconds"),
        ("baa", "Is it the host that needs the data?"),
        ("bba", "but is it there?"),
        ("bcb", "Which bytes travel for nothing?"),
        ("bcc", "necessary to copy the weights"),
        ("b", "give three letters"),
    ],
}
