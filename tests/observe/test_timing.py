"""Timing, under a clock that the tests move: so every number is exact, and no test depends on the machine."""

from __future__ import annotations

import gc
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.observe.clock import MILLISECOND, Clock
from tests.support import teaches
from tinygrad_edu.common import wording
from tinygrad_edu.errors import ArgumentError, TimingError
from tinygrad_edu.observe import machine, statistics, timing
from tinygrad_edu.observe.timing import Comparison, Conditions, Sweep, Timing, compare, measure, sweep

HERE = Conditions("Example CPU", 2, "Linux x86_64", "3.11.7", "2.4.6", "OpenBLAS 0.3", 1, "off", 1e-9)


def comparison(ratios: list[float], conditions: Conditions = HERE, stopped: bool = False) -> Comparison:
    """Two functions of which the fast one always takes one second."""
    slow = Timing("loop", tuple(ratios), (), 1)
    return Comparison(slow, Timing("dot", (1.0,) * len(ratios), (), 1), tuple(ratios), conditions, stopped)


# One function ----------------------------------------------------------------------------------------------------


def test_times_come_after_warmups(clock: Clock) -> None:
    found = measure(clock.takes(iter([8.0, 4.0, 3.0, 1.0, 2.0, 6.0]), "f"), warmup=2, repeats=4)
    assert found == Timing("f", (3.0, 1.0, 2.0, 6.0), (8.0, 4.0), 1)
    assert found.median == 2.5
    assert found.quartiles == (1.75, 3.75)
    assert found.text() == "2.50 s (1.75–3.75)"


def test_without_warmups_the_first_call_counts(clock: Clock) -> None:
    found = measure(clock.takes(iter([8.0, 4.0, 1.0, 2.0])), warmup=0, repeats=3)
    assert (found.times, found.warmups) == ((8.0, 1.0, 2.0), ())  # the second call was there to choose the loops


def test_fast_functions_are_called_in_loops(clock: Clock) -> None:
    found = measure(clock.takes(2.0**-20), repeats=3, warmup=1)
    assert found.loops == 64
    assert found.loops * 2.0**-20 >= timing.ENOUGH > found.loops / 2 * 2.0**-20
    assert found.times == (2.0**-20,) * 3
    assert len(clock.calls) == 1 + (2 + 4 + 8 + 16 + 32 + 64) + 3 * 64


def test_a_clock_that_never_moves_does_not_loop_for_ever(clock: Clock) -> None:
    calls = itertools.count()
    found = measure(lambda: next(calls), repeats=3)
    assert found.loops == timing.MANY
    assert found.times == (machine.RESOLUTION / timing.MANY,) * 3


def test_slow_functions_are_not_called_to_choose_loops(clock: Clock) -> None:
    measure(clock.takes(1.0), repeats=3, warmup=1)
    assert len(clock.calls) == 1 + 3


def test_setup_stands_outside_of_the_clock(clock: Clock) -> None:
    made = itertools.count()

    def setup() -> tuple[int, str]:
        clock.now += 100.0
        return next(made), "x"

    seen: list[tuple[Any, ...]] = []

    def function(*given: Any) -> None:
        seen.append(given)
        clock.now += 2.0**-20

    found = measure(function, setup=setup, repeats=3, warmup=1)
    assert (found.times, found.warmups, found.loops) == ((2.0**-20,) * 3, (2.0**-20,), 1)
    assert seen == [(0, "x"), (1, "x"), (2, "x"), (3, "x")]


@pytest.mark.parametrize(("given", "wanted"), [((1, 2), (1, 2)), ([1, 2], ([1, 2],)), (None, ()), ((), ())])
def test_what_setup_gives(given: Any, wanted: tuple[Any, ...]) -> None:
    seen: list[tuple[Any, ...]] = []
    measure(lambda *args: seen.append(args), setup=lambda: given, repeats=3, warmup=0)
    assert set(map(repr, seen)) == {repr(wanted)}


