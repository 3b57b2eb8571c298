"""A race on the clock: its words, its numbers, and a picture that holds nothing before the prediction."""

from __future__ import annotations

import copy
import math
import random
from dataclasses import replace
from typing import Any
from xml.dom import minidom

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tests.views.twin import assert_twin
from tinygrad_edu.errors import DtypeError, IndexRangeError
from tinygrad_edu.observe.machine import Conditions
from tinygrad_edu.observe.results import Comparison, Sweep, Timing
from tinygrad_edu.views.race import (
    Agreement,
    RaceState,
    agreement,
    describe,
    difference,
    draw,
    finish,
    frame,
    pick,
    prediction,
    question,
    summary,
    text,
)  # fmt: skip
from tinygrad_edu.views.race.figure import _round_ratios, axis
from tinygrad_edu.views.race.words import MEASURING, WAITING
from tinygrad_edu.views.tokens import MARKS

HERE = Conditions("Example CPU", 2, "Linux", "3.11.7", "2.4.6", "OpenBLAS 0.3", 1, "off", 1e-9)
CAPTIONS = [
    r"\d+ runs? each, as a multiple of their own median|size sweep|n|how many times faster B is",
    r"[\d.e+-]+×|[\d.]+ (ns|µs|ms|s)|[\d\u2009]+",  # ticks
    r"\d+( ×)? beyond →|you, beyond [↑↓]",
    r"measured, [\d.\u2009]+×|you, [\d.e\u2009+-]+×",
    WAITING,
    MEASURING,
]


def timing(name: str, seconds: float, spread: tuple[float, ...] = (0.99, 1.0, 1.02), warmups: int = 1) -> Timing:
    return Timing(name, tuple(seconds * s for s in spread), (seconds * 1.5,) * warmups, 1)


def comparison(slow: float, fast: float, stopped: bool = False, **spread: tuple[float, ...]) -> Comparison:
    a, b = timing("loop", slow, **spread), timing("dot", fast, **spread)
    return Comparison(a, b, tuple(x / y for x, y in zip(a.times, b.times, strict=True)), HERE, stopped)


STATE = RaceState(("loop", "dot"), (1, 10, 100), place=2)
SWEEP = Sweep(STATE.sizes, (comparison(1e-7, 4e-7), comparison(1e-6, 4e-7), comparison(17.7e-6, 492e-9)))
DONE = finish(replace(STATE, said=10.0, said_at=2), SWEEP)
UNSIZED = finish(RaceState(("loop", "dot"), said=0.5), Sweep((1,), (comparison(2.0, 1.0),)))


def test_the_question_names_both_and_the_size() -> None:
    assert question(STATE) == "How many times faster is B dot than A loop at n = 100?"
    assert question(RaceState(("a", "b"))) == "How many times faster is B b than A a?"
    assert question(replace(STATE, ask="Which?")) == "Which?"
    assert question(pick(DONE, 0)).endswith("at n = 100?"), "the question stays what it was"


def test_before_the_prediction_nothing_is_known() -> None:
    shown = frame(replace(STATE, draft=10.0))
    assert shown.text == (
        "TimingRace: How many times faster is B dot than A loop at n = 100?\n"
        "  A loop\n"
        "  B dot\n"
        "  n = 1, 10, 100; n = 100 is shown\n"
        "Nothing is measured before you commit to a prediction.\n"
        "you, not committed: 10×"
    )
    assert (shown.badge, shown.why, shown.conditions) == (None, "", "nothing is measured yet")
    assert_twin(shown, CAPTIONS)


