"""Lesson 5: each fact that its prose states, the reasons of its gates, and what its programs do on the device."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

import tinygrad_edu as tg
from tests.notebooks.cells import Run, check_reason_keys, check_reasons, check_size, run_cells, sources
from tinygrad_edu import sim
from tinygrad_edu.lessons.device_programs import (
    BUS,
    COPY,
    DEVICE,
    HOST,
    LAUNCH,
    LIMIT,
    MELODIES,
    batches,
    layers,
    melodies,
    milliseconds,
    product_on_device,
    recordings,
    timed,
)
from tinygrad_edu.lessons.devices_reasons import DEVICES

LESSON = "05_devices_and_queues"
ANSWERS = {
    "mostly wait for": "copies to the device",
    "What does it measure": "only the launches",
    "which values": "whatever is there at that moment",
    "thousand copies": "about 40 times as long",
    "compared with `x.to": "slower",
    "From what n": "about 200",
}


@pytest.fixture(scope="module")
def lesson() -> Iterator[Run]:
    yield run_cells(LESSON)
    sim.finish()


def test_the_lesson_keeps_to_its_size(lesson: Run) -> None:
    check_size(LESSON, lesson.gates)


def test_every_choice_has_its_reason_and_one_has_the_cause(lesson: Run) -> None:
    for gate in lesson.gates:
        check_reasons(gate, ANSWERS)


def test_the_program_that_crawls(lesson: Run) -> None:
    right, seen = timed(lesson.names["as_given"], batches(12), layers())
    assert 13 < milliseconds(seen) < 13.5 and right > 0
    flops = sum(work.flops for work in seen if work.name == "matmul")
    assert flops / sim.machine()["float32"] == pytest.approx(1.2e-3, rel=0.02), "the arithmetic alone"
    per_batch = [work for work in seen if work.kind == "launch"]
    assert len(per_batch) / 12 == pytest.approx(12, abs=2), "about a dozen launches for each batch"
    copies = sum(work.duration for work in seen if work.lane == "sim to device")
    launches = sum(work.duration for work in per_batch)
    assert copies > 10 * launches
    assert sum(w.nbytes for w in layers()) == pytest.approx(3.17e6, rel=0.01)


def test_the_worked_example_and_task_one_are_the_simulator_s_rule() -> None:
    """Kernels run in order, each after its launch."""
    done, ends = 0, []
    for launched in (5, 10, 15):
        done = max(done, launched) + 12
        ends.append(done)
    assert ends == [17, 29, 41]
    x = tg.ones(700, 700, device="sim")
    x * 2.0
    with sim.timeline() as seen:
        for _ in range(3):
            x * 2.0
    kernels = [work for work in seen if work.kind == "kernel"]
    assert [k.start for k in kernels] == [5000, kernels[0].end, kernels[1].end]
    assert sim.machine()["launch"] == 5000 == 1e9 * LAUNCH


def test_the_clock_sees_launches_only(lesson: Run) -> None:
    products, waited = lesson.names["products"], lesson.names["products_2"]
    assert products() == pytest.approx(0.01, abs=0.001), "two launches"
    assert waited() == pytest.approx(2 * 2 * 1024**3 / 8.1e12 * 1e3, rel=0.15)


def test_where_a_further_wait_costs_most_and_where_hardly_anything(lesson: Run) -> None:
    """After the last product of a batch the next copy has not been asked for. In the last batch no copy is left."""
    loop = lesson.names["loop"]
    _, plain = timed(loop, True, True, 3)

    def waiting(after: int) -> int:
        sim.restart()
        with sim.timeline() as seen, sim.stopped_after(after):
            loop(True, True, 3)
            sim.finish()
        return seen.end - plain.end

    took = [waiting(after) for after in range(1, 13)]
    shown = [round(lesson.names["with_a_wait"](after, loop, True, True, 3), 3) for after in (1, 3, 11, None)]
    assert shown == [round((plain.end + (took[i - 1] if i else 0)) / 1e6, 3) for i in (1, 3, 11, 0)]
    assert {took[2], took[5], took[8]} == {max(took)} and max(took) > 0.15 * plain.end
    assert max(took[9:]) <= 5000 < 0.2 * min(took[:9]), "one launch at most, in the last batch"
    (copy,) = {work.duration for work in plain if work.lane == "sim to device"}
    assert max(took) == pytest.approx(copy, rel=0.1), "a copy, beside which nothing runs"


def test_the_longest_gap_is_a_copy_by_the_host(lesson: Run) -> None:
    two = batches(2)
    _, seen = timed(lesson.names["as_given"], two, layers())
    kernels = sorted((work.start, work.end) for work in seen if work.kind == "kernel")
    longest, start, end = max((b - a, a, b) for (_, a), (b, _) in pairwise(kernels))
    busy = sum(
        min(work.end, end) - max(work.start, start)
        for work in seen
        if work.lane == "host" and work.name == "copy to device" and work.start < end and work.end > start
    )
    assert busy > 0.9 * longest


def test_the_race_is_an_error_unless_it_is_told_not_to_be(lesson: Run) -> None:
    for program in ("copied_beside", "scored"):
        given = [tg.ones(512, 512, device="sim")], [w.to("sim") for w in layers()]
        with pytest.raises(tg.errors.RaceError):
            lesson.names[program](*(given if program == "scored" else [tg.ones(512, 512).pin_memory()]))
        sim.finish()


def test_the_worked_example_of_two_streams(lesson: Run) -> None:
    """The host is done at 16 µs, the copy at 102, and then the product begins; it begins too early without the wait."""
    _, seen = timed(lesson.names["in_order"], tg.ones(512, 512).pin_memory())
    asked = max(work.end for work in seen if work.lane == "host" and work.kind != "wait")
    (copy,) = (work for work in seen if work.lane == "sim to device")
    (product,) = (work for work in seen if work.kind == "kernel")
    assert asked == 16_000 and copy.end == pytest.approx(102e3, abs=500) and product.start == copy.end


def test_copies_and_pinning(lesson: Run) -> None:
    assert (sim.machine()["copy_launch"], sim.machine()["pageable"]) == (1e9 * COPY, BUS)
    x = tg.ones(512, 512)
    _, plain = timed(lambda: x.to("sim"))
    fixed = x.pin_memory()
    _, pinned = timed(lambda: fixed.to("sim", non_blocking=True))
    assert plain.end > 2 * pinned.end, "more than twice the rate"
    assert plain.end == pytest.approx(0.218e6, rel=0.01)


def test_the_knobs_of_part_three(lesson: Run) -> None:
    loop, found = lesson.names["loop"], {}
    for n in (3, 12):
        for pinned in (False, True):
            for ahead in (False, True):
                _, seen = timed(loop, pinned, ahead, n)
                found[n, pinned, ahead] = seen
    times = {key: seen.end for key, seen in found.items()}
    assert times[3, False, False] > times[3, False, True] > times[3, True, False] > times[3, True, True]
    assert times[3, False, False] == pytest.approx(1.41e6, rel=0.005), "the figure above the guess"
    assert times[3, False, False] > 2 * times[3, True, True] and times[12, False, False] < 1.5 * times[12, True, True]
    assert {key for key, seen in found.items() if seen.overlap() > 100_000} == {
        (n, pinned, True) for n in (3, 12) for pinned in (False, True)
    }
    told = {key: round(end / 1e6, 2) for key, end in times.items()}
    assert [told[n, p, not p] for n in (12, 3) for p in (False, True)] == [2.22, 2.38, 1.07, 0.89], "the reason"
    both = found[3, True, True]
    assert both.computing() > 0.8 * both.end, "the products set the time, and the copies run beside them"
    assert not [work for work in both if work.kind == "reserve"]


def test_where_a_device_is_worth_it(lesson: Run) -> None:
    def host(n: int) -> float:
        return 2 * n**3 / HOST

    def device(n: int, operations: float) -> float:
        return 3 * (COPY + 4 * n * n / BUS) + LAUNCH + operations / DEVICE

    first = next(n for n in range(2, 3000) if device(n, 2 * n**3) < host(n))
    assert 150 < first < 250
    assert host(20) < COPY and host(2000) == pytest.approx(0.16) and pytest.approx(9.6e-3) == 3 * 4 * 2000**2 / BUS
    assert all(device(n, n * n) > n * n / HOST for n in (10, 1000, 100_000)), "an addition, never"
    for n in (128, 512, 1024):
        _, seen = timed(lesson.names["both"], tg.ones(n, n))
        longer = seen.end / 1e9 / product_on_device(n)
        assert product_on_device(n) == pytest.approx(device(n, 2 * n**3)) and 1 < longer < 1.07, "up to 7 % longer"
    assert host(1024) / device(1024, 2 * 1024**3) == pytest.approx(7.6, rel=0.03)
    assert pytest.approx(2.4e-9) == 12 / BUS and pytest.approx(0.3e-9) == 12 / 40e9
    slow = next(n for n in range(2, 3000) if device(n, 2 * n**3) < 10 * host(n))
    assert 50 < slow < 70, "for the instructor: with a tenth of the host's rate"


def test_the_last_program_has_room(lesson: Run) -> None:
    given, index = recordings(), melodies()
    found, seen = timed(lesson.names["matches"], given, index)
    assert milliseconds(seen) > 2.4 * LIMIT and len(given) == 10 and len(index) == MELODIES == 2000
    best = [(x @ index.T).argmax(1).tolist() for x in given]
    assert [one.tolist() for one in found] == best


def test_what_pinning_costs(lesson: Run) -> None:
    """The prose: 1.3 µs a page. The reasons: 256 pages, 0.44 ms with the copy there, and 0.12 ms saved."""
    assert sim.machine()["pin"] == 1300, "nanoseconds for a page of 4 kB"
    x = tg.ones(512, 512)
    assert x.nbytes / 4096 == 256
    assert (sim.machine()["pinned"], sim.machine()["host_copy"]) == (12e9, 10e9), "bytes a second"
    _, plain = timed(lambda: x.to("sim"))
    _, pinned = timed(lambda: x.pin_memory().to("sim", non_blocking=True))
    work = {one.name: one.duration for one in pinned if one.lane == "host"}
    copy = next(one.duration for one in pinned if one.lane == "sim to device")
    assert work["pin memory"] + work["copy to pinned memory"] == pytest.approx(0.44e6, rel=0.01)
    assert plain.end - copy == pytest.approx(0.12e6, rel=0.03)


def test_a_loop_that_pins_may_gain_where_pages_are_used_again(lesson: Run) -> None:
    given, by = [x for x, _ in batches(12)], [w.to("sim") for w in layers()]

    def loop(pin: bool) -> None:
        for x in given:
            x = x.pin_memory().to("sim", non_blocking=True) if pin else x.to("sim")
            for w in by:
                x = (x @ w).tanh()

    (_, pinned), (_, plain) = timed(loop, True), timed(loop, False)
    assert pinned.end < 0.9 * plain.end
    copied = [timed(lambda pin=pin: _ten_copies(pin))[1].end / 1e6 for pin in (True, False)]
    assert [round(one, 2) for one in copied] == [1.86, 2.18], "the reason"
    assert 0 < sum(work.name == "pin memory" for work in pinned) < len(given), "few are pinned anew"


def _ten_copies(pin: bool) -> None:
    for _ in range(10):
        x = tg.ones(512, 512)
        x = x.pin_memory().to("sim", non_blocking=True) if pin else x.to("sim")


def test_with_weights_moved_once_the_program_no_longer_crawls(lesson: Run) -> None:
    _, seen = timed(lambda: lesson.names["as_given"](batches(12), [w.to("sim") for w in layers()]))
    assert milliseconds(seen) == pytest.approx(5.6, abs=0.05)


def test_nothing_above_a_gate_tells_its_result() -> None:
    text = "\n".join(sources(LESSON, "markdown")).split("## The same elsewhere")[0]
    for told in ("only the launches", "40 times", "is slower", "about 200"):
        assert told not in text


def test_no_key_of_a_reason_is_used_twice() -> None:
    check_reason_keys(LESSON, DEVICES)