def test_a_clock_that_stands_still_gives_its_resolution(clock: Clock) -> None:
    assert measure(clock.takes(0.0), setup=lambda: None, repeats=3).times == (machine.RESOLUTION,) * 3


@pytest.mark.parametrize(
    ("seconds", "budget", "repeats"),
    [
        (4.0, 1.0, 4),  # however long they take
        (0.25, 1.0, 6),  # for which the budget may be spent twice
        (0.5, 1.0, 4),
        (0.125, 1.0, 8 - 2),
        (MILLISECOND, 1.0, 60),
        (MILLISECOND, 32 * MILLISECOND, 30),
    ],
)
def test_the_budget_decides_how_often(clock: Clock, seconds: float, budget: float, repeats: int) -> None:
    assert len(measure(clock.takes(seconds), budget=budget, warmup=2).times) == repeats


@pytest.mark.parametrize(("seconds", "warmups"), [(1.0, 1), (0.25, 2), (0.125, 3), (0.0625, 3)])
def test_warmups_take_no_more_than_a_part_of_the_budget(clock: Clock, seconds: float, warmups: int) -> None:
    assert len(measure(clock.takes(seconds), budget=1.0).warmups) == warmups
    assert len(measure(clock.takes(seconds), budget=1.0, repeats=4).warmups) == 3  # who asks for four has the time


def test_inputs_that_take_long_to_make_count_too(clock: Clock) -> None:
    def setup() -> None:
        clock.now += 1.0

    found = compare(clock.takes(MILLISECOND), clock.takes(MILLISECOND), setup=setup, budget=2.0)
    assert (len(found.ratios), len(found.slow.warmups)) == (4, 1)


def test_the_name_of_what_has_none() -> None:
    class Layer:
        def __call__(self) -> None: ...

    assert measure(Layer(), repeats=3).name == "Layer"


# Two functions ---------------------------------------------------------------------------------------------------


def test_the_two_take_turns_and_change_who_begins(clock: Clock) -> None:
    compare(clock.takes(1.0, "a"), clock.takes(1.0, "b"), repeats=3, warmup=2)
    assert "".join(clock.calls) == "abba" + "abbaab"


def test_ratios_are_paired(clock: Clock) -> None:
    slow, fast = iter([9.0, 6.0, 8.0, 1.0]), iter([9.0, 3.0, 2.0, 4.0])
    found = compare(clock.takes(slow), clock.takes(fast), repeats=3, warmup=1, names=("A", "B"))
    assert found.ratios == (2.0, 4.0, 0.25)
    assert (found.slow.name, found.fast.name, found.stopped) == ("A", "B", False)
    assert (found.slow.warmups, found.fast.warmups) == ((9.0,), (9.0,))
    assert found.ratio == pytest.approx(2)
    assert found.middle == pytest.approx((2**-0.5, 2**1.5))


def test_each_has_loops_of_its_own(clock: Clock) -> None:
    found = compare(clock.takes(1.0), clock.takes(2.0**-20), repeats=3)
    assert (found.slow.loops, found.fast.loops) == (1, 64)
    assert found.ratios == (2.0**20,) * 3


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ([2.0] * 5, "faster"),
        ([0.5] * 5, "slower"),
        ([1.0] * 5, "no difference"),
        ([1.04] * 60, "no difference"),  # certain, and yet not more than noise
        ([1.06] * 60, "faster"),
        ([1 / 1.04] * 60, "no difference"),
        ([1 / 1.06] * 60, "slower"),
        ([0.2, 0.5, 1.5, 5.0, 6.0, 7.0], "no difference"),  # the interval includes 1
        ([0.9] + [1.2] * 5, "no difference"),  # of six, all must say the same
        ([0.9] + [1.2] * 8, "faster"),
        ([1.1, 1.2, 1.3, 1.4, 1.5], "no difference"),  # and fewer must agree: 1.5 is more than 1.1 times 1.1 times 1.1
        ([1.2, 1.3, 1.3, 1.4, 1.5], "faster"),
        ([0.4, 0.3, 0.2, 0.1], "slower"),
        ([0.9, 0.3, 0.2, 0.1], "no difference"),
        ([2.0] * 3, "faster"),
        ([2.0] * 2, "no difference"),  # two times show no spread
        ([9.0], "no difference"),
    ],
)
def test_verdicts(ratios: list[float], verdict: str) -> None:
    assert comparison(ratios).verdict == verdict


