"""Checkpoints as a picture: what is said of each run, and what is drawn, against the numbers themselves."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import teaches
from tests.views.twin import assert_twin
from tinygrad_edu.common.wording import bytes_text
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.observe.machine import Conditions
from tinygrad_edu.observe.results import Comparison, Timing
from tinygrad_edu.views.checkpoints import (
    OWNERS,
    Event,
    Run,
    SliderState,
    again,
    counts,
    draft,
    draw,
    expected,
    finish,
    frame,
    parts,
    pick,
    reason,
    summary,
    text,
    why,
)
from tinygrad_edu.views.checkpoints.words import LABELS, clock, comparison, division, formula, some
from tinygrad_edu.views.frame import NARROW, WIDE, Figure

HERE = Conditions("Example CPU", 2, "Linux", "3.11.7", "2.4.6", "OpenBLAS 0.3", 1, "off", 1e-9)
CAPTIONS = [
    r"\d+ of \d+",
    r"[\d.]+( [kMG]?B)?",  # ticks
    r"kept|dropped, made again|at the peak|you, \d+|not visited|forward again, (once|\d+ times)",
    r"layers computed again|alive during one step.*|lowest, .*",
]
ONE = 1_000_000  # bytes of a layer's result


def run(segments: int, layers: int = 6, moved: tuple[str, ...] = (), gradients: str = "") -> Run:
    """A run of equal layers that does what arithmetic says, and has a gradient besides."""
    last, repeated = parts(layers, segments)[-1], again(layers, segments)
    events = [Event("forward", "linear", (2 * ONE, ONE, 0, (segments - 1) * ONE, last * ONE, 0), segments)]
    events.append(Event("backward", "tanh", (2 * ONE, ONE, ONE, (segments - 1) * ONE, last * ONE, ONE), segments))
    for left in reversed(range(segments - 1)):
        size = layers // segments
        events.append(Event("again", "linear", (2 * ONE, ONE, ONE, left * ONE, size * ONE, ONE // 2), left + 1))
        events.append(Event("backward", "tanh", (2 * ONE, ONE, ONE, left * ONE, size * ONE, ONE // 4), left + 1))
    return Run(segments, tuple(events), 2 * layers, 2 * repeated, gradients, moved)


RUNS = tuple(run(k) for k in range(1, 7))
ASKED = SliderState(6, ONE, RUNS[:1], draft=3)
DONE = finish(replace(ASKED, said=2), RUNS[1:])
each_state = pytest.mark.parametrize(
    "state",
    [ASKED, replace(ASKED, said=5), *(pick(DONE, k) for k in range(1, 7)), finish(replace(ASKED, said=5), RUNS[1:3])],
    ids=["asked", "committed", *(f"shows {k}" for k in range(1, 7)), "stopped"],
)


# The model -------------------------------------------------------------------------------------------------------


@given(st.integers(2, 400), st.data())
def test_parts_are_all_layers_and_only_the_last_is_longer(layers: int, data: st.DataObject) -> None:
    segments = data.draw(st.integers(1, layers))
    *first, last = parts(layers, segments)
    assert sum(first) + last == layers and len(first) == segments - 1
    assert set(first) <= {layers // segments} and last >= layers // segments
    assert again(layers, segments) == sum(first)


@given(st.integers(2, 5000))
def test_counts_begin_with_one_and_end_with_all_and_hold_the_root(layers: int) -> None:
    found = counts(layers)
    assert found[0] == 1 and found[-1] == layers and list(found) == sorted(set(found))
    assert len(found) == layers if layers <= 48 else 40 <= len(found) <= 48
    assert layers <= 48 or round(math.sqrt(layers)) in found


sizes = st.lists(st.integers(0, 10**7), min_size=len(OWNERS), max_size=len(OWNERS)).map(tuple)


@given(st.lists(sizes, min_size=2, max_size=6), st.integers(1, 10**6))
def test_the_terms_of_the_difference_add_up_to_it(found: list[tuple[int, ...]], cut: int) -> None:
    runs = tuple(Run(k + 1, (Event("forward", "exp", most),), 1, 0) for k, most in enumerate(found))
    state = finish(replace(ASKED, runs=runs[:1], cut=cut, said=1), runs[1:])
    for one in state.runs:
        told = expected(state, one)
        assert told.difference == one.peak - told.predicted
        assert abs(sum(told.terms) - told.difference) <= len(OWNERS)  # each is rounded
        every = state.plain.owners[OWNERS.index("segment")]
        by_hand = state.plain.peak - every + cut * (one.segments - 1) + every / one.segments
        assert abs(told.predicted - by_hand) <= 1
        term = dict(zip(OWNERS, told.terms, strict=True))[told.owner]
        assert abs(term) >= abs(told.difference) / len(OWNERS) - 1


@given(st.integers(2, 40), st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_best_number_is_where_arithmetic_is_least(layers: int, cut: int, layer: int) -> None:
    plain = Run(1, (Event("backward", "exp", (0, 0, 0, 0, layers * layer, 0)),), 1, 0)
    state = SliderState(layers, cut, (plain,))
    peaks = {k: cut * (k - 1) + layers * layer / k for k in range(1, layers + 1)}
    least = min(peaks, key=lambda k: peaks[k])
    assert abs(state.best - least) <= 1
    if cut == layer:
        assert state.best == pytest.approx(math.sqrt(layers))


def test_a_peak_is_the_first_fullest_event_and_says_which_segment_is_at_work() -> None:
    four = run(4, 8)
    assert four.top == 1 and four.at_work == 4 and four.peak == 10 * ONE
    later = replace(four, events=(*four.events[:4], replace(four.events[4], most=(0, 0, 0, 0, 20 * ONE, 0))))
    assert later.events[later.top].phase == "again" and later.at_work == 2


def test_the_lowest_are_all_that_are_equal() -> None:
    assert DONE.lowest == (2, 3) and [one.peak for one in DONE.runs[1:3]] == [9 * ONE, 9 * ONE] and DONE.saves
    assert not finish(replace(ASKED, said=2), (run(6),)).saves


def test_what_a_learner_does_changes_the_state_or_is_refused() -> None:
    assert draft(ASKED, "4").draft == 4
    for given_value, words in ((0, "there are 6 layers"), (7, "from 1 to 6"), (10**30, "there are 6 layers")):
        with pytest.raises(IndexRangeError, match=words):
            draft(ASKED, given_value)
    with pytest.raises(ArgumentError, match="predict where the lowest peak is"):
        pick(ASKED, 2)
    stopped = finish(replace(ASKED, said=5), RUNS[1:3])
    assert stopped.segments == 3, "the nearest that was reached"
    with pytest.raises(ArgumentError, match="it was stopped before it came to that number"):
        pick(stopped, 6)
    assert finish(stopped, RUNS[3:]).segments == 3 and len(finish(stopped, RUNS[3:]).runs) == 6
    many = replace(ASKED, layers=100)
    assert draft(many, 50).draft in counts(100) and abs(draft(many, 50).draft - 50) <= 2
    with teaches(IndexRangeError, "segments = 7", "there are 6 layers to divide", "choose a number from 1 to 6"):
        pick(DONE, 7)


# Words -----------------------------------------------------------------------------------------------------------


def test_before_the_commit_only_the_run_without_cuts_is_known() -> None:
    assert text(ASKED) == (
        "CheckpointSlider: 6 layers in a row: how many segments give the lowest peak of memory?\n"
        "6 layers, 2 cuts: 3 segments of 2 layers\n"
        "after forward: 2 results kept at the cuts, and all that the last segment needs (2 layers); "
        "backward runs the other 4 layers again\n"
        "peak by owner, for each number of segments: 11.0 MB without cuts (parameters 2.00 MB, data 1.00 MB, "
        "gradients 1.00 MB, of one segment 6.00 MB, of one operation 1.00 MB)\n"
        "you: lowest at 3, not committed\n"
        "What is alive in each moment is shown after you commit."
    )
    shown = frame(ASKED)
    assert "9.00 MB" not in shown.html() + shown.svg() + shown.words()
    assert shown.badge is None and [control.act for control in shown.controls] == ["draft", "commit"]


def test_the_text_of_a_result() -> None:
    told = text(pick(DONE, 4))
    again_text = "at the peak, and backward runs 3 of 6 layers, 6 of 12 operations again."
    assert f"4 segments: No difference: 11.0 MB {again_text}" in told
    assert f"2 segments: 9.00 MB instead of 11.0 MB {again_text}" in text(pick(DONE, 2))
    assert "The lowest peak is 9.00 MB, with 2 or 3 segments. You said 2: 9.00 MB." in told
    assert (
        "Arithmetic predicts 9.50 MB; measured is 15.8 % more: the last segment gets the rest of the division" in told
    )
    assert "3 layers and not 1.50." in told
    assert "Every gradient is the same as without cuts, bit for bit." in told
    assert "at the peak, in backward of tanh, segment 4 of 4: parameters 2.00 MB, data 1.00 MB" in told
    assert "  2: 9.00 MB (parameters 2.00 MB, data 1.00 MB, gradients 1.00 MB, kept at the cuts 1.00 MB" in told
    assert "○ 9.00 MB; computed again: 3 of 6 layers, 6 of 12 operations  ◇ you" in told
    assert "by arithmetic the least is at 2.45 segments: √(6.00 MB of activations / 1.00 MB at a cut)" in told
    rows = "  forward: 9.000\n  backward: 11.000\n  forward again: 7.500\n  backward: 7.250\n  forward again: 6.500\n"
    assert rows in told
    for owner in LABELS.values():
        assert owner in told


@given(st.lists(st.integers(50, 150), min_size=12, max_size=12), st.integers(1, 12))
def test_a_cheaper_choice_is_told_where_there_is_one(peaks: list[int], said: int) -> None:
    found = tuple(
        Run(k, (Event("backward", "tanh", (peak * 10_000, 0, 0, 0, 0, 0)),), 12, 0) for k, peak in enumerate(peaks, 1)
    )
    state = finish(SliderState(12, ONE, found[:1], said=said), found[1:])
    fewest = min(again(12, k) for k in state.lowest)
    near = {k for k, peak in enumerate(peaks, 1) if peak <= 1.1 * min(peaks) and again(12, k) < fewest}
    told = re.search(
        r"A cheaper choice is (\d+) segments?: .*, for (\d+) layers? computed again, not (\d+)\.", text(state)
    )
    assert bool(told) == bool(near)
    if told is not None:
        cheaper, layers, instead = map(int, told.groups())
        assert cheaper in near and layers == again(12, cheaper) == min(again(12, k) for k in near)
        assert instead == fewest and f"a peak of {bytes_text(peaks[cheaper - 1] * 10_000)}, " in told[0]


def test_owners_that_look_the_same_share_a_mark() -> None:
    """At the peak in the last segment, what waits at cuts and what the segment keeps are one colour."""
    for k, count in ((4, 1), (1, 1)):
        picture = draw(pick(DONE, k), WIDE)
        swatches = [
            e for e in marks(picture, "rect", "own-activation") if e.get("width") == "11" and number(e, "y") > 60
        ]
        assert len(swatches) == count


def test_the_summary_is_the_same_on_every_machine() -> None:
    assert summary(ASKED).startswith("CheckpointSlider: Without cuts the peak is 11.0 MB.")
    assert "The lowest peak is 9.00 MB" in summary(DONE)


@pytest.mark.parametrize(
    ("numbers", "told"),
    [((4,), "4"), ((4, 5), "4 or 5"), ((5, 6, 7, 8), "5 to 8"), ((1, 3, 4, 5, 9), "1, 3 to 5 or 9")],
)
def test_numbers_in_words(numbers: tuple[int, ...], told: str) -> None:
    assert some(numbers, "or") == told


def test_the_root_stands_where_a_layer_keeps_as_much_as_it_hands_on() -> None:
    assert formula(DONE) == "○ predicted by arithmetic, least at √6 = 2.45"
    assert formula(replace(DONE, cut=ONE // 4)) == "○ predicted by arithmetic, least at 4.90"
    sixteen = replace(run(1, 16), events=(Event("backward", "exp", (0, 0, 0, 0, 16 * ONE, 0)),))
    assert formula(SliderState(16, ONE, (sixteen,))) == "○ predicted by arithmetic, least at √16 = 4"


def test_how_layers_are_divided_in_words() -> None:
    assert division(DONE, 1) == "6 layers, no cut: 1 segment"
    assert division(DONE, 2) == "6 layers, 1 cut: 2 segments of 3 layers"
    assert division(DONE, 4) == "6 layers, 3 cuts: 4 segments of 1 layer, the last of 3"


def made(owner: str, more: bool, at: str = "backward") -> SliderState:
    """Two segments whose peak differs from arithmetic by one owner's bytes, while the first one is at work."""
    plain = Run(1, (Event("backward", "exp", (9 * ONE, ONE, ONE, 0, 4 * ONE, ONE)),), 4, 0)
    usual = [9 * ONE, ONE, ONE, ONE, 2 * ONE, ONE]
    usual[OWNERS.index(owner)] += 3 * ONE if more else -min(usual[OWNERS.index(owner)], ONE)
    events = (Event("backward", "exp", (0,) * 6), Event("again", "exp", (0,) * 6), Event(at, "exp", tuple(usual)))
    return finish(SliderState(4, ONE, (plain,), said=2), (Run(2, events, 4, 2),))


