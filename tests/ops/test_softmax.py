"""Sums of exponentials at infinities, of nothing, and of integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError

INF, NAN = math.inf, math.nan


def value_and_slope(function: Any, values: Any) -> tuple[Any, Any]:
    x = tg.tensor(values, dtype="float64", requires_grad=True)
    y = function(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


def test_the_logarithm_of_a_sum_with_minus_infinity() -> None:
    """exp(-inf) is 0: nothing is added. Without a warning, and with second derivatives."""
    value, slope = value_and_slope(lambda x: x.logsumexp(0), [-INF, 0.0, 0.0])
    assert value == math.log(2)
    assert slope == pytest.approx([0.0, 0.5, 0.5])
    x = tg.tensor([-INF, 0.0, 0.0], dtype="float64", requires_grad=True)
    (g,) = tg.autograd.grad(x.logsumexp(0), x, create_graph=True)
    assert tg.autograd.grad(g[1], x)[0].tolist() == pytest.approx([0.0, 0.25, -0.25])


def test_infinite_logarithms_of_sums() -> None:
    x = tg.tensor([[-INF, -INF], [INF, 1000.0], [INF, -INF], [INF, INF], [NAN, INF]])
    np.testing.assert_array_equal(x.logsumexp(1).array, [-INF, INF, INF, INF, NAN])
    np.testing.assert_array_equal(x.half().logsumexp(1).array, [-INF, INF, INF, INF, NAN])
    assert x[0].logsumexp(0).item() == -INF
    assert tg.zeros(0, 2).logsumexp(0).tolist() == [-INF, -INF]
    assert tg.zeros(2, 0).logsumexp(0).shape == (0,)


def test_where_the_slope_is_not_defined_it_is_nan() -> None:
    """As in PyTorch; NumPy warns of inf - inf."""
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.testing.assert_array_equal(value_and_slope(lambda x: x.logsumexp(0), [-INF, -INF])[1], [NAN, NAN])
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.testing.assert_array_equal(value_and_slope(lambda x: x.logsumexp(0), [INF, 1.0])[1], [NAN, 0.0])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_without_a_number_are_nan(name: str) -> None:
    for row in ([-INF, -INF], [INF, 1.0]):
        with pytest.warns(RuntimeWarning, match="invalid value"):
            assert np.isnan(getattr(tg, name)(tg.tensor(row), 0).array).all()


def test_minus_infinity_is_a_share_of_0() -> None:
    values, slope = value_and_slope(lambda x: x.softmax(0) * tg.tensor([1.0, 2.0, 4.0]), [-INF, 0.0, 0.0])
    assert values == [0.0, 1.0, 2.0]
    assert slope == [0.0, -0.5, 0.5]
    values, slope = value_and_slope(lambda x: x.log_softmax(0)[1:], [-INF, 0.0, 0.0])
    assert values == pytest.approx([-math.log(2)] * 2)
    assert slope == pytest.approx([0.0, 0.0, 0.0])


def test_integers_need_a_dtype() -> None:
    x = tg.tensor([0, 0])
    for name in ("softmax", "log_softmax"):
        with pytest.raises(DtypeError, match="int64 has no fractions"):
            getattr(tg, name)(x, 0)
    assert tg.softmax(x, 0, dtype="float64").tolist() == [0.5, 0.5]
    assert tg.log_softmax(x, 0, dtype="float32").dtype == np.float32
    assert tg.logsumexp(x, 0).item() == pytest.approx(math.log(2))  # PyTorch makes floats of them here


def test_one_axis_and_no_more() -> None:
    for dim in ((0, 1), None):
        why, mend = "a dim is an integer", "count the axes from 0, or from -1 at the end"
        with teaches(DtypeError, f"dim={dim} of a tensor (2, 2)", why, mend, line="tg.ones(2, 2)"):
            tg.softmax(tg.ones(2, 2), dim)


def test_no_axis() -> None:
    assert [tg.softmax(tg.tensor(3.0), 0).item(), tg.log_softmax(tg.tensor(3.0), -1).item()] == [1.0, 0.0]
    assert tg.logsumexp(tg.tensor(3.0), 0).item() == 3.0
