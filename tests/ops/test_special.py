"""Functions of probability and counting where they are special: precision, poles, infinities, mistakes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError

INF, NAN = float("inf"), float("nan")
RNG = np.random.default_rng(0)
NEAR_ZEROS = np.concatenate([1 + RNG.normal(size=50) * 1e-6, 2 + RNG.normal(size=50) * 1e-6])
POSITIVE = np.concatenate([RNG.uniform(1e-3, 3, 300), RNG.uniform(3, 100, 100), 10 ** RNG.uniform(-30, 30, 100)])


def near_zero(x: float) -> float:
    """lgamma next to 1 and 2, where it is 0 and that of Python is right to 16 decimals, not digits: Taylor's series."""
    w = x - round(x)
    slope = -0.5772156649015329 + (round(x) - 1)
    return w * slope + w * w * (math.pi**2 / 6 - (round(x) - 1)) / 2 - w**3 * (1.2020569 - (round(x) - 1)) / 3


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 4e-15), ("float32", 1.2e-7)])
def test_precision(dtype: str, rtol: float) -> None:
    for ours, exact, numbers, atol in (
        (tg.lgamma, math.lgamma, POSITIVE, 2e-15),
        (tg.lgamma, near_zero, NEAR_ZEROS, 0),
        (tg.erfc, math.erfc, RNG.uniform(-6, 26 if dtype == "float64" else 9, 300), 0),
    ):
        x = numbers.astype(dtype)
        expected = [exact(float(one)) for one in x]
        np.testing.assert_allclose(ours(tg.tensor(x)).array, expected, rtol=rtol, atol=atol)


def test_log_gamma_of_negative_numbers_is_right_to_many_decimals() -> None:
    x = -RNG.uniform(0.01, 20, 300)
    np.testing.assert_allclose(tg.lgamma(tg.tensor(x)).array, [math.lgamma(one) for one in x], rtol=1e-13, atol=1e-13)


def test_digamma_by_its_recurrence() -> None:
    """psi(1) is minus Euler's constant, and psi(x + 1) is psi(x) + 1 / x, for negative x too."""
    assert tg.digamma(tg.ones(1, dtype="float64")).item() == pytest.approx(-0.5772156649015329, rel=1e-15)
    x = tg.tensor(np.concatenate([POSITIVE[:400], -RNG.uniform(0.01, 20, 300)]))
    np.testing.assert_allclose(tg.digamma(x + 1).array, (tg.digamma(x) + 1 / x).array, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("lgamma", (0.0, -1.0, -INF, INF, NAN, -1e-300, 1.0), (INF, INF, INF, INF, NAN, math.lgamma(-1e-300), 0.0)),
        ("digamma", (0.0, -0.0, -1.0, INF, -INF, NAN), (-INF, INF, NAN, INF, NAN, NAN)),
        ("erfc", (0.0, INF, -INF, 30.0, NAN), (1.0, 0.0, 2.0, 0.0, NAN)),
        ("logit", (0.0, 1.0, 0.5, 2.0), (-INF, INF, 0.0, NAN)),
        ("trunc", (-0.5, 1.9, -INF, NAN), (-0.0, 1.0, -INF, NAN)),
    ],
)
def test_edges(name: str, given: Any, expected: Any) -> None:
    np.testing.assert_array_equal(getattr(tg, name)(tg.tensor(given, dtype="float64")).array, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "x", "y", "expected"),
    [
        ("xlogy", (0.0, 0.0, 2.0), (0.0, NAN, 0.0), (0.0, NAN, -INF)),
        ("logaddexp", (INF, -INF, 1000.0, -INF), (INF, -INF, 1000.0, 1.0), (INF, -INF, 1000 + math.log(2), 1.0)),
        ("logaddexp2", (INF, -INF, 2000.0), (INF, -INF, 2000.0), (INF, -INF, 2001.0)),
        ("hypot", (INF, NAN, 3e300, 0.0), (NAN, -INF, 4e300, 0.0), (INF, INF, 5e300, 0.0)),
        ("atan2", (0.0, 0.0, -1.0), (-1.0, 0.0, 0.0), (math.pi, 0.0, -math.pi / 2)),
        ("fmod", (7.0, -7.0, 7.0, 7.0), (3.0, 3.0, -3.0, 0.0), (1.0, -1.0, 1.0, NAN)),
    ],
)
def test_edges_of_two_operands(name: str, x: Any, y: Any, expected: Any) -> None:
    found = getattr(tg, name)(tg.tensor(x, dtype="float64"), tg.tensor(y, dtype="float64"))
    np.testing.assert_array_equal(found.array, expected)


def test_a_number_leaves_the_dtype() -> None:
    for dtype in ("float16", "float32", "float64"):
        x = tg.ones(2, dtype=dtype)
        for name in ("hypot", "xlogy", "logaddexp", "atan2", "fmod"):
            assert getattr(tg, name)(x, 2.0).dtype == x.dtype, name


def test_integers_that_are_divided_by_zero_have_no_remainder() -> None:
    why = "integers have no result for a division by zero"
    mend = "divide floats, where it is inf or nan, or replace the zeros first: where(y == 0, 1, y)"
    with teaches(DtypeError, "fmod((1,) int64, (1,) int64)", why, mend):
        tg.fmod(tg.tensor([1]), tg.tensor([0]))
    assert tg.fmod(tg.tensor([7, -7]), 3).tolist() == [1, -1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_infinities_become_the_largest_numbers(dtype: str) -> None:
    x = tg.tensor([INF, -INF, NAN, 1.0], dtype=dtype)
    largest = float(tg.finfo(dtype).max)
    assert x.nan_to_num().tolist() == [largest, -largest, 0.0, 1.0]
    assert x.nan_to_num(2, 3, 4).tolist() == [3.0, 4.0, 2.0, 1.0]
    assert x.nan_to_num().dtype == x.dtype


def test_integers_have_no_holes_to_fill() -> None:
    x = tg.tensor([1, 2])
    x.nan_to_num().fill_(0)
    assert x.tolist() == [1, 2]