@pytest.mark.parametrize("owner", OWNERS[1:])
@pytest.mark.parametrize("more", [True, False])
def test_the_reason_names_what_makes_the_difference(owner: str, more: bool) -> None:
    state = made(owner, more)
    found = expected(state, state.shown)
    assert found.owner == owner and (found.difference > 0) is more
    word = {"data": "data", "gradients": "gradient", "kept": "wait", "segment": "keeps", "workspace": "operation"}
    assert word[owner] in reason(state, state.shown, found)
    told = comparison(state, state.shown)
    assert (" more: " if more else " less: ") in told or found.holds


def test_where_arithmetic_is_right_it_is_said() -> None:
    assert comparison(DONE, DONE.runs[1]) == "Arithmetic predicts 9.00 MB, and is right within 5 %."
    assert comparison(DONE, DONE.plain) == "Arithmetic starts from this run."


def test_gradients_and_statistics_that_differ_are_said() -> None:
    told = text(finish(replace(ASKED, said=2), (run(2, gradients="they differ by 1e−4 of the largest"),)))
    assert "Not every gradient is the same as without cuts, bit for bit: they differ by 1e−4 of the largest." in told
    names = ("1.running_mean", "1.running_var", "1.num_batches_tracked")
    told = text(finish(replace(ASKED, said=2), (run(2, moved=names),)))
    assert "Layers that ran twice moved their statistics twice: 1.running_mean, 1.running_var and 1 more." in told