def test_the_text_of_a_result() -> None:
    assert text(DONE) == (
        "TimingRace: How many times faster is B dot than A loop at n = 100?\n"
        "  A loop\n"
        "  B dot\n"
        "  n = 1, 10, 100; n = 100 is shown\n"
        "36× B is faster at n = 100. All 3 pairs 36–36×.\n"
        "You predicted 10× at n = 100. At n = 1 A is faster, 4.0×.\n"
        "A loop: 17.7 µs (17.6–17.9); 3 runs after 1 warm-up (×), as multiples of the median, run 1: 0.990×:\n"
        "  × 1.500\n"
        "  0.990 1.000 1.020\n"
        "B dot: 492 ns (490–497); 3 runs after 1 warm-up (×), as multiples of the median, run 1: 0.990×:\n"
        "  × 1.500\n"
        "  0.990 1.000 1.020\n"
        "by size:\n"
        "  n = 1: A 100 ns (99.5–101), B 400 ns (398–404), A is faster, 4.0× (4.0–4.0)\n"
        "  n = 10: A 1.00 µs (0.995–1.01), B 400 ns (398–404), B is faster, 2.5× (2.5–2.5)\n"
        "  n = 100: A 17.7 µs (17.6–17.9), B 492 ns (490–497), B is faster, 36× (36–36)\n"
        "between the sizes, the lines cross near n = 4\n"
        "measured on Example CPU, 2 cores, Linux · Python 3.11.7, NumPy 2.4.6, OpenBLAS 0.3, 1 thread · gc off"
        " · 3 runs after 1 warm-up (×), median and middle half; ratio: median of the pairs"
    )


def test_another_size_shows_its_own_numbers() -> None:
    shown = frame(pick(DONE, 0))
    assert "4.0× A is faster at n = 1." in shown.text
    assert "You predicted 10× at n = 100. At n = 10 B is faster, 2.5×." in shown.text
    assert_twin(shown, CAPTIONS)


def test_no_difference_is_a_verdict() -> None:
    state = finish(replace(STATE, place=0, said=2.0), Sweep((1,), (comparison(1.0, 1.0),)))
    assert describe(state) == (
        "At n = 1, A loop takes 1.00 s (0.995–1.01), B dot 1.00 s (0.995–1.01). "
        "No difference in time at n = 1. 1.00×. All 3 pairs 1.00–1.00×, which includes 1."
    )


def test_a_difference_that_is_too_small_to_count() -> None:
    """The runs show it, so "no difference" would be too much said."""
    slight = replace(comparison(1.02, 1.0), ratios=(1.01, 1.02, 1.03))
    shown = frame(finish(replace(STATE, place=0, said=2.0), Sweep((1,), (slight,))))
    assert "1.02× Less than 5 % apart at n = 1." in shown.text
    assert "less than 5 % apart, 1.02× (1.01–1.03)" in shown.text
    assert "o difference" not in shown.text
    assert_twin(shown, CAPTIONS)


def test_the_first_run_can_be_read_wherever_it_is() -> None:
    """Without warm-ups it is the one that pays for what happens once."""
    far = comparison(1.0, 1.0, spread=(300.0, *([1.0] * 40)))
    shown = frame(finish(UNSIZED, Sweep((1,), (far,))))
    assert shown.wide.canvas.text_items.count("run 1: 300×") == 2
    assert shown.text.count("run 1: 300×") == 2
    assert_twin(shown, CAPTIONS)


def test_runs_that_disagree_settle_nothing() -> None:
    unsteady = replace(comparison(2.0, 1.0), ratios=(0.8, 2.0, 2.2))
    shown = frame(finish(replace(STATE, place=0, said=2.0), Sweep((1,), (unsteady,))))
    assert "2.0× Not settled which is faster at n = 1." in shown.text
    assert "not settled, 2.0×" in shown.text
    assert "o difference" not in shown.text
    assert_twin(shown, CAPTIONS)


def test_without_sizes() -> None:
    shown = frame(UNSIZED)
    assert "n =" not in shown.text
    assert "2.0× B is faster. All 3 pairs 2.0–2.0×." in shown.text
    assert "You predicted 0.5×, that A is faster." in shown.text
    assert "by size" not in shown.text
    assert [c.act for c in shown.controls] == ["run", "warmup", "reset"]
    assert_twin(shown, CAPTIONS)


def test_one_pair_and_no_warm_up() -> None:
    alone = comparison(2.0, 1.0, stopped=True, spread=(1.0,))
    alone = replace(alone, slow=replace(alone.slow, warmups=()), fast=replace(alone.fast, warmups=()))
    shown = frame(finish(replace(UNSIZED, warmup=False), Sweep((1,), (alone,), stopped=True)))
    assert "1 pair, too few to tell." in shown.text
    assert "Stopped before all pairs were done." in shown.text
    assert shown.conditions.endswith(" · 1 run without warm-up, median and middle half; ratio: median of the pairs")
    assert_twin(shown, CAPTIONS)