def test_what_the_clock_cannot_tell_is_no_difference() -> None:
    coarse = Conditions("", 1, "", "", "", "", None, "off", clock=1.5)
    assert comparison([2.0] * 9, coarse).verdict == "no difference"
    assert comparison([3.0] * 9, coarse).verdict == "faster"


def test_words() -> None:
    assert comparison([35.0, 36.0, 37.0]).sentence() == "dot is faster than loop: 36× (35–37)"
    assert comparison([0.25, 0.26, 0.27]).sentence() == "dot is slower than loop: 3.8× (3.7–4.0)"
    assert comparison([1.0, 1.01, 1.02]).sentence() == "no difference between loop and dot: 1.01× (1.00–1.02)"
    assert comparison([0.3, 3.0, 4.0]).sentence() == "not settled whether dot is faster than loop: 3.0× (0.3–4.0)"
    assert comparison([0.9, 0.3, 0.2, 0.1]).sentence().startswith("not settled whether dot is slower than loop: 4.1×")
    assert comparison([1.02, 1.03, 1.04]).sentence() == "less than 5 % between loop and dot: 1.03× (1.02–1.04)"
    assert not comparison([1.04] * 60).open and not comparison([2.0] * 3).open
    assert comparison([0.9, 1.04, 1.3] * 3).open and not comparison([0.95, 1.01, 1.1] * 3).open


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ([4.0] * 5 + [4.2] * 5, "95 % interval of this race 4.0–4.2×"),
        ([0.25] * 5 + [0.2] * 5, "95 % interval of this race 4.0–5.0×"),
        ([3.5, 4.0, 4.5], "all 3 pairs 3.5–4.5×"),
        ([0.8] * 5 + [1.1] * 5, "95 % interval of this race 0.91–1.25×, which includes 1"),
        ([1.02] * 8, "95 % interval of this race 1.02–1.02×, and less than 5 % counts as none"),
        ([1.1, 3.0, 9.0], "all 3 pairs 1.1–9.0×, too unsteady or short to tell"),
        ([4.0, 4.0], "2 pairs, too few to tell"),
        ([4.0], "1 pair, too few to tell"),
    ],
)
def test_what_a_verdict_rests_on(ratios: list[float], words: str) -> None:
    assert comparison(ratios).grounds() == words


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_the_interval_that_is_printed_decides(ratios: list[float]) -> None:
    """A difference is never claimed beside an interval that includes 1, and a ratio is never printed below 1."""
    found = comparison(ratios)
    ratio, low, high = found.times
    assert ratio >= 1 and low <= ratio * (1 + 1e-9) and high >= ratio * (1 - 1e-9)
    if found.verdict != "no difference":
        assert low > 1
    assert ("which includes 1" in found.grounds()) == (len(ratios) >= 3 and low <= 1 <= high)


def test_text(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "conditions", lambda threads: HERE)
    found = compare(clock.takes(4.0), clock.takes(0.5), repeats=5, names=("loop", "dot"))
    assert found.text() == (
        "dot is faster than loop: 8.0× (8.0–8.0)\n"
        "  loop: 4.00 s (4.00–4.00)\n"
        "  dot: 500 ms (500–500)\n"
        "  5 pairs after 3 warm-ups; times: median and middle half; ratio: median and range\n"
        "  Example CPU, 2 cores, Linux x86_64 · Python 3.11.7, NumPy 2.4.6, OpenBLAS 0.3, 1 thread"
        " · gc off"
    )


