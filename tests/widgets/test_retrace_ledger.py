"""RetraceLedger: steps, predictions, other series, cures, and one's own calls."""

from __future__ import annotations

import pytest
from tinygrad_edu_widgets import RetraceLedger

import tinygrad_edu as tg
from tinygrad_edu.errors import ArgumentError


def test_calls_are_stepped_through() -> None:
    widget = RetraceLedger()
    assert widget.at == 1
    widget.act("step")
    widget.act("hit")
    assert widget.at == 3 and "you said: a program is there" in widget.text()
    widget.act("back")
    assert widget.at == 2
    widget.at = 8
    assert "8 calls, 2 programs made" in widget.text()


def test_a_cure_and_another_series() -> None:
    widget = RetraceLedger()
    widget.act("series", "a switch")
    widget.act("cure")
    assert widget.state.cured and widget.at == 1 and "7 calls still to come" in widget.text()
    widget.at = 8
    assert "2 programs made" in widget.text() and "bool(…) first" in widget.text()
    widget.act("cure")
    widget.at = 8
    assert "7 programs made" in widget.text()
    widget.act("time")
    widget.act("series", "sentences")
    assert widget.state.timed and widget.at == 1


def test_calls_of_ones_own() -> None:
    x = tg.ones(3)
    widget = RetraceLedger(lambda x, rate: x * rate, [(x, 1), (x, 2), (x, 1)], ask="How many programs?")
    assert "3 calls, 2 programs made" in widget.text() and widget.text().startswith("RetraceLedger: How many programs?")
    assert [one["key"] for one in widget.data()["records"]] == [1, 2, 1]


def test_a_function_that_is_compiled_already() -> None:
    f = tg.compile(lambda x: x * 2)
    f(tg.ones(2))
    widget = RetraceLedger(f)
    assert "float32[2]: made (the first call); 1 call" in widget.text()
    with pytest.raises(KeyError):
        widget.act("step")


def test_an_error_of_the_function_is_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        RetraceLedger(lambda x: x * (1 // 0), [(tg.ones(2),)])
    with pytest.raises(ArgumentError):
        RetraceLedger(lambda x: x)
