"""Products over chosen axes, and what joins, cuts, turns and embeds: against NumPy, with derivatives, and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.autograd import gradcheck, gradgradcheck
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, ShapeError

Call = Callable[..., Any]

# Ours, the same in NumPy, and the shapes of the operands.
SAME: dict[str, tuple[Call, Call, list[tuple[int, ...]]]] = {
    "trace": (tg.trace, np.trace, [(2, 3)]),
    "tensordot": (tg.tensordot, np.tensordot, [(2, 3, 4), (3, 4, 2)]),
    "tensordot-0": (lambda a, b: tg.tensordot(a, b, 0), lambda a, b: np.tensordot(a, b, 0), [(2,), (3, 2)]),
    "tensordot-lists": (
        lambda a, b: tg.tensordot(a, b, dims=([0, -1], [2, 0])),
        lambda a, b: np.tensordot(a, b, ([0, -1], [2, 0])), [(2, 3, 4), (4, 5, 2)],
    ),
    "tensordot-empty": (lambda a, b: tg.tensordot(a, b, 1), lambda a, b: np.tensordot(a, b, 1), [(2, 0), (0, 3)]),
    "inner": (tg.inner, np.inner, [(2, 3), (4, 3)]),
    "inner-number": (tg.inner, np.inner, [(), (2, 3)]),
    "cross": (lambda a, b: tg.cross(a, b, dim=-1), np.cross, [(2, 3), (2, 3)]),
    "cross-broadcast": (lambda a, b: tg.cross(a, b, -1), np.cross, [(1, 2, 3), (4, 1, 3)]),
    "cross-first": (tg.cross, lambda a, b: np.cross(a, b, axis=0), [(3, 3), (3, 3)]),
    "kron": (tg.kron, np.kron, [(2, 3), (3, 2)]),
    "kron-ranks": (tg.kron, np.kron, [(2,), (2, 1, 3)]),
    "kron-0-d": (tg.kron, np.kron, [(), (2,)]),
    "baddbmm": (
        lambda x, a, b: tg.baddbmm(x, a, b, beta=0.5, alpha=2), lambda x, a, b: 0.5 * x + 2 * (a @ b),
        [(4,), (2, 3, 2), (2, 2, 4)],
    ),
    "column_stack": (lambda *xs: tg.column_stack(xs), lambda *xs: np.column_stack(xs), [(2,), (2, 3), (2,)]),
    "rot90": (tg.rot90, np.rot90, [(2, 3)]),
    "rot90-twice": (lambda x: tg.rot90(x, 2, (1, 2)), lambda x: np.rot90(x, 2, (1, 2)), [(2, 3, 4)]),
    "rot90-back": (lambda x: x.rot90(-1, [2, 0]), lambda x: np.rot90(x, -1, (2, 0)), [(2, 3, 4)]),
    "rot90-not": (lambda x: x.rot90(4), lambda x: np.rot90(x, 4), [(2, 3)]),
    "fliplr": (tg.fliplr, np.fliplr, [(2, 3)]),
    "flipud": (tg.flipud, np.flipud, [(3,)]),
    "diag_embed": (tg.diag_embed, lambda x: np.stack([np.diag(row) for row in x]), [(2, 3)]),
    "diag_embed-axes": (
        lambda x: tg.diag_embed(x, -1, 0, 2), lambda x: np.stack([np.diag(row, -1) for row in x], 1), [(2, 3)],
    ),
    "tensor_split": (lambda x: tg.cat([2 * part[:1] for part in x.tensor_split(3)]),
                     lambda x: np.concatenate([2 * part[:1] for part in np.array_split(x, 3)]), [(7, 2)]),
    "atleast_3d": (tg.atleast_3d, np.atleast_3d, [(2,)]),
    "atleast_2d": (tg.atleast_2d, np.atleast_2d, [()]),
    "atleast_1d": (tg.atleast_1d, np.atleast_1d, [()]),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_against_numpy_with_derivatives(name: str) -> None:
    ours, numpys, shapes = SAME[name]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    tensors = [tg.tensor(a, requires_grad=True) for a in arrays]
    found, expected = ours(*tensors), numpys(*arrays)
    assert found.shape == expected.shape
    assert found.requires_grad
    np.testing.assert_allclose(found.detach().array, expected, rtol=1e-12, atol=1e-15)
    if all(a.size for a in arrays):
        assert gradcheck(ours, tensors)
        assert gradgradcheck(ours, tensors)


def test_tensor_split_gives_views_that_fill_the_axis() -> None:
    x = tg.arange(7)
    for given in (3, 9, (2, 5), (-1,), (5, 2), (0, 20), (), tg.tensor([2, 5]), tg.tensor(2)):
        places = given.tolist() if isinstance(given, tg.Tensor) else given
        expected = np.array_split(np.arange(7), places)
        assert [part.tolist() for part in tg.tensor_split(x, given)] == [part.tolist() for part in expected], given
    x.tensor_split(2)[1].fill_(0)
    assert x.tolist() == [0, 1, 2, 3, 0, 0, 0]


def test_at_least_so_many_axes() -> None:
    one, row, cube = tg.tensor(2.0), tg.ones(3), tg.ones(2, 3, 4)
    assert tg.atleast_1d(row) is row
    assert [x.shape for x in tg.atleast_1d(one, row)] == [(1,), (3,)]
    assert [x.shape for x in tg.atleast_2d((one, row, cube))] == [(1, 1), (1, 3), (2, 3, 4)]
    assert [x.shape for x in tg.atleast_3d([one, row, row.unsqueeze(0)])] == [(1, 1, 1), (1, 3, 1), (1, 3, 1)]
    assert tg.atleast_2d() == ()
    tg.atleast_2d(row).fill_(5)
    assert row.tolist() == [5.0, 5.0, 5.0]


def test_integers_stay_integers() -> None:
    x = tg.tensor([[1, 2, 3], [4, 5, 6]])
    assert (tg.trace(x).item(), tg.trace(x.to("int8")).dtype) == (6, tg.int64)
    assert tg.cross(x, x + 1, 1).tolist() == [[-1, 2, -1], [-1, 2, -1]]
    assert tg.kron(x, x).dtype == tg.inner(x, x).dtype == tg.tensordot(x, x).dtype == tg.int64


def test_with_beta_0_nothing_is_added() -> None:
    product = tg.baddbmm(tg.full((1,), tg.nan), tg.ones(1, 2, 2), tg.ones(1, 2, 2), beta=0)
    assert product.tolist() == [[[2.0, 2.0], [2.0, 2.0]]]


def test_baddbmm_in_place() -> None:
    x, a, b = (tg.rand(2, 3, 3, dtype="float64", requires_grad=True) for _ in range(3))
    expected = tg.baddbmm(x, a, b, alpha=3.0)
    grads = tg.autograd.grad(expected.square().sum(), (x, a, b))
    y = x.clone()
    array = y.array
    assert y.baddbmm_(a, b, alpha=3.0) is y
    assert y.array is array
    assert y.tolist() == expected.tolist()
    for ours, wanted in zip(tg.autograd.grad(y.square().sum(), (x, a, b)), grads, strict=True):
        np.testing.assert_allclose(ours.array, wanted.array, rtol=1e-12)


WRONG: list[tuple[Call, type[EduError], str, str, str]] = [
    (lambda x: tg.trace(x[0]), ShapeError, "trace of a tensor (3,)", "it has 1 axes, but a matrix has two",
     "for many matrices, use x.diagonal(dim1=-2, dim2=-1).sum(-1)"),
    (lambda x: tg.tensordot(x, x, 1), ShapeError, "tensordot of (2, 3) and (2, 3) with dims=1",
     "axis 1 of the first has 3 elements, but axis 0 of the second has 2", "pair axes that count the same thing"),
    (lambda x: tg.tensordot(x, x, 3), ShapeError, "tensordot of (2, 3) and (2, 3) with dims=3",
     "they have 2 and 2 axes, so dims lies between 0 and 2", "name the axes to sum over: dims=([1], [0])"),
    (lambda x: tg.tensordot(x, x, ([0, 1], [0])), ShapeError, "tensordot of (2, 3) and (2, 3) with dims=([0, 1], [0])",
     "2 axes of the first cannot be paired with 1 of the second", "name as many axes in each list"),
    (lambda x: tg.tensordot(x, x, ([0],)), ShapeError, "tensordot of (2, 3) and (2, 3) with dims=([0],)",
     "dims is one number, or two lists", "name the axes of each: dims=([1], [0])"),
    (lambda x: tg.inner(x, x.T), ShapeError, "inner of (2, 3) and (3, 2)",
     "the last axes have 3 and 2 elements, but they must be equal",
     "check which axis of each operand counts the same thing"),
    (lambda x: tg.cross(x, x[0]), ShapeError, "cross of (2, 3) and (3,)",
     "they have 2 and 1 axes, but vectors lie along the same axis of both",
     "add an axis to the shorter one: y.unsqueeze(0)"),
    (lambda x: tg.cross(x, x, dim=0), ShapeError, "cross of (2, 3) and (2, 3)",
     "axis 0 has 2 and 2 elements, but vectors in space have 3", "name their axis: dim=-1"),
    (lambda x: x[:, :2].cross(x[:, :2]), ShapeError, "cross of (2, 2) and (2, 2)", "no axis has 3 elements",
     "a cross product is of vectors in space: (…, 3)"),
    (lambda x: tg.baddbmm(x, x[None], x.T[None]), ShapeError,
     "baddbmm of (2, 3) float32 and a product (1, 2, 2) float32",
     "what is added can only be stretched to the shape of the product", "check its axes, or use + and @"),
    (lambda x: tg.baddbmm(x[:, :2].double(), x[None], x.T[None]), DtypeError,
     "baddbmm of (2, 2) float64 and a product (1, 2, 2) float32", "what is added to a product must have its dtype",
     "convert it first: x.to('float32')"),
    (lambda x: tg.rot90(x, 1, (0,)), ShapeError, "rot90 of a tensor (2, 3) with dims=(0,)",
     "a plane has two axes, and dims names 1", "name two axes: dims=(0, 1)"),
    (lambda x: tg.rot90(x[0]), ShapeError, "rot90 of a tensor (3,) with dims=(0, 1)",
     "a plane has two axes, and the tensor has 1", "name two axes: dims=(0, 1)"),
    (lambda x: x.rot90(dims=(1, -1)), ShapeError, "dims (1, -1) of a tensor (2, 3)", "they name one axis twice",
     "name each axis once"),
    (lambda x: x[0].fliplr(), ShapeError, "fliplr of a tensor (3,)", "it has no axis 1 to reverse",
     "flip() takes the axis to reverse: flip(x, 0)"),
    (lambda x: x[0, 0].diag_embed(), ShapeError, "diag_embed of a tensor ()", "it has no axis to put on a diagonal",
     "give it one: x.unsqueeze(0)"),
    (lambda x: x.diag_embed(0, 1, -2), ShapeError, "diag_embed of a tensor (2, 3) with dim1=1 and dim2=-2",
     "both are the same axis", "name two axes"),
    (lambda x: x.tensor_split(0), ArgumentError, "tensor_split(0, dim=0) of a tensor (2, 3)",
     "there must be at least one piece", "ask for 1 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[2] for w in WRONG])
def test_words(call: Call, kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend):
        call(tg.ones(2, 3))