def test_the_one_sentence_says_why_for_each_kind_of_model() -> None:
    assert "**dropped**" in why(ASKED)
    assert "the **sum** is least" in why(DONE)
    flat = Run(1, (Event("backward", "exp", (9 * ONE, 0, 9 * ONE, 0, 0, 0)),), 4, 0)
    none = finish(SliderState(6, ONE, (flat,), said=2), (replace(flat, segments=2),))
    assert "most of the peak is parameters and their gradients, which no cut makes smaller" in why(none)
    assert "No difference: 18.0 MB" in text(none)
    full = Run(1, (Event("backward", "exp", (0, 0, 0, 0, 9 * ONE, 0)),), 4, 0)
    assert "**the results at the cuts**" in why(
        finish(SliderState(6, ONE, (full,), said=2), (replace(full, segments=2),))
    )
    flowing = Run(1, (Event("backward", "exp", (ONE, 0, 9 * ONE, 0, 0, 0)),), 4, 0)
    assert "most of the peak is gradients on their way back through the layers" in why(
        finish(SliderState(6, ONE, (flowing,), said=2), (replace(flowing, segments=2),))
    )
    mixed = Run(1, (Event("backward", "exp", (ONE, 3 * ONE, ONE, 0, 2 * ONE, 2 * ONE)),), 4, 0)
    assert "the largest part of the peak is data" in why(
        finish(SliderState(6, ONE, (mixed,), said=2), (replace(mixed, segments=2),))
    )
    assert why(replace(DONE, why="Because.")) == "Because."


