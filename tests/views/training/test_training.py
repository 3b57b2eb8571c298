"""A training run: every number, mark and sentence is what was recorded."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from decimal import Decimal
from random import Random
from typing import Any
from xml.dom import minidom

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.views.twin import assert_twin
from tinygrad_edu.common.wording import exact, number
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.training import TrainingState, add, describe, draw, end, frame, restarted, text, why
from tinygrad_edu.views.training.figure import LEFT, RIGHT, axis, tick_text, whole_ticks
from tinygrad_edu.views.training.model import COLUMNS, Series
from tinygrad_edu.views.training.words import SPANS, title, value_text

TICKS = [r"[\d.e+−\u2009]+", r"lowest|highest|newest|step", r"▲ (nan|∞|−∞)"]
LOSSES = st.one_of(
    st.floats(), st.floats(-3, 3), st.sampled_from([0.0, 1.0, 5e-324, 1.7e308, -1.7e308, math.nan, math.inf, -math.inf])
)
SOME = {"loss": LOSSES, "val_loss": LOSSES, "test_accuracy": st.floats(0, 1)}
RECORDS = st.lists(st.fixed_dictionaries({}, optional=SOME).filter(len), max_size=40)


def recorded(epochs: int, losses: Any, **others: Any) -> TrainingState:
    state = TrainingState(epochs, **others)
    for loss in losses:
        state = add(state, loss=loss)
    return state


def logged(epochs: int, records: list[dict[str, float]], unit: str = "epoch") -> TrainingState:
    state = TrainingState(epochs, unit=unit)
    for one in records:
        state = add(state, **one)
    return state


# Words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("losses", "words"),
    [
        ((2.0, 0.1), "the loss fell to less than a tenth of what it was after epoch 1"),
        ((2.0, 0.9), "the loss fell to less than half of what it was after epoch 1"),
        ((2.0, 1.5), "the loss fell"),
        ((2.0, 2.0), "the newest loss equals the first"),
        ((2.0, 3.0), "the loss rose"),
        ((2.0, -5.0), "the loss fell"),
        ((-1.0, -5.0), "the loss fell"),
        ((-5.0, -1.0), "the loss rose"),
        ((2.0,), "the loss was logged once"),
        ((math.nan,), "the loss was logged once, and is nan"),
        ((2.0, math.nan), "the newest loss is nan; 1 of 2 losses are not finite"),
        ((2.0, math.inf), "the newest loss is ∞; 1 of 2 losses are not finite"),
        ((-math.inf, 1.0), "the first loss was −∞, the newest is a number; 1 of 2 losses are not finite"),
        ((2.0, math.nan, 1.5), "the loss fell; 1 of 3 losses are not finite"),
    ],
)
def test_the_sentence_about_the_loss(losses: tuple[float, ...], words: str) -> None:
    state = recorded(5, losses)
    assert describe(state) == f"TrainingMonitor: running, at epoch {len(losses)} of 5; {words}."


def test_the_sentence_says_whether_the_run_goes_on() -> None:
    empty, some, all_of_them = (recorded(3, losses) for losses in ((), (2.0, 1.5), (2.0, 1.7, 1.5)))
    more = add(all_of_them, loss=1.4)
    for state, words in (
        (empty, "nothing logged yet, at epoch 0 of 3."),
        (end(empty), "stopped before the first epoch, at epoch 0 of 3."),
        (end(empty, "ValueError"), "interrupted by ValueError, at epoch 0 of 3."),
        (some, "running, at epoch 2 of 3; the loss fell."),
        (end(some), "stopped after epoch 2 of 3; the loss fell."),
        (end(some, "KeyboardInterrupt"), "interrupted by KeyboardInterrupt after epoch 2 of 3; the loss fell."),
        (add(end(some), loss=1.5), "complete, at epoch 3 of 3; the loss fell."),
        (all_of_them, "complete, at epoch 3 of 3; the loss fell."),
        (end(all_of_them), "complete, at epoch 3 of 3; the loss fell."),
        (more, "running, at epoch 4 of 3; the loss fell."),
        (restarted(end(more)), "nothing logged yet, at epoch 0 of 3."),
    ):
        assert describe(state) == f"TrainingMonitor: {words}"
        assert draw(state, WIDE).canvas.text_items[0] in text(state).splitlines()


def test_other_runs_than_of_epochs_and_losses() -> None:
    state = logged(9, [{"loss": 2.0}, {"loss": 1.9}, {"val_accuracy": 0.5}], unit="step")
    assert text(state) == (
        "TrainingMonitor: running, at step 3 of 9; the loss fell, up to step 2.\n"
        "step 3 of 9 · running\n"
        "loss: newest 1.90 at step 2, lowest 1.90 at step 2, highest 2.00 at step 1\n"
        "validation accuracy: newest 50.0 %, lowest 50.0 % at step 3, highest 50.0 % at step 3\n"
        "loss by step: 1: 2.00, 2: 1.90"
    )
    without = logged(9, [{"lr": 0.1}])
    assert describe(without) == "TrainingMonitor: running, at epoch 1 of 9; no loss was logged."
    assert frame(without, "?").tip == ""
    assert "once in each step" in why(TrainingState(9, unit="step"))


def test_a_series_is_called_what_it_was_given_as() -> None:
    names = {
        "accuracy": "accuracy", "test_accuracy": "test accuracy", "train_accuracy": "training accuracy",
        "val_loss": "validation loss", "valid_acc": "validation acc", "lr": "lr", "train": "train",
        "f1_macro": "f1 macro", "_": "_",
    }  # fmt: skip
    assert {name: title(name) for name in names} == names
    for name, words in names.items():
        shown = frame(logged(3, [{name: 0.5}]), "?")
        assert words in shown.wide.canvas.text_items
        assert "test" in name or "test" not in shown.html()
    both = text(logged(3, [{"val_loss": 0.5, "valid_loss": 0.4}]))
    assert "val_loss: newest 0.500" in both and "valid_loss: newest 0.400" in both


@given(st.floats(0, 1))
def test_a_percentage_is_never_rounded_to_all_or_none(share: float) -> None:
    said = value_text("accuracy", share)
    assert (said == "100.0 %") == (share == 1) and (said == "0.0 %") == (share == 0)
    if said[0] not in "<>":
        assert abs(float(said.removesuffix(" %")) / 100 - share) <= 0.0005001


def test_the_twin_has_every_loss() -> None:
    state = logged(3, [{"loss": 2.3026, "accuracy": 0.1}, {"loss": 1.25}])
    assert text(state) == (
        "TrainingMonitor: running, at epoch 2 of 3; the loss fell.\n"
        "epoch 2 of 3 · running\n"
        "loss: newest 1.25, lowest 1.25 at epoch 2, highest 2.30 at epoch 1\n"
        "accuracy: newest 10.0 % at epoch 1, lowest 10.0 % at epoch 1, highest 10.0 % at epoch 1\n"
        "loss by epoch: 1: 2.30, 2: 1.25"
    )
    shown = frame(state, "?")
    assert_twin(shown, TICKS)
    assert shown.summary == describe(state)
    assert shown.controls == ()
    assert shown.conditions == "as given to log · 2 records, one for each epoch"


# Pictures of any records -----------------------------------------------------------------------------------------


def drawn(state: TrainingState, width: int) -> tuple[ET.Element, list[tuple[str, float]]]:
    """The picture, and its upright axis: labels with their heights."""
    root = ET.fromstring(draw(state, width).svg())
    labels = [
        (one.text or "", float(one.get("y", 0)) - 4)
        for one in root.iter("text")
        if one.get("text-anchor") == "end"
        and float(one.get("x", 0)) == LEFT - 8
        and "m" in one.get("class", "").split()
    ]
    return root, labels


def value_of(label: str) -> Decimal:
    return Decimal(label.replace("−", "-").replace("\u2009", ""))


def height_of(value: float, labels: list[tuple[str, float]]) -> float:
    """Where a number lies by the two outer labels of the axis."""
    (low, y0), (high, y1) = ((value_of(label), y) for label, y in (labels[0], labels[-1]))
    return y0 + (y1 - y0) * float((Decimal(value) - low) / (high - low))


@settings(max_examples=150, deadline=None)
@given(RECORDS, st.integers(0, 50), st.sampled_from([WIDE, NARROW]))
def test_every_mark_is_a_record_and_every_record_has_its_mark(
    records: list[dict[str, float]], epochs: int, width: int
) -> None:
    state = logged(epochs, records)
    root, labels = drawn(state, width)
    total = max(epochs, len(records), 1)
    losses = {i: one["loss"] for i, one in enumerate(records, 1) if "loss" in one}
    finite = {i: v for i, v in losses.items() if math.isfinite(v)}

    def across(epoch: float) -> float:
        return LEFT + (width - LEFT - RIGHT) * epoch / total

    points = [(float(c.get("cx", 0)), float(c.get("cy", 0))) for c in root.iter("circle")]
    expected = [(across(i), height_of(v, labels)) for i, v in finite.items()]
    assert len(points) == len(expected)
    for got, wanted in zip(points, expected, strict=True):
        assert got == pytest.approx(wanted, abs=0.011)
    strokes = [r for r in root.iter("rect") if r.get("class") == "edge-alert"]
    lanes = {y: number(kind) for y, kind in zip(sorted({r.get("y") for r in strokes}, key=lambda y: float(y or 0)), [
        kind for kind in (math.nan, math.inf, -math.inf) if any(number(v) == number(kind) for v in losses.values())
    ], strict=True)}  # fmt: skip
    for i, v in losses.items():
        covering = [
            lanes[r.get("y")] for r in strokes
            if float(r.get("x", 0)) <= across(i) <= float(r.get("x", 0)) + float(r.get("width", 0))
        ]  # fmt: skip
        assert math.isfinite(v) or number(v) in covering
    assert sum(float(r.get("width", 0)) - 2 for r in strokes) <= len(losses)
    tips = [g.get("data-tip") for g in root.iter("g") if g.get("data-tip")]
    assert tips == [f"epoch {i}: loss {number(v)}" for i, v in losses.items()]


@settings(max_examples=100, deadline=None)
@given(RECORDS, st.integers(0, 50))
def test_the_line_joins_neighbours_and_breaks_where_a_loss_is_not_finite(
    records: list[dict[str, float]], epochs: int
) -> None:
    state = logged(epochs, records)
    paths = [p.get("d", "") for p in drawn(state, WIDE)[0].iter("path")]
    total = max(epochs, len(records), 1)
    pieces, open_piece = [], False
    for i, one in enumerate(records, 1):
        if "loss" in one:
            if math.isfinite(one["loss"]):
                if not open_piece:
                    pieces.append([])
                pieces[-1].append(LEFT + COLUMNS * i / total)
            open_piece = math.isfinite(one["loss"])
    found = [
        [float(point.split(" ")[0]) for point in re.sub("m-1 0h2", "", piece).split("L")]
        for path in paths for piece in path.split("M")[1:]
    ]  # fmt: skip
    assert [[pytest.approx(x, abs=0.011) for x in piece] for piece in pieces] == found


@settings(max_examples=100, deadline=None)
@given(RECORDS, st.integers(0, 50))
def test_the_table_has_the_newest_the_lowest_and_the_highest(records: list[dict[str, float]], epochs: int) -> None:
    state = logged(epochs, records)
    shown = frame(state, "?")
    assert_twin(shown, TICKS)
    lines = shown.text.splitlines()
    for name in state.series:
        found = [(i, one[name]) for i, one in enumerate(records, 1) if name in one]
        assert list(map(repr, state.series[name])) == list(map(repr, found))  # nan is not equal to itself

        def said(record: tuple[int, float], name: str = name) -> str:
            return f"{value_text(name, record[1])} at epoch {record[0]}"

        finite = [one for one in found if math.isfinite(one[1])]
        newest = said(found[-1]) if found[-1][0] < len(records) else value_text(name, found[-1][1])
        low = said(min(finite, key=lambda one: one[1])) if finite else "–"
        high = said(max(finite, key=lambda one: one[1])) if finite else "–"
        assert f"{title(name)}: newest {newest}, lowest {low}, highest {high}" in lines
    svg = shown.svg()
    minidom.parseString(svg.encode())
    coordinates = re.findall(r' (?:d|c?[xy][12]?|width|height|r)="([^"]*)"', "".join(shown.wide.canvas.items))
    assert not any("nan" in one or "inf" in one for one in coordinates)


@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_an_axis_holds_zero_and_all_numbers_in_round_steps(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    made = axis(low, high)
    assert made.ticks[0] <= min(Decimal(low), 0) and made.ticks[-1] >= max(Decimal(high), 0)
    assert 0 in made.ticks and 2 <= len(made.ticks) <= 8
    assert len({b - a for a, b in zip(made.ticks, made.ticks[1:], strict=False)}) == 1
    assert -1e-9 <= made.share(low) <= made.share(high) <= 1 + 1e-9
    for tick in made.ticks:
        label = tick_text(tick)
        assert value_of(label) == tick and len(label) <= 9, label


@given(st.integers(1, 10**12), st.sampled_from([WIDE, NARROW]))
def test_epochs_on_the_axis_have_room(total: int, width: int) -> None:
    ticks = whole_ticks(total, width - LEFT - RIGHT)
    assert ticks[0] == 0 and ticks[-1] <= total
    assert len(ticks) <= 11
    assert len(ticks) * len(exact(total)) * 7.3 <= width


# Long runs -------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9000), st.integers(0, 12_000), st.integers(0, 2**32))
def test_thinning_keeps_the_lowest_and_the_highest_of_each_column(count: int, epochs: int, seed: int) -> None:
    random = Random(seed)
    losses = [random.choice([random.random(), random.random(), 9.0, math.nan]) for _ in range(count)]
    state = recorded(epochs, losses)
    size, found = state.series["loss"].groups()
    assert COLUMNS * size <= max(count, epochs, COLUMNS)  # no group is wider than a column of pixels
    assert len(found) <= 2 * COLUMNS
    assert [one.first for one in found] == list(range(1, count + 1, size))
    for one in found:
        group = losses[one.first - 1 : one.last]
        finite = [(i, v) for i, v in enumerate(group, one.first) if math.isfinite(v)]
        assert one.low == min(finite, key=lambda r: r[1], default=None)
        assert one.high == max(finite, key=lambda r: r[1], default=None)
        assert one.nan == sum(v != v for v in group) and one.odd == one.nan
    assert sum(one.last - one.first + 1 for one in found) == count
    shown = draw(state, WIDE)
    path = "".join(item for item in shown.canvas.items if item.startswith("<path"))
    numbers = [v for v in losses if math.isfinite(v)]
    if numbers:
        scale = axis(min(numbers), max(numbers))
        heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
        share = scale.share(max(numbers)) - scale.share(min(numbers))
        assert max(heights) - min(heights) == pytest.approx(170 * share, abs=0.03)
    step, spans = state.series["loss"].groups(count, SPANS)
    assert len(spans) <= SPANS and sum(one.last - one.first + 1 for one in spans) == count
    assert ("the lowest and the highest" in frame(state, "?").conditions) == (size > 1)
    assert (f"loss by {exact(step)} epochs" in text(state)) == (step > 1)


def test_a_spike_of_one_record_among_a_hundred_thousand_is_seen_and_read() -> None:
    state = recorded(100_000, [7.5 if i == 61_803 else 0.5 for i in range(100_000)])
    shown = frame(state, "?")
    assert "highest 7.50 at epoch 61\u2009804" in shown.text
    for figure in (shown.wide, shown.narrow):
        path = next(item for item in figure.canvas.items if item.startswith("<path"))
        heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
        assert min(heights) == pytest.approx(60 + 170 * (8 - 7.5) / 8, abs=0.01)
        assert any("0.500 to 7.50" in item for item in figure.canvas.items)


@pytest.mark.parametrize("count", [10, 5000, 50_000])
def test_the_picture_stays_small_and_inside(count: int) -> None:
    state = recorded(8, (1 / (i + 1) + i % 2 for i in range(count)))
    shown = draw(state, 446)
    assert sum(item.startswith(("<circle", "<g")) for item in shown.canvas.items) <= 2 * SPANS + 1
    assert len(shown.svg()) < 100_000
    xs = [float(item.split('cx="')[1].split('"')[0]) for item in shown.canvas.items if item.startswith("<circle")]
    assert max(xs) <= 446 - 8
    assert len(text(state)) < 10_000


def test_a_series_never_changes() -> None:
    one = Series([(1, 2.0), (2, 1.0)])
    two, other = one.plus(3, 0.5), one.plus(3, 7.0)
    assert (list(one), list(two)) == ([(1, 2.0), (2, 1.0)], [(1, 2.0), (2, 1.0), (3, 0.5)])
    assert list(other) == [(1, 2.0), (2, 1.0), (3, 7.0)]
    assert [series.whole().high for series in (one, two, other)] == [(1, 2.0), (1, 2.0), (3, 7.0)]
    assert (one.newest, one.first, len(one)) == ((2, 1.0), (1, 2.0), 2)
    assert Series().whole() is None