def test_plain_data(clock: Clock) -> None:
    found = compare(clock.takes(4.0), clock.takes(0.5), repeats=3, warmup=1).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found.pop("conditions")["gc"] == "off"
    assert found == {
        "slow": {
            "name": "slow", "median": 4.0, "quartiles": [4.0, 4.0], "loops": 1, "times": [4.0] * 3, "warmups": [4.0],
        },
        "fast": {
            "name": "fast", "median": 0.5, "quartiles": [0.5, 0.5], "loops": 1, "times": [0.5] * 3, "warmups": [0.5],
        },
        "ratios": [8.0] * 3,
        "ratio": pytest.approx(8),
        "middle": pytest.approx([8, 8]),
        "interval": pytest.approx([8, 8]),
        "verdict": "faster",
        "stopped": False,
    }  # fmt: skip


# Statistics ------------------------------------------------------------------------------------------------------

some_ratios = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=25)


@given(some_ratios)
def test_the_same_samples_give_the_same_interval(ratios: list[float]) -> None:
    assert comparison(ratios).interval == comparison(ratios).interval


@given(some_ratios)
def test_the_interval_holds_the_ratio_and_lies_among_the_samples(ratios: list[float]) -> None:
    found = comparison(ratios)
    low, high = found.interval
    assert min(ratios) * (1 - 1e-9) <= low <= high <= max(ratios) * (1 + 1e-9)
    first, third = found.middle
    assert first * (1 - 1e-9) <= found.ratio <= third * (1 + 1e-9)


@given(some_ratios)
def test_swapping_the_two_turns_everything_round(ratios: list[float]) -> None:
    found, swapped = comparison(ratios), comparison([1 / ratio for ratio in ratios])
    assert swapped.ratio == pytest.approx(1 / found.ratio)
    assert swapped.middle == pytest.approx((1 / found.middle[1], 1 / found.middle[0]))
    opposite = {"faster": "slower", "slower": "faster", "no difference": "no difference"}
    if not any(math.isclose(edge, limit) for edge in (*found.interval, found.ratio) for limit in (1, 1.05, 1 / 1.05)):
        assert swapped.verdict == opposite[found.verdict]


@given(some_ratios, st.floats(0.01, 100))
def test_a_unit_changes_nothing(ratios: list[float], unit: float) -> None:
    scaled = statistics.middle_ratio([ratio * unit for ratio in ratios])
    assert scaled == pytest.approx(statistics.middle_ratio(ratios) * unit)


@pytest.mark.parametrize(
    ("count", "left_out"), [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5), (60, 21), (1000, 468)]
)
def test_the_interval_of_a_median_is_that_of_the_tables(count: int, left_out: int) -> None:
    """As in textbooks: Conover, "Practical nonparametric statistics", and others."""
    low, high = statistics.median_interval(range(count))
    assert (low, high) == (left_out, count - 1 - left_out)


@pytest.mark.parametrize("count", [6, 7, 10, 31, 60])
def test_the_interval_covers_the_true_ratio_at_least_as_often_as_it_says(count: int) -> None:
    random = np.random.default_rng(1)
    values = np.exp(random.standard_exponential((2000, count)) - math.log(2))  # the median of an exponential is log 2
    intervals = [statistics.median_interval(row.tolist()) for row in values]
    assert 0.94 < np.mean([low <= 1 <= high for low, high in intervals]) < 0.99


@pytest.mark.parametrize("pairs", [3, 4, 5, 6, 7, 20, 60])
@pytest.mark.parametrize("spread", [0.02, 0.1, 0.5])
def test_of_two_equal_functions_hardly_one_comparison_claims_a_difference(pairs: int, spread: float) -> None:
    random = np.random.default_rng(2)
    claims = 0
    for slow, fast in 1 + random.exponential(spread, (500, 2, pairs)):  # noise only adds time
        timings = Timing("a", tuple(slow.tolist()), (), 1), Timing("b", tuple(fast.tolist()), (), 1)
        claims += Comparison(*timings, tuple((slow / fast).tolist()), HERE).verdict != "no difference"
    assert claims <= (0.08 if pairs == 3 else 0.06) * 500