def test_peaks_that_look_alike_are_lowest_together() -> None:
    one = Run(1, (Event("backward", "exp", (0, 0, 0, 0, 6_330_000, 0)),), 4, 0)
    other = replace(one, segments=2, events=(Event("backward", "exp", (0, 0, 0, 0, 6_320_000, 0)),))
    assert finish(SliderState(6, ONE, (one,), said=2), (other,)).lowest == (1, 2)


@pytest.mark.parametrize("given", [0, 7, 2.5, "a", None])
def test_what_cannot_be_predicted_is_refused(given: object) -> None:
    with pytest.raises((ArgumentError, IndexRangeError)):
        draft(SliderState(6, ONE, (DONE.plain,)), given)


def timed(slower: float) -> SliderState:
    one = Timing("1 segment", (0.100, 0.101, 0.099) * 3, (0.1,), 1)
    other = Timing("3 segments", tuple(time * slower for time in one.times), (0.1,), 1)
    ratios = tuple(a / b for a, b in zip(one.times, other.times, strict=True))
    return replace(pick(DONE, 3), times=((3, Comparison(one, other, ratios, HERE)),))


def test_the_clock_has_a_badge_and_its_conditions() -> None:
    told = clock(timed(1.3))
    assert told == "On the clock: 130 ms (129–131) instead of 100 ms (99.0–101), 1.30× the time (1.30–1.30)."
    shown = frame(timed(1.3))
    assert shown.badge == "measured" and HERE.text() in shown.conditions and "9 pairs of runs" in shown.conditions
    assert "no difference" in clock(timed(1.0))
    assert clock(pick(timed(1.3), 2)) == "" and frame(pick(timed(1.3), 2)).badge is None


