"""Running sums and products where they are special: zeros, no axis, integers."""

from __future__ import annotations

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError, ShapeError


def test_integers_are_added_in_int64_or_in_what_is_asked_for() -> None:
    x = tg.tensor([100, 100], dtype="int8")
    assert (x.cumsum(0).tolist(), x.cumsum(0).dtype) == ([100, 200], np.int64)
    assert (x.cumsum(0, dtype="int8").tolist(), x.cumsum(0, dtype="int8").dtype) == ([100, -56], np.int8)
    assert x.cumprod(0).tolist() == [100, 10_000]
    assert tg.tensor([True, True]).cumsum(0).tolist() == [1, 2]
    assert tg.cumsum([0.9, 1.9], 0, dtype="int64").tolist() == [0, 1]  # converted before
    half = tg.tensor([1.0, 2.0], dtype="float16", requires_grad=True)
    total = half.cumsum(0, dtype="float64")
    total.sum().backward()
    assert (total.dtype, half.grad.dtype, half.grad.tolist()) == (np.float64, np.float16, [2.0, 1.0])


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_there_are_no_running_bools(name: str) -> None:
    why, mend = "running sums and products are numbers", "leave dtype out, and compare the result"
    with teaches(DtypeError, f"{name} with dtype=bool", why, mend, line="getattr(tg, name)"):
        getattr(tg, name)(tg.ones(2), 0, dtype=tg.bool)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_axes(name: str) -> None:
    run = getattr(tg, name)
    assert run(tg.full((2, 2), 3.0), -1).tolist() == run(tg.full((2, 2), 3.0), 1).tolist()
    x = tg.tensor(3.0, requires_grad=True)
    result = run(x, 0)
    result.backward()
    assert (result.item(), result.shape, x.grad.item(), x.grad.shape) == (3.0, (), 1.0, ())
    assert run(tg.tensor(True), -1).dtype == np.int64
    assert run(tg.zeros(0), 0).shape == (0,)
    with pytest.raises(ShapeError, match="it has 1 axis, so dim lies between -1 and 0"):
        run(tg.ones(2), 1)
    with pytest.raises(DtypeError, match="a dim is an integer"):
        run(tg.ones(2, 2), (0, 1))


def test_running_products_with_zeros_have_exact_derivatives() -> None:
    x = tg.tensor([2.0, 0.0, 3.0, 0.0], dtype="float64", requires_grad=True)
    weights = tg.tensor([1.0, 10.0, 100.0, 1000.0])
    (g,) = tg.autograd.grad((x.cumprod(0) * weights).sum(), x, create_graph=True)
    # 1 x0 + 10 x0 x1 + 100 x0 x1 x2 + 1000 x0 x1 x2 x3
    assert g.tolist() == [1.0, 620.0, 0.0, 0.0]
    rows = [tg.autograd.grad(one, x, retain_graph=True)[0].tolist() for one in g]
    assert rows == [
        [0.0, 310.0, 0.0, 0.0],
        [310.0, 0.0, 200.0, 6000.0],
        [0.0, 200.0, 0.0, 0.0],
        [0.0, 6000.0, 0.0, 0.0],
    ]


def test_running_products_of_every_length() -> None:
    """The doubling in the gradient ends where the axis does."""
    for length in range(1, 10):
        values = np.random.default_rng(length).normal(size=length)
        x = tg.tensor(values, requires_grad=True)
        x.cumprod(0).sum().backward()
        expected = [sum(np.delete(values[: k + 1], i).prod() for k in range(i, length)) for i in range(length)]
        np.testing.assert_allclose(x.grad.array, expected, rtol=1e-12)
