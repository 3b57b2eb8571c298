"""QueueTimeline as a picture: what is drawn and said of each piece of work, against the timeline itself."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tests.views.twin import assert_twin
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.views import queue
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.queue import BUSY, TIMES, Knob, QueueState

CAPTIONS = [
    r"[\d.]+( [nµm]?s)?",
    r"A|B",
    r"wait|host|host waits|copy|kernel|no kernel runs|the same copy, in its stream",
]


@pytest.fixture(autouse=True)
def t4() -> Iterator[None]:
    tg.sim.use("T4")
    yield
    tg.sim.use("T4")


def seen(run: Callable[[], Any]) -> tg.sim.Timeline:
    run()
    with tg.sim.timeline() as found:
        run()
        tg.sim.synchronize()
    return found


def pageable() -> None:
    for _ in range(3):
        (tg.ones(300, 300).to("sim") @ tg.ones(300, 300, device="sim")).sum()


def reading() -> None:
    x = tg.ones(300, 300, device="sim")
    for _ in range(3):
        (x @ x).sum().item()


def side_by_side() -> None:
    side, x = tg.accelerator.Stream(), tg.ones(700, 700, device="sim")
    side.wait_stream(tg.accelerator.current_stream())
    with tg.accelerator.stream(side):
        y = x @ x
    tg.accelerator.current_stream().wait_stream(side)
    (y + 1).sum()


def busy() -> None:
    tg.sim.host_work(2, "decoding")
    x = tg.ones(50, 50, device="sim")
    x @ x


PROGRAMS = {"pageable": pageable, "reading": reading, "side by side": side_by_side, "busy": busy}


def state(*names: str, said: str | None = None) -> QueueState:
    letters = ("A", "B")[: len(names)]
    runs = tuple(queue.read(seen(PROGRAMS[n]), letter) for n, letter in zip(names, letters, strict=True))
    return QueueState(letters, machines=("T4",), said=said, begun=True, runs=runs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_piece_of_work_is_that_of_the_timeline(name: str) -> None:
    timeline = seen(PROGRAMS[name])
    run = queue.read(timeline)
    assert [(i.lane, i.name, i.kind, i.start, i.end) for i in run.items] == [tuple(work[:5]) for work in timeline]
    assert run.end == timeline.end and run.computing == pytest.approx(timeline.computing() / timeline.end)
    assert run.lanes[0] == "host" and set(run.lanes) == {work.lane for work in timeline} | {"host"}
    for item in run.items:
        assert item.asked <= item.start


@pytest.mark.parametrize("name", PROGRAMS)
def test_gaps_and_kernels_fill_the_time_and_parts_fill_the_gaps(name: str) -> None:
    run = queue.read(seen(PROGRAMS[name]))
    idle = sum(gap.duration for gap in run.gaps)
    assert idle + round(run.computing * run.end) == run.end
    kernels = [item for item in run.items if item.kind == "kernel"]
    for gap in run.gaps:
        assert not any(one.start < gap.end and one.end > gap.start for one in kernels)
        assert [part.start for part in gap.parts[1:]] == [part.end for part in gap.parts[:-1]]
        assert (gap.parts[0].start, gap.parts[-1].end) == (gap.start, gap.end)
        for part in gap.parts:
            assert part.kind != "none" and part.item is not None
            assert part.item.start <= part.start or part.kind == "again"
            if part.kind in ("data", "lane"):
                assert part.item.lane != "host" and part.item.end >= part.end
        assert sum(spent for _, spent in queue.shares(gap)) == gap.duration


CAUSES = {
    "pageable": "the host is busy with the copy to the device",
    "reading": "the host is busy with the copy to the host",
    "busy": "the host is busy with decoding",
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_longest_gap_has_its_cause(name: str) -> None:
    assert CAUSES[name] in queue.summary(queue.read(seen(PROGRAMS[name])))


def large() -> tg.Tensor:
    return tg.ones(256, 256, device="sim")


def told(run: Callable[[], Any]) -> tuple[str, str]:
    """The longest gap in words, and why."""
    found = queue.read(seen(run))
    assert found.longest is not None
    return queue.gap_text(found.longest), queue.why(QueueState(("A",), runs=(found,)))


def test_a_wait_is_the_cause_where_it_has_let_the_queue_run_empty() -> None:
    x = large()

    def loop(wait: bool) -> None:
        for _ in range(20):
            x @ x
            if wait:
                tg.accelerator.synchronize()

    gap, why = told(lambda: loop(True))
    assert gap == "idle 5.00 µs before matmul: the host launches again after a synchronisation"
    assert re.fullmatch(r"\*\*Whoever waits cannot launch\*\*: \S+ µs of \S+ µs without a kernel, until .*", why)
    assert told(lambda: loop(False))[1].startswith("A kernel runs **nearly all the time**")


def test_a_wait_is_the_cause_where_it_has_delayed_a_copy_that_could_have_run_beside_a_kernel() -> None:
    x, side, main = tg.ones(700, 700, device="sim"), tg.accelerator.Stream(), tg.accelerator.current_stream()
    fixed = [tg.ones(700, 700).pin_memory() for _ in range(2)]

    def loop(wait: bool) -> None:
        for one in fixed:
            with tg.accelerator.stream(side):
                y = one.to("sim", non_blocking=True)
            main.wait_stream(side)
            y.record_stream(main)
            y @ x
            if wait:
                tg.accelerator.synchronize()

    found = queue.read(seen(lambda: loop(True)))
    assert "it waits for the copy to the device, asked for after a synchronisation" in queue.gap_text(found.gaps[1])
    copy = max((one for one in found.items if one.kind == "copy"), key=lambda one: one.start)
    assert sum(part.duration for part in found.gaps[1].parts if part.kind == "late") >= copy.duration
    free = queue.read(seen(lambda: loop(False)))
    assert "it waits for the copy" in queue.gap_text(free.gaps[1]), "the copy began beside the kernel, and is longer"
    assert free.gaps[1].duration < found.gaps[1].duration


def test_launches_are_the_cause_where_nobody_waits() -> None:
    x = tg.ones(64, 64, device="sim")
    gap, why = told(lambda: [x * 1.0 for _ in range(50)])
    assert "the host launches mul" in gap and re.search(
        r"before the host has launched the next\*\*: \S+ µs of \S+ µs", why
    )


def test_streams_and_events_are_the_cause_where_the_host_is_busy_with_them() -> None:
    x, side = tg.ones(64, 64, device="sim"), tg.accelerator.Stream()

    def many() -> None:
        x * 1.0
        for _ in range(20):
            side.wait_stream(tg.accelerator.current_stream())
        x * 1.0

    gap, why = told(many)
    assert "the host is busy with streams and events: record an event" in gap
    assert why.startswith("The host is **busy with streams and events**")


def test_copies_are_told_as_what_they_take_whoever_makes_them() -> None:
    """Whether the host or an engine copies: that is when most time without a kernel passes, and more is not claimed."""
    w = tg.full((512, 512), 0.01, device="sim")
    for pinned in (False, True):
        xs = [tg.ones(512, 512).pin_memory() if pinned else tg.ones(512, 512) for _ in range(4)]
        _, why = told(lambda xs=xs: [x.to("sim", non_blocking=True) @ w for x in xs])  # type: ignore[misc]
        found = re.fullmatch(r"Most of .* passes \*\*while data is copied\*\*: \S+ \S+ of \S+ \S+\.", why)
        assert found is not None


def test_an_error_or_a_race_comes_before_any_cause() -> None:
    run = queue.read(seen(lambda: [large() @ large() for _ in range(3)]))
    races, error = (replace(run, **{name: value}) for name, value in (("races", ("…",)), ("error", "…")))
    assert "**race**" in queue.why(QueueState(("A",), runs=(races,)))
    assert "**ended with an error**" in queue.why(QueueState(("A", "B"), runs=(run, error)))


def beside() -> None:
    side, main, fixed = tg.accelerator.Stream(), tg.accelerator.current_stream(), tg.ones(300, 300).pin_memory()
    for _ in range(2):
        with tg.accelerator.stream(side):
            x = fixed.to("sim", non_blocking=True)
        main.wait_stream(side)
        x.record_stream(main)
        x @ x


def test_a_stream_that_only_copies_has_a_lane_and_arrows_show_who_waits() -> None:
    run = queue.read(seen(beside))
    assert run.lanes == ("host", "sim to device", "sim stream 0", next(i.stream for i in run.items if i.stream))
    side = run.lanes[-1]
    assert not run.by_lane[side] and len(run.copies_of[side]) == 2 and not run.copies_of["sim stream 0"]
    svg = queue.draw([run], WIDE, ["head"]).svg()
    waited = [item for item in run.items if item.kind == "kernel" and run.reasons.of(item).queue == side]
    assert len(waited) == 2 and svg.count('class="waitline"') == 2 * len(waited), "a line and its head for each"
    assert svg.count('class="work-asked"') == 2 + 1, "the copies, and the key"
    assert f"{queue.lane_text(side)}: 2 copies that engines make\n" in queue.runs_text([run])
    assert f"copy to device in {queue.lane_text(side)}, " in queue.runs_text([run])


def test_where_one_stream_has_all_its_copies_are_drawn_once() -> None:
    run = queue.read(seen(pageable))
    assert not any(run.copies_of.values()) and "work-asked" not in queue.draw([run], WIDE, ["head"]).svg()


def test_what_is_shown_while_another_setting_runs_is_told_by_its_own() -> None:
    """The knob stands elsewhere already, and the result is still that of the run before."""
    knob = Knob("n", (1, 2), 1)
    made = replace(state("busy"), knobs=(knob,), machine="T4")
    made = replace(made, ran=made.setting, asked=made.setting)
    turned = queue.turn(made, "n", 2)
    told = queue.text(turned)
    assert turned.outdated and not made.outdated and "n: 1" in told and "n: 2" not in told
    assert queue.words.UNDER_WAY in told and queue.frame(turned).stale == queue.words.UNDER_WAY
    assert queue.frame(made).ask == "Host and device over time, n 1"
    asked = replace(made, said=BUSY[0], ask="How busy?")
    assert queue.frame(asked).ask == "How busy?", "the question stands where it was asked"
    assert queue.frame(replace(asked, ran=turned.setting)).ask != "How busy?", "and nowhere else"


def test_time_after_the_last_kernel_is_idle_too() -> None:
    x = large()

    def run() -> None:
        (x @ x).cpu()
        tg.sim.host_work(5, "writing a file")

    gap, why = told(run)
    assert re.fullmatch(r"idle 5\.\d+ ms after the last kernel: the host is busy with writing a file", gap)
    assert re.fullmatch(
        r"The host is \*\*busy with something else\*\*, mostly writing a file, and launches nothing: 5\.00 ms of 5\..*",
        why,
    )


def test_without_a_kernel_nothing_is_said_of_a_queue() -> None:
    fixed = tg.ones(1000, 1000).pin_memory()
    for run, words in (
        (lambda: tg.sim.host_work(3), "idle 3.00 ms all the time: the host is busy with host work"),
        (lambda: fixed.to("sim", non_blocking=True), "all the time: the copy to the device is under way"),
    ):
        gap, why = told(run)
        assert words in gap and why.startswith("**No kernel runs** here")


def test_a_gap_is_split_by_its_causes() -> None:
    x, fixed = large(), tg.ones(256, 256).pin_memory()

    def run() -> None:
        for _ in range(2):
            tg.sim.host_work(0.01, "decode")
        tg.sim.host_work(0.012, "log")
        fixed.to("sim", non_blocking=True) @ x

    gap, _ = told(run)
    wanted = "it waits for the copy to the device (29.8 µs), the host is busy with decode (20.0 µs)"
    assert gap.startswith("idle 66.8 µs before matmul: ") and wanted in gap
    assert "the host is busy with log (12.0 µs)" in gap and gap.endswith(", the rest (5.00 µs)")


def test_each_device_has_its_own_gaps() -> None:
    tg.sim.use(devices=2)
    kept = [large(), tg.ones(1024, 1024, device="sim:1")]

    def run() -> None:
        x, y = kept
        for _ in range(3):
            y @ y
        x @ x

    run()
    run()  # and leaves work behind, which is not part of what follows
    with tg.sim.timeline() as timeline:
        run()
        tg.sim.finish()
    found = queue.read(timeline)
    assert found.devices == ("sim", "sim:1") and found.items[0].start == 0
    assert found.computing_on("sim:1") > 0.98 and found.computing_on("sim") < 0.05
    told = queue.summary(found)
    assert "sim busy 1 % · sim:1 busy 99 % · idle" in told
    assert "after the last kernel: matmul in sim:1 stream 0 is under way" in told
    assert [gap.device for gap in found.gaps] == ["sim", "sim", "sim:1"]
    kept.clear()
    tg.sim.use(devices=1)


def test_devices_one_after_the_other_wait_for_each_other_and_for_no_copy() -> None:
    tg.sim.use(devices=2)
    kept = [tg.ones(1024, 1024, device="sim"), tg.ones(1024, 1024, device="sim:1")]

    def run() -> None:
        (kept[1] @ (kept[0] @ kept[0]).to("sim:1")).sum().item()

    run()
    with tg.sim.timeline() as timeline:
        run()
        tg.sim.finish()
    found = queue.read(timeline)
    assert "after the last kernel: the host waits for sim:1 stream 0" in queue.summary(found)
    cause, spent, idle = queue.words.cause_of(found)
    assert cause == "lane" and spent > 0.7 * idle
    drawn = queue.draw([found], 720).svg()
    assert "sim:1 stream 0<" in drawn and "…" not in drawn
    kept.clear()
    tg.sim.use(devices=1)


def test_a_share_never_looks_like_a_limit_that_it_misses() -> None:
    told = {0.4988: "49.9 %", 0.5: "50 %", 0.49999: "just below 50 %", 0.50001: "just above 50 %", 0.69: "69 %"}
    assert {share: queue.words.percent(share) for share in told} == told


def test_a_kernel_may_wait_for_another_lane() -> None:
    side, x = tg.accelerator.Stream(), tg.ones(600, 600).pin_memory()

    def run() -> None:
        with tg.accelerator.stream(side):
            y = x.to("sim", non_blocking=True)
        tg.accelerator.current_stream().wait_stream(side)
        y + 1

    found = queue.read(seen(run))
    assert any("it waits for the copy to the device" in queue.gap_text(gap) for gap in found.gaps)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_work_stands_where_it_happens(width: int) -> None:
    made = state("pageable", "reading")
    figure = queue.draw(made.runs, width, ["head"])
    root = ET.fromstring(figure.svg())
    groups = [g for g in root.iter("g") if g.get("data-act") == "pick"]
    end = max(run.end for run in made.runs)
    xs = {}
    for group in groups:
        which, place = map(int, str(group.get("data-value")).split(":"))
        item = made.runs[which].items[place]
        shape = next(iter(group))
        x = float(shape.get("x") or re.findall(r"M([\d.]+)", shape.get("d") or "M0")[0])
        xs[item.start, which] = x
        assert item.name in str(group.get("aria-label")) or item.kind == "wait"
    assert len(groups) > 20
    ordered = sorted(xs.items())
    assert all(0 < x < width for _, x in ordered)
    (first, x1), (last, x2) = min(xs.items()), max(xs.items())
    for (start, _), x in xs.items():
        wanted = x1 + (x2 - x1) * (start - first[0]) / (last[0] - first[0])
        assert x == pytest.approx(wanted, abs=0.2)
    assert end >= last[0]


@pytest.mark.parametrize("names", [("pageable",), ("reading", "pageable"), ("side by side", "busy")])
def test_the_twin_says_what_is_drawn(names: tuple[str, ...]) -> None:
    made = queue.longest_gap(state(*names, said=(BUSY if len(names) == 1 else TIMES)[0]))
    assert_twin(queue.frame(made), CAPTIONS)
    assert queue.picked_text(made) in queue.text(made) and "idle" in queue.picked_text(made)


def test_many_pieces_are_drawn_together_and_the_words_say_how_many() -> None:
    def many() -> None:
        x = tg.ones(10, device="sim")
        for _ in range(2000):
            x = x + 1

    made = QueueState(("A",), begun=True, runs=(queue.read(seen(many)),))
    frame = queue.frame(made)
    assert len(frame.wide.svg()) < 400_000
    assert re.search(r"\d+ pieces of work, [\w .]+ % of the time from first to last, such as", frame.wide.svg())
    assert "and 1953 more" in frame.text
    halves = [float(h) for h in re.findall(r'class="work-kernel"[^>]*height="([\d.]+)"', frame.wide.svg())]
    assert len(halves) > 20 and halves[0] == pytest.approx(queue.figure.TALL / 2, abs=0.5), (
        "half full: busy half the time"
    )
    assert made.runs[0].gaps is made.runs[0].gaps, "found once, since it takes a while"


@given(st.floats(0.0, 1.0), st.floats(0.01, 3.0))
def test_answers(share: float, ratio: float) -> None:
    whole = 1_000_000
    items = (queue.Item("host", "launch", "x", 0, whole, 0), queue.Item("sim stream 0", "kernel", "x", 0, 0, 0))
    one = queue.Run("A", "T4", (*items, queue.Item("sim stream 0", "kernel", "y", 0, round(share * whole), 0)))
    right = queue.answer(QueueState(("A",), runs=(one,)))
    low = BUSY.index(right) / 4
    assert low <= one.computing <= low + 0.25
    other = queue.Run("B", "T4", (queue.Item("host", "work", "x", 0, round(ratio * whole), 0),))
    right = queue.answer(QueueState(("A", "B"), runs=(one, other)))
    bounds = {TIMES[0]: (0, 0.5), TIMES[1]: (0.5, 0.9), TIMES[2]: (0.9, 1.1), TIMES[3]: (1.1, 9)}[right]
    assert bounds[0] <= other.end / one.end <= bounds[1]


def test_acts_of_the_model_refuse_what_is_not_there() -> None:
    made = state("busy")
    with pytest.raises(IndexRangeError, match="it is not offered"):
        queue.draft(QueueState(("A",)), "perhaps")
    for wrong in ("0:99", "1:0", "x", "", ":", None, -1):
        with pytest.raises(IndexRangeError, match="there is no such piece"):
            queue.pick(made, wrong)
        with pytest.raises(IndexRangeError, match="there is no such gap"):
            queue.pick_gap(made, wrong)
    for nowhere in (-1, 99, True, "1", None):
        with pytest.raises(IndexRangeError, match="there is no such kernel"):
            queue.stop(made, nowhere)
    turned = QueueState(("A",), knobs=(Knob("n", (1, 2), 1),))
    assert queue.turn(turned, "n", "2").knobs[0].value == 2
    with pytest.raises(IndexRangeError, match="the knob has no such value"):
        queue.turn(turned, "n", 3)
    with pytest.raises(IndexRangeError, match="there is no such knob"):
        queue.turn(turned, "m", 1)
    with pytest.raises(IndexRangeError, match="it cannot be chosen here"):
        queue.machine(made, "abacus")


def test_a_timeline_without_work_is_refused() -> None:
    with tg.sim.timeline() as nothing:
        pass
    why, mend = "nothing happened on the device in it", 'compute there: x.to("sim"), or device="sim"'
    with teaches(ArgumentError, "a timeline without work", why, mend):
        queue.read(nothing)
