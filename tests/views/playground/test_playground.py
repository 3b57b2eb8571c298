"""What a playground shows: every number and sentence is that of the run."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.observe.clock import MILLISECOND
from tests.views.twin import assert_twin, normal
from tinygrad_edu.common.wording import exact, number, plain
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.tips import all_tips
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.playground import PlayState, data, draw, frame, meters
from tinygrad_edu.views.playground.curves import span_of
from tinygrad_edu.views.playground.figure import place, zones
from tinygrad_edu.views.playground.model import (
    CHOICES,
    HABITS,
    KNOBS,
    LEVELS,
    METERS,
    STOPS,
    UNCLEAR,
    Compared,
    Glance,
    Knobs,
    checked,
    habit_of,
    stop_of,
    tip_of,
    verdict,
    with_verdict,
    zone,
)
from tinygrad_edu.views.playground.pictures import columns_and_scale, png, sheet
from tinygrad_edu.views.playground.reasons import CAUSES, cause, why
from tinygrad_edu.views.playground.run import POINTS, Run, acts_of
from tinygrad_edu.views.playground.training import data as digits
from tinygrad_edu.views.playground.trial import TURNS, Trial
from tinygrad_edu.views.playground.words import SKIPPED, ask, summary, text, times_text, verdict_text

CAPTIONS = [
    r"loss|accuracy|steps|misread now|∂ norm by layer|read as|truth|what it learns|down|same|up|now|from here .+",
    r"Train|you said|it is|[\d.\u2009]+( %)?|▲ the loss is .+|not yet",  # ticks of the axes
]
SMALL = Knobs(width=8, batch=16)


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock by which each step takes a millisecond."""
    now = iter(range(10**9))
    monkeypatch.setattr(meters, "_clock", lambda: next(now) * MILLISECOND)
    yield


def state(steps: int = 20, acts: Any = (), knobs: Knobs = SMALL, **given: Any) -> PlayState:
    run = Run(0, acts_of(acts), knobs)
    for _ in range(steps):
        run.advance()
    return PlayState(run.glance(), **given)


STATES = {
    "untrained": lambda: state(0),
    "trained": lambda: state(30),
    "switched": lambda: state(40, [(20, "flip", "total", True)], said={"total": {"nodes": "up", "time": "same"}}),
    "switched back": lambda: state(40, [(10, "flip", "zeros", True), (30, "flip", "zeros", False)]),
    "asking": lambda: state(20, asking="loop", draft={"time": "up"}),
    "all": lambda: state(12, [(0, "flip", habit, True) for habit in HABITS], Knobs(width=4, depth=3, batch=3)),
    "wide": lambda: state(3, knobs=Knobs(width=128, depth=3, batch=256)),
    "linear": lambda: state(10, knobs=Knobs(depth=0)),
    "lost": lambda: state(60, knobs=Knobs(learning_rate=10.0, depth=3, width=128)),
    "with a verdict": lambda: state(20, verdicts={"loop": ("time", 11.4), "total": ("nodes", 9.5)}, tip="copies"),
}
each = pytest.mark.parametrize("name", STATES)


@each
def test_the_text_says_all_that_the_picture_shows(name: str) -> None:
    made = frame(STATES[name]())
    assert_twin(made, CAPTIONS)
    words = normal(made.text)
    for caption in ("misread now", "∂ norm by layer"):
        assert caption in words


@each
def test_the_picture_fits_and_is_of_both_widths(name: str) -> None:
    made = STATES[name]()
    for width in (WIDE, NARROW):
        figure = draw(made, width)
        assert figure.canvas.width == width
        assert figure.title and figure.description.endswith((".", ")"))
    assert len(frame(made).html()) < 60_000


@each
def test_the_one_sentence_is_short_and_has_one_cause(name: str) -> None:
    said = why(STATES[name]())
    assert len(plain(said).split()) <= 25
    assert said.count("**") == 2
    assert not re.search(r"\b(simply|just|obviously)\b|!", said)