# The picture -----------------------------------------------------------------------------------------------------


@each_state
def test_the_twin_says_all_that_is_drawn(state: SliderState) -> None:
    assert_twin(frame(state), CAPTIONS)


def marks(figure: Figure, tag: str, *classes: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(figure.svg()).iter(tag) if (e.get("class") or "") in classes]


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name) or 0)


@each_state
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_chain_shows_what_is_kept_and_every_cut(state: SliderState, width: int) -> None:
    figure = draw(state, width)
    count = state.segments if state.measured else state.draft if state.said is None else state.said
    cells = [
        e
        for e in marks(figure, "rect", "own-activation", "own-again")
        if number(e, "y") < 60 and number(e, "width") > 11
    ]
    wanted = [
        "own-activation" if last or i == size - 1 else "own-again"
        for last, size in [(place == count - 1, size) for place, size in enumerate(parts(state.layers, count))]
        for i in range(size)
    ]
    assert [e.get("class") for e in sorted(cells, key=lambda e: number(e, "x"))] == wanted
    cuts = [e for e in marks(figure, "line", "span") if number(e, "y1") < 40 and number(e, "x1") == number(e, "x2")]
    assert len(cuts) == count - 1


def heights(figure: Figure) -> tuple[float, float]:
    """Where zero is on the axis of the peaks, and how many bytes one pixel is."""
    ticks = []
    for e in ET.fromstring(figure.svg()).iter("text"):
        found = re.fullmatch(r"([\d.]+)(?: ([kMG]?)B)?", e.text or "")
        if found and e.get("text-anchor") == "end" and 100 < number(e, "y") < 290 and number(e, "x") < 60:
            ticks.append((number(e, "y") - 4, float(found[1]), found[2]))
    (unit,) = {found[2] for found in ticks if found[2]}
    size = {"k": 1e3, "M": 1e6, "G": 1e9}[unit]
    (y0, v0, _), (y1, v1, _) = max(ticks), min(ticks)
    assert v0 == 0
    return y0, (v1 - v0) * size / (y0 - y1)


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("count", range(1, 7))
def test_every_bar_is_as_high_as_its_bytes_and_every_mark_as_its_prediction(width: int, count: int) -> None:
    state = pick(DONE, count)
    figure = draw(state, width)
    zero, pixel = heights(figure)
    groups = [g for g in ET.fromstring(figure.svg()).iter("g") if g.get("data-act") == "segments"]
    assert [int(g.get("data-value") or 0) for g in groups] == [one.segments for one in state.runs]
    for group, one in zip(groups, state.runs, strict=True):
        assert (group.get("data-current") == "true") is (one.segments == count)
        assert (
            group.get("aria-label")
            == f"{one.segments} segment{'s' * (one.segments > 1)}: " + bytes_text(one.peak) + " at the peak"
        )
        rects = [e for e in group.iter("rect") if (e.get("class") or "").startswith("own-")]
        there = [size for size in one.owners if size]
        assert len(rects) == len(there)
        for e, size in zip(rects, there, strict=True):
            inset = 1.2 if e.get("class") == "own-again" else 0.0
            assert abs((number(e, "height") + inset) * pixel - size) <= 0.05 * pixel
        top = min(number(e, "y") for e in rects) - 0.6 * (rects[-1].get("class") == "own-again")
        assert abs((zero - top) * pixel - one.peak) <= 0.7 * pixel
    points = [e for e in marks(figure, "circle", "run-a") if number(e, "r") == 3]
    assert len(points) == len(state.runs)
    for e, one in zip(points, state.runs, strict=True):
        assert abs((zero - number(e, "cy")) * pixel - expected(state, one).predicted) <= 0.1 * pixel


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("count", range(1, 7))
def test_one_step_in_time_has_the_peak_at_its_operation_and_a_piece_for_each_segment_made_again(
    width: int, count: int
) -> None:
    state = pick(DONE, count)
    figure, shown = draw(state, width), state.shown
    (dot,) = [e for e in marks(figure, "circle", "knob") if number(e, "r") == 3.5]
    axes = [e for e in marks(figure, "line", "axis") if number(e, "y1") == number(e, "y2")]
    axis = max(axes, key=lambda e: number(e, "x1") if width >= WIDE else number(e, "y1"))
    left, right = number(axis, "x1"), number(axis, "x2")
    step = (right - left) / len(shown.events)
    assert number(dot, "cx") == pytest.approx(left + (shown.top + 0.5) * step, abs=0.1)
    _, pixel = heights(figure)
    assert abs((number(axis, "y1") - number(dot, "cy") - 2) * pixel - shown.peak) <= 0.1 * pixel
    pieces = [e for e in marks(figure, "rect", "mark-a") if number(e, "x") + number(e, "width") <= right + 1]
    wanted, at = [], 0
    for phase, group in groupby(shown.events, lambda event: event.phase):
        size = len(list(group))
        wanted += [(left + at * step, size * step)] if phase == "again" else []
        at += size
    drawn = [(number(e, "x"), number(e, "width")) for e in pieces][: len(wanted)]
    assert len(wanted) == count - 1
    for (x, w), (x_wanted, w_wanted) in zip(drawn, wanted, strict=True):
        assert x == pytest.approx(x_wanted, abs=0.1) and w == pytest.approx(w_wanted, abs=0.1)


