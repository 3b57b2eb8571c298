"""AdviceReport as data, words and a picture: made-up reports of known figures, and a real one beside its text."""

from __future__ import annotations

import dataclasses
import re

import pytest

import tinygrad_edu as tg
from tests.tips import habits
from tests.widgets.test_every_widget import advised
from tinygrad_edu import tips
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.tips.advice import Report
from tinygrad_edu.views import advice
from tinygrad_edu.views.frame import NARROW, WIDE


def made_up() -> advice.AdviceState:
    return advised().state


def test_the_text_says_all() -> None:
    assert advice.text(advice.choose(made_up(), 1)) == (
        "AdviceReport: Which of these habits would you mend first?\n"
        "400 operations watched in 10.0 ms\n"
        "  1. Call the model once, for all samples: 40% of the run, measured\n"
        "    no line of the program\n"
        "    linear ran 64 times in a step, each time for one row\n"
        "    cost: at most 4.00 ms of this run (measured, watched), 40%\n"
        "▸ 2. Pin the memory of batches that travel often: 5% of the run, simulated\n"
        "    no line of the program\n"
        "    16 copies from memory that is not pinned\n"
        "    cost: at most 500 µs of this run (simulated), 5%\n"
        "    run again: 2.00 ms as written, 1.00 ms without (simulated): 2.0× (1.9–2.1)\n"
        "  3. Add up numbers, not the graphs behind them: no time found\n"
        "    no line of the program\n"
        "    10 losses were kept\n"
        "    cost: memory that grows with every step"
    )


def test_why_is_about_the_tip_in_front() -> None:
    state = made_up()
    state = dataclasses.replace(state, found=(dataclasses.replace(state.found[0], line="a.py, line 3: f(x):"),))
    assert advice.why(state) == (
        "**Call the model once, for all samples:** linear ran 64 times in a step, each time for one row, in "
        "`a.py, line 3: f(x):`. Cost: at most 4.00 ms of this run (measured, watched), 40%."
    )


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_bars_are_as_long_as_their_shares(width: int) -> None:
    drawn = advice.draw(made_up(), width).canvas
    svg = drawn.svg("", "")
    bars = [float(found) for found in re.findall(r'class="(?:result|card)"[^>]* width="([\d.]+)"', svg)] or [
        float(found) for found in re.findall(r'width="([\d.]+)" height="11"', svg)
    ]
    assert len(bars) == 2 and bars[0] / bars[1] == pytest.approx(8, rel=0.01), "40 and 5 %"
    assert svg.count('data-act="pick"') == 3 and svg.count('tabindex="0"') == 1
    assert "● 40%" in svg and "◌ 5%" in svg and "no time found" in svg


def test_small_shares_are_not_called_nothing() -> None:
    state = made_up()
    small = dataclasses.replace(state, found=(dataclasses.replace(state.found[0], share=0.004),))
    assert "● &lt; 1%" in advice.draw(small, WIDE).canvas.svg("", "") and "< 1% of the run" in advice.text(small)


def test_where_nothing_applies() -> None:
    state = advice.read(Report())
    assert state.front is None and "Nothing was watched" in advice.text(state)
    with tips.advise() as report:
        tg.ones(2) + 1
    state = advice.read(report)
    assert "No tip applies" in advice.text(state) and "No tip applies" in advice.frame(state).html()
    assert not advice.frame(state).controls


def test_a_real_report_says_what_its_text_says() -> None:
    with tips.advise() as report:
        habits.vectorise()
    (found,) = advice.read(report).found
    assert found.line == report[0].line and found.told == report[0].sign.told and found.cost == report[0].cost
    assert found.setting == {"n": 64} and found.known == "measured" and not found.again


@pytest.mark.parametrize("place", [-1, 3, "x", True, 1.0])
def test_a_place_where_there_is_none(place: object) -> None:
    with pytest.raises(IndexRangeError, match="3 apply"):
        advice.choose(made_up(), place)


def test_what_is_no_report() -> None:
    with pytest.raises(ArgumentError, match=r"it shows what tips\.advise"):
        advice.read([])