def test_a_spread_is_written_in_the_unit_of_its_median() -> None:
    assert wording.duration_with_spread(1.02e-3, (0.95e-3, 1.1e-3)) == "1.02 ms (0.950–1.10)"
    assert wording.duration_with_spread(9.996e-7, (4e-9, 0.1)) == "1.00 µs (0.00400–100\u2009000)"
    assert wording.duration_with_spread(3e-11, (3e-11, 3e-11)) == "0.0300 ns (0.0300–0.0300)"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1236.0, "1\u2009240"),
        (999.6, "1\u2009000"),
        (0.5, "0.50"),
        (0.1, "0.10"),
        (36.4, "36"),
        (9.97, "10"),
        (3.62, "3.6"),
        (1.996, "2.0"),
        (1.04, "1.04"),
        (0.026, "0.026"),
    ],
)
def test_ratios_are_written_with_the_digits_they_bear(ratio: float, text: str) -> None:
    assert wording.ratio_text(ratio) == text


# Sizes -----------------------------------------------------------------------------------------------------------


def crossing(*ratios: float, sizes: tuple[int, ...] = (1, 10, 100, 1000)) -> float | None:
    return Sweep(sizes[: len(ratios)], tuple(comparison([ratio] * 9) for ratio in ratios)).crossover


def test_the_crossover_is_interpolated_on_logarithmic_axes() -> None:
    assert crossing(0.1, 10.0) == pytest.approx(10**0.5)
    assert crossing(0.1, 0.5, 2.0, 10.0) == pytest.approx(10**1.5)
    assert crossing(10.0, 0.1) == pytest.approx(10**0.5)
    assert crossing(0.25, 16.0) == pytest.approx(10 ** (1 / 3))


def test_sizes_without_a_difference_are_passed_over() -> None:
    assert crossing(0.1, 0.98, 10.0) == pytest.approx(10 ** (1 + math.log(0.98) / math.log(0.98 / 10)))
    assert crossing(0.1, 1.0, 10.0) == pytest.approx(10.0)


def test_where_nothing_turns_round_there_is_no_crossover() -> None:
    assert crossing(2.0, 20.0, 200.0) is None
    assert crossing(1.0, 0.98, 20.0) is None  # equal at first: no side was ever ahead before
    assert crossing(2.0) is None


@given(st.floats(1.1, 100), st.floats(1.1, 100))
def test_the_crossover_lies_between_its_neighbours(one: float, other: float) -> None:
    found = crossing(1 / one, other)
    assert found is not None
    assert 1 <= found <= 10
    assert found == pytest.approx(10 ** (math.log(one) / math.log(one * other)))


def growing(clock: Clock) -> Callable[[int], None]:
    def function(n: int) -> None:
        clock.now += n * MILLISECOND

    return function


def test_a_sweep(clock: Clock) -> None:
    made: list[int] = []
    found = sweep(
        growing(clock), clock.takes(8 * MILLISECOND), [2, 8, np.int64(32)],
        make=lambda n: made.append(n) or n, repeats=3, names=("loop", "call"),
    )  # fmt: skip
    assert made == [2, 8, 32]
    assert (found.sizes, found.stopped) == ((2, 8, 32), False)
    assert [one.ratios for one in found.comparisons] == [(0.25,) * 3, (1.0,) * 3, (4.0,) * 3]
    assert found.crossover == pytest.approx(8)
    assert found.text() == (
        "2: call is slower than loop: 4.0× (4.0–4.0)\n"
        "8: no difference between loop and call: 1.00× (1.00–1.00)\n"
        "32: call is faster than loop: 4.0× (4.0–4.0)\n"
        "equal near 8, between two sizes"
    )
    data = found.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["sizes"] == [2, 8, 32]


