"""Derivatives, first and second, against finite differences in float64; other dtypes against float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, LAYOUTS, Case, each, expanded, is_float, leaf

SMOOTH = [case for case in CASES if case.differentiable]
STEP = 1e-6


def weights(shape: tuple[int, ...], salt: int = 0) -> Any:
    """Fixed numbers to weigh a result with, so that no gradient can hide in a sum."""
    return np.random.default_rng([7, salt]).uniform(0.5, 1.5, shape)


def numeric(function: Any, arrays: tuple[Any, ...]) -> list[Any]:
    """The slopes of ``function(*arrays)``, a number, by central differences: one array per float operand."""
    slopes = []
    for i, array in enumerate(arrays):
        if not is_float(array):
            slopes.append(None)
            continue
        slope = np.zeros(array.shape)
        for at in np.ndindex(array.shape):
            moved = list(each(np.array, arrays))
            moved[i][at] = array[at] + STEP
            above = function(*moved)
            moved[i][at] = array[at] - STEP
            slope[at] = (above - function(*moved)) / (2 * STEP)
        slopes.append(slope)
    return slopes


def weighted(case: Case) -> Any:
    """The case as a function from arrays to one number, outside the graph."""

    def value(*arrays: Any) -> float:
        with tg.no_grad():
            out = case.run(*(leaf(a, requires_grad=False) for a in arrays)).array
        return float((out * weights(out.shape)).sum())

    return value


def gradients(case: Case, arrays: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """The result, and the gradient of its weighted sum for each operand."""
    leaves = [leaf(a) for a in arrays]
    out = case.run(*leaves)
    weight = weights(out.shape).astype(out.dtype)
    out.backward(tg.tensor(weight))
    return out, [x.grad if is_float(a) else None for x, a in zip(leaves, arrays, strict=True)]


def slopes_agree(case: Case, arrays: tuple[Any, ...]) -> None:
    """The gradients are those that finite differences give."""
    _, found = gradients(case, arrays)
    for array, ours, expected in zip(arrays, found, numeric(weighted(case), arrays), strict=True):
        if is_float(array):
            assert ours.shape == array.shape
            assert ours.dtype == array.dtype
            np.testing.assert_allclose(ours.array, expected, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_gradient(case: Case) -> None:
    slopes_agree(case, case.operands())


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_layouts(case: Case) -> None:
    """However the operands lie in memory, the numbers are the same."""
    operands = case.operands()
    out, expected = gradients(case, operands)
    for change in LAYOUTS.values():
        moved_out, moved = gradients(case, each(change, operands))
        np.testing.assert_allclose(moved_out.array, out.array, rtol=1e-13, atol=1e-15)
        for ours, value in zip(moved, expected, strict=True):
            if value is not None:
                np.testing.assert_allclose(ours.array, value.array, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", [case for case in SMOOTH if case.expands], ids=str)
def test_gradient_of_expanded_operands(case: Case) -> None:
    slopes_agree(case, each(expanded, case.operands()))


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_second_derivative(case: Case) -> None:
    """The gradient, recorded, has the right slopes: in the operands and in the gradient that came in."""
    operands = case.operands()
    count = len(operands)

    def first(*arrays: Any, create: bool) -> tuple[list[Any], Any]:
        leaves = [leaf(a) for a in arrays]
        floats = [x for x, a in zip(leaves, arrays, strict=True) if is_float(a)]
        out = case.run(*leaves[:count])
        grads = tg.autograd.grad((out * leaves[count]).sum(), floats, create_graph=create, allow_unused=True)
        total: Any = 0.0
        for i, g in enumerate(grads):
            if g is not None:
                total = total + (g * tg.tensor(weights(g.shape, 1 + i))).sum()
        return floats, total

    out_shape = case.run(*(leaf(a, requires_grad=False) for a in operands)).shape
    arrays = (*operands, weights(out_shape))
    floats, total = first(*arrays, create=True)
    recorded = total.requires_grad  # the gradient of a linear op is a constant
    found = tg.autograd.grad(total, floats, allow_unused=True) if recorded else (None,) * len(floats)
    expected = [e for e in numeric(lambda *a: float(first(*a, create=False)[1].item()), arrays) if e is not None]
    for ours, slope in zip(found, expected, strict=True):
        value = np.zeros(slope.shape) if ours is None else ours.array
        np.testing.assert_allclose(value, slope, rtol=5e-6, atol=5e-7)


HALVES = {
    "float32": (np.dtype("f4"), 2e-5),
    "float16": (np.dtype("f2"), 1.5e-2),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), 8e-2),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("case", [case for case in SMOOTH if case.halves], ids=str)
def test_narrow_dtypes(case: Case, dtype: str) -> None:
    """In narrower dtypes: the dtype stays, and values and gradients are those of float64, but for rounding."""
    kind, tolerance = HALVES[dtype]
    tolerance *= case.halves
    narrow = each(lambda a: a.astype(kind), case.operands())
    wide = each(lambda a: a.astype("f8"), narrow)
    out, found = gradients(case, narrow)
    exact, expected = gradients(case, wide)
    assert out.dtype == (exact.dtype if case.op == "cast" else kind)
    np.testing.assert_allclose(out.array.astype("f8"), exact.array, rtol=tolerance, atol=tolerance)
    for array, ours, value in zip(narrow, found, expected, strict=True):
        if is_float(array):
            assert ours.dtype == kind
            np.testing.assert_allclose(ours.array.astype("f8"), value.array, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", [case for case in CASES if not case.differentiable], ids=str)
def test_ops_without_gradient(case: Case) -> None:
    out = case.run(*(leaf(a) for a in case.operands()))
    assert not out.requires_grad
    assert out.dtype == (np.int64 if case.op.startswith("arg") else np.bool_)


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_only_the_gradients_that_are_wanted(case: Case) -> None:
    """One operand's gradient is the same whether or not the others want theirs."""
    operands = case.operands()
    together = gradients(case, operands)[1]
    for i, array in enumerate(operands):
        if is_float(array):
            leaves = [leaf(a, requires_grad=i == j) for j, a in enumerate(operands)]
            out = case.run(*leaves)
            out.backward(tg.tensor(weights(out.shape).astype(out.dtype)))
            np.testing.assert_array_equal(leaves[i].grad.array, together[i].array)
            assert all(x.grad is None for j, x in enumerate(leaves) if j != i and hasattr(x, "grad"))
