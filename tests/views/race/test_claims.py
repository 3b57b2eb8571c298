"""Races with random times: every number, mark and verdict is what NumPy computes from `data()`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinygrad_edu_widgets import TimingRace

from tests.views.race.claims import assert_claims
from tinygrad_edu.observe.machine import Conditions
from tinygrad_edu.observe.results import Comparison, Sweep, Timing
from tinygrad_edu.views.race import finish

HERE = Conditions("Example CPU", 2, "Linux", "3.11.7", "2.4.6", "OpenBLAS 0.3", 1, "off", 1e-9)


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    """Times around two random medians, with outliers and warm-ups; nearly equal ones are not rare."""
    slow = draw(st.floats(-8, 0).map(lambda v: 10**v))
    fast = slow * draw(st.sampled_from([1.0, 1.02, 0.9, 1.2, 0.1, 30.0]))
    count, warmups = draw(st.integers(1, 20)), draw(st.integers(0, 3))
    noise = st.one_of(st.floats(0.9, 1.2), st.floats(0.99, 1.01), st.just(1.0), st.floats(1, 20))
    ways = []
    for name, seconds in (("loop", slow), ("dot", fast)):
        times = tuple(seconds * draw(noise) for _ in range(count))
        ways.append(Timing(name, times, tuple(seconds * draw(noise) for _ in range(warmups)), draw(st.integers(1, 9))))
    ratios = tuple(a / b for a, b in zip(ways[0].times, ways[1].times, strict=True))
    return Comparison(ways[0], ways[1], ratios, HERE)


@settings(max_examples=100)
@given(
    st.lists(comparisons(), min_size=1, max_size=5), st.booleans(),
    st.one_of(st.floats(0.01, 1000), st.floats(1e-6, 1e6)), st.data(),
)  # fmt: skip
def test_all_that_is_said_of_random_times_is_what_numpy_says(
    found: list[Comparison], sized: bool, said: float, data: st.DataObject
) -> None:
    count = len(found) if sized else 1
    sizes = tuple(sorted(data.draw(st.sets(st.integers(1, 10**6), min_size=count, max_size=count)))) if sized else ()
    widget = TimingRace(abs, abs, sizes=sizes, names=("loop", "dot"))
    result = Sweep(sizes or (1,), tuple(found[:count]))
    at = data.draw(st.integers(0, count - 1))
    widget.state = finish(replace(widget.state, said=said, said_at=at, place=at), result)
    for place in {at, data.draw(st.integers(0, count - 1))}:
        widget.act("n", place)
        assert_claims(widget.frame(), widget.data(), widget.state)
    widget.close()


@pytest.fixture
def race() -> Iterator[TimingRace]:
    def loop(n: int) -> int:
        return sum(i for i in range(n))

    def formula(n: int) -> int:
        return n * (n - 1) // 2

    widget = TimingRace(loop, formula, sizes=(10, 1000), budget=0.1)
    yield widget
    widget.close()


def test_a_real_race_claims_what_its_times_say(race: TimingRace) -> None:
    race.predict(5)
    for place in (0, 1):
        race.act("n", place)
        assert_claims(race.frame(), race.data(), race.state)
    assert "Both give the same result." in race.text()


def test_equal_functions_differ_in_no_way_that_is_called_a_difference() -> None:
    ratios = (0.97, 1.04, 1.0, 0.99, 1.02, 1.01, 0.98, 1.03)
    slow = Timing("loop", tuple(1e-3 * r for r in ratios), (), 1)
    fast = Timing("dot", (1e-3,) * 8, (), 1)
    widget = TimingRace(abs, abs, names=("loop", "dot"))
    widget.state = finish(replace(widget.state, said=1.0), Sweep((1,), (Comparison(slow, fast, ratios, HERE),)))
    assert "No difference in time." in widget.text()
    assert_claims(widget.frame(), widget.data(), widget.state)
    widget.close()