def test_a_stopped_sweep_shows_what_was_reached() -> None:
    state = finish(replace(STATE, said=10.0, said_at=2), Sweep((1, 10), SWEEP.comparisons[:2], stopped=True))
    assert state.place == 1
    assert "You predicted 10× at n = 100." in text(state)
    assert "Stopped: larger sizes were not reached." in text(state)
    why, mend = "the race was stopped before it reached that size", "run it again, and wait a little longer"
    with teaches(IndexRangeError, "n = 100", why, mend):
        pick(state, 2)
    assert_twin(frame(state), CAPTIONS)


def test_the_conditions_are_those_of_the_language() -> None:
    assert frame(DONE).conditions == (
        "Example CPU, 2 cores, Linux · Python 3.11.7, NumPy 2.4.6, OpenBLAS 0.3, 1 thread · gc off"
        " · 3 runs after 1 warm-up (×), median and middle half; ratio: median of the pairs"
    )
    assert frame(DONE).badge == "measured"


def test_the_summary_is_the_same_on_every_machine() -> None:
    assert summary(STATE) == "TimingRace: A loop beside B dot at n = 1, 10, 100: nothing measured yet."
    assert frame(DONE).summary == (
        "TimingRace: A loop beside B dot at n = 1, 10, 100: measured; the times are in the picture."
    )
    assert summary(UNSIZED) == "TimingRace: A loop beside B dot: measured; the times are in the picture."


@pytest.mark.parametrize(
    ("value", "found"), [(10, 10.0), ("0,5", 0.5), ("2.5", 2.5), ("", None), (None, None), ("1e3", 1000.0)]
)
def test_predictions(value: object, found: float | None) -> None:
    assert prediction(value) == found


def test_predictions_that_cannot_be() -> None:
    mend = "0.5 means that B takes twice as long, 1 that both take the same"
    with teaches(IndexRangeError, "the prediction -2 times", "no time is below 0", mend):
        prediction("−2")
    with teaches(DtypeError, "the prediction 'many'", "it is not a number", "type digits, such as 2.5"):
        prediction("many")


@pytest.mark.parametrize("place", [-1, 3])
def test_sizes_that_there_are_none_of(place: int) -> None:
    with teaches(IndexRangeError, f"size {place}", "there are 3 sizes", "count from 0"):
        pick(STATE, place)


def test_a_live_region_speaks_the_result() -> None:
    assert '<p class="edu-status" role="status"></p>' in frame(STATE).html()
    assert frame(DONE).status == describe(DONE)


def test_controls() -> None:
    def acts(state: RaceState, working: bool = False) -> list[tuple[str, bool]]:
        return [(c.act, c.disabled) for c in frame(state, working).controls]

    assert acts(STATE) == [("draft", False), ("commit", True), ("n", False), ("warmup", False)]
    assert acts(replace(STATE, draft=2.0))[1] == ("commit", False)
    assert acts(DONE) == [("run", False), ("n", False), ("warmup", False), ("reset", False)]
    assert acts(DONE, working=True)[0] == ("run", True)


# Agreement -------------------------------------------------------------------------------------------------------


def judged(slow: Any, fast: Any, make: Any = int, size: int = 3) -> Agreement:
    return agreement(slow, fast, make, size)