@given(
    habit=st.sampled_from(list(HABITS)), on=st.booleans(), batch=st.sampled_from([1, 64]),
    steps=st.integers(0, 9),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_every_sentence_of_a_habit_is_short(habit: str, on: bool, batch: int, steps: int) -> None:
    acts = [(0, "flip", habit, True)] + ([] if on else [(1, "flip", habit, False)])
    made = state(1 + steps, acts, Knobs(width=4, batch=batch))
    for said in (why(made), why(replace(made, asking=habit))):
        assert len(plain(said).split()) <= 25
        assert said.count("**") == 2
        assert "{" not in said
    assert "{" not in ask(replace(made, asking=habit))


# Sentences and their causes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("habit", ["one sample", "loop", "zeros"])
def test_the_sentence_gives_the_operations_that_were_counted(habit: str) -> None:
    made = state(30, [(15, "flip", habit, True)])
    change = made.glance.change
    assert change is not None
    now, was = made.glance.reading.operations, change.was.operations
    assert now is not None and was is not None and now > was
    assert f"{exact(now)} operations instead of {exact(was)}" in why(made)


@pytest.mark.parametrize("habit", HABITS)
def test_each_meter_that_is_counted_has_its_cause_after_a_switch(habit: str) -> None:
    """At the usual knobs each meter is in the zone that its cause explains, and the twin says why."""
    made = state(30, [(10, "flip", habit, True)], Knobs())
    for meter in ("bytes", "nodes", "operations"):
        words = CAUSES[habit][meter][made.zone(meter)]
        assert cause(made, meter) == words
        assert f"because {words}" in text(made) and words in frame(made).html()
    back = state(45, [(10, "flip", habit, True), (20, "flip", habit, False)], Knobs())
    assert not any(cause(back, meter) for meter in METERS)


def test_a_cause_is_not_given_for_what_does_not_happen() -> None:
    alone = state(30, [(15, "flip", "one sample", True)], Knobs(batch=1))
    assert cause(alone, "bytes") == "it differs by less than a twentieth"
    assert "pays to start" not in cause(alone, "operations")


def test_the_nodes_of_a_total_hold_no_arrays_after_backward() -> None:
    run = Run(0, acts_of([(0, "flip", "total", True)]), Knobs())
    for _ in range(10):
        run.advance()
    held = [node.saved for node in meters.nodes_of(run.loop.total) if node.saved is not None]
    assert sum(array.nbytes for array in meters._arrays(held) if array.ndim) == 0
    assert len(meters.nodes_of(run.loop.total)) == 4 + 10 * 5


def test_a_ratio_of_times_has_its_spread() -> None:
    made = state(40, [(20, "flip", "total", True)])
    change = made.glance.change
    assert change is not None
    reading, before = (
        replace(made.glance.reading, low=3.0, time=4.0, high=5.0),
        replace(change.was, low=1.0, time=2.0, high=2.5),
    )
    glance = replace(made.glance, reading=reading, change=replace(change, was=before), compared=None)
    made = replace(made, glance=glance)  # as recorded
    assert made.spread() == (1.2, 5.0)
    assert f"{times_text(2)}, up (between {times_text(1.2)} and {times_text(5)})" in text(made)
    assert meters.COUNTED + 1 == SKIPPED


def test_a_tip_is_offered_only_after_a_prediction() -> None:
    """It would tell what the meters do."""
    before, after = state(20), state(20, asked=frozenset({"copies"}))
    assert 'data-act="tip"' not in frame(before).html()
    assert frame(after).html().count('data-act="tip"') == 1


def test_a_saved_picture_has_the_knobs() -> None:
    for width in (WIDE, NARROW):
        items = draw(state(20), width).canvas.text_items
        for words in ("Train", "learning rate", "label noise", "optimiser", "SGD", "0.3"):
            assert words in items


def test_float64_is_said_to_take_twice_the_bytes() -> None:
    made = state(30, [(15, "flip", "float64", True)])
    assert "8 bytes instead of 4" in why(made)
    assert made.ratio("bytes") == 2.0
    assert made.ratio("operations") == 1.0


def test_linear_layers_without_an_activation_are_one_linear_layer() -> None:
    knobs = Knobs(activation="none", depth=2)
    made = state(4, knobs=knobs)
    assert "3 linear layers compute no more than **one linear layer**" in why(made)
    run = Run(0, knobs=knobs)
    run.advance()
    (w1, b1, w2, b2, w3, b3) = run.weights()
    images = digits()[2]
    one = images @ (w3 @ w2 @ w1).T + (w3 @ (w2 @ b1 + b2) + b3)
    np.testing.assert_allclose(run._scores(images), one, atol=1e-4)


def test_steps_that_go_too_far_are_named() -> None:
    made = state(60, knobs=Knobs(learning_rate=10.0, depth=3, width=128))
    assert not math.isfinite(made.glance.now.test_loss)
    assert "**too far**" in why(made)
    assert "nan" in text(made)
    assert "edge-alert" in draw(made, WIDE).svg()
    high = state(5, knobs=Knobs(learning_rate=5.0))
    assert high.glance.now.training_loss > 1.25 * high.glance.curve[0].training_loss
    assert "learning rate of 5" in why(high)


def test_labels_learnt_by_heart_are_more_than_the_true_ones() -> None:
    made = state(500, knobs=Knobs(learning_rate=0.01, noise=0.3, width=128, optimiser="Adam"))
    assert made.glance.now.training_accuracy > 0.72
    assert "30% of the labels are wrong" in why(made)


# Numbers -----------------------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_run() -> None:
    run = Run(0, knobs=SMALL)
    for _ in range(25):
        run.advance()
    glance, (_, _, images, labels) = run.glance(), digits()
    given = run._scores(images)
    assert glance.wrong == (given.argmax(1) != labels).sum()
    assert glance.now.test_accuracy == pytest.approx(1 - glance.wrong / 359)
    p = np.exp(given.astype(np.float64))
    p /= p.sum(1, keepdims=True)
    assert glance.now.test_loss == pytest.approx(-np.log(p[np.arange(359), labels]).mean(), rel=1e-5)
    for one in glance.misread:
        assert (one.read, one.truth) == (given[one.place].argmax(), labels[one.place])
        assert one.pixels == bytes((images[one.place] * 16).astype(np.uint8))
    for norm, layer in zip(glance.gradients, (run.loop.model[0], run.loop.model[2]), strict=True):
        found = math.sqrt(sum(float((p.grad.array.astype(np.float64) ** 2).sum()) for p in layer.parameters()))
        assert norm == pytest.approx(found)
    assert [point.step for point in glance.curve] == [0, 10, 20]
    assert glance.passes == 1


def test_the_curve_stays_short_and_keeps_its_first_point() -> None:
    run = Run(0, knobs=Knobs(width=4, batch=1))
    for _ in range(10 * POINTS + 50):
        run.advance()
    steps = [point.step for point in run.curve]
    assert len(steps) <= POINTS and steps[0] == 0
    assert {b - a for a, b in pairwise(steps)} == {20}


def test_weights_are_drawn_in_levels_around_zero() -> None:
    made = state(20)
    run = Run(0, knobs=SMALL)
    for _ in range(20):
        run.advance()
    w = run.weights()[0]
    assert made.glance.greatest == pytest.approx(np.quantile(np.abs(w), 0.98))
    levels = np.array([list(picture) for picture in made.glance.weights])
    assert levels.min() >= 0 and levels.max() < LEVELS
    middle = LEVELS // 2
    expected = np.clip(w / made.glance.greatest, -1, 1) * middle
    assert np.abs(levels - middle - expected).max() <= 0.5 + 1e-6


def pixels(address: str) -> Any:
    """The numbers of an image, read back."""
    raw = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    chunks, at = {}, 8
    while at < len(raw):
        size, kind = struct.unpack(">I4s", raw[at : at + 8])
        body = raw[at + 8 : at + 8 + size]
        assert struct.unpack(">I", raw[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind.decode()], at = body, at + 12 + size
    width, height, depth, kind = struct.unpack(">IIBB", chunks["IHDR"][:10])
    assert (depth, kind) == (4, 3)
    rows = np.frombuffer(zlib.decompress(chunks["IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    halves = np.stack([rows[:, 1:] >> 4, rows[:, 1:] & 15], -1).reshape(height, -1)[:, :width]
    return halves, chunks["tRNS"], np.frombuffer(chunks["PLTE"], np.uint8).reshape(-1, 3)


@given(count=st.integers(4, 128), seed=st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_an_image_holds_each_weight_in_its_place(count: int, seed: int) -> None:
    pictures = np.random.default_rng(seed).integers(0, LEVELS, (count, 64)).astype(np.uint8)
    columns, scale = columns_and_scale(count, 446, 114)
    image, clear, colours = pixels(png(sheet([row.tobytes() for row in pictures], columns)))
    assert image.shape[1] * scale <= 446 and image.shape[0] * scale <= 114
    for i, picture in enumerate(pictures):
        top, left = 9 * (i // columns), 9 * (i % columns)
        assert np.array_equal(image[top : top + 8, left : left + 8].ravel(), picture)
    assert clear[LEVELS // 2] == 0 and clear[0] == clear[-1] == 255
    assert len(colours) == LEVELS


def test_units_that_have_no_room_are_refused() -> None:
    with pytest.raises(ValueError, match="no room for 999"):
        columns_and_scale(999, 446, 114)


# Meters ------------------------------------------------------------------------------------------------------------


@given(st.floats(1e-4, 1e4), st.floats(1e-4, 1e4))
def test_a_ratio_stands_in_its_zone_and_in_order(one: float, other: float) -> None:
    for line in (160.0, 272.0):
        low, middle, high = zones(line)
        at = place(one, line)
        assert 0 <= at <= line
        if zone(one) == "same":
            assert low - 1e-9 <= at <= high + 1e-9
        else:
            assert (at >= high) if one > 1 else (at <= low)
        if one <= other:
            assert at <= place(other, line) + 1e-9
        assert place(1.0, line) == middle


def test_same_is_within_five_per_cent() -> None:
    assert [zone(ratio) for ratio in (0.94, 0.951, 1.0, 1.049, 1.06)] == ["down", "same", "same", "same", "up"]


def test_meters_compare_with_what_was_before_the_switch() -> None:
    made = state(40, [(20, "flip", "copies", True)])
    change = made.glance.change
    assert change is not None and (change.habit, change.on, change.step) == ("copies", True, 20)
    assert replace(change.was, time=1.0, runs=1) == replace(state(20).glance.reading, time=1.0, runs=1)
    for meter in METERS:
        was, now = change.was.value(meter), made.glance.reading.value(meter)
        assert was and now is not None and made.ratio(meter) == now / was
    assert f"was {number(change.was.bytes / 1000 if change.was.bytes else 0)} kB" in text(made)


def test_turning_a_knob_ends_the_comparison() -> None:
    made = state(40, [(20, "flip", "copies", True), (30, "set", "batch", 8)])
    assert made.glance.change is None
    assert all(made.ratio(meter) is None for meter in METERS)
    assert verdict(made) is None


def test_a_learning_rate_changes_no_cost_and_ends_nothing() -> None:
    made = state(40, [(20, "flip", "copies", True), (30, "set", "learning_rate", 0.1)])
    assert made.glance.change is not None and made.glance.reading.runs == 2 * TURNS
    assert verdict(made) is not None


def test_of_what_grows_the_most_is_kept() -> None:
    made, knobs, seen = None, Knobs(width=4, batch=256), []
    for steps in (37, 39, 40, 41):  # five steps are a pass; the next begins a new total
        made = state(steps, [(20, "flip", "total", True)], knobs, verdicts=made.verdicts if made else {})
        made = with_verdict(made)
        seen.append((made.ratio("nodes"), made.verdicts["total"][1]))
    assert seen[2][0] == max(now for now, _ in seen) > 3
    assert seen[3][1] == seen[2][1] > seen[3][0]


def test_a_verdict_is_about_time_if_that_moved_beyond_its_spread() -> None:
    made = state(40, [(20, "flip", "total", True)])
    glance = made.glance
    assert glance.change is not None

    def timed(now: tuple[float, float, float], was: tuple[float, float, float]) -> Any:
        (a, b, c), (d, e, f) = now, was
        reading = replace(glance.reading, low=a, time=b, high=c)
        before = replace(glance.change.was, low=d, time=e, high=f)  # type: ignore[union-attr]
        change = replace(glance.change, was=before)  # type: ignore[type-var]
        return verdict(replace(made, glance=replace(glance, reading=reading, change=change, compared=None)))

    assert timed((29, 30, 31), (0.9, 1, 1.1)) == ("time", 30.0)
    apart = timed((1.0, 1.2, 1.4), (0.8, 1.0, 1.2))  # the spreads overlap
    assert apart[0] == "nodes" and apart[1] > 2
    assert verdict_text(("time", 31.4)) == "31× the time"


def compared(ratio: float, low: float, high: float, scatter: float = 0.0) -> Compared:
    return Compared(1.0, ratio, ratio, low, high, scatter, TURNS)


@pytest.mark.parametrize(
    ("found", "zone_of_it"),
    [
        (compared(1.4, 0.87, 2.3), UNCLEAR),  # it crosses one
        (compared(1.07, 0.9, 1.17), UNCLEAR),
        (compared(1.3, 1.2, 1.4, 0.35), UNCLEAR),  # with nothing changed it may be 1.35
        (compared(1.3, 1.2, 1.4, 0.1), "up"),
        (compared(0.7, 0.6, 0.8, 0.1), "down"),
        (compared(0.7, 0.6, 0.8, 0.5), UNCLEAR),
        (compared(1.02, 0.99, 1.06, 0.1), "same"),
        (compared(1.02, 0.8, 1.3), UNCLEAR),
        (compared(30.0, 20.0, 40.0, 0.9), "up"),
    ],
)
def test_a_time_goes_up_or_down_only_beyond_its_interval_and_its_scatter(found: Compared, zone_of_it: str) -> None:
    assert found.zone == zone_of_it
    made = state(40, [(20, "flip", "copies", True)], said={"copies": {"time": "same"}})
    made = replace(made, glance=replace(made.glance, compared=found))
    assert made.zone("time") == zone_of_it
    (line,) = [one for one in text(made).splitlines() if one.strip().startswith("step time")]
    assert f"{zone_of_it} (between " in line and "you said same" in line
    if zone_of_it == UNCLEAR:  # a ratio that may be another is neither written nor drawn, and nobody is told wrong
        assert f"{times_text(found.ratio)}, " not in line
        assert times_text(found.ratio) not in draw(made, WIDE).canvas.text_items
        assert verdict_text(("time", 0.0)) == "time: cannot tell"
        assert "with nothing changed these times differ by up to" in cause(made, "time")


class _Clock:
    """Every step takes its time, and some a random share more."""

    def __init__(self, scatter: float, seed: int) -> None:
        self.now, self.scatter, self.stream = 0.0, scatter, np.random.default_rng(seed)

    def __call__(self) -> float:
        self.now += MILLISECOND * (1 + self.scatter * self.stream.exponential())
        return self.now


def test_where_nothing_changed_times_say_neither_up_nor_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a steady clock they are the same; by one that scatters, they may not tell."""
    loop, seen = Run(0, knobs=Knobs(width=4, batch=1)).loop, []
    for scatter in (0.0, 0.02, 0.1, 0.3, 1.0):
        for seed in range(3):
            monkeypatch.setattr(meters, "_clock", _Clock(scatter, seed))
            trial = Trial(loop.twin(), loop.twin())
            while not trial.done:
                trial.turn()
            found = trial.found()
            assert found is not None
            seen.append((scatter, found.zone))
    assert {zone for _, zone in seen} <= {"same", UNCLEAR}
    assert {zone for scatter, zone in seen if scatter < 0.1} == {"same"}


def test_a_trial_moves_no_weight_of_the_run() -> None:
    for optimiser in ("SGD", "Adam"):
        knobs = Knobs(width=8, batch=16, optimiser=optimiser)
        tried, alone = Run(0, knobs=knobs), Run(0, knobs=knobs)
        for step in range(30):
            if step == 5:
                tried.flip("copies", True)
            tried.advance()
            alone.advance()
        assert tried.tried
        assert all(np.array_equal(a, b) for a, b in zip(tried.weights(), alone.weights(), strict=True))


@pytest.mark.parametrize("habit", [None, "float64", "bfloat16", "autocast", "zeros", "compiled"])
def test_a_twin_does_what_its_loop_does(habit: str | None) -> None:
    for optimiser in ("SGD", "momentum", "Adam"):
        loop = Run(0, knobs=Knobs(width=8, batch=100, optimiser=optimiser)).loop
        if habit:
            loop.flip(habit, True)
        for _ in range(5):
            loop.step()
        twin = loop.twin()
        for _ in range(20):  # into the next pass
            loop.step()
            twin.step()
        for one, other in zip(loop.model.parameters(), twin.model.parameters(), strict=True):
            assert one.array.dtype == other.array.dtype and np.array_equal(one.array, other.array)


def test_no_meter_says_anything_before_a_step_with_the_habit() -> None:
    run = Run(0, knobs=SMALL)
    for _ in range(30):
        run.advance()
    run.flip("total", True)
    made = PlayState(run.glance(), said={"total": {"nodes": "up"}})
    assert all(made.ratio(meter) is None and not cause(made, meter) for meter in METERS)
    assert "you said" not in text(made)


def test_every_meter_that_goes_somewhere_has_its_reason_at_every_batch() -> None:
    for habit in HABITS:
        for batch in (1, 2, 16, 256):
            made = state(5, [(2, "flip", habit, True)], Knobs(width=16, batch=batch))
            for meter in ("bytes", "nodes", "operations"):
                assert cause(made, meter), (habit, batch, meter, made.zone(meter))


def test_the_run_before_is_drawn_and_said() -> None:
    run = Run(0, knobs=SMALL)
    for _ in range(35):
        run.advance()
    last = run.glance().now
    run.set("noise", 0.5)
    assert run.glance().before[-1] == last
    run.set("wrong", "next digit")  # an untrained network is no run
    for _ in range(5):
        run.advance()
    made = PlayState(run.glance())
    assert made.glance.before[-1] == last and made.glance.was == SMALL
    said = text(made)
    assert "dotted: run before, label noise 0 %: " in said
    assert "run before, test accuracy by step: 0: " in said
    assert "run before" in draw(made, WIDE).canvas.text_items and "ghost" in draw(made, WIDE).svg()
    assert "run before" not in draw(state(5), WIDE).canvas.text_items
    run.restart()
    assert run.before[-1].step == 5


def test_next_digit_labels_say_the_next_digit() -> None:
    labels, knobs = digits()[1], Knobs(noise=0.4, wrong="next digit")
    spoilt, other = (Run(0, knobs=one).loop.labels for one in (knobs, Knobs(noise=0.4)))
    moved = spoilt != labels
    assert moved.sum() == round(0.4 * len(labels)) and np.array_equal(moved, other != labels)
    assert np.array_equal(spoilt[moved], (labels[moved] + 1) % 10)
    made = state(5, knobs=knobs)
    assert "label noise 40 % next digit" in text(made) and "40 % next digit" in draw(made, WIDE).canvas.text_items
    assert 'data-act="knob:wrong" data-value="random"' in frame(made).html(live=True)
    assert "knob:wrong" not in frame(state(5)).html(live=True)
    assert np.array_equal(Run(0, [(0, "set", "noise", 0.4), (0, "set", "wrong", "next digit")]).loop.labels, spoilt)


def test_the_twin_says_the_machine_the_sentence_and_the_badge() -> None:
    for made in (state(0), state(30), state(40, [(20, "flip", "copies", True)])):
        frame_of_it, said = frame(made), text(made)
        assert "names → tensors → buffers → device → queue; shown here: tensors, buffers, device" in said
        assert plain(why(made)) in said and frame_of_it.conditions in said
        assert ("measured: " in said) == (frame_of_it.badge == "measured")
    assert "middle half" in text(state(30))
    made = state(30)
    odd = replace(made.glance.misread[0], truth=8, read=7)
    assert ": an 8 read as 7" in text(replace(made, glance=replace(made.glance, misread=(odd,))))


def test_no_verdict_before_the_meters_have_seen_enough() -> None:
    assert verdict(state(22, [(20, "flip", "total", True)])) is None
    assert verdict(state(2)) is None


# Runs --------------------------------------------------------------------------------------------------------------


def test_a_seed_and_acts_give_the_same_weights_bit_for_bit() -> None:
    first = Run(4)
    for step in range(60):
        if step == 20:
            first.flip("one sample", True)
        if step == 30:
            first.set("learning_rate", 0.05)
        if step == 31:
            first.set("batch", 20)
        if step == 40:
            first.flip("float64", True)
        first.advance()
    again = Run(4, acts_of(first.acts))
    for _ in range(60):
        again.advance()
    assert all(np.array_equal(a, b) for a, b in zip(first.weights(), again.weights(), strict=True))
    assert again.acts == first.acts
    assert first.acts[0] == (20, "flip", "one sample", True)


def test_a_knob_that_makes_another_network_begins_again() -> None:
    run = Run(0, knobs=SMALL)
    run.flip("zeros", True)
    for _ in range(5):
        run.advance()
    run.set("width", 16)
    assert (run.step, run.knobs.width, run.loop.on) == (0, 16, {"zeros"})
    assert run.acts == [(0, "set", "width", 16), (0, "set", "batch", 16), (0, "flip", "zeros", True)]
    fresh = Run(0, acts_of(run.acts))
    for one in (run, fresh):
        for _ in range(5):
            one.advance()
    assert all(np.array_equal(a, b) for a, b in zip(run.weights(), fresh.weights(), strict=True))


def test_a_dragged_slider_is_one_act() -> None:
    run = Run(0)
    for rate in (0.2, 0.1, 0.05):
        run.set("learning_rate", rate)
    assert run.acts == [(0, "set", "learning_rate", 0.05)]


@pytest.mark.parametrize(
    ("acts", "words"),
    [
        ("abc", "no list of acts"), (7, "no list of acts"), ([3], "3 is no act"), ([(1, "jump", "x", 1)], "is no act"),
        ([(-1, "flip", "zeros", True)], "before the first step"), ([(0, "flip", "zeros", 1)], "True or False"),
        ([(0, "flip", "zeroes", True)], "no habit"), ([(5, "set", "width", 8)], "begins at step 0"),
        ([(5, "flip", "zeros", True), (2, "flip", "zeros", False)], "comes after an act at step 5"),
        ([(0, "set", "speed", 3)], "no knob of that name"), ([(0.5, "flip", "zeros", True)], "whole number"),
    ],
)  # fmt: skip
def test_acts_that_cannot_be_are_refused(acts: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        acts_of(acts)


# Words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KNOBS)
def test_a_slider_reaches_its_ends_and_the_usual_value(name: str) -> None:
    usual = getattr(Knobs(), name)
    if name in STOPS:
        assert list(STOPS[name]) == sorted(set(STOPS[name]))
        for i, stop in enumerate(STOPS[name]):
            assert stop_of(name, stop) == i
            assert checked(name, stop) == stop
        assert usual in STOPS[name]
    else:
        assert usual in CHOICES[name] and checked(name, usual) == usual


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", 3), ("width", 129), ("width", 8.0), ("depth", 4), ("batch", 0), ("noise", 0.95), ("noise", math.nan),
        ("learning_rate", 0), ("learning_rate", "a"), ("activation", "swish"), ("optimiser", None), ("wrong", "all"),
        ("speed", 1),
    ],
)  # fmt: skip
def test_a_value_that_a_knob_cannot_have_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=name):
        checked(name, value)


def test_habits_go_by_name_and_by_label() -> None:
    assert habit_of("one sample at a time") == "one sample"
    assert habit_of("total += loss") == "total"
    with pytest.raises(ArgumentError, match="did you mean copies"):
        habit_of("copy")


def test_tips_are_those_that_there_are() -> None:
    slugs = {tip.slug for tip in all_tips()}
    for name, habit in HABITS.items():
        found = tip_of(name)
        assert (found is None) == slugs.isdisjoint(habit.tips)
        if found is not None:
            assert f'show_tip("{found.slug}")' in text(state(0, tip=name))


def test_the_summary_holds_no_time_and_no_digit_that_a_machine_may_round() -> None:
    made = state(40, [(20, "flip", "total", True)])
    assert summary(made) == (
        "Playground: step 40 · pass 1 of the digits; of the test digits it reads "
        f"{math.floor(10 * made.glance.now.test_accuracy)} in 10 or more. Habits on: total += loss."
    )
    assert not re.search(r"\d\.\d| ms| µs", summary(made))


@pytest.mark.parametrize(("step", "end"), [(0, 600), (600, 600), (601, 1200), (10**8, 10**9)])
def test_the_step_axis_grows_by_leaps(step: int, end: int) -> None:
    assert span_of(step) == end


def test_the_data_are_what_is_shown() -> None:
    made = state(40, [(20, "flip", "total", True)])
    found = data(made, [(20, "flip", "total", True)])
    assert found["acts"] == [[20, "flip", "total", True]]
    assert found["switched"] == {"habit": "total", "on": True, "step": 20}
    assert found["ratios"]["bytes"] == made.ratio("bytes")
    assert isinstance(made.glance, Glance) and found["wrong"] == made.glance.wrong


def test_values_stand_where_they_are_said() -> None:
    """Every number of the meters is drawn beside its name."""
    made = state(40, [(20, "flip", "total", True)])
    items = draw(made, WIDE).canvas.text_items
    for meter, label in (("bytes", "bytes alive"), ("nodes", "graph nodes"), ("operations", "operations")):
        value = made.glance.reading.value(meter)
        assert value is not None
        written = exact(value) if meter != "bytes" else f"{number(value / 1000)} kB"
        assert written in items[items.index(label) :]