def test_fresh_inputs_for_functions_that_change_them() -> None:
    def sort(values: list[int]) -> None:
        assert values == [3, 2, 1]
        values.sort()

    found = sweep(sort, sort, (3,), make=lambda n: ([3, 2, 1],), fresh=True, repeats=3)
    assert found.comparisons[0].slow.loops == 1


def test_what_small_sizes_leave_the_larger_ones_get(clock: Clock) -> None:
    found = sweep(growing(clock), growing(clock), (1, 64), make=lambda n: n, warmup=1, budget=2.0)
    small, large = (len(one.ratios) for one in found.comparisons)
    assert small == 60
    assert large == math.ceil((2.0 - (1 + 60) * 2 * MILLISECOND) / (128 * MILLISECOND)) - 1


# Progress and stopping -------------------------------------------------------------------------------------------


def test_progress_says_how_far_and_how_long(clock: Clock) -> None:
    said: list[tuple[int, int, float]] = []
    compare(clock.takes(0.5), clock.takes(0.5), repeats=4, warmup=1, budget=2.0, progress=lambda *x: said.append(x))
    assert said == [(0, 4, 2.0), (0, 4, 2.0), (1, 4, 3.0), (2, 4, 2.0), (3, 4, 1.0), (4, 4, 0.0)]


def test_the_total_follows_the_budget(clock: Clock) -> None:
    said: list[tuple[int, int, float]] = []
    measure(clock.takes(0.25), budget=2.0, warmup=1, progress=lambda *x: said.append(x))
    assert said[:3] == [(0, 60, 2.0), (0, 60, 2.0), (1, 7, 1.5)]
    assert said[-1] == (7, 7, 0.0)


def test_progress_is_never_timed(clock: Clock) -> None:
    def progress(*_: Any) -> None:
        clock.now += 1000.0

    assert measure(clock.takes(1.0), repeats=3, progress=progress).times == (1.0,) * 3


def test_stopping_keeps_what_was_measured(clock: Clock) -> None:
    found = compare(clock.takes(2.0), clock.takes(1.0), repeats=10, progress=lambda done, *_: done < 4)
    assert found.ratios == (2.0,) * 4
    assert found.stopped
    assert found.to_dict()["stopped"] is True
    assert (
        "  4 pairs after 3 warm-ups, stopped; times: median and middle half; ratio: median and range\n" in found.text()
    )


def test_a_pair_is_finished_before_it_stops(clock: Clock) -> None:
    compare(clock.takes(1.0, "a"), clock.takes(1.0, "b"), warmup=0, progress=lambda done, *_: done < 2)
    assert sorted(clock.calls) == ["a"] * 3 + ["b"] * 3  # one of them to choose the loops


def test_one_pair_is_a_result(clock: Clock) -> None:
    found = compare(clock.takes(4.0), clock.takes(1.0), progress=lambda done, *_: done < 1)
    assert (found.ratios, found.stopped) == ((4.0,), True)
    assert (found.interval, found.verdict) == ((4.0, 4.0), "no difference")
    assert found.sentence() == "too few runs to tell slow from fast: 4.0× (4.0–4.0)"
    assert "  1 pair after 1 warm-up, stopped;" in found.text()


def test_stopping_before_anything_is_an_error(clock: Clock) -> None:
    why, mend = "it was stopped before the first repeat was done", "let it run until `done` is 1"
    with teaches(TimingError, "compare(slow, fast)", why, mend, "compare("):
        compare(clock.takes(1.0), clock.takes(1.0), progress=lambda *_: False)
    with teaches(TimingError, "measure(f)", why, mend, "measure("):
        measure(clock.takes(1.0, "f"), progress=lambda *_: False)
    with teaches(TimingError, "sweep(slow, fast)", why, mend, "sweep("):
        sweep(len, len, (1,), make=str, progress=lambda *_: False)