def test_layers_computed_again_are_as_high_as_their_number() -> None:
    figure = draw(pick(DONE, 4), WIDE)
    bars = [e for e in marks(figure, "rect", "knob", "run-a") if number(e, "y") > 300 and number(e, "x") < 460]
    found = [number(e, "height") for e in bars]
    wanted = [again(6, k) for k in range(2, 7)]
    assert found == pytest.approx([28 * value / 6 for value in wanted], abs=0.1)
    assert [e.get("class") for e in bars] == ["run-a", "run-a", "knob", "run-a", "run-a"]


@pytest.mark.parametrize("layers", [2, 3, 48, 49, 200])
def test_any_number_of_layers_can_be_drawn(layers: int) -> None:
    runs = tuple(run(k, layers) for k in counts(layers))
    state = finish(SliderState(layers, ONE, runs[:1], draft=1, said=1), runs[1:])
    for width in (WIDE, NARROW):
        figure = draw(state, width)
        circles = marks(figure, "circle", "run-a")
        assert len(circles) == len(runs)
        for one, other in itertools.pairwise(circles):
            assert number(other, "cx") - number(one, "cx") > number(one, "r") + number(other, "r"), (
                "they do not overlap"
            )
        for e in marks(figure, "rect", "own-activation", "own-again"):
            assert number(e, "width") > 0 and number(e, "x") + number(e, "width") <= width + 0.5
    assert_twin(frame(state), CAPTIONS)


