"""Functions of one number where they are special: integers, bools, edges, decimals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError

FLOATING = (
    "exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "tanh", "sigmoid",
    "erf", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp2", "log10", "erfc", "lgamma",
    "digamma",
)  # fmt: skip
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_integers_become_floats(name: str, dtype: str) -> None:
    for x in (tg.ones(2, dtype=dtype), tg.tensor(1).to(dtype)):
        with np.errstate(divide="ignore"):  # atanh(1) is inf
            for result in (getattr(tg, name)(x), getattr(x, name)()):
                assert result.dtype == np.float32
                np.testing.assert_array_equal(result.array, getattr(tg, name)(x.float()).array)


@pytest.mark.parametrize("name", ["abs", "floor", "ceil", "round", "trunc", "sign", "positive", "relu"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_stay(name: str, dtype: str) -> None:
    x = tg.tensor([0, 3, 100], dtype=dtype)
    result = getattr(tg, name)(x)
    assert result.dtype == x.dtype
    assert result.tolist() == ([0, 1, 1] if name == "sign" else [0, 3, 100])


@pytest.mark.parametrize("name", ["floor", "ceil", "round", "trunc", "sign"])
def test_what_stays_is_copied_all_the_same(name: str) -> None:
    x = tg.tensor([1, 1]).bool() if name == "sign" else tg.tensor([1, 1])
    getattr(tg, name)(x).fill_(0)
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["abs", "floor", "ceil", "round", "trunc", "relu"])
def test_bools_are_refused(name: str) -> None:
    why, mend = "bools are true or false, not numbers", "convert them first: x.long()"
    params = ", decimals=0" if name == "round" else ""
    with teaches(DtypeError, f"{name}((2,) bool{params}) on cpu", why, mend):
        getattr(tg, name)(tg.ones(2, dtype="bool"))


def test_plus_gives_the_tensor_itself_but_not_of_bools() -> None:
    x = tg.ones(2, requires_grad=True)
    assert +x is x
    assert tg.positive(x) is x
    why, mend = "bools are true or false, not numbers", "convert them first: x.long()"
    with teaches(DtypeError, "+x of a tensor (2,) bool", why, mend):
        +tg.ones(2, dtype="bool")


def test_squares_of_bools_are_counted() -> None:
    x = tg.tensor([True, False])
    assert (x.square().tolist(), x.square().dtype) == ([1, 0], np.int64)
    assert tg.square(tg.tensor([3], dtype="int8")).dtype == np.int8


def test_the_sign_of_a_bool_is_itself_and_that_of_nan_is_nan() -> None:
    assert tg.sign(tg.tensor([True, False])).tolist() == [True, False]
    assert np.isnan(tg.sign(tg.tensor(float("nan"))).item())


def test_roots_and_reciprocals_at_their_poles() -> None:
    with np.errstate(all="ignore"):
        assert tg.tensor([0.0, -0.0, 4.0]).rsqrt().tolist() == [np.inf, -np.inf, 0.5]
        assert tg.tensor([0.0, -0.0, 4.0, np.inf]).reciprocal().tolist() == [np.inf, -np.inf, 0.25, 0.0]
        x = tg.tensor([0.0, 1.0], requires_grad=True)
        x.sqrt().sum().backward()
        assert x.grad is not None and x.grad.tolist() == [np.inf, 0.5]


def test_rounding() -> None:
    x = tg.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.4999])
    assert x.round().tolist() == [-2.0, -2.0, -0.0, 0.0, 2.0, 2.0]
    assert tg.round(tg.tensor([1234.567], dtype="float64"), decimals=2).tolist() == [1234.57]
    assert tg.tensor([1250.0, 1350.0, -49.0]).round(decimals=-2).tolist() == [1200.0, 1400.0, -0.0]
    y = tg.tensor([12.3456, -7.0], requires_grad=True)
    y.round(decimals=1).sum().backward()
    assert y.grad is not None and y.grad.tolist() == [0.0, 0.0]


def test_mistaken_decimals() -> None:
    why = "integers have no digits after the point, and PyTorch rounds those before it only in floats"
    with teaches(
        DtypeError, "round of a tensor (1,) int64, decimals=-1", why, "convert it first: x.double().round(decimals=…)"
    ):
        tg.tensor([15]).round(decimals=-1)
    wrong: list[Any] = [1.5, 400, "2"]
    for decimals in wrong:
        with teaches(
            DtypeError, f"round of a tensor (1,) float32, decimals={decimals!r}",
            "it is how many digits after the point to keep", "give it a small integer",
        ):  # fmt: skip
            tg.ones(1).round(decimals=decimals)


def test_sigmoid_keeps_its_small_values_and_does_not_overflow() -> None:
    x = tg.tensor([-1e4, -100.0, -20.0, 0.0, 20.0, 1e4], dtype="float64")
    exact = [0.0, np.exp(-100.0), 1 / (1 + np.exp(20.0)), 0.5, 1 / (1 + np.exp(-20.0)), 1.0]
    np.testing.assert_allclose(x.sigmoid().array, exact, rtol=4e-16, atol=0)
    tiny = np.finfo("f4").tiny  # PyTorch too answers 0 where the result is too small to be a normal number
    np.testing.assert_allclose(x.float().sigmoid().array[1:], exact[1:], rtol=2e-7, atol=tiny)
