"""Maximum, clamp, where and masked_fill where they are special: ties, nan, crossed bounds, dtypes, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError, EduError, ShapeError

NAN = float("nan")


def test_at_a_nan_both_get_the_gradient() -> None:
    """As in PyTorch: the nan is to be seen, wherever it came from."""
    x, y = tg.tensor([NAN, 1.0, NAN], requires_grad=True), tg.tensor([1.0, NAN, NAN], requires_grad=True)
    for choose in (tg.maximum, tg.minimum):
        out = choose(x, y)
        assert np.isnan(out.detach().array).all()
        found = tg.autograd.grad(out.sum(), (x, y))
        assert [g.tolist() for g in found] == [[1.0, 1.0, 1.0]] * 2


@pytest.mark.parametrize("tensors", [False, True])
def test_clamp_where_the_bounds_cross_or_meet(tensors: bool) -> None:
    """Where min is above max, the result is max everywhere."""
    x = tg.tensor([-2.0, 0.0, 1.0, 3.0], requires_grad=True)
    bound = tg.tensor if tensors else float
    crossed, met = tg.clamp(x, bound(2.0), bound(1.0)), tg.clamp(x, bound(1.0), bound(1.0))
    assert (crossed.tolist(), met.tolist()) == ([1.0] * 4, [1.0] * 4)
    assert tg.autograd.grad(crossed.sum(), x)[0].tolist() == [0.0] * 4
    assert tg.autograd.grad(met.sum(), x)[0].tolist() == [0.0, 0.0, 1.0, 0.0]


def test_a_bound_gets_the_gradient_where_it_holds() -> None:
    x = tg.tensor([-2.0, 0.0, 1.0, 3.0, 0.5], requires_grad=True)
    low = tg.tensor([0.0, 0.0, 0.0, 0.0, 2.0], requires_grad=True)
    high = tg.tensor(1.0, requires_grad=True)
    out = tg.clamp(x, low, high)
    assert out.tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]  # in the last place the bounds cross
    found = [g.tolist() for g in tg.autograd.grad(out.sum(), (x, low, high))]
    assert found == [[0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0], 2.0]
    assert tg.autograd.grad(tg.clamp_max(x, high).sum(), high)[0].item() == 1.0  # not at the tie
    assert tg.autograd.grad(x.clamp_min(low).sum(), low)[0].tolist() == [1.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("result", "expected", "dtype"),
    [
        (lambda x: tg.clamp(x, min=0), [0, 0, 1], "int64"),
        (lambda x: tg.clamp(x, max=0.5), [-1.0, 0.0, 0.5], "float32"),
        (lambda x: tg.clamp(x, tg.tensor(0.5)), [0.5, 0.5, 1.0], "float32"),
        (lambda x: tg.clamp(x, np.array([0.5, 0.5, 0.5])), [0.5, 0.5, 1.0], "float64"),
        (lambda x: tg.clamp(x, np.float64(0.5)), [0.5, 0.5, 1.0], "float32"),
        (lambda x: tg.clamp(x.bool(), 0, 2), [1, 0, 1], "int64"),
        (lambda x: tg.clamp(x.float(), tg.tensor(0.5, dtype="float64")), [0.5, 0.5, 1.0], "float32"),
        (lambda x: tg.clamp(x, tg.tensor([0]), 0), [0, 0, 0], "int64"),
        (lambda x: tg.clamp(-1, x, 1), [-1, 0, 1], "int64"),
        (lambda x: x.float().clamp(min=True), [1.0, 1.0, 1.0], "float32"),
        (lambda x: tg.clamp_min(x, 0.5), [0.5, 0.5, 1.0], "float32"),
    ],
)
def test_dtypes_of_clamp(result: Callable[[Any], Any], expected: list[Any], dtype: str) -> None:
    found = result(tg.tensor([-1, 0, 1]))
    assert (found.tolist(), found.dtype.name) == (expected, dtype)


def test_clamp_broadcasts_both_ways() -> None:
    x = tg.tensor([[0.0], [5.0]], requires_grad=True)
    out = tg.clamp(x, max=tg.tensor([1.0, 6.0, 2.0]))
    assert out.tolist() == [[0.0, 0.0, 0.0], [1.0, 5.0, 2.0]]
    out.sum().backward()
    assert x.grad.tolist() == [[3.0], [1.0]]


def test_where_takes_numbers() -> None:
    holds = tg.tensor([True, False])
    for found, expected, dtype in [
        (tg.where(holds, 1, 2), [1, 2], "int64"),
        (tg.where(holds, 1.0, 2), [1.0, 2.0], "float32"),
        (tg.where(holds, tg.tensor([1, 2]), 0.5), [1.0, 0.5], "float32"),
        (tg.where(holds, tg.tensor([1, 2]), tg.tensor(0.5, dtype="float64")), [1.0, 0.5], "float64"),
        (tg.tensor([5.0, 6.0]).where(holds, 0), [5.0, 0.0], "float32"),
        (tg.where([True, False], tg.tensor([1, 2]), 0), [1, 0], "int64"),
    ]:
        assert (found.tolist(), found.dtype.name) == (expected, dtype)
    assert tg.where(True, tg.ones(2), 0).tolist() == [1.0, 1.0]


def test_where_with_the_condition_alone_gives_positions() -> None:
    rows, columns = tg.where(tg.tensor([[0, 3], [4, 5]]))
    assert (rows.tolist(), columns.tolist()) == ([0, 1, 1], [1, 0, 1])
    (places,) = tg.where(tg.tensor([False, True]))
    assert (places.tolist(), places.dtype) == ([1], np.int64)


def test_the_filled_places_get_no_gradient_and_the_value_gets_theirs() -> None:
    x, value = tg.ones(2, 3, requires_grad=True), tg.tensor(9.0, dtype="float64", requires_grad=True)
    out = x.masked_fill(tg.tensor([True, False, True]), value)
    assert (out.tolist(), out.dtype) == ([[9.0, 1.0, 9.0]] * 2, np.float32)
    out.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0]] * 2
    assert (value.grad.item(), value.grad.dtype) == (4.0, np.float64)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float64", 0.1, 0.1),
        ("float32", float("-inf"), float("-inf")),
        ("int64", 2.0, 2),
        ("int64", 2**62, 2**62),
        ("uint8", np.int64(255), 255),
        ("bool", 2, True),
        ("bool", 10**30, True),
        ("float16", True, 1.0),
    ],
)
def test_a_number_fills_in_the_dtype_of_the_tensor(dtype: str, value: Any, expected: Any) -> None:
    found = tg.zeros(1, dtype=dtype).masked_fill(tg.tensor([True]), value)
    assert (found.item(), found.dtype.name) == (expected, dtype)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 2.5), ("int64", NAN), ("int64", 2**63), ("uint8", -1), ("int8", 128), ("float16", 1e5),
        ("float32", 1e39), ("float64", 10**400), ("float32", "one"), ("int64", 1j),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_no_value(dtype: str, value: Any) -> None:
    tried, why = f"masked_fill of (1,) {dtype}, mask (1,) bool", f"{dtype} cannot hold {value!r}"
    with teaches(DtypeError, tried, why, "fill with a number that it can, or convert x first"):
        tg.zeros(1, dtype=dtype).masked_fill(tg.tensor([True]), value)


X, HOLDS = tg.ones(2), tg.tensor([True, False])
WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: tg.where(tg.tensor([1, 0]), X, X), DtypeError, "where with a condition of dtype int64",
        "a condition is true or false at each element", "compare first: where(condition != 0, x, y)",
    ),
    (
        lambda: tg.where(HOLDS, X), DtypeError, "where with one value",
        "it needs a second one for where the condition fails", "give both: where(condition, x, y)",
    ),
    (
        lambda: X.masked_fill(tg.tensor([1, 0]), 0), DtypeError, "masked_fill of (2,) float32, mask (2,) int64",
        "a mask is true or false at each element", "compare first: mask != 0",
    ),
    (
        lambda: X.masked_fill(HOLDS, X), ShapeError, "masked_fill of (2,) float32, mask (2,) bool",
        "the value has shape (2,), but all places get the same number", "use where(mask, value, x)",
    ),
    (
        lambda: X.long().masked_fill(HOLDS, tg.tensor(0.5)), DtypeError, "masked_fill of (2,) int64, mask (2,) bool",
        "the value is float32, but int64 has no fractions", "convert it first: value.to('int64')",
    ),
    (
        lambda: tg.clamp(tg.ones(2, 3), tg.ones(2)), ShapeError, "clamp_between((2, 3) float32, (2,) float32) on cpu",
        "axis -1 has 3 elements in one and 2 in the other, and only a 1 can be stretched",
        "give the shorter one an axis of length 1 where it lacks one: y.unsqueeze(-1)",
    ),
    (
        lambda: tg.clamp(tg.tensor([1, 2])), ShapeError, "clamp((2,) int64) on cpu",
        "neither min nor max is given", "check the shapes and the arguments named above",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[2] for w in WRONG])
def test_refusals(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend):
        call()


def test_masks_on_another_device() -> None:
    x = tg.ones(2).to("far")
    found = x.masked_fill(HOLDS.to("far"), 5)
    assert (found.device, found.cpu().tolist()) == ("far", [5.0, 1.0])
    assert tg.where(HOLDS.to("far"), x, 0).cpu().tolist() == [1.0, 0.0]
    assert tg.clamp(x, tg.tensor(2.0), 3).cpu().tolist() == [2.0, 2.0]
