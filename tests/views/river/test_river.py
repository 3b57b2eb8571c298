"""MemoryRiver's room: each number is the watch's, the picture shows the numbers, and the words say the picture."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.observe.test_memory import Idle, close, traced
from tests.support import teaches
from tests.views.twin import assert_twin
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.observe.memory import BANDS, NOISE, OWNERS, Memory, mark
from tinygrad_edu.views import river
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.river import STACK, River, RiverState, bands, figure, model, words

N = 250_000  # elements of 1 MB


def chain() -> None:
    """Forward keeps 3 MB beside the 1 MB of x; backward gives them back one after the other."""
    x = tg.ones(N, requires_grad=True)
    loss = (x.exp() * x.tanh()).sum()
    mark("before backward", kept=True)
    loss.backward()


def train() -> None:
    layer = nn.Sequential(nn.Linear(100, 200), nn.Tanh(), nn.Linear(200, 10))
    adam = optim.Adam(layer.parameters())
    for _ in range(2):
        adam.zero_grad()
        layer(tg.ones(64, 100)).square().mean().backward()
        adam.step()


def forward_only() -> None:
    with tg.no_grad():
        (tg.ones(N).exp() * 2).sum()


def views() -> None:
    x = tg.ones(N).reshape(500, 500)
    (x.T @ x).sum()


RUNS: dict[str, Callable[[], None]] = {"chain": chain, "train": train, "forward only": forward_only, "views": views}


def watch(run: Callable[[], None]) -> Memory:
    """The second run: the first makes what is made once."""
    with Memory():
        run()
    with Memory() as seen:
        run()
    return seen


@cache
def seen(name: str) -> Memory:
    return watch(RUNS[name])


def made(name: str) -> River:
    return river.read(seen(name), name, kept=seen(name).kept(of=RUNS[name]))


def shown(*names: str, said: str | None = "activation") -> RiverState:
    return river.commit(RiverState(names, draft=said, said=said), [made(name) for name in names])


STATES = {
    "one": lambda: shown("chain"), "two": lambda: shown("chain", "forward only"), "train": lambda: shown("train"),
    "views": lambda: shown("views", said="parameter"), "unasked": lambda: shown("train", "views", said=None),
    "a mark": lambda: replace(shown("chain"), event=next(i for i, e in enumerate(made("chain").events)
                                                         if e.phase == "mark")),
    "the other": lambda: river.pick(shown("chain", "forward only"), "B", 1),
}  # fmt: skip
ALIVE = "alive, by the line that made it"
each_run = pytest.mark.parametrize("name", RUNS)
each_state = pytest.mark.parametrize("name", STATES)


# The numbers are the watch's ----------------------------------------------------------------------------------------


@each_run
def test_each_event_has_the_bytes_that_the_watch_counted(name: str) -> None:
    memory, found = seen(name), made(name)
    operations = [moment for moment in memory.moments if moment.phase != "between"]
    assert len([event for event in found.events if event.phase != "between"]) == len(operations) > 2
    moments = {moment.pages: moment for moment in memory.moments}
    for event in found.events:
        moment = moments[event.pages]
        assert (event.phase, event.what, event.where, event.module) == (
            moment.phase, moment.what, moment.where, moment.module,
        )  # fmt: skip
        for ours, theirs in ((event.most, moment.most), (event.after, moment.after)):
            wanted = memory.by_owner(theirs)
            for owner, count in zip(STACK, ours, strict=True):
                if owner in OWNERS:
                    assert count == wanted[owner]
                else:
                    assert count % NOISE == 0 and abs(count - wanted[owner]) <= NOISE / 2


def test_a_small_event_between_operations_has_no_column() -> None:
    with Memory() as seen:
        x = tg.ones(1000)
        (np.ones(N), x + 1)
        (np.ones(20_000), x + 1)
    found = river.read(seen, "run")
    phases = [event.phase for event in found.events]
    assert phases.count("between") == 1 and phases.count("forward") == 2
    assert river.total(found.events[found.peak].most) >= 8 * N - NOISE


def test_every_owner_has_its_band_its_label_and_its_reason() -> None:
    assert sorted(STACK) == sorted(BANDS)
    assert tuple(words.LABELS) == STACK and set(words.MEANINGS) == set(words.WHY) == set(STACK)
    assert set(bands.FILLED) | set(bands.SLANT) | {"elsewhere"} == set(STACK)


def test_each_phase_of_a_training_step_is_named_and_of_many_steps_how_often() -> None:
    def step(times: int) -> River:
        layer, x = nn.Linear(200, 200), tg.ones(200, 200)
        optimiser = optim.SGD(layer.parameters(), lr=0.1, foreach=False)

        def run() -> None:
            for _ in range(times):
                optimiser.zero_grad()
                layer(x).square().mean().backward()
                optimiser.step()

        return model.read(watch(run), "A")

    one = figure.draw(model.commit(RiverState(("A",)), [step(1)]), WIDE)
    assert {"forward", "backward", "step"} <= set(one.canvas.text_items)
    many = figure.draw(model.commit(RiverState(("A",)), [step(30)]), WIDE)
    assert "30 × forward, 30 × backward, 30 × step" in many.canvas.text_items


@each_run
def test_the_peak_is_the_watchs(name: str) -> None:
    found = made(name)
    assert abs(river.total(found.events[found.peak].most) - seen(name).peak) <= NOISE


@each_run
def test_what_is_alive_adds_up_to_the_bytes_of_its_owners(name: str) -> None:
    found = made(name)
    for event in found.events:
        sums = dict.fromkeys(OWNERS, 0)
        for group in river.by_line(found, event):
            sums[group.owner] += group.nbytes
        most = dict(zip(STACK, event.most, strict=True))
        assert sums == {owner: most[owner] for owner in OWNERS}


@pytest.mark.parametrize("name", ["chain", "forward only", "views"])  # these make all that they use
def test_the_peak_is_what_the_allocator_says_without_the_watch(name: str) -> None:
    found = made(name)
    with Idle():
        wanted, _ = traced(RUNS[name])
    assert close(river.total(found.events[found.peak].most), wanted)


def test_what_is_alive_at_the_peak_of_a_known_program() -> None:
    found = made("chain")
    event = found.events[found.peak]
    lines = {(group.owner, words.place_of(group.where)[1]): group.nbytes for group in river.by_line(found, event)}
    assert lines["activation", "loss = (x.exp() * x.tanh()).sum()"] >= 2_000_000
    assert lines["parameter", "x = tg.ones(N, requires_grad=True)"] == 4 * N


def test_names_are_known_at_a_mark_that_noted_them_and_at_the_end() -> None:
    found = made("chain")
    at_mark, end = found.names
    assert (at_mark.when, end.when) == ("at mark before backward", "at the end of the run")
    assert found.events[at_mark.event].what == "before backward"
    names = {name: alone for name, _, alone in at_mark.kept}
    assert set(names) >= {"x", "loss"} and names["loss"] == 2 * 4 * N
    assert end.kept == ()  # the function has returned
    assert river.among(found, 0) == at_mark and river.among(found, len(found.events) - 1) == end


def test_a_watch_that_saw_nothing_or_goes_on_is_refused() -> None:
    why = "nothing was seen in this run: no operation, no backward and no large array"
    with teaches(ArgumentError, "MemoryRiver of run", why, "let it compute with tensors"):
        river.read(Memory(), "run")
    why, mend = "its block is under way, so the run is not complete", "draw it after the with block"
    with Memory() as going, teaches(ArgumentError, "MemoryRiver of run", why, mend):
        river.read(going, "run")


# What is shown ------------------------------------------------------------------------------------------------------


def fake(totals: list[int], phase: str = "forward") -> River:
    """A river of activations only."""
    place = STACK.index("activation")
    counts = [tuple(n * (i == place) for i in range(len(STACK))) for n in totals]
    events = tuple(model.Event(phase, f"op {i}", "", "", c, c, (i, i)) for i, c in enumerate(counts))
    return River("A", events, (), (model.Names("at the end", len(events) - 1, ()),))


def test_the_peak_is_the_first_of_the_fullest() -> None:
    assert fake([1, 5, 5, 2]).peak == 1
    assert river.largest(fake([3]).events[0]) == ("activation",)
    assert river.largest(replace(fake([3]).events[0], most=(3, 0, 0, 0, 3, 0, 0, 0))) == ("parameter", "activation")


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=700))
def test_columns_share_events_without_gap_and_draw_the_fullest(totals: list[int]) -> None:
    found = fake(totals)
    each = model.share([found])
    columns = model.columns(found, each)
    assert len(columns) <= model.COLUMNS
    assert [i for c in columns for i in range(c.first, c.last)] == list(range(len(totals)))
    for column in columns:
        inside = totals[column.first : column.last]
        assert totals[column.fullest] == max(inside)
    assert max(totals[c.fullest] for c in columns) == max(totals)


@given(st.integers(0, 10**13))
def test_the_axis_ends_on_a_tick_above_the_peak(most: int) -> None:
    top, step = model.ceiling([fake([most])])
    assert top % step == 0 and top >= most and top - step < max(most, 1)
    assert 2 <= top // step <= 5 or top <= 2
    assert str(step).rstrip("0") in ("1", "2", "5")


def test_a_run_that_there_is_not_and_an_event_beyond_the_ends() -> None:
    state = shown("chain")
    with teaches(IndexRangeError, "run 'B'", "the runs are A", "take one of these"):
        river.pick(state, "B", 0)
    assert river.pick(state, "A", 10**9).event == len(state.river.events) - 1
    assert river.pick(state, "A", -5).event == 0


# The picture --------------------------------------------------------------------------------------------------------


@each_state
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_each_column_is_as_high_as_its_bytes(name: str, width: int) -> None:
    state = STATES[name]()
    each = model.share(state.rivers)
    for which, found in enumerate(state.rivers):
        columns = model.columns(found, each)
        plot = figure._Plot(figure.Canvas(width), state, which, 0, 5.0, columns, model.ceiling(state.rivers)[0])
        steps = plot.steps()
        unit = (plot.bottom - plot.top) / model.ceiling(state.rivers)[0]
        for i, column in enumerate(columns):
            event = found.events[column.fullest]
            for place, owner in enumerate(STACK):
                height = steps[owner][i][3] - steps[owner][i][2] if owner in steps else 0.0
                assert height == pytest.approx(max(event.most[place], 0) * unit, abs=1e-6)


def test_two_runs_have_one_scale() -> None:
    state = shown("chain", "forward only")
    svg = river.draw(state, WIDE).svg()
    peaks = [float(y) for y in re.findall(r'<circle class="knob" cx="[\d.]+" cy="([\d.]+)"', svg)]
    floors = [float(y) for y in re.findall(r'<line class="axis" x1="[\d.]+" y1="([\d.]+)"', svg)]
    heights = [low - high for low, high in zip(floors, peaks, strict=True)]
    bytes_ = [river.total(one.events[one.peak].most) for one in state.rivers]
    assert heights[0] / heights[1] == pytest.approx(bytes_[0] / bytes_[1], rel=1e-3)
    hits = re.findall(r'data-value="([AB]):\d+"[^>]*><rect class="hit" x="[\d.]+" y="[\d.]+" width="([\d.]+)"', svg)
    assert {letter for letter, _ in hits} == {"A", "B"} and len({width for _, width in hits}) == 1


@each_state
def test_the_column_that_is_shown_is_framed(name: str) -> None:
    state = STATES[name]()
    root = ET.fromstring(river.draw(state, WIDE).svg())
    (framed,) = [mark for mark in root.iter("rect") if mark.get("class") == "axis"]
    marks = [g for g in root.iter("g") if g.get("data-act") == "at"]
    hit = marks[sum(len(one.events) for one in state.rivers[: state.which]) + state.event][0]
    assert hit.get("width") == framed.get("width")
    assert float(hit.get("x") or 0) == pytest.approx(float(framed.get("x") or 0), abs=0.02)
    bottoms = [float(one.get("y") or 0) + float(one.get("height") or 0) for one in (hit, framed)]
    assert bottoms[0] == pytest.approx(bottoms[1], abs=0.02)


@each_state
def test_every_event_can_be_pressed_and_its_tip_is_in_the_twin(name: str) -> None:
    state = STATES[name]()
    root = ET.fromstring(river.draw(state, WIDE).svg())
    marks = [g for g in root.iter("g") if g.get("data-act") == "at"]
    assert len(marks) == sum(len(found.events) for found in state.rivers)
    twin = river.text(state)
    assert all(str(mark.get("aria-label")) in twin for mark in marks)


@each_state
def test_the_twin_says_all_that_is_drawn(name: str) -> None:
    state = STATES[name]()
    ticks = "|".join(re.escape(label) for _, label in words.ticks(state))
    assert_twin(river.frame(state), [ticks, "together", "when fullest", "after it", ALIVE])


def test_before_the_prediction_all_owners_are_explained_and_nothing_is_told() -> None:
    frame = river.frame(RiverState(("recorded", "no_grad")))
    assert_twin(frame)
    assert "A is recorded, B is no_grad. The peak is the event in which memory is fullest." in frame.text
    frame = river.frame(RiverState(("A",)))
    assert_twin(frame)
    assert " is A" not in frame.text
    assert frame.waiting and frame.why == ""
    for owner in STACK:
        assert words.MEANINGS[owner] in frame.text
    assert not re.search(r"\d", frame.wide.svg().partition("<desc")[2].replace("e", "")) or "MB" not in frame.text
    assert "MB" not in frame.html() and "kB" not in frame.html()


SHAPES = st.lists(st.tuples(st.floats(1, 9), st.floats(0, 50), st.floats(0, 50)), min_size=1, max_size=6)


@given(SHAPES, st.sampled_from([1, -1]))
def test_a_hatch_stays_inside_its_band(shapes: list[tuple[float, float, float]], slant: int) -> None:
    part, x = [], 3.0
    for width, one, other in shapes:
        part.append((x, x + width, min(one, other), max(one, other)))
        x += width
    for d in bands._hatch(part, slant):
        x1, y1, x2, y2 = map(float, re.findall(r"-?[\d.]+", d))
        inside = [s for s in part if s[0] - 0.06 <= x1 and x2 <= s[1] + 0.06]
        assert any(s[2] - 0.06 <= min(y1, y2) and max(y1, y2) <= s[3] + 0.06 for s in inside)
        assert (y2 - y1) * slant <= 0.2  # down from left to right, or up


def test_a_hatch_fills_its_band() -> None:
    lines = list(bands._hatch([(0, 60, 0, 30)], 1))
    assert len(lines) == 14  # one every 6 along x + y, from above 0 to below 90


@given(SHAPES, st.floats(1, 30), st.floats(1, 30))
def test_a_label_has_room_in_its_band(shapes: list[tuple[float, float, float]], width: float, height: float) -> None:
    steps, x = [], 0.0
    for w, one, other in shapes:
        steps.append((x, x + w * 4, min(one, other), max(one, other)))
        x += w * 4
    place = bands.label_place(steps, width, height)
    if place is None:
        return
    left, right = place[0] - width / 2 + 1e-6, place[0] + width / 2 - 1e-6
    assert left >= 0 and right <= x
    for a, b, top, bottom in steps:
        if a < right and b > left:
            assert top <= place[1] - height / 2 + 1e-6 and place[1] + height / 2 <= bottom + 1e-6


def test_a_label_that_fits_is_found() -> None:
    assert bands.label_place([(0, 50, 0, 20)], 40, 18) == (25, 10)
    assert bands.label_place([(0, 50, 0, 20)], 60, 18) is None
    assert bands.label_place([(0, 50, 0, 20)], 40, 21) is None


@example([299], NARROW)
@given(st.lists(st.integers(0, 299), max_size=60), st.sampled_from([WIDE, NARROW]))
def test_names_of_marks_stand_side_by_side_and_each_mark_has_a_stroke(places: list[int], width: int) -> None:
    found = fake([1000] * 300)
    events = list(found.events)
    for place in places:
        events[place] = replace(events[place], phase="mark", what=f"mark number {place}")
    state = river.commit(RiverState(("A",)), [replace(found, events=tuple(events))])
    root = ET.fromstring(river.draw(state, width).svg())
    spans: dict[str, list[tuple[float, float]]] = {}
    for text in root.iter("text"):
        if (text.text or "").startswith("mark number"):
            x, half = float(text.get("x") or 0), len(text.text or "") * 6.9 / 2
            assert x + half <= width
            spans.setdefault(str(text.get("y")), []).append((x - half, x + half))
    for row in spans.values():
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(sorted(row)))
    strokes = [line for line in root.iter("line") if line.get("class") == "span"]
    assert len(strokes) == len({place // model.share(state.rivers) for place in places})
    assert bool(spans) == bool(places)


# The words ----------------------------------------------------------------------------------------------------------


def test_the_verdict_names_the_largest_owner_and_the_prediction() -> None:
    state = shown("chain", said="optimiser")
    event = state.river.events[state.river.peak]
    (top,) = river.largest(event)
    told = words.verdict(state)
    assert told.startswith(f"You predicted the optimiser. At the peak of chain, {words.LABELS[top]} hold")
    assert words.size(max(event.most)) in told and words.size(river.total(event.most)) in told
    assert words.verdict(shown("chain", said=top)).startswith("As you predicted: at the peak")
    assert words.verdict(shown("chain", said=None)).startswith("At the peak")


def test_two_peaks_are_compared() -> None:
    state = river.commit(RiverState(("A", "B")), [fake([10**6, 4 * 10**6]), fake([10**6])])
    assert words.verdict(state).endswith("A peaks at 4.00 MB, B at 1.00 MB: A needs 4.0× what B needs.")
    state = river.commit(RiverState(("A", "B")), [fake([10**6]), fake([3 * 10**6])])
    assert words.verdict(state).endswith("B needs 3.0× what A needs.")
    state = river.commit(RiverState(("A", "B")), [fake([10**6]), fake([10**6 + NOISE])])
    assert words.verdict(state).endswith("A peaks at 1.00 MB, B at 1.06 MB.")


def test_equal_owners_are_both_named() -> None:
    one = fake([3 * 10**6])
    event = replace(one.events[0], most=(3 * 10**6, 3 * 10**6, 0, 0, 0, 0, 0, 0))
    state = river.commit(RiverState(("A",), said="optimiser"), [replace(one, events=(event,))])
    assert words.verdict(state) == (
        "As you predicted: at the peak, parameters and the optimiser hold the most: 3.00 MB of 6.00 MB each."
    )


def test_without_bytes_nobody_holds_most() -> None:
    state = river.commit(RiverState(("A",), said="data"), [fake([0, 0])])
    assert words.verdict(state) == "You predicted data. At the peak, no owner holds a byte."
    assert words.why(state) == ""
    assert_twin(river.frame(state), ["0", "1 bytes", "together", "when fullest", "after it", ALIVE])


def test_memory_that_was_given_back_stands_below_zero() -> None:
    assert words.size(-8_000_000) == "−8.00 MB"


@pytest.mark.parametrize("owner", STACK)
def test_each_why_is_one_short_sentence_with_its_cause_in_bold(owner: str) -> None:
    told = words.WHY[owner]
    assert len(told.split()) <= 25 and told.count("**") == 2 and told.endswith(".")


def test_owners_are_known_by_both_their_names() -> None:
    for owner in STACK:
        assert words.band(owner) == words.band(words.LABELS[owner]) == owner
    assert words.band("weights") is None
    mend = "take one of parameters, optimiser, data, gradients, activations, temporaries, workspace, elsewhere"
    for junk in ("weights", "", None, 3, ["data"]):
        with teaches(IndexRangeError, f"the prediction {junk!r}", "it is no owner of memory", mend):
            river.prediction(junk)


def claims(state: RiverState) -> list[Any]:
    """The bytes of the twin's rows, by event."""
    rows = re.findall(r"^[ >] event (\d+), .*?: ([\d.]+ \w+)", river.text(state), re.MULTILINE)
    return [(int(n) - 1, size) for n, size in rows]


@each_run
def test_the_twin_has_the_bytes_of_every_event(name: str) -> None:
    state = shown(name)
    found = claims(state)
    assert [place for place, _ in found] == list(range(len(state.river.events)))
    for place, size in found:
        assert size == words.size(river.total(state.river.events[place].most))


def test_the_foot_says_what_is_rounded_and_shared() -> None:
    told = words.conditions(shown("chain"), np.__version__)
    assert "tracemalloc" in told and f"to the nearest {NOISE // 1000} kB" in told and "share" not in told
    many = river.commit(RiverState(("A",)), [fake(list(range(200)))])
    assert "4 events share a column, the fullest is drawn" in words.conditions(many, "2")
    assert "events 1 to 4, fullest in event 4" in river.text(many)