def test_a_sweep_stops_between_repeats_and_keeps_its_sizes(clock: Clock) -> None:
    said: list[tuple[int, int]] = []

    def progress(done: int, total: int, _: float) -> bool:
        said.append((done, total))
        return len([one for one in said if one[0] == 1]) < 6

    found = sweep(growing(clock), growing(clock), (1, 2, 4), make=lambda n: n, repeats=5, progress=progress)
    assert set(said) == {(0, 3), (1, 3)}
    assert (found.sizes, found.stopped) == ((1, 2), True)
    assert [len(one.ratios) for one in found.comparisons] == [5, 2]
    assert found.text().endswith("\nstopped")


def test_with_one_size_repeats_are_counted(clock: Clock) -> None:
    said: list[tuple[int, int]] = []
    sweep(growing(clock), growing(clock), (1,), make=int, repeats=3, warmup=0, progress=lambda *x: said.append(x[:2]))
    assert said == [(1, 3), (2, 3), (3, 3)]


def test_a_sweep_that_stops_between_two_sizes(clock: Clock) -> None:
    found = sweep(
        growing(clock), growing(clock), (1, 2), make=lambda n: n, repeats=5, progress=lambda done, *_: done < 1
    )
    assert (found.sizes, found.stopped, found.comparisons[0].stopped) == ((1,), True, False)


