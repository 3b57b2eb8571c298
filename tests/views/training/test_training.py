"""A training run's curve, its words, and its limits."""

from __future__ import annotations

import math
from xml.dom import minidom

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.views.twin import assert_twin
from tinygrad_edu.views.training import TrainingState, add, describe, draw, frame, text

TICKS = [r"[\d.e+]+", r"epoch \d+ of \d+"]


def test_words_do_not_change_with_the_last_digit() -> None:
    assert describe(TrainingState(5)) == "TrainingMonitor: epoch 0 of 5, nothing logged yet."
    for losses, words in (
        ((2.0, 0.1), "fell to less than a tenth of what it was after the first"),
        ((2.0, 0.9), "fell to less than half of what it was after the first"),
        ((2.0, 1.5), "fell"),
        ((2.0,), "did not fall"),
        ((2.0, math.nan), "did not fall"),
        ((2.0, math.inf), "did not fall"),
    ):
        state = TrainingState(5, losses, (None,) * len(losses))
        assert describe(state) == f"TrainingMonitor: epoch {len(losses)} of 5, the loss {words}."


def test_the_twin_has_every_loss() -> None:
    state = add(add(TrainingState(3), 2.3026, 0.1), 1.25, None)
    assert text(state) == (
        "TrainingMonitor: epoch 2 of 3, the loss fell.\nloss by epoch: 1: 2.30, 2: 1.25\ntest accuracy 10.0 %"
    )
    shown = frame(state, "?")
    assert_twin(shown, TICKS)
    assert shown.summary == describe(state)
    assert shown.controls == ()


@settings(max_examples=40)
@given(st.lists(st.floats(width=32), max_size=30), st.integers(0, 20))
def test_any_losses_can_be_drawn(losses: list[float], epochs: int) -> None:
    state = TrainingState(epochs, tuple(losses), tuple(0.5 for _ in losses))
    shown = frame(state, "?")
    assert_twin(shown, TICKS)
    svg = shown.svg()
    minidom.parseString(svg.encode())
    coordinates = "".join(item for item in shown.wide.canvas.items if item.startswith(("<path", "<circle")))
    assert "nan" not in coordinates
    assert "inf" not in coordinates


@pytest.mark.parametrize("count", [10, 5000])
def test_the_picture_stays_small_and_inside(count: int) -> None:
    state = TrainingState(8, tuple(1 / (i + 1) for i in range(count)), (None,) * count)
    shown = draw(state, 446)
    assert sum(item.startswith("<circle") for item in shown.canvas.items) <= 120
    assert len(shown.svg()) < 150_000
    xs = [float(item.split('cx="')[1].split('"')[0]) for item in shown.canvas.items if item.startswith("<circle")]
    assert max(xs) <= 446 - 8
