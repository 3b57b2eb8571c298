"""Comparisons, questions and bits where they are special: strangers, dtypes, tolerances, errors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("stranger", [None, "one", object(), {}, tg.Tensor, np.ndarray])
def test_strangers_are_unequal(stranger: Any) -> None:
    x = tg.tensor([1.0, 2.0])
    assert (x == stranger) is False
    assert (x != stranger) is True
    assert (stranger == x) is False


def test_strangers_may_have_an_opinion() -> None:
    assert (tg.ones(2) == mock.ANY) is True


def test_numbers_and_arrays_are_compared_by_element() -> None:
    x = tg.tensor([1.0, 2.0])
    others: list[Any] = [1, 1.0, True, np.float32(1), tg.tensor(1), [1, 5], (1, 5), np.array([1, 5])]
    for other in others:
        assert (x == other).tolist() == [True, False]
        assert (x != other).tolist() == [False, True]
        assert (other == x).tolist() == [True, False]


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_the_functions_refuse_strangers(name: str) -> None:
    for stranger in (None, "one"):
        with pytest.raises(DtypeError, match=f"{name} with a tensor from "):
            getattr(tg, name)(tg.ones(2), stranger)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(DtypeError):
            compare(tg.ones(2), None)


def test_what_a_tensor_contains() -> None:
    x = tg.tensor([1.0, 2.0])
    assert 2 in x
    assert 3 not in x
    with pytest.raises(DtypeError):
        _ = None in x


def test_comparisons_beyond_the_dtype() -> None:
    """A number that the dtype cannot hold is compared as it is."""
    x = tg.tensor([0, 44, 255], dtype="uint8")
    assert (x == 300).tolist() == [False, False, False]
    assert (x > -1).tolist() == [True, True, True]
    assert (x < 255.5).tolist() == [True, True, True]


def test_questions_about_special_numbers() -> None:
    x = tg.tensor([NAN, INF, -INF, 0.0, -1.5])
    assert x.isnan().tolist() == [True, False, False, False, False]
    assert x.isinf().tolist() == [False, True, True, False, False]
    assert x.isfinite().tolist() == [False, False, False, True, True]
    assert [tg.isnan(tg.tensor(NAN)).item(), tg.isinf(tg.tensor(NAN)).item()] == [True, False]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16"])
def test_questions_about_other_dtypes(dtype: str) -> None:
    x = tg.tensor([0, 1]).to(dtype)
    for name, answer in (("isnan", False), ("isinf", False), ("isfinite", True)):
        found = getattr(tg, name)(x)
        assert (found.dtype, found.tolist()) == (np.bool_, [answer, answer])
    assert x.logical_not().tolist() == [True, False]
    if dtype in ("float16", "bfloat16"):
        assert tg.tensor([NAN, INF]).to(dtype).isnan().tolist() == [True, False]
        assert tg.tensor([NAN, INF]).to(dtype).isfinite().tolist() == [False, False]


def test_the_smallest_integer_is_finite() -> None:
    assert tg.isfinite(tg.tensor([-(2**63)])).item()


def test_truth_needs_no_common_dtype() -> None:
    x, y = tg.tensor([0.0, 0.5, NAN]), tg.tensor([1, 1, 0], dtype="int8")
    assert x.logical_and(y).tolist() == [False, True, False]
    assert x.logical_or(y).tolist() == [True, True, True]
    assert x.logical_xor(y).tolist() == [True, False, True]
    assert tg.logical_and(x, 1).tolist() == [False, True, True]
    with pytest.raises(ShapeError, match="logical_and"):
        tg.logical_and(x, tg.ones(2))


def test_close() -> None:
    x = tg.tensor([1.0, 1.0, INF, INF, INF, NAN, 0.0], dtype="float64")
    y = tg.tensor([1.00001, 1.0001, INF, -INF, 1.0, NAN, 1e-9], dtype="float64")
    assert tg.isclose(x, y).tolist() == [True, False, True, False, False, False, True]
    assert tg.isclose(x, y, equal_nan=True).tolist() == [True, False, True, False, False, True, True]
    assert tg.isclose(x, y, rtol=0, atol=0).tolist() == [False, False, True, False, False, False, False]
    assert tg.isclose(x, 1.0).tolist() == [True, True, False, False, False, False, False]
    assert not tg.isclose(tg.tensor(0.0), tg.tensor(INF), rtol=1.0).item()
    assert tg.isclose(tg.tensor([True, False]), tg.tensor([True, True])).tolist() == [True, False]


def test_close_integers_do_not_wrap() -> None:
    x, y = tg.tensor([0, 250], dtype="uint8"), tg.tensor([255, 255], dtype="uint8")
    assert tg.isclose(x, y, atol=5).tolist() == [False, True]
    assert tg.isclose(y, x, atol=5).tolist() == [False, True]


def test_close_measures_by_the_second() -> None:
    assert tg.isclose(tg.tensor(10.0), tg.tensor(11.0), rtol=0.095, atol=0).item()
    assert not tg.isclose(tg.tensor(11.0), tg.tensor(10.0), rtol=0.095, atol=0).item()


def test_all_close_and_equal_are_bools() -> None:
    x = tg.tensor([1.0, 2.0])
    assert tg.allclose(x, x + 1e-7) is True
    assert x.allclose(x + 1) is False
    assert tg.allclose(tg.tensor([NAN]), tg.tensor([NAN]), equal_nan=True) is True
    assert tg.equal(x, x.double()) is True
    assert x.equal(tg.tensor([1, 2])) is True
    assert x.equal(tg.ones(2, 2)) is False
    assert tg.equal(tg.ones(0), tg.ones(0, 2)) is False
    assert tg.equal(tg.ones(0), tg.ones(0)) is True
    assert tg.equal(tg.tensor([NAN]), tg.tensor([NAN])) is False


@pytest.mark.parametrize("name", ["rtol", "atol"])
@pytest.mark.parametrize("function", [tg.isclose, tg.allclose])
def test_tolerances_are_not_negative(function: Callable[..., Any], name: str) -> None:
    for value in (-1e-9, NAN):
        mend = f"give {name} as a number from 0 up"
        with teaches(ArgumentError, f"isclose with {name}={value!r}", "a tolerance cannot be negative", mend):
            function(tg.ones(2), tg.ones(2), **{name: value})


def test_bits() -> None:
    x, y = tg.tensor([6, -4]), tg.tensor([3, 3])
    assert [(x & y).tolist(), (x | y).tolist(), (x ^ y).tolist(), (~x).tolist()] == [[2, 0], [7, -1], [5, -1], [-7, 3]]
    assert [(1 & x).tolist(), (1 | x).tolist(), (1 ^ x).tolist()] == [[0, 0], [7, -3], [7, -3]]
    assert (~tg.tensor([0, 255], dtype="uint8")).tolist() == [255, 0]
    b = tg.tensor([True, False])
    assert [(b & True).tolist(), (b | True).tolist(), (b ^ True).tolist(), (~b).tolist()] == [
        [True, False], [True, True], [False, True], [False, True],
    ]  # fmt: skip


def test_bits_meet_in_one_dtype() -> None:
    small, wide, b = tg.tensor([1], dtype="uint8"), tg.tensor([258]), tg.tensor([True])
    assert [(small & wide).dtype, (small & 1).dtype, (b & 1).dtype, (b & small).dtype] == [
        np.int64, np.uint8, np.int64, np.uint8,
    ]  # fmt: skip
    assert (wide & True).tolist() == [0]


BITS = (
    "only bools and integers that the dtype can hold have bits",
    "put comparisons in brackets, (x > 0) & (y > 0), because & binds tighter; or convert: x.long()",
)


def test_floats_have_no_bits() -> None:
    x = tg.tensor([1.0, 2.0])
    with teaches(DtypeError, "bitwise_and((2,) float32, (2,) float32) on cpu", *BITS):
        x & x
    with teaches(DtypeError, "bitwise_or((2,) float32, 1.5) on cpu", *BITS):
        tg.tensor([1, 2]) | 1.5
    with teaches(DtypeError, "bitwise_not((2,) float32) on cpu", *BITS):
        _ = ~x
    with teaches(DtypeError, "bitwise_xor((1,) uint8, 300) on cpu", *BITS):
        tg.tensor([1], dtype="uint8") ^ 300
    with pytest.raises(ShapeError, match="axis -1 has 2 elements in one and 3 in the other"):
        tg.ones(2, dtype="bool") & tg.ones(3, dtype="bool")
