"""Numbers, bytes, times, rates and shapes, as they are written everywhere."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygrad_edu.common.wording import (
    brief,
    bytes_text,
    exact,
    number,
    plural,
    rate_with_spread,
    seconds_text,
    shape_text,
    suggestion,
)


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"), (-0.0, "0"), (1, "1.00"), (-12.44, "−12.4"), (0.031, "0.0310"), (99.95, "100"), (999.4, "999"),
        (999.6, "1\u2009000"), (1797, "1\u2009797"), (-65536, "−65\u2009536"), (999_999.6, "1.00e6"), (1e6, "1.00e6"),
        (0.001, "0.00100"), (0.000999, "9.99e−4"), (-1.5e-7, "−1.50e−7"), (1e300, "1.00e300"), (5e-324, "4.94e−324"),
        (math.nan, "nan"), (math.inf, "∞"), (-math.inf, "−∞"), (True, "1.00"),
    ],
)  # fmt: skip
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@given(st.floats(-1e300, 1e300))
def test_number_keeps_three_digits(value: float) -> None:
    text = number(value)
    back = float(text.replace("−", "-").replace("\u2009", ""))
    assert back == pytest.approx(value, rel=0.0051, abs=1e-323)
    assert len(text) <= 10
    assert "-" not in text


@pytest.mark.parametrize(
    "value, text",
    [
        (3, "3"), (-4, "−4"), (0.5, "0.500"), (9999, "9999"), (10_000, "10\u2009000"), (-123456, "−123\u2009456"),
        (1e12, "1.00e12"), (math.nan, "nan"), (math.inf, "∞"), (True, "1"), (-0.0, "0"),
    ],
)  # fmt: skip
def test_exact(value: float, text: str) -> None:
    assert exact(value) == text


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "0 bytes"), (1, "1 byte"), (48, "48 bytes"), (999, "999 bytes"), (1000, "1.00 kB"), (999_999, "1.00 MB"),
        (40_000_000, "40.0 MB"), (999_600_000, "1.00 GB"), (123_000_000_000, "123 GB"), (2 * 10**15, "2\u2009000 TB"),
    ],
)  # fmt: skip
def test_bytes(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_shape() -> None:
    assert [shape_text(s) for s in ((), (3,), (8, 2), (0, 1, 4))] == ["", "3", "8×2", "0×1×4"]


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0"), (-1, "−1"), (0.5, "0.500"), (0.031, "0.031"), (-0.031, "−0.03"), (12345, "12345"), (123456, "1.2e5"),
        (-12345, "−1e4"), (1e30, "1e30"), (-1e-4, "−1e−4"), (1.5e-7, "1e−7"), (-1e-17, "≈0"), (-1e300, "<−e99"),
        (math.nan, "nan"), (-math.inf, "−∞"), (True, "1"), (-123456789, "−1e8"),
    ],
)  # fmt: skip
def test_a_cell_never_shows_another_magnitude(value: float, text: str) -> None:
    assert brief(value) == text


@given(st.floats(-1e307, 1e307))
def test_a_cell_has_room_for_any_number(value: float) -> None:
    text = brief(value)
    assert len(text.replace("\u2009", "")) <= 5
    if text not in ("≈0", "<−e99"):
        assert float(text.replace("−", "-").replace("\u2009", "")) == pytest.approx(value, rel=0.51, abs=1e-323)


def test_plural() -> None:
    assert [plural(count, "run") for count in (0, 1, 12)] == ["0 runs", "1 run", "12 runs"]


@pytest.mark.parametrize(
    "seconds, text",
    [
        (1.2, "1.20 s"), (0.9996, "1.00 s"), (0.0177, "17.7 ms"), (999.9e-9, "1.00 µs"), (4e-9, "4.00 ns"),
        (3e-11, "0.0300 ns"), (3600, "3\u2009600 s"), (0, "0 ns"),
    ],
)  # fmt: skip
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    "rate, spread, text",
    [
        (9.87e9, (9.61e9, 9.93e9), "9.87 GB/s (9.61–9.93)"),
        (9.99e8, (9e8, 1.2e9), "999 MB/s (900–1\u2009200)"),
        (5, (4, 6), "5.00 B/s (4.00–6.00)"),
    ],
)
def test_rates(rate: float, spread: tuple[float, float], text: str) -> None:
    assert rate_with_spread(rate, spread, "B/s") == text


def test_a_word_that_is_none_suggests_the_nearest() -> None:
    known = ("in-place", "broadcasting", "vectorise", "vectorise-loss")
    assert suggestion("inplace", known) == "did you mean in-place?"
    assert suggestion("vectorize", known, most=3, likeness=0.4) == "did you mean vectorise or vectorise-loss?"
    assert suggestion("xyz", known[:2]) == "there are: in-place, broadcasting"