@pytest.mark.parametrize(
    ("a", "b", "how"),
    [
        (1, 2, "A gives 1, B gives 2"), (1.0, 1.001, "A gives 1, B gives 1.001"),
        (-0.5, 0.5, "A gives −0.5, B gives 0.5"),
        (1, 1.0, ""), (1.0, 1.00001, ""), (math.nan, math.nan, ""), (math.inf, -math.inf, "A gives inf, B gives −inf"),
        (True, 1, ""), (10**400, 10**400, ""), (3, None, "A gives 3, B gives nothing"),
        ("a", "b", "A gives 'a', B gives 'b'"),
        ([1, 2], np.array([1.0, 2.0]), ""), (tg.ones(2), [1.0, 1.0], ""), ((1, 2), [1, 2], ""), ([], [], ""),
        (tg.ones(2), tg.ones(2, 1), "A gives an array 2, B an array 2×1"),
        (tg.ones(2), 1.0, "A gives an array 2, B a single number"),
        (tg.tensor([1.0, 2, 3]), tg.tensor([1.0, 2.5, 4]),
         "2 of 3 numbers differ; the first, at [1], is 2 in A and 2.5 in B"),
        (np.eye(2), np.zeros((2, 2)), "2 of 4 numbers differ; the first, at [0, 0], is 1 in A and 0 in B"),
        ([1, [2, "x"]], [1, [2, "y"]], "in item 1, in item 1, A gives 'x', B gives 'y'"),
        (["x"], ["x", "y"], "A gives 1 item, B 2 items"),
        ({"k": 1}, {"k": 2}, "at 'k', A gives 1, B gives 2"), ({"k": 1}, {"j": 1}, "A has the keys ['k'], B ['j']"),
        (tg.tensor([1.0], dtype="float16"), tg.tensor([1.001], dtype="float16"), ""),
    ],
)  # fmt: skip
def test_how_results_differ(a: Any, b: Any, how: str) -> None:
    assert judged(lambda n: a, lambda n: b) == Agreement(not how, how)


@pytest.mark.parametrize(
    ("a", "b", "how"),
    [
        (lambda n: None, lambda n: None, "neither returns a result, so only their times are compared"),
        (lambda n: object(), lambda n: object(), "they give a object, which cannot be compared"),
        (lambda n: np.array([None, 1]), lambda n: np.array([None, 1]), "they give a ndarray, which cannot be compared"),
        (lambda n: 1, lambda n: 1 / 0, "called once more, B raised ZeroDivisionError: division by zero"),
    ],
)
def test_what_cannot_be_compared_is_said_and_is_no_difference(a: Any, b: Any, how: str) -> None:
    assert judged(a, b) == Agreement(None, how)


def test_a_generator_that_has_not_run_is_no_result() -> None:
    found = judged(lambda n: (i for i in range(n)), lambda n: list(range(n)))
    assert found == Agreement(False, "A gives a generator, and none of it has run")


def test_writes_into_the_inputs_are_compared_too() -> None:
    assert judged(lambda x: x.sort(), lambda x: x.sort(), lambda n: [3, 1, 2]) == Agreement(True)
    how = "they leave their inputs different: 2 of 3 numbers differ; the first, at [0], is 3 in A and 1 in B"
    assert judged(lambda x: None, lambda x: x.sort(), lambda n: np.array([3, 2, 1])) == Agreement(False, how)
    assert judged(sorted, lambda x: x.sort() or x, lambda n: [3, 2, 1]).how.startswith("they leave")


def test_random_inputs_and_results_are_drawn_alike_and_the_streams_stay() -> None:
    own = np.random.default_rng(0)
    before = np.random.get_state()[1].tolist(), random.getstate()
    for make in (tg.rand, np.random.rand, lambda n: [random.random() for _ in range(n)], own.random):
        assert judged(sum, lambda x: sum(v for v in x), make) == Agreement(True)
    assert judged(lambda n: np.random.rand(), lambda n: np.random.rand()) == Agreement(True)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before
    found = judged(lambda x: x.sort(), lambda x: x.sort(), own.random, 9)
    assert found == Agreement(None, "A changes its inputs, and each call is given others: nothing to compare")