def levels(d: str, x: float) -> list[float]:
    """The heights at which the level edges of an area cross a place."""
    found, at = [], (0.0, 0.0)
    for letter, numbers in re.findall(r"([MLH])([-\d. ]+)", d):
        values = [float(value) for value in numbers.split()]
        to = (values[0], at[1] if letter == "H" else values[1])
        if letter == "H" and min(at[0], to[0]) < x < max(at[0], to[0]):
            found.append(to[1])
        at = to
    return sorted(found)


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("count", range(1, 7))
def test_each_owner_has_its_bytes_in_every_operation_and_stands_on_those_below(width: int, count: int) -> None:
    state = pick(DONE, count)
    figure, shown = draw(state, width), state.shown
    _, pixel = heights(figure)
    axes = [e for e in marks(figure, "line", "axis") if number(e, "y1") == number(e, "y2")]
    axis = max(axes, key=lambda e: number(e, "x1") if width >= WIDE else number(e, "y1"))
    left, floor = number(axis, "x1"), number(axis, "y1")
    step = (number(axis, "x2") - left) / len(shown.events)
    areas = [e for e in ET.fromstring(figure.svg()).iter("path") if (e.get("class") or "").startswith("own-")]
    for place, event in enumerate(shown.events):
        again_before = any(one.phase == "again" for one in shown.events[: place + 1])
        x, below = left + (place + 0.5) * step, 0
        for owner, size in zip(OWNERS, event.most, strict=True):
            made_again = owner == "segment" and again_before
            cls = "own-again" if made_again else {
                "parameters": "own-parameter", "data": "own-data", "gradients": "own-gradient",
                "workspace": "own-workspace",
            }.get(owner, "own-activation")  # fmt: skip
            if size:
                bottom, top = floor - below / pixel, floor - (below + size) / pixel
                found = [levels(e.get("d") or "", x) for e in areas if e.get("class") == cls]
                assert any(
                    len(pair) == 2 and abs(pair[0] - top) <= 0.1 and abs(pair[1] - bottom) <= 0.1 for pair in found
                ), (place, owner, top, bottom, found)
            below += size
