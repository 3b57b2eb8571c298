"""PrecisionRuler as a picture: bars stand where their numbers are, and counts follow from the limits of the format."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.views.twin import assert_twin
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.views import ruler
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.ruler import FORMATS, RulerState
from tinygrad_edu.views.ruler.model import BY_NAME, HIGH, LARGEST, LOW
from tinygrad_edu.views.ruler.words import power_text, share_text, step_text

CAPTIONS = [
    "becomes 0",
    "too large",
    "inf",
    "none",
    "height: bits",
    "of precision",
    "nothing here",
    r"2[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|1",
]
NUMBERS = st.lists(
    st.floats(-1e5, 1e5, width=32, allow_subnormal=False).filter(lambda x: x != 0), min_size=1, max_size=30
)
TYPES = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


def state(*values: float, **given: Any) -> RulerState:
    return RulerState(ruler.read([np.array(values, "f4")], "gradients"), **given)


@pytest.mark.parametrize("kind", [one for one in FORMATS if one.dtype], ids=lambda one: one.name)
def test_a_format_is_as_its_type_says(kind: Any) -> None:
    known = ml_dtypes.finfo(TYPES[kind.name])
    assert 2.0**kind.smallest == float(known.smallest_subnormal)
    assert 2.0**kind.normal == float(known.smallest_normal)
    assert kind.largest == float(known.max) and kind.digits == known.nmant


@given(values=NUMBERS, power=st.integers(0, LARGEST), kind=st.sampled_from([one for one in FORMATS if one.dtype]))
def test_counts_follow_from_the_limits_of_the_format(values: list[float], power: int, kind: Any) -> None:
    found = ruler.counts(state(*values).sample, kind, power)
    sizes = [abs(float(np.float32(v))) * 2.0**power for v in values]
    half = 2.0 ** (kind.smallest - 1)
    last = 2.0 ** (math.floor(math.log2(kind.largest)) - kind.digits)  # from the largest to where the next would be
    beyond = kind.largest + last / 2  # halfway, e4m3 rounds down and the others up
    over = [size > beyond or (size == beyond and kind.name != "e4m3") for size in sizes]
    assert found.zero == sum(size <= half for size in sizes), "half of the smallest is rounded to the even one, 0"
    assert found.over == sum(over)
    with np.errstate(over="ignore"):
        kept = [float(np.float64(np.float32(size)).astype(TYPES[kind.name])) for size in sizes]
    near = [abs(k - size) <= 0.01 * size for k, size in zip(kept, sizes, strict=True)]
    assert found.off == sum(size > half and not o and not n for size, o, n in zip(sizes, over, near, strict=True))
    assert found.whole == len(values)


@given(values=NUMBERS, power=st.integers(0, LARGEST))
def test_int8_takes_its_step_from_the_largest_number(values: list[float], power: int) -> None:
    sample = state(*values).sample
    found = ruler.counts(sample, BY_NAME["int8"], power)
    assert found == ruler.counts(sample, BY_NAME["int8"], 0), "so a scale changes nothing"
    steps = np.abs(sample.values.astype("f8")) / np.abs(sample.values.astype("f8")).max() * 127
    clear = np.abs(steps - 0.5) > 1e-4
    assert (steps[clear] < 0.5).sum() <= found.zero <= (steps[clear] < 0.5).sum() + (~clear).sum()


def test_a_step_that_is_rounded_away_is_counted() -> None:
    weights, gradients = np.array([1.0, 1.0, 0.001], "f4"), np.array([1e-3, 0.1, 1e-3], "f4")
    sample = ruler.read([gradients], "gradients", [weights], 0.1)
    changed = ruler.counts(sample, BY_NAME["float16"], 0).changed
    by_hand = [np.float16(w - np.float32(0.1) * g) != np.float16(w) for w, g in zip(weights, gradients, strict=True)]
    assert changed == sum(map(bool, by_hand)) == 2
    assert ruler.counts(sample, BY_NAME["bfloat16"], 0).changed == 2
    told = "A plain step of 0.1 × gradient changes 2 weights if they are kept in float16, and 3 in float32."
    assert step_text(RulerState(sample)) == told
    assert step_text(RulerState(sample, power=3)).startswith(f"{told} No loss scale helps here")
    assert ruler.counts(sample, BY_NAME["int8"], 0).changed is None


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("power", [0, 5])
def test_bars_stand_where_their_numbers_are(width: int, power: int) -> None:
    shown = state(*[2.0**-20] * 4, *[2.0**-30] * 2, 1.5, power=power)
    root = ET.fromstring(ruler.draw(shown, width).svg())
    bars = [r for r in root.iter("rect") if r.get("class") == "own-gradient" and float(r.get("width") or 0) != 10.5]
    assert len(bars) == 3
    unit = (width - 100) / (HIGH - LOW)
    for bar, (exponent, many) in zip(
        sorted(bars, key=lambda r: float(r.get("x") or 0)), ((-30, 2), (-20, 4), (0, 1)), strict=True
    ):
        left, tall = float(bar.get("x") or 0), float(bar.get("height") or 0)
        assert left == pytest.approx(92 + unit * (exponent + power - LOW) + 0.5, abs=0.02)
        assert tall == pytest.approx(132 * 0.92 * many / 4, abs=0.02)
    crowd = state(*[2.0**-20] * 100, 1.5)
    low = min(float(r.get("height") or 0) for r in ET.fromstring(ruler.draw(crowd, width).svg()).iter("rect")
              if r.get("class") == "own-gradient" and r.get("height") != "10.5")  # fmt: skip
    assert low == 3, "one of a hundred can still be seen"
    assert len([p for p in root.iter("path") if p.get("class") == "axis"]) == bool(power)


@given(
    values=NUMBERS, power=st.integers(0, LARGEST), kind=st.sampled_from(sorted(BY_NAME)), zeros=st.integers(0, 3)
)  # fmt: skip
def test_the_twin_says_what_is_drawn(values: list[float], power: int, kind: str, zeros: int) -> None:
    shown = state(*values, *[0.0] * zeros, format=kind, power=power)
    frame = ruler.frame(shown)
    assert_twin(frame, CAPTIONS)
    assert len(re.sub(r"[*`]", "", ruler.why(shown)).split()) <= 25
    assert ("more are 0)" in frame.text) == bool(zeros)
    assert sum(shown.sample.bins.values()) == len(values)


def test_numbers_beyond_the_ends_are_told() -> None:
    beyond = state(2.0**-60, 2.0**-61, 2.0**-44, 1.0)
    assert "2 beyond the ends counted in the last bar" in ruler.text(beyond)
    assert "beyond the ends" not in ruler.text(state(2.0**-30, 1.0))
    bars = [r for r in ET.fromstring(ruler.draw(beyond, WIDE).svg()).iter("rect") if r.get("class") == "own-gradient"]
    tall = sorted(float(r.get("height") or 0) for r in bars if r.get("height") != "10.5")
    assert len(tall) == 2 and tall[1] == pytest.approx(3 * tall[0], rel=1e-3), "three in one bar, one in another"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"format": "float16"}, "no number between 0 and 2⁻²⁴"),
        ({"format": "float16", "power": 20}, "moves every gradient 20 doublings to the right**"),
        ({"format": "float16", "power": 3}, "50 % still become 0, even times 2³"),
        ({"format": "e4m3", "power": 24}, "e4m3 ends at 448"),
        ({"format": "bfloat16"}, "the exponents of float32"),
        ({"format": "int8"}, "equal steps"),
        ({"format": "int8", "power": 3}, "its step from the largest number"),
    ],
)
def test_why(given: dict[str, Any], words: str) -> None:
    assert words in ruler.why(state(1e-9, 1e-2, **given))
    assert "within the range" in ruler.why(state(0.5, format="float16"))
    plain = RulerState(ruler.read([np.array([1.0, 2.0**-30], "f4")], "numbers"), power=6)
    assert "moves every number 6" in ruler.why(plain) and "loss" not in ruler.text(plain)
    assert "Multiplying by 2⁶ **moves every number" in ruler.why(
        RulerState(ruler.read([np.ones(2)], "numbers"), power=6)
    )
    assert ruler.why(state(1e5)).endswith("ends at 65\u2009504: **anything larger overflows**.")


def test_shares_are_never_told_as_none_or_all_unless_they_are() -> None:
    told = [share_text(*pair) for pair in ((0, 10**6), (1, 10**6), (1, 1000), (423, 1000), (10**6 - 1, 10**6), (5, 5))]
    assert told == ["0 %", "less than 0.01 %", "0.1 %", "42 %", "less than 100 %", "all"]
    assert (power_text(0), power_text(-14), power_text(13)) == ("1", "2⁻¹⁴", "2¹³")


def test_what_has_no_place_is_refused() -> None:
    with pytest.raises(ArgumentError, match="inf and nan have no place"):
        state(1.0, float("nan"))
    with pytest.raises(ArgumentError, match="not finite in float32"):
        ruler.read([np.array([1e300])], "numbers")
    assert state(3e38, 1.0, format="int8", power=8).now == state(3e38, 1.0, format="int8").now
    with pytest.raises(ArgumentError, match="0 has no place"):
        state(0.0)
    with pytest.raises(IndexRangeError, match="the scale goes from 1"):
        ruler.scaled(state(1.0), LARGEST + 1)
    with pytest.raises(ArgumentError, match="the formats are float16, bfloat16, e4m3, e5m2, int8"):
        ruler.known_format("int4")