values = st.recursive(
    st.integers(-3, 3) | st.floats(-9, 9) | st.sampled_from([math.nan, math.inf, None, "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(values, values)
def test_a_difference_is_found_in_both_directions_and_never_with_itself(a: Any, b: Any) -> None:
    assert difference(a, copy.deepcopy(a)) == ""
    assert bool(difference(a, b)) == bool(difference(b, a))


@given(st.lists(st.floats(1, 100), min_size=1, max_size=6), st.integers(0, 5), st.floats(0.02, 5))
def test_the_first_number_that_differs_is_named(numbers: list[float], at: int, by: float) -> None:
    at %= len(numbers)
    other = [v + by * (i == at) for i, v in enumerate(numbers)]
    found = difference(np.array(numbers), np.array(other))
    assert f"1 of {len(numbers)} number" in found and f"at [{at}]," in found


DIFFERENT = finish(
    replace(STATE, said=10.0, said_at=2), SWEEP,
    (Agreement(True), Agreement(None, "they give a file"), Agreement(False, "A gives 1, B gives 2")),
)  # fmt: skip


def test_results_that_differ_are_said_before_the_times() -> None:
    lines = text(DIFFERENT).splitlines()
    assert lines[4:6] == [
        "▲ The results differ at n = 100: A gives 1, B gives 2.",
        "36× B is faster at n = 100. All 3 pairs 36–36×.",
    ]
    assert "B is faster, 36× (36–36), results differ" in text(DIFFERENT)
    assert describe(DIFFERENT).startswith(
        "The results differ at n = 100: A gives 1, B gives 2. At n = 100, A loop takes"
    )
    assert summary(DIFFERENT).endswith(": the results differ; measured; the times are in the picture.")
    for at, told in (
        (0, "Both give the same result. The results differ at n = 100: A gives 1"),
        (1, "Results: they give a file."),
    ):
        assert told in text(pick(DIFFERENT, at))
        assert_twin(frame(pick(DIFFERENT, at)), CAPTIONS)
    assert_twin(frame(DIFFERENT), CAPTIONS)
    for width in (812, 446):
        items = draw(DIFFERENT, width).canvas.text_items
        assert (
            items.index("▲ The results differ at n = 100") < items.index("36×") < items.index("B is faster at n = 100.")
        )


def test_long_names_stand_above_the_picture_in_full() -> None:
    names = ("a name that is long enough to be cut off anywhere, at any width of the widget that there is", "x" * 150)
    for width in (812, 446):
        for state in (replace(DONE, names=names), replace(UNSIZED, names=names)):
            canvas = draw(state, width).canvas
            said = "".join(canvas.text_items).replace(" ", "")
            assert "…" not in said
            for letter, name in zip("AB", names, strict=True):
                assert f"{letter}{name}".replace(" ", "") in said
            assert canvas.text_items.count("A") >= 1 + (len(state.sizes) > 1)  # beside the marks
            assert all(len(item) * 6.9 <= width + 7 for item in canvas.text_items)
    assert_twin(frame(replace(DONE, names=(names[0], "numpy_with_keepdims_and_out"))), CAPTIONS)
    assert "A loop" in draw(DONE, 446).canvas.text_items  # a short name stays where it was


def test_where_both_are_equal_both_are_seen() -> None:
    """A is drawn first and broader, so that it shows on both sides of B."""
    equal = finish(STATE, Sweep((1, 10, 100), (comparison(1.0, 1.0),) * 3))
    items = draw(equal, 812).canvas.items
    dots = [item for item in items if item.startswith("<circle") and ('r="5.5"' in item or 'r="3"' in item)]
    a, b = ([d for d in dots if f'r="{r}"' in d] for r in ("5.5", "3"))
    assert len(a) == len(b) == 3

    def places(marks: list[str]) -> list[str]:
        return [mark.partition("cx")[2].partition(" r=")[0] for mark in marks]

    assert places(a) == places(b)
    lines = [i for i, item in enumerate(items) if 'class="line-a"' in item or 'class="line-b"' in item]
    assert 'class="line-a"' in items[lines[0]] and 'class="line-b"' in items[lines[1]]
    assert 'style="stroke-width:4px' in items[lines[0]] and float(MARKS["line-b"]["stroke-width"]) < 2


# The picture -----------------------------------------------------------------------------------------------------


def test_marks_for_runs_warm_ups_and_the_prediction() -> None:
    for width in (812, 446):
        items = draw(DONE, width).canvas.items
        assert sum('class="run-a"' in item for item in items) == 3
        assert sum('class="cross"' in item for item in items) + sum("× beyond" in item for item in items) == 2
        assert sum('class="you"' in item for item in items) == 1
        assert sum('class="ring"' in item for item in items) == 1
        assert sum('class="mark-a"' in item for item in items) == 3


def test_sizes_can_be_pressed() -> None:
    buttons = [item for item in draw(DONE, 812).canvas.items if 'data-act="n"' in item]
    assert ['data-value="0"' in b for b in buttons] == [True, False, False]
    assert 'aria-label="show n = 1"' in buttons[0]


def test_the_prediction_stands_where_it_says() -> None:
    """At its size, as far below A as B was said to be faster: so 36 would lie on B itself."""

    def marks(said: float) -> tuple[float, float]:
        items = draw(replace(DONE, said=said), 812).canvas.items
        you = next(item for item in items if 'class="you"' in item)
        dots = [item for item in items if 'class="result"' in item and 'r="3"' in item]
        y = float(you.split('d="M')[1].split()[1].split("l")[0])
        return y, float(dots[-1].split('cy="')[1].split('"')[0])

    ratio = SWEEP.comparisons[-1].ratio
    assert marks(ratio)[0] == pytest.approx(marks(ratio)[1], abs=0.1)
    assert marks(2.0)[0] < marks(2.0)[1], "said to be less fast: above B"
    assert marks(200.0)[0] > marks(200.0)[1]


def test_runs_beyond_the_axis_are_counted() -> None:
    far = comparison(1.0, 1.0, spread=(*([1.0] * 40), 50.0))
    items = " ".join(draw(finish(UNSIZED, Sweep((1,), (far,))), 812).canvas.text_items)
    assert items.count("1 beyond →") == 2
    assert items.count("1 × beyond →") == 2


def test_the_axis_stays_where_it_is_when_another_size_is_shown() -> None:
    wild = Sweep((1, 10), (comparison(1.0, 1.0, spread=(1.0, 1.3, 1.4)), comparison(1.0, 1.0)))
    ticks = [
        [item for item in draw(pick(finish(replace(STATE, place=0, said=1.0), wild), at), 812).canvas.items
         if 'y="224"' in item]
        for at in (0, 1)
    ]  # fmt: skip
    assert len(ticks[0]) > 2
    assert ticks[0] == ticks[1]


def test_the_axis_shows_little_spread_as_little() -> None:
    even = comparison(2.0, 1.0, spread=(1.0, 1.0, 1.0))
    found = axis(
        Sweep((1,), (replace(even, slow=replace(even.slow, warmups=()), fast=replace(even.fast, warmups=())),))
    )
    assert found.low == pytest.approx(0.9784)
    assert found.high == pytest.approx(1.0216)
    assert found.ticks() == pytest.approx([0.98, 0.99, 1.0, 1.01, 1.02])


@given(st.floats(1e-4, 1e4), st.floats(1e-4, 1e4))
def test_round_ratios_hold_the_range(one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = _round_ratios(low, high * 1.2)
    assert found[0] <= low * (1 + 1e-9)
    assert found[-1] >= high
    assert 2 <= len(found) <= 7
    assert found == sorted(set(found))


sensible = st.floats(1e-8, 10.0)
spreads = st.lists(st.floats(0.3, 30.0), min_size=1, max_size=12).map(tuple)


@settings(max_examples=25)
@given(st.lists(st.tuples(sensible, sensible, spreads), min_size=1, max_size=4), st.floats(1e-6, 1e6), st.data())
def test_any_result_can_be_drawn(
    results: list[tuple[float, float, tuple[float, ...]]], said: float, data: st.DataObject
) -> None:
    sizes = tuple(sorted(data.draw(st.sets(st.integers(1, 10**7), min_size=len(results), max_size=len(results)))))
    found = Sweep(sizes, tuple(comparison(a, b, spread=spread) for a, b, spread in results))
    at = data.draw(st.integers(0, len(sizes) - 1))
    state = finish(RaceState(("a long name for a function", "dot"), sizes, at, said=said, said_at=at), found)
    shown = frame(state)
    assert_twin(shown, CAPTIONS)
    minidom.parseString(shown.svg().encode())
    for part in (shown.wide, shown.narrow):
        for item in part.canvas.items:
            if item.startswith(("<circle", "<path", "<line")):
                assert "nan" not in item and "inf" not in item
            if item.startswith("<circle"):
                x, y = (float(item.split(f'{side}="')[1].split('"')[0]) for side in ("cx", "cy"))
                assert 0 <= x <= part.canvas.width
                assert 0 <= y <= part.canvas.height


def test_a_large_result_stays_small() -> None:
    spread = tuple(1 + math.sin(i) / 50 for i in range(60))
    full = comparison(17.7e-6, 492e-9, spread=spread)
    state = finish(replace(DONE, place=0), Sweep((1, 10, 100), (full,) * 3))
    assert len(frame(state).html()) < 60_000
