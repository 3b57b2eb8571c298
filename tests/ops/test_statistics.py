"""Counts, quantiles, running extremes, differences and searches: what PyTorch's samples do not ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, DtypeError, NoAxisError, ShapeError

NAN = float("nan")


def test_what_is_not_zero_is_counted() -> None:
    x = tg.tensor([[0.0, NAN, -0.0], [2.0, 0.0, 1.0]], requires_grad=True)
    assert x.count_nonzero().item() == 3
    assert (x.count_nonzero((0, 1)).item(), tg.count_nonzero(x, 0).tolist()) == (3, [1, 1, 1])
    assert x.count_nonzero().dtype == np.int64
    assert not x.count_nonzero().requires_grad


def test_both_at_once_are_those_one_by_one() -> None:
    x = tg.tensor(np.cos(np.arange(12.0)).reshape(3, 4), requires_grad=True)
    for pair, spread in ((tg.std_mean, tg.std), (tg.var_mean, tg.var)):
        found = pair(x, 1, keepdim=True, correction=0)
        assert type(found) is tuple
        assert found[0].tolist() == spread(x, 1, keepdim=True, correction=0).tolist()
        assert found[1].tolist() == x.mean(1, keepdim=True).tolist()
        assert pair(x, False)[0].tolist() == spread(x, False).tolist()
    found = x.aminmax(dim=0)
    assert (found.min.tolist(), found.max.tolist()) == (x.amin(0).tolist(), x.amax(0).tolist())


def test_nan_is_passed_over_and_gets_no_gradient() -> None:
    x = tg.tensor([[1.0, NAN, 3.0], [NAN, NAN, NAN]], requires_grad=True)
    assert x.nansum(1).tolist() == [4.0, 0.0]
    x.nansum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert x[0].nanmean().item() == 2.0
    assert tg.tensor([1, 2]).nansum().item() == 3
    with teaches(
        DtypeError, "nanmean of a tensor (2,) int64",
        "a mean is a fraction, and integers and bools have no nan to skip", "use x.float().mean()",
    ):  # fmt: skip
        tg.nanmean(tg.tensor([1, 2]))


def test_of_equal_elements_the_last_is_the_best_so_far_and_gets_the_gradient() -> None:
    x = tg.tensor([2.0, 2.0, 1.0, NAN, 5.0], requires_grad=True)
    values, indices = x.cummax(0)
    np.testing.assert_array_equal(values.detach().array, [2.0, 2.0, 2.0, NAN, NAN])
    assert indices.tolist() == [0, 1, 1, 3, 3]
    values.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 2.0, 0.0, 2.0, 0.0]
    assert tg.tensor([3, 1, 1]).cummin(0).indices.tolist() == [0, 1, 2]
    assert tg.cummin(tg.zeros(0, 3), 0).values.shape == (0, 3)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 65])
def test_running_extremes_of_any_length(size: int) -> None:
    values = np.random.default_rng(size).integers(0, 9, (3, size, 2))
    for function, exact in ((tg.cummax, np.maximum), (tg.cummin, np.minimum)):
        found = function(tg.tensor(values), 1)
        np.testing.assert_array_equal(found.values.array, exact.accumulate(values, 1))
        np.testing.assert_array_equal(np.take_along_axis(values, found.indices.array, 1), found.values.array)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_those_of_numpy(interpolation: Any) -> None:
    values, shares = np.random.default_rng(0).normal(size=(4, 5)), [0.0, 0.1, 0.5, 0.77, 1.0]
    q = tg.tensor(shares, dtype="float64")
    for dim in (None, 0, 1):
        found = tg.tensor(values).quantile(q, dim, interpolation=interpolation)
        expected = np.quantile(values, shares, axis=dim, method=interpolation)
        np.testing.assert_allclose(found.array, expected, rtol=1e-12)
    assert tg.tensor([1.0, NAN, 2.0]).quantile(0.0).isnan().item()


def test_mistaken_quantiles() -> None:
    x = tg.tensor([1.0, 2.0])
    with teaches(
        ArgumentError, "quantile of a tensor (2,) float32, q () float32",
        "q goes from 50 to 50, but it must be between 0 and 1", "divide percentages by 100 first",
    ):  # fmt: skip
        x.quantile(50)
    with pytest.raises(ArgumentError, match="there is no interpolation 'cubic'"):
        x.quantile(0.5, interpolation="cubic")
    with pytest.raises(DtypeError, match="q and the tensor differ in dtype"):
        x.quantile(tg.tensor(0.5, dtype="float64"))
    with pytest.raises(DtypeError, match="quantiles are float32 or float64"):
        tg.tensor([1, 2]).quantile(0.5)
    with pytest.raises(ShapeError, match="there is no element"):
        tg.zeros(0).quantile(0.5)


def test_differences() -> None:
    x = tg.tensor([1.0, 4.0, 9.0], requires_grad=True)
    assert x.diff(prepend=tg.zeros(1)).tolist() == [1.0, 3.0, 5.0]
    assert x.diff(n=5).shape == (0,)
    assert x.diff(n=0) is not x
    x.diff().sum().backward()
    assert x.grad is not None and x.grad.tolist() == [-1.0, 0.0, 1.0]
    assert tg.tensor([True, False, False]).diff().tolist() == [True, False]
    with teaches(NoAxisError, "diff of a 0-d tensor", "it has no neighbours to differ from", "give it an axis"):
        tg.tensor(1.0).diff()
    with pytest.raises(ArgumentError, match="diff with n=-1"):
        x.diff(-1)


def test_occurrences_are_counted() -> None:
    x = tg.tensor([0, 2, 2])
    assert x.bincount(minlength=5).tolist() == [1, 0, 2, 0, 0]
    for dtype, kind in (("float32", "float32"), ("float64", "float64"), ("int64", "float64")):
        found = x.bincount(tg.tensor([1, 2, 3]).to(dtype))
        assert (found.tolist(), found.dtype.name) == ([1.0, 0.0, 5.0], kind)
    assert tg.bincount(tg.zeros(0, dtype="int64")).shape == (0,)
    with teaches(
        ArgumentError,
        "bincount of a tensor (1,) int64",
        "there is no place for -1",
        "shift the numbers first: x - x.min()",
    ):
        tg.tensor([-1]).bincount()
    with pytest.raises(ShapeError, match="each element has one"):
        x.bincount(tg.ones(2))
    with pytest.raises(DtypeError, match="it counts integers"):
        tg.ones(2).bincount()


def test_searches() -> None:
    rows = tg.tensor([[1.0, 3.0, 3.0, 5.0], [2.0, 4.0, 6.0, 8.0]])
    wanted = tg.tensor([[3.0, 9.0], [0.0, 6.0]])
    assert tg.searchsorted(rows, wanted).tolist() == [[1, 4], [0, 2]]
    assert tg.searchsorted(rows, wanted, side="right", out_int32=True).tolist() == [[3, 4], [0, 3]]
    mixed = tg.tensor([5, 1, 3])
    assert tg.searchsorted(mixed, 4, sorter=mixed.argsort()).item() == 2
    with pytest.raises(ArgumentError, match="contradict each other"):
        tg.searchsorted(rows, wanted, side="left", right=True)
    with pytest.raises(DtypeError, match="the two differ in dtype"):
        tg.searchsorted(mixed, tg.tensor([1.0]))


def test_membership() -> None:
    x = tg.tensor([[1.0, NAN], [3.0, 4.0]])
    assert tg.isin(x, tg.tensor([4.0, NAN, 1.0])).tolist() == [[True, False], [False, True]]
    assert tg.isin(x, 3, invert=True).tolist() == [[True, True], [False, True]]
    assert tg.isin(3, tg.tensor([1, 3])).item() is True
    with pytest.raises(DtypeError, match="isin of two numbers"):
        tg.isin(1, 2)
