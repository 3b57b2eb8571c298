"""The error function against the C library's, over the whole line."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tinygrad_edu.backends._erf import erf
from tinygrad_edu.backends.strips import STRIP

TINY = [5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-30, 1e-8, 1e-3]


def line(count: int) -> Any:
    rng = np.random.default_rng(0)
    return np.concatenate([TINY, 10.0 ** rng.uniform(-12, 1, count), rng.uniform(0, 6.5, count), [7.0, 1e100]])


def exact(x: Any) -> Any:
    return np.array([math.erf(v) for v in x.astype(np.float64).tolist()])


@pytest.mark.parametrize(("dtype", "ulps"), [("float64", 5), ("float32", 4)])
def test_a_few_units_in_the_last_place(dtype: str, ulps: int) -> None:
    x = line(20000).clip(0, 3e38).astype(dtype)
    found, wanted = erf(x), exact(x)
    assert found.dtype == x.dtype
    unit = np.spacing(wanted.astype(dtype)).astype(np.float64)
    assert (np.abs(found.astype(np.float64) - wanted) / unit).max() <= ulps
    np.testing.assert_array_equal(erf(-x), -found)
    assert np.abs(found).max() == 1
    assert (np.diff(erf(np.sort(x))) >= -2 * np.spacing(np.float64(1).astype(dtype))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_ends_of_the_line(dtype: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 6.0, -6.0], dtype)
    found = erf(x)
    np.testing.assert_array_equal(found, [1.0, -1.0, np.nan, 0.0, -0.0, 1.0, -1.0])
    assert np.signbit(found[[3, 4]]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    x = np.linspace(-4, 4, 1001).astype(dtype)
    assert erf(x).dtype == dtype
    np.testing.assert_array_equal(erf(x), erf(x.astype("f4")).astype(dtype))


def test_integers_give_floats() -> None:
    for dtype in ("bool", "uint8", "int64"):
        assert erf(np.ones(2, dtype)).dtype == np.float32


def test_every_shape_and_layout() -> None:
    base = np.random.default_rng(1).normal(size=(4, 6, 5))
    wanted = exact(base.ravel()).reshape(base.shape)
    for change in (
        lambda a: a, lambda a: a.transpose(2, 0, 1), lambda a: a[::-2, :, ::3], lambda a: a[:0], lambda a: a[1, 2, 3],
        lambda a: np.broadcast_to(a[:1], (3, 6, 5)), lambda a: a[0, 0, 0:1].reshape(()),
    ):  # fmt: skip
        found = erf(change(base))
        assert found.shape == change(base).shape
        np.testing.assert_allclose(found, change(wanted), rtol=1e-15)
    assert type(erf(np.float32(0.5))) is np.float32
    assert type(erf(np.array(0.5))) is np.float64


def test_block_by_block() -> None:
    """Neighbouring blocks do not disturb each other, and operands stay as they are."""
    x = np.random.default_rng(2).normal(size=2 * STRIP + 3)
    kept = x.copy()
    found = erf(x)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(found, np.concatenate([erf(part) for part in np.split(x, [7, STRIP, STRIP + 100])]))
