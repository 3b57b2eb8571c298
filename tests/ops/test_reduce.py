"""Reductions where they are special: no elements, no axes, zeros, ties, nan, and integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError, ShapeError

INF, NAN = math.inf, math.nan
REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "var", "std", "norm")


def leaf(values: Any) -> tg.Tensor:
    return tg.tensor(values, dtype="float64", requires_grad=True)


def slope(function: Any, values: Any) -> Any:
    """The gradient of ``function(...).sum()``."""
    x = leaf(values)
    function(x).sum().backward()
    return x.grad.tolist()


def hessian(function: Any, values: Any) -> Any:
    """The second derivatives of a number, row by row."""
    x = leaf(values)
    (g,) = tg.autograd.grad(function(x), x, create_graph=True)
    return [tg.autograd.grad(one, x, retain_graph=True)[0].tolist() for one in g]


# Which axes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REDUCTIONS)
def test_no_axes_named_means_all(name: str) -> None:
    x = tg.tensor([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]])
    reduce = getattr(tg, name)
    assert reduce(x, dim=()).item() == reduce(x).item() == reduce(x, dim=(0, 1)).item() == reduce(x, dim=[0, 1]).item()
    assert reduce(x, dim=(), keepdim=True).shape == (1, 1)
    assert reduce(x, dim=-1).tolist() == reduce(x, dim=(1,)).tolist()


@pytest.mark.parametrize("name", (*REDUCTIONS, "any", "all", "logsumexp"))
def test_an_axis_named_twice_is_refused(name: str) -> None:
    reduce, x = getattr(tg, name), tg.ones(2, 3)
    why, mend = "axis 0 is named more than once", "name each axis once; -1 is the last"
    with teaches(ShapeError, "dim=(0, -2) of a tensor (2, 3)", why, mend, line="reduce(x, dim=(0, -2))"):
        reduce(x, dim=(0, -2))


def test_a_0d_tensor_has_one_axis_to_name() -> None:
    x = leaf(3.0)
    for dim in (None, 0, -1, (0,), ()):
        assert tg.sum(x, dim=dim, keepdim=True).shape == ()
    assert [tg.prod(x, 0).item(), tg.amax(x, -1).item(), tg.norm(x, dim=(0,)).item()] == [3.0, 3.0, 3.0]
    assert [tg.argmax(x, 0).item(), tg.any(x, 0).item()] == [0, True]
    assert slope(lambda x: x.prod(0), 3.0) == 1.0
    why, mend = "it has 0 axes, so dim lies between -1 and 0", "count the axes from 0, or from -1 at the end"
    with teaches(ShapeError, "dim=1 of a tensor ()", why, mend, line="x.sum(1)"):
        x.sum(1)
    with pytest.raises(ShapeError, match="axis 0 is named more than once"):
        x.sum((0, -1))


def test_numbers_and_arrays_are_taken_too() -> None:
    assert tg.sum(np.arange(6).reshape(2, 3), 0).tolist() == [3, 5, 7]
    assert [tg.prod(4.0, 0).item(), tg.std([1.0, 3.0], correction=0).item(), tg.argmax([1, 3, 2]).item()] == [4, 1, 1]


# Dtypes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_integers_are_reduced_in_int64_or_in_what_is_asked_for(name: str) -> None:
    reduce, x = getattr(tg, name), tg.tensor([100, 100], dtype="int8")
    exact = 200 if name == "sum" else 10_000
    assert (reduce(x).item(), reduce(x).dtype) == (exact, np.int64)
    assert (reduce(x, dtype="int32").item(), reduce(x, dtype="int32").dtype) == (exact, np.int32)
    assert (reduce(x, dtype="uint8").item(), reduce(x, dtype="uint8").dtype) == (exact % 256, np.uint8)
    assert (reduce(x, dtype="bool").item(), reduce(x, dtype="bool").dtype) == (True, np.bool_)
    assert reduce(tg.tensor([1.9, 1.9]), dtype="int64").item() == (2 if name == "sum" else 1)  # converted before
    assert reduce(tg.tensor([True, True])).dtype == np.int64


def test_a_gradient_comes_back_in_the_operands_own_dtype() -> None:
    for name in ("sum", "prod", "mean"):
        x = tg.tensor([2.0, 3.0], dtype="float16", requires_grad=True)
        result = getattr(tg, name)(x, dtype="float64")
        result.backward()
        assert (result.dtype, x.grad.dtype) == (np.float64, np.float16)


@pytest.mark.parametrize("name", ["mean", "var", "std", "norm"])
@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_what_has_fractions_is_refused_for_integers(name: str, dtype: str) -> None:
    with pytest.raises(DtypeError, match=f"{dtype} has no fractions") as caught:
        getattr(tg, name)(tg.ones(2, dtype=dtype))
    assert caught.value.mend == "convert it first: x.float()"


def test_a_mean_of_integers_is_taken_in_a_dtype_that_is_named() -> None:
    assert (tg.tensor([1, 2]).mean(dtype="float64").item(), tg.tensor([1, 2]).mean(dtype="float32").dtype) == (
        1.5,
        "f4",
    )
    with pytest.raises(DtypeError, match="int64 has no fractions"):
        tg.tensor([1.0]).mean(dtype="int64")


# Nothing to reduce --------------------------------------------------------------------------------------------


def test_what_nothing_adds_up_to() -> None:
    """And without a warning: those are errors here."""
    x = tg.zeros(0, 2)
    assert x.sum(0).tolist() == [0.0, 0.0]
    assert x.prod(0).tolist() == [1.0, 1.0]
    assert x.norm(dim=0).tolist() == [0.0, 0.0]
    assert [x.any().item(), x.all().item()] == [False, True]
    assert np.isnan(x.mean(0).array).all()
    assert [x.sum(1).shape, x.amax(1).shape, x.argmin(1).shape, x.var(1).shape] == [(0,)] * 4
    for name in ("sum", "prod", "mean", "norm"):
        empty = leaf(np.zeros((0, 2)))
        getattr(tg, name)(empty, dim=0).sum().backward()
        assert empty.grad.shape == (0, 2)


@pytest.mark.parametrize("name", ["amax", "amin", "argmax", "argmin"])
def test_there_is_no_largest_of_none(name: str) -> None:
    reduce, x = getattr(tg, name), tg.zeros(2, 0)
    why = "axis 1 has no elements, so none of them is the largest or smallest"
    mend = "find out why the tensor is empty, or check x.numel() first"
    for dim in (1, None):
        which = "" if dim is None else f"dim={dim}, "
        tried = f"{name}((2, 0) float32, {which}keepdim=False) on cpu"
        with teaches(ShapeError, tried, why, mend, line="reduce(x, dim=dim)"):
            reduce(x, dim=dim)


def test_there_is_no_largest_size_of_none() -> None:
    with pytest.raises(ShapeError, match="axis 0 has no elements"):
        tg.zeros(0).norm(INF)


# Zeros --------------------------------------------------------------------------------------------------------


def test_products_with_zeros_have_exact_derivatives() -> None:
    assert slope(tg.prod, [2.0, 0.0, 3.0]) == [0.0, 6.0, 0.0]
    assert slope(tg.prod, [0.0, 0.0, 3.0]) == [0.0, 0.0, 0.0]
    assert hessian(tg.prod, [2.0, 0.0, 3.0]) == [[0.0, 3.0, 0.0], [3.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
    assert hessian(tg.prod, [0.0, 0.0, 3.0]) == [[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_so_have_products_over_several_axes() -> None:
    square = [[2.0, 0.0], [5.0, 3.0]]
    assert slope(tg.prod, square) == [[0.0, 30.0], [0.0, 0.0]]
    assert slope(lambda x: x.prod((0, 1), keepdim=True), square) == [[0.0, 30.0], [0.0, 0.0]]
    flat = hessian(lambda x: x.reshape(2, 2).prod(), [2.0, 0.0, 5.0, 3.0])
    assert flat == hessian(tg.prod, [2.0, 0.0, 5.0, 3.0])


# Spread -------------------------------------------------------------------------------------------------------


def test_the_variance_of_large_numbers() -> None:
    """The mean of the squares, less the square of the mean, would be 0 here, or negative."""
    x = tg.tensor([1e8, 1e8 + 1, 1e8 + 2], dtype="float64")
    assert (x.var().item(), x.var(correction=0).item(), x.std().item()) == (1.0, pytest.approx(2 / 3), 1.0)


def test_ways_of_saying_what_is_divided_by() -> None:
    x = tg.tensor([[1.0, 3.0], [1.0, 7.0]])
    assert [x.var(1).tolist(), x.var(1, True).tolist(), x.var(1, correction=1).tolist()] == [[2.0, 18.0]] * 3
    assert [x.var(1, False).tolist(), x.var(1, unbiased=False).tolist()] == [[1.0, 9.0]] * 2
    assert tg.std(x, 1, False, True).tolist() == [[1.0], [3.0]]
    assert x.var(False).item() == x.var(correction=0).item()  # a bool in place of dim
    assert x.var(1, correction=1.5).tolist() == [4.0, 36.0]
    tried = "var with unbiased=True and correction=1"
    why = "unbiased=True means correction=1, and unbiased=False means correction=0"
    with teaches(DtypeError, tried, why, "give only correction", line="x.var("):
        x.var(1, unbiased=True, correction=1)


def test_a_deviation_of_0_has_the_slope_0() -> None:
    assert slope(tg.std, [2.0, 2.0]) == [0.0, 0.0]
    assert hessian(tg.std, [2.0, 2.0]) == [[0.0, 0.0], [0.0, 0.0]]
    assert slope(lambda x: x.std(1, correction=0), [[2.0, 2.0], [1.0, 3.0]]) == [[0.0, 0.0], [-0.5, 0.5]]


def test_too_few_elements_for_a_variance() -> None:
    """0 / 0, which NumPy warns of, as PyTorch does."""
    x = leaf([3.0])
    with pytest.warns(RuntimeWarning, match="invalid value"):
        result = x.var()
    assert math.isnan(result.item())
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert tg.tensor([3.0, 4.0]).var(correction=3).item() == INF


# Norms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, INF, -INF, "fro"])
def test_the_slope_of_a_norm_at_the_origin_is_0(p: Any) -> None:
    assert slope(lambda x: x.norm(p), [0.0, 0.0]) == [0.0, 0.0]
    assert slope(lambda x: x.norm(p, dim=1), [[0.0, 0.0], [0.0, 0.0]]) == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (0, [0.0, 0.0, 0.0]),
        (0.5, [1 + math.sqrt(4 / 9), 0.0, -(1 + math.sqrt(9 / 4))]),
        (1, [1.0, 0.0, -1.0]),
        (2, [9 / math.sqrt(97), 0.0, -4 / math.sqrt(97)]),
        (INF, [1.0, 0.0, 0.0]),
        (-INF, [0.0, 0.0, 0.0]),
    ],
)
def test_the_slope_of_a_norm_where_one_element_is_0(p: float, expected: list[float]) -> None:
    assert slope(lambda x: x.norm(p), [9.0, 0.0, -4.0]) == pytest.approx(expected)


def test_the_second_derivative_of_a_norm_where_one_element_is_0() -> None:
    """1 / norm along that axis: not 0."""
    assert hessian(tg.norm, [0.0, 4.0]) == [[0.25, 0.0], [0.0, 0.0]]


def test_which_norms_there_are() -> None:
    x = tg.tensor([[3.0, 0.0], [0.0, -4.0]])
    assert [x.norm(p).item() for p in (None, "fro", 2, 1, 0, INF, -INF)] == [5.0, 5.0, 5.0, 7.0, 2.0, 4.0, 0.0]
    assert (x.norm(1, dim=0).tolist(), x.norm(1, 0, True).tolist()) == ([3.0, 4.0], [[3.0, 4.0]])
    assert tg.tensor([3, 4]).norm(dtype="float64").item() == 5.0
    assert math.isnan(tg.tensor([NAN, 1.0]).norm(INF).item())
    why, mend = "there is no such norm here: this one needs singular values", "p is 'fro' or a number"
    with teaches(DtypeError, "norm with p='nuc'", why, mend, line="x.norm("):
        x.norm("nuc")
    with teaches(DtypeError, "norm with p='two'", "there is no such norm here", mend, line="x.norm("):
        x.norm("two")


# Ties, nan and truth ------------------------------------------------------------------------------------------


def test_nan_is_the_largest_and_the_smallest() -> None:
    x = [1.0, NAN, 3.0, NAN]
    t = tg.tensor(x)
    assert math.isnan(t.amax().item())
    assert math.isnan(t.amin().item())
    assert [t.argmax().item(), t.argmin().item()] == [1, 1]
    assert slope(tg.amax, x) == [0.0, 0.5, 0.0, 0.5]


def test_equal_elements_share_the_gradient_of_each_row() -> None:
    rows = [[3.0, 1.0, 3.0], [2.0, 2.0, 2.0]]
    assert slope(lambda x: x.amax(1), rows) == [[0.5, 0.0, 0.5], [1 / 3, 1 / 3, 1 / 3]]
    assert slope(tg.amax, rows) == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]


def test_positions() -> None:
    x = tg.tensor([[1, 5, 5], [7, 7, 0]])
    assert [x.argmax().item(), x.argmin().item()] == [3, 5]
    assert [x.argmax(1).tolist(), x.argmin(-1).tolist(), x.argmax(0).tolist()] == [[1, 0], [0, 2], [1, 1, 0]]
    assert [x.argmax(1, True).shape, x.argmax(keepdim=True).shape] == [(2, 1), (1, 1)]
    with teaches(DtypeError, "argmax of a tensor of bools", "PyTorch has none either", "convert it first: x.long()"):
        (x > 1).argmax()
    why, mend = "a dim is an integer", "count the axes from 0, or from -1 at the end"
    with teaches(DtypeError, "dim=(0, 1) of a tensor (2, 3)", why, mend):
        x.argmax((0, 1))


def test_truth() -> None:
    x = tg.tensor([[0.0, NAN], [0.0, 2.0]])
    assert [x.any().item(), x.all().item()] == [True, False]
    assert [x.any(0).tolist(), x.all(0).tolist(), x.all((0, 1)).item()] == [[False, True], [False, True], False]
    assert x.any(1, keepdim=True).shape == (2, 1)
    assert x.all(()).tolist() == x.any(()).tolist() == [[False, True], [False, True]]
    small = tg.tensor([0, 2], dtype="uint8")
    assert [(small.any().dtype, small.any().item()), (small.all().dtype, small.all().item())] == [("u1", 1), ("u1", 0)]
    assert tg.tensor([0, 2]).any().dtype == np.bool_