# What cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "given", "why", "mend"),
    [
        ({"slow": 3}, "slow=3", "it cannot be called", "give a function, such as a lambda"),
        ({"fast": None}, "fast=None", "it cannot be called", "give a function, such as a lambda"),
        ({"make": 3}, "make=3", "it cannot be called", "give a function, such as a lambda"),
        ({"progress": 3}, "progress=3", "it cannot be called", "give a function, such as a lambda"),
        ({"repeats": 2}, "repeats=2", "fewer than three repeats show no spread",
         "give a whole number from 3 up, or None"),
        ({"repeats": 3.5}, "repeats=3.5", "fewer than three repeats show no spread",
         "give a whole number from 3 up, or None"),
        ({"warmup": -1}, "warmup=-1", "it counts calls", "give a whole number from 0 up"),
        ({"warmup": True}, "warmup=True", "it counts calls", "give a whole number from 0 up"),
        ({"budget": 0}, "budget=0", "it is seconds to spend", "give a number above 0"),
        ({"budget": math.nan}, "budget=nan", "it is seconds to spend", "give a number above 0"),
        ({"budget": "1"}, "budget='1'", "it is seconds to spend", "give a number above 0"),
        ({"names": "ab"}, "names='ab'", "there are two functions to name", 'give two, such as ("loop", "dot")'),
        ({"names": ("a", "")}, "names=('a', '')", "there are two functions to name",
         'give two, such as ("loop", "dot")'),
        ({"names": None}, "names=None", "there are two functions to name", 'give two, such as ("loop", "dot")'),
        ({"sizes": 1.5}, "sizes=(1.5,)", "a size is a count, at least 1", "give whole numbers from 1 up"),
        ({"sizes": ()}, "sizes=()", "there is no size to measure", "give some, such as (10, 100, 1000)"),
        ({"sizes": (0, 1)}, "sizes=(0, 1)", "a size is a count, at least 1", "give whole numbers from 1 up"),
        ({"sizes": (1.5,)}, "sizes=(1.5,)", "a size is a count, at least 1", "give whole numbers from 1 up"),
        ({"sizes": [10, 1, 10]}, "sizes=(10, 1, 10)", "sizes must ascend, each of them once", "write (1, 10)"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be(change: dict[str, Any], given: str, why: str, mend: str) -> None:
    arguments: dict[str, Any] = {"slow": len, "fast": len, "sizes": (1,), "make": str, **change}
    with teaches(ArgumentError, f"timing with {given}", why, mend, "sweep("):
        sweep(**arguments)


def test_setup_must_be_callable_too() -> None:
    why, mend = "it cannot be called", "give a function, such as a lambda"
    with teaches(ArgumentError, "timing with setup=(1, 2)", why, mend, "compare("):
        compare(len, len, setup=(1, 2))  # type: ignore[arg-type]


def test_what_only_makes_a_generator_is_not_timed() -> None:
    def items() -> Iterator[int]:
        yield 1

    async def answer() -> None: ...

    why = "calling it only makes a generator or a coroutine, and runs nothing"
    with teaches(ArgumentError, "timing with slow=items", why, "time what runs it: lambda: list(items())", "compare("):
        compare(items, len)
    with teaches(
        ArgumentError,
        "timing with function=answer",
        why,
        "time what runs it: lambda: asyncio.run(answer())",
        "measure(",
    ):
        measure(answer)


def test_numbers_of_numpy_are_numbers() -> None:
    assert len(measure(int, budget=np.float32(0.001), repeats=np.int64(3)).times) == 3  # type: ignore[arg-type]


def failing(after: int, error: Exception) -> Callable[..., None]:
    calls = itertools.count()

    def function(*_: Any) -> None:
        if next(calls) >= after:
            raise error

    return function


def test_an_error_says_which_of_the_two_and_when(clock: Clock) -> None:
    mend = "call dot by itself first, with the same arguments"
    with teaches(TimingError, "timing dot, at repeat 2", "it raised ValueError: too many", mend, "raise error"):
        compare(
            clock.takes(1.0), failing(3, ValueError("too many")), setup=tuple, warmup=2, repeats=3,
            names=("loop", "dot"),
        )  # fmt: skip
    mend = "call loop by itself first, with the same arguments"
    with teaches(TimingError, "timing loop, in warm-up 2", "it raised ValueError", mend, "raise error"):
        compare(failing(1, ValueError()), clock.takes(1.0), repeats=3, names=("loop", "dot"))
    with teaches(TimingError, "timing loop, while its loops were chosen", "it raised ValueError", mend, "raise error"):
        compare(failing(3, ValueError()), clock.takes(1.0), names=("loop", "dot"))


def test_the_line_is_the_one_in_the_function() -> None:
    mend = "call float by itself first, with the same arguments"
    why = "it raised ValueError: could not convert string to float: 'x'"
    with teaches(
        TimingError, "timing float, in warm-up 1", why, mend, "compare(float"
    ):  # no line of Python is to blame
        compare(float, str, setup=lambda: "x", names=("float", "str"))


def test_a_function_that_leaves_python_is_an_error() -> None:
    with pytest.raises(TimingError, match="it raised SystemExit: 3"):
        measure(lambda: sys.exit(3))
    assert gc.isenabled()


def test_the_error_itself_is_chained() -> None:
    error = ValueError("too many")
    with pytest.raises(TimingError) as caught:
        measure(failing(0, error))
    assert caught.value.__cause__ is error


def test_errors_of_setup_and_make_are_told_apart(clock: Clock) -> None:
    mend = "call what makes them by itself first, with the same arguments"
    with teaches(TimingError, "inputs of slow, at repeat 1", "it raised ValueError: no", mend, "raise error"):
        compare(clock.takes(1.0), clock.takes(1.0), setup=failing(2, ValueError("no")), warmup=1)
    with teaches(TimingError, "inputs of slow, in warm-up 1", "it raised ValueError: no", mend, "raise error"):
        sweep(clock.takes(1.0), clock.takes(1.0), (7,), make=failing(0, ValueError("no")), fresh=True)
    mend = "call make(7) by itself first, with the same arguments"
    with teaches(TimingError, "make(7)", "it raised ValueError: no", mend, "raise error"):
        sweep(len, len, (7,), make=failing(0, ValueError("no")))
