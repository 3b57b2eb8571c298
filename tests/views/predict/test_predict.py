"""A question before and after its answer: exact text, the same values in the picture, and what is refused."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.dom import minidom

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.views.twin import assert_twin
from tinygrad_edu.errors import DtypeError, EduError, IndexRangeError
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.predict import (
    GateState,
    Outcome,
    Question,
    checked_why,
    describe,
    draft,
    frame,
    outcome,
    question,
    text,
)  # fmt: skip
from tinygrad_edu.views.predict.figure import scale
from tinygrad_edu.views.predict.words import WAITING, tick_text


def ticks(q: Question) -> list[str]:
    """The labels of an axis are no values: its ends are in the twin."""
    return [r"−?[\d.e+−\u2009]+" + q.unit.replace("*", r"\*")] if q.kind != "choice" else []


def checked(state: GateState) -> Frame:
    shown = frame(state)
    assert_twin(shown, ticks(state.question))
    for page in (shown.svg(), shown.html()):
        assert "nan" not in page.split("</desc>", 1)[1].split("<text")[0]
    minidom.parseString(shown.svg().encode())
    return shown


def test_a_choice() -> None:
    q = question("Which `x`?", choices=["one", "two"])
    assert text(GateState(q)) == f"PredictGate: Which x?\n     one\n     two\n{WAITING}"
    assert text(GateState(q, "two")) == f"PredictGate: Which x?\n     one\n  ◇  two\n{WAITING}"
    done = GateState(q, "two", True, outcome(q, "one", "It **is**."))
    assert text(done) == "PredictGate: Which x?\n   ● one\n  ◇  two\nyou: two\nresult: one\nIt is."
    assert describe(done) == "You predicted two. Result: one."
    for state in (GateState(q), GateState(q, "two"), done):
        checked(state)


REASONS = {"one": "The **first** counts.", "two": "The second `x` is late.", "three": "There are only two."}


def test_each_wrong_choice_has_its_reason() -> None:
    q = question("Which?", choices=["one", "two", "three", "four"])
    done = GateState(q, "two", True, outcome(q, "one", REASONS))
    assert text(done) == (
        "PredictGate: Which?\n   ● one\n  ◇  two\n       The second x is late.\n     three\n"
        "       There are only two.\n     four\nyou: two\nresult: one\nThe first counts."
    )
    shown = checked(done)
    assert shown.why == REASONS["one"]
    for figure in (shown.wide, shown.narrow):
        drawn = figure.svg()
        assert drawn.index(">two<") < drawn.index("The second x is late.") < drawn.index(">three<")
        assert "first" not in drawn  # the reason for the result is the why line
    for before in (GateState(q), GateState(q, "two")):
        assert not [words for words in REASONS.values() if words in frame(before).html()]
    assert outcome(q, "four", REASONS).why == ""
    assert outcome(q, Outcome("one", "Because."), REASONS).why == "Because."


def test_long_reasons_stay_in_the_figure() -> None:
    q = question("Which?", choices=["one", "two"])
    figure = frame(GateState(q, "two", True, outcome(q, "one", {"two": "much too long " * 12}))).narrow
    rows = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>much', figure.svg())]
    assert len(rows) > 1
    assert max(rows) < figure.canvas.height


@pytest.mark.parametrize(
    "why, words",
    [
        ({"five": "…"}, "the choices are one, two"),
        ({"two": 2}, "why['two'] is a text"),
        (3, "why is a text"),
    ],
)
def test_reasons_that_are_refused(why: Any, words: str) -> None:
    with pytest.raises(EduError, match=re.escape(words)):
        checked_why(question("Which?", choices=["one", "two"]), why)
    with pytest.raises(EduError, match="offers no choices"):
        checked_why(question("How many?"), {"1": "…"})


def test_a_still_picture_offers_the_choices_and_says_what_to_do() -> None:
    q = question("Which?", choices=["one", "two"])
    drawn = frame(GateState(q), still=True)
    for said in ("one", "two", "Run this notebook to answer."):
        assert said in drawn.svg()
        assert said not in frame(GateState(q)).wide.svg()
    assert_twin(drawn, ["Run this notebook to answer."])


def test_a_number() -> None:
    q = question("How many?", low=0, high=10, unit=" s")
    assert text(GateState(q)) == f"PredictGate: How many?\n  from 0 to 10 s\n{WAITING}"
    assert text(GateState(q, 2.5)).endswith(f"{WAITING}\nyou, not committed: 2.50 s")
    done = GateState(q, 2.5, True, outcome(q, Outcome(1234.0, "Why.", "this run", "measured")))
    assert text(done) == "PredictGate: How many?\n  from 0 to 10 s\nyou: 2.50 s\nmeasured: 1\u2009234 s\nWhy."
    for state in (GateState(q), GateState(q, 2.5), done):
        checked(state)
    assert frame(done).badge == "measured"
    assert frame(GateState(q, 2.5)).conditions == "nothing is computed yet"
    assert frame(done).conditions == "this run"


def test_a_curve() -> None:
    q = question("Draw it.", xs=[1, 2, 3], low=0, high=2.5, x_label="epoch", y_label="mean loss")
    assert text(GateState(q)) == f"PredictGate: Draw it.\n  mean loss from 0 to 2.5 over epoch 1, 2, 3\n{WAITING}"
    assert text(GateState(q, (0.0, 1.0, 2.5))).endswith("you, not committed: 1: 0, 2: 1.00, 3: 2.50")
    done = GateState(q, (0.0, 1.0, 2.5), True, outcome(q, [2.0, math.nan, math.inf]))
    assert text(done).endswith("you: 1: 0, 2: 1.00, 3: 2.50\nresult: 1: 2.00, 2: nan, 3: ∞")
    for state in (GateState(q), GateState(q, (0.0, 1.0, 2.5)), done):
        checked(state)
    nowhere = GateState(q, (0.0, 1.0, 2.5), True, outcome(q, [math.nan] * 3))
    assert "NaN" not in checked(nowhere).html()


@pytest.mark.parametrize("q", [question("?", choices=["a", "b"]), question("?"), question("?", xs=[1])])
def test_nothing_is_said_to_exist_or_to_be_counted_that_is_not(q: Question) -> None:
    before = frame(GateState(q))
    for said in (before.html(), before.svg(), before.text):
        assert "Nothing is computed before you commit" in said
        assert not re.search("ready|waits|on this page|counted", said)
    value: Any = "a" if q.kind == "choice" else [0.5] if q.xs else 0.5
    after = frame(GateState(q, draft(q, value), True, outcome(q, value)))
    assert after.conditions == "computed when you committed"
    assert not any("counted" in said for said in (after.html(), after.svg(), after.text))


def test_a_live_region_waits_for_the_result_and_speaks_it() -> None:
    q = question("Which?", choices=["one", "two"])
    assert '<p class="edu-status" role="status"></p>' in frame(GateState(q, "two")).html()
    done = frame(GateState(q, "two", True, outcome(q, "one")))
    assert '<p class="edu-status" role="status">You predicted two. Result: one.</p>' in done.html()
    assert "edu-status" not in done.html(live=False)


@pytest.mark.parametrize(
    "offer, error, words",
    [
        ({"choices": ["one"]}, DtypeError, "has fewer than two choices"),
        ({"choices": ["one", "one"]}, DtypeError, "or the same one twice"),
        ({"choices": [1, "1"]}, DtypeError, "or the same one twice"),
        ({"low": 2, "high": 1}, IndexRangeError, "the low end is not below the high end"),
        ({"low": math.nan}, IndexRangeError, "the low end is not below"),
        ({"high": math.inf}, IndexRangeError, "the low end is not below"),
    ],
)
def test_questions_that_cannot_be_asked(offer: Any, error: type[EduError], words: str) -> None:
    with pytest.raises(error, match=words):
        question("?", **offer)


CHOICE = question("?", choices=["1", "2"])
NUMBER = question("?", low=-1, high=1)
CURVE = question("?", xs=range(3))


@pytest.mark.parametrize(
    "q, value, found",
    [
        (CHOICE, "1", "1"), (CHOICE, 2, "2"), (NUMBER, "−1,5", -1.5), (NUMBER, " 2 ", 2.0), (NUMBER, 7, 7.0),
        (CURVE, (0, 0.5, 9), (0.0, 0.5, 9.0)), (CURVE, range(3), (0.0, 1.0, 2.0)),
    ],
)  # fmt: skip
def test_predictions_that_are_taken(q: Question, value: Any, found: Any) -> None:
    assert draft(q, value) == found


@pytest.mark.parametrize(
    "q, value, words",
    [
        (CHOICE, "3", "the prediction '3': the choices are 1, 2. Take one of these."),
        (NUMBER, "many", "the prediction 'many': it is not a number. Type digits, such as 2.5."),
        (NUMBER, "nan", "the prediction 'nan': it is not a finite number. Type digits, such as 2.5."),
        (CURVE, [1, 2], "a curve of 2 points: the question has 3. Give one height for each."),
        (CURVE, [1, math.nan, 2], "a predicted curve: one of its heights is not a number. Give one height for each."),
    ],
)
def test_predictions_that_are_refused(q: Question, value: Any, words: str) -> None:
    with pytest.raises(EduError) as caught:
        draft(q, value)
    assert caught.value.sentence() == words


@pytest.mark.parametrize(
    "q, value, words",
    [
        (CHOICE, "3", "the question asks for one of the choices"),
        (NUMBER, math.inf, "the question asks for a finite number"),
        (CURVE, [1.0], "the question asks for a curve of 3 points"),
    ],
)
def test_results_that_are_no_answers(q: Question, value: Any, words: str) -> None:
    with pytest.raises(DtypeError, match=words):
        outcome(q, value)


numbers = st.floats(-1e6, 1e6).map(lambda v: round(v, 6))
words_ = st.text("abcdefgh <>&*`", min_size=1, max_size=60).filter(lambda t: t.strip() == t)


@st.composite
def states(draw: st.DrawFn) -> GateState:
    kind = draw(st.sampled_from(["choice", "number", "curve"]))
    unit = draw(st.sampled_from(["", " s", " kB"]))
    if kind == "choice":
        choices = draw(st.lists(words_, min_size=2, max_size=5, unique_by=str))
        q, values = question(draw(words_), choices=choices), st.sampled_from(choices)
    else:
        low = draw(numbers)
        high = low + draw(st.floats(0.01, 1e4))
        xs = sorted(draw(st.sets(numbers, min_size=1, max_size=9))) if kind == "curve" else []
        q = question(draw(words_), low=low, high=high, unit=unit, xs=xs, x_label=draw(words_), y_label=draw(words_))
        values = st.tuples(*[numbers] * len(xs)) if xs else numbers  # type: ignore[assignment]
    mine = draw(st.none() | values)
    state = GateState(
        q, None if mine is None else draft(q, mine), message=draw(st.sampled_from(["", "no *such* thing"]))
    )
    if mine is not None and draw(st.booleans()):
        badge = draw(st.sampled_from([None, "measured"]))
        state = GateState(q, state.draft, True, outcome(q, Outcome(draw(values), draw(words_), "", badge)))
    return state


@settings(max_examples=60)
@given(states())
def test_the_twin_says_all_that_is_drawn(state: GateState) -> None:
    checked(state)


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_an_axis_has_a_few_round_ticks(low: float, width: float) -> None:
    high = low + width
    found = scale(low, high)
    assert 3 <= len(found) <= 10
    slack = width * 1e-6 + 2 * math.ulp(max(abs(low), abs(high)))  # no closer than floats can tell
    assert all(low - slack <= tick <= high + slack for tick in found)


def test_ticks_are_written_short() -> None:
    assert [tick_text(v) for v in (0.0, -1.0, 2.5, 1e-6)] == ["0", "−1", "2.5", "1e−06"]


def test_strangers_words_stay_text() -> None:
    bad = "<script>alert(1)</script>"
    choice = question(bad, choices=[bad, "x"])
    done = GateState(choice, bad, True, outcome(choice, Outcome(bad, bad, bad, bad)), bad)
    curve = question(bad, xs=[1, 2], unit=bad, x_label=bad, y_label=bad)
    for state in (GateState(choice, bad), done, GateState(curve, (0.0, 1.0))):
        for page in (frame(state).html(), frame(state).page(), frame(state).svg()):
            assert "<script" not in page
