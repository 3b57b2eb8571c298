"""Arithmetic where it is special: whole numbers, bools, zeros, factors, numbers on the left."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.core.op import OPS
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def test_operators_are_the_generated_callers() -> None:
    """``x * y`` costs one call: a function between the two would cost another."""
    for name, op in {
        "__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div", "__pow__": "pow",
        "__floordiv__": "floor_divide", "__mod__": "remainder", "__neg__": "neg", "__matmul__": "matmul",
    }.items():  # fmt: skip
        function = getattr(tg.Tensor, name)
        operator_of = (tg.ones(2, 2), tg.ones(2, 2))[: len(OPS[op].operands)]
        function(*operator_of)  # the first call compiles it
        assert function.__code__.co_filename.endswith(f"/callers/{op}.py")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: 2 + x, [9, -5, 5]),
        (lambda x: 2 - x, [-5, 9, -1]),
        (lambda x: 2 * x, [14, -14, 6]),
        (lambda x: 21 / x, [3.0, -3.0, 7.0]),
        (lambda x: 2 // x, [0, -1, 0]),
        (lambda x: 2 % x, [2, -5, 2]),
        (lambda x: x // 2, [3, -4, 1]),
        (lambda x: x % 2, [1, 1, 1]),
        (lambda x: x % -2, [-1, -1, -1]),
        (lambda x: x**2, [49, 49, 9]),
        (lambda x: True + x, [8, -6, 4]),
        (lambda x: tg.div(x, 2, rounding_mode="trunc"), [3, -3, 1]),
        (lambda x: tg.div(-6, x, rounding_mode="trunc"), [0, 0, -2]),
        (lambda x: np.array([1, 1, 2]) // x, [0, -1, 0]),
        (lambda x: np.array([1, 1, 2]) % x, [1, -6, 2]),
    ],
)
def test_integers(call: Callable[[Any], Any], expected: list[Any]) -> None:
    found = call(tg.tensor([7, -7, 3]))
    assert (found.tolist(), found.dtype) == (expected, np.dtype("f4" if isinstance(expected[0], float) else "i8"))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_rounded_quotients_of_integers_are_exact(mode: str, dtype: str) -> None:
    """By way of floats, large int64 would lose digits."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = [n for n in (low, low + 1, -7, -1, 0, 1, 7, high - 1, high) if low <= n]
    y = [n for n in (-3, -2, 1, 2, 3) if low <= n]
    found = tg.div(tg.tensor(x, dtype=dtype).unsqueeze(1), tg.tensor(y, dtype=dtype), rounding_mode=mode)
    assert found.dtype == np.dtype(dtype)
    exact = [[a // b if mode == "floor" or (a < 0) is (b < 0) else -(abs(a) // abs(b)) for b in y] for a in x]
    assert found.tolist() == exact


def test_numbers_and_tensors_meet_as_in_pytorch() -> None:
    whole, small = tg.tensor([2, 3]), tg.tensor([2, 3], dtype="int8")
    zero_dim = tg.tensor(2.0, dtype="float64")
    for result, dtype in [
        (whole**0.5, "float32"), (2**whole, "int64"), (2.0**whole, "float32"), (True + small, "int8"),
        (small + 1, "int8"), (small + whole, "int64"), (small + tg.tensor(1), "int8"), (whole * zero_dim, "float64"),
        (tg.ones(2) * zero_dim, "float32"), (zero_dim * tg.tensor(2), "float64"), (whole // 2.0, "float32"),
        (tg.tensor([True]) // 2, "int64"), (tg.tensor([True]) + True, "bool"), (1 - tg.tensor([True]), "int64"),
    ]:  # fmt: skip
        assert result.dtype.name == dtype
    assert (whole**0.5).tolist() == pytest.approx([math.sqrt(2), math.sqrt(3)])


def test_in_place_the_dtype_stays() -> None:
    x = tg.tensor([1, 2])
    why = "the result is float32, which int64 cannot hold"
    mend = "use the out-of-place form, or convert the target first: x.to('float32')"
    with teaches(DtypeError, "add_ on a tensor of dtype int64", why, mend, "x.add_(0.5)"):
        x.add_(0.5)
    assert x.tolist() == [1, 2]
    assert tg.ones(2).add_(tg.ones(2, dtype="float64")).dtype == np.float32


def test_bools_are_added_and_multiplied_as_or_and_and() -> None:
    x, y = tg.tensor([True, True, False]), tg.tensor([True, False, False])
    assert (x + y).tolist() == [True, True, False]
    assert (x * y).tolist() == [True, False, False]
    assert tg.add(x, y, alpha=True).tolist() == [True, True, False]
    assert tg.add(y, x, alpha=False).tolist() == [True, False, False]


B, I, F = tg.tensor([True, False]), tg.tensor([2, 0]), tg.tensor([2.0, 0.0])  # noqa: E741
AND_ONE = "convert one of them first: x.long()"
WITH_ZEROS = "divide floats, where it is inf or nan, or replace the zeros first: where(y == 0, 1, y)"
NO_RESULT = "integers have no result for a division by zero"
FRACTION = "an integer to a negative power is a fraction"
WRONG: list[tuple[Callable[[], Any], str, str, str]] = [
    (
        lambda: B - B, "sub((2,) bool, (2,) bool) on cpu", "bools cannot be subtracted",
        "ask where they differ with x ^ y, or count with x.long() - y.long()",
    ),
    (
        lambda: True - B, "sub(() bool, (2,) bool) on cpu", "bools cannot be subtracted",
        "ask where they differ with x ^ y, or count with x.long() - y.long()",
    ),
    (
        lambda: -B, "neg((2,) bool) on cpu", "a bool has no negative",
        "invert a mask with ~x, or count with -x.long()",
    ),
    (lambda: B**B, "pow((2,) bool, (2,) bool)", "it is not defined for two bools", AND_ONE),
    (lambda: B // B, "floor_divide((2,) bool, (2,) bool)", "it is not defined for two bools", AND_ONE),
    (lambda: B % True, "remainder((2,) bool, () bool)", "it is not defined for two bools", AND_ONE),
    (lambda: I // I, "floor_divide((2,) int64, (2,) int64)", NO_RESULT, WITH_ZEROS),
    (lambda: I // 0, "floor_divide((2,) int64, 0)", NO_RESULT, WITH_ZEROS),
    (lambda: 1 % I, "remainder(1, (2,) int64)", NO_RESULT, WITH_ZEROS),
    (lambda: tg.div(I, 0, rounding_mode="trunc"), "floor_divide((2,) int64, 0)", NO_RESULT, WITH_ZEROS),
    (lambda: I**-1, "pow((2,) int64, -1)", FRACTION, "use floats: x.float()"),
    (lambda: 2 ** (I - 1), "pow(2, (2,) int64)", FRACTION, "use floats: x.float()"),
    (
        lambda: tg.add(I, I, alpha=0.5), "add with alpha=0.5", "the operands are integers, and so is the result",
        "convert one of them first: x.float()",
    ),
    (lambda: tg.sub(B, B, alpha=2), "sub with alpha=2", "bools cannot be scaled", AND_ONE),
    (lambda: tg.addcmul(B, B, B), "addcmul with value=1", "bools cannot be scaled", AND_ONE),
    (
        lambda: tg.add(F, F, alpha="2"), "add with alpha='2'", "a factor is one number",
        "multiply by it first: y * factor",
    ),
    (
        lambda: tg.addcdiv(I, I, I), "addcdiv((2,) int64, (2,) int64, (2,) int64, value=1) on cpu",
        "int64 has no fractions, but the result needs them", "convert it first: x.float()",
    ),
    (
        lambda: tg.lerp(I, I, 2), "lerp((2,) int64, (2,) int64, 2) on cpu",
        "int64 has no fractions, but the result needs them", "convert it first: x.float()",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "tried", "why", "mend"), WRONG, ids=[f"{w[1].split('(')[0]}-{i}" for i, w in enumerate(WRONG)]
)
def test_refusals(call: Callable[[], Any], tried: str, why: str, mend: str) -> None:
    with teaches(DtypeError, tried, why, mend):
        call()


def test_no_such_rounding() -> None:
    tried, why = "div with rounding_mode='up'", "there is no such rounding mode"
    with teaches(ArgumentError, tried, why, "use 'floor', 'trunc' or None", "tg.div"):
        tg.div(F, F, rounding_mode="up")


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize("change", [operator.floordiv, operator.mod])
def test_refused_in_every_world(change: Callable[..., Any], dtype: str) -> None:
    """Where arrays are traced or on a device, a zero is found there."""
    from tinygrad_edu.compiler import trace

    x, y = tg.tensor([1, 1], dtype=dtype), tg.tensor([1, 0], dtype=dtype)
    with pytest.raises(EduError, match=r"zero|not defined"):
        change(x.to("far"), y.to("far"))
    with pytest.raises(EduError, match=r"zero|not defined"):
        trace(change, x, y)


def test_floats_divide_by_zero_as_ieee_says() -> None:
    x = tg.tensor([1.0, -1.0, 0.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((x // 0).array, [np.inf, -np.inf, np.nan])
        np.testing.assert_array_equal((x % 0).array, [np.nan] * 3)
        np.testing.assert_array_equal(tg.div(x, 0, rounding_mode="trunc").array, [np.inf, -np.inf, np.nan])


def test_a_tenth_goes_ten_times_but_fits_nine() -> None:
    """trunc rounds the rounded quotient, floor the exact one, as in PyTorch."""
    one = tg.tensor([1.0], dtype="float64")
    assert (one / 0.1).item() == tg.div(one, 0.1, rounding_mode="trunc").item() == 10.0
    assert (one // 0.1).item() == 9.0


def test_steps_have_slope_zero() -> None:
    x, y = tg.tensor([7.0, -7.0], requires_grad=True), tg.tensor([2.0, 3.0], requires_grad=True)
    (x // y + tg.div(x, y, rounding_mode="trunc")).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([0.0, 0.0], [0.0, 0.0])
    (x % y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0, 1.0], [-3.0, 3.0])


def test_a_factor_is_applied_in_the_dtype_of_the_result() -> None:
    wide = tg.tensor([0.0], dtype="float64")
    assert tg.add(wide, tg.tensor([1]), alpha=0.1).item() == 0.1
    assert tg.addcmul(wide, tg.tensor([1]), tg.tensor([1]), value=0.1).item() == 0.1
    small = tg.tensor([1, 2], dtype="uint8")
    assert tg.sub(small, small, alpha=2).tolist() == [255, 254]
    assert tg.add(small, small, alpha=np.int64(-1)).tolist() == [0, 0]
    assert tg.add(tg.ones(2), 2, alpha=tg.tensor(0.5)).tolist() == [2.0, 2.0]
    assert tg.add(tg.ones(2), tg.ones(2)).grad_fn is None


def test_lerp_ends_exactly() -> None:
    x, end = tg.tensor([1e8], dtype="float32"), tg.tensor([0.1], dtype="float32")
    assert tg.lerp(x, end, 0).item() == x.item()
    assert tg.lerp(x, end, 1).item() == end.item()
    assert tg.lerp(x, end, tg.tensor([0.0, 1.0])).tolist() == [x.item(), end.item()]


@pytest.mark.parametrize("exponent", [-1.0, -0.5])
def test_zero_to_a_negative_power(exponent: float) -> None:
    """There both derivatives are infinite, as in PyTorch."""
    x, y = tg.tensor(0.0, requires_grad=True), tg.tensor(exponent, requires_grad=True)
    with np.errstate(all="ignore"):
        (x**y).backward()
    assert (x.grad.item(), y.grad.item()) == (-math.inf, -math.inf)
