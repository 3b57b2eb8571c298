"""Products of matrices where they are special: numbers of axes, equations, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.autograd import gradcheck, gradgradcheck
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, ShapeError


def make(*shapes: tuple[int, ...], requires_grad: bool = False) -> list[Any]:
    rng = np.random.default_rng(0)
    return [tg.tensor(rng.normal(size=shape), requires_grad=requires_grad) for shape in shapes]


# With one meaning in NumPy and here.
EQUATIONS = [
    ("ij->ji", (2, 3)), ("ij", (2, 3)), ("ji", (2, 3)), ("ij->", (2, 3)), ("ij->j", (2, 3)), ("ii", (3, 3)),
    ("ii->i", (3, 3)), ("iji->j", (2, 3, 2)), ("iijj->ij", (2, 2, 3, 3)), ("iii", (2, 2, 2)), ("iii->i", (2, 2, 2)),
    ("...ij->...ji", (2, 2, 3)), ("i...->...", (2, 3, 4)), ("i...i->...", (2, 3, 2)), ("...", (2, 3)), ("", ()),
    ("i,j", (2,), (3,)), ("i,i", (3,), (3,)), ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)),
    ("ij,kj->ik", (2, 3), (4, 3)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,k->ik", (2, 3), (4,)), ("ij,k->k", (2, 3), (4,)), (",ij->j", (), (2, 3)), ("ii,ij->j", (3, 3), (3, 2)),
    ("...ij,...jk->...ik", (2, 2, 3), (3, 4)), ("...i,...i->...", (4, 1, 3), (2, 3)), ("bA,aB", (2, 3), (4, 2)),
    ("...ij,jk", (2, 2, 3), (3, 4)), ("i...,i...->...", (3, 2), (3,)), (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("bn,anm,bm->ba", (2, 3), (4, 3, 2), (2, 2)), ("i,i,i", (3,), (3,), (3,)),
    ("i,j,k->kji", (2,), (3,), (4,)), ("ij,ij,ij->", (2, 3), (2, 3), (2, 3)),
    ("ab,bc,cd,de", (2, 3), (3, 2), (2, 2), (2, 3)),
    ("i,->i", (3,), ()), ("ij,jk->ik", (0, 3), (3, 2)), ("ij,jk->ik", (2, 0), (0, 3)), ("ij->i", (2, 0)),
]  # fmt: skip


@pytest.mark.parametrize("terms", EQUATIONS, ids=[e[0] for e in EQUATIONS])
def test_einsum_against_numpy(terms: Any) -> None:
    equation, *shapes = terms
    tensors = make(*shapes, requires_grad=True)
    expected = np.einsum(equation, *(x.detach().array for x in tensors))
    found = tg.einsum(equation, *tensors)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.detach().array, expected, rtol=1e-12)
    np.testing.assert_array_equal(tg.einsum(equation, tensors).detach().array, found.detach().array)
    if 0 not in found.shape and 0 not in shapes[0]:
        assert gradcheck(lambda *xs: tg.einsum(equation, *xs), tensors)
        assert gradgradcheck(lambda *xs: tg.einsum(equation, *xs), tensors)


# Where NumPy refuses, and PyTorch does not.
BEYOND = [
    ("...ij->ij", (4, 2, 3), lambda x: x.sum(0)),
    ("i...->i", (2, 3, 4), lambda x: x.sum((1, 2))),
    ("ij->...ij", (2, 3), lambda x: x),
    ("...,...->", (2, 3), lambda x: (x * x).sum()),
]


@pytest.mark.parametrize(("equation", "shape", "expected"), BEYOND, ids=[e[0] for e in BEYOND])
def test_axes_without_a_name_may_be_summed(equation: str, shape: Any, expected: Callable[[Any], Any]) -> None:
    (x,) = make(shape)
    found = tg.einsum(equation, *[x] * (equation.count(",") + 1))
    np.testing.assert_allclose(found.array, expected(x.array), rtol=1e-12)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,ij->ij", ((2, 1), (2, 3))), ("ij,jk->ik", ((2, 1), (3, 4))), ("ij,jk->ik", ((2, 3), (1, 4))),
        ("i,i->", ((1,), (3,))), ("i,i,i->i", ((1,), (1,), (3,))), ("ij,i->j", ((1, 2), (1,))),
        ("...i,...i->...i", ((1, 3), (2, 1))),
    ],
)  # fmt: skip
def test_axes_of_length_one_are_stretched(equation: str, shapes: Any) -> None:
    """As if the operands had been expanded first."""
    tensors = make(*shapes, requires_grad=True)
    terms = equation.split("->")[0].replace("...", "b").split(",")
    sizes: dict[str, int] = {}
    for term, x in zip(terms, tensors, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    whole = [np.broadcast_to(x.detach().array, [sizes[c] for c in t]) for t, x in zip(terms, tensors, strict=True)]
    found = tg.einsum(equation, *tensors)
    np.testing.assert_allclose(found.detach().array, np.einsum(equation, *whole), rtol=1e-12)
    assert gradcheck(lambda *xs: tg.einsum(equation, *xs), tensors)


def test_axes_may_be_named_by_numbers() -> None:
    x, y = make((2, 3), (3, 4))
    product = x.array @ y.array
    np.testing.assert_allclose(tg.einsum(x, [0, 1], y, [1, 2], [0, 2]).array, product, rtol=1e-12)
    np.testing.assert_allclose(tg.einsum(x, [30, 9], y, [9, 2]).array, product.T, rtol=1e-12)  # in order of numbers
    np.testing.assert_allclose(tg.einsum(x, [0, ...], [..., 0]).array, x.array.T, rtol=0)


def test_one_operand_that_is_only_looked_at_gives_a_view() -> None:
    x = tg.zeros(3, 3)
    for equation in ("ij->ji", "ij->ij", "ii->i", "..."):
        assert tg.einsum(equation, x).origin is not None
    tg.einsum("ii->i", x).add_(1)
    assert x.tolist() == np.eye(3).tolist()
    assert tg.einsum("ij->i", x).origin is None


def test_einsum_works_where_tensors_are_traced_or_far() -> None:
    from tinygrad_edu.compiler import trace
    from tinygrad_edu.compiler.interpret import interpret

    x, y, z = make((2, 3), (3, 3), (3,))
    found = tg.einsum("ij,jj,j->i", *(t.to("far") for t in (x, y, z)))
    expected = np.einsum("ij,jj,j->i", x.array, y.array, z.array)
    assert found.device == "far"
    np.testing.assert_allclose(found.cpu().array, expected, rtol=1e-12)
    program = trace(lambda *xs: tg.einsum("ij,jj,j->i", *xs), x, y, z)
    np.testing.assert_allclose(interpret(program, x.array, y.array, z.array)[0], expected, rtol=1e-12)


def test_products_of_so_many_axes() -> None:
    matrix, vector, batch = make((3, 3), (3,), (2, 3, 3))
    np.testing.assert_array_equal(tg.mm(matrix, matrix).array, matrix.array @ matrix.array)
    np.testing.assert_array_equal(tg.mv(matrix, vector).array, matrix.array @ vector.array)
    np.testing.assert_array_equal(tg.dot(vector, vector).array, vector.array @ vector.array)
    np.testing.assert_array_equal(tg.bmm(batch, batch).array, batch.array @ batch.array)
    np.testing.assert_array_equal(tg.outer(vector, vector).array, np.outer(vector.array, vector.array))
    assert tg.outer(tg.tensor([1, 2]), tg.ones(3)).dtype == np.float32


def test_addmm_leaves_out_what_is_multiplied_by_zero() -> None:
    matrix = tg.ones(2, 2)
    nan = tg.tensor([float("nan"), 1.0])
    assert tg.addmm(nan, matrix, matrix, beta=0).tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert tg.addmm(tg.tensor([1.0, 2.0]), matrix, matrix, beta=3, alpha=0.5).tolist() == [[4.0, 7.0], [4.0, 7.0]]
    whole = tg.ones(2, 2, dtype="int64")
    assert tg.addmm(whole, whole, whole, beta=2, alpha=3).tolist() == [[8, 8], [8, 8]]


V, M, B = tg.ones(3), tg.ones(2, 3), tg.ones(2, 3, 3)
WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: tg.mm(M, V), ShapeError, "mm of (2, 3) float32 and (3,) float32",
        "it takes a matrix and a matrix: 2 and 2 axes, not 2 and 1", "use matmul() for other axes",
    ),
    (
        lambda: V.dot(M), ShapeError, "dot of (3,) float32 and (2, 3) float32",
        "it takes a vector and a vector: 1 and 1 axes, not 1 and 2", "use matmul() for other axes",
    ),
    (
        lambda: tg.outer(V, M), ShapeError, "outer of (3,) float32 and (2, 3) float32",
        "it takes a vector and a vector: 1 and 1 axes, not 1 and 2", "multiply by broadcasting: x.unsqueeze(-1) * y",
    ),
    (
        lambda: tg.bmm(B, tg.ones(1, 3, 3)), ShapeError, "bmm of (2, 3, 3) float32 and (1, 3, 3) float32",
        "there are 2 matrices in one batch and 1 in the other", "use matmul(), which stretches a batch of 1",
    ),
    (
        lambda: M.mv(tg.ones(2)), ShapeError, "matmul((2, 3) float32, (2,) float32) on cpu",
        "the inner sizes are 3 and 2, but they must be equal", "transpose the first: x.mT @ y",
    ),
    (
        lambda: M.mm(tg.ones(3, 2, dtype="float64")), DtypeError, "matmul((2, 3) float32, (3, 2) float64) on cpu",
        "the operands are float32 and float64, and a matrix product does not mix dtypes",
        "convert one of them first: x.to('float64')",
    ),
    (
        lambda: tg.addmm(tg.ones(4), M, tg.ones(3, 3)), ShapeError,
        "addmm of (4,) float32 and a product (2, 3) float32",
        "what is added can only be stretched to the shape of the product", "check its axes, or use + and @",
    ),
    (
        lambda: tg.addmm(V.double(), M, tg.ones(3, 3)), DtypeError,
        "addmm of (3,) float64 and a product (2, 3) float32", "what is added to a product must have its dtype",
        "convert it first: x.to('float32')",
    ),
    (
        lambda: M @ 2.0, ShapeError, "matmul((2, 3) float32, 2.0) on cpu", "a 0-d tensor has no axis to sum over",
        "use * for a product with a number",
    ),
    (
        lambda: tg.einsum("ij,jk", M), ShapeError, "einsum('ij,jk') of (2, 3) float32",
        "the equation names 2 operands, but there are 1", "separate the operands with commas: 'ij,jk->ik'",
    ),
    (
        lambda: tg.einsum("", []), ShapeError, "einsum('') of nothing",
        "the equation names 1 operand, but there are 0", "separate the operands with commas: 'ij,jk->ik'",
    ),
    (
        lambda: tg.einsum("ijk", M), ShapeError, "einsum('ijk') of (2, 3) float32",
        "'ijk' names 3 axes, but the operand has 2",
        "name each axis with a letter, or write '...' for those without a name",
    ),
    (
        lambda: tg.einsum("...ijk", M), ShapeError, "einsum('...ijk') of (2, 3) float32",
        "'...ijk' names 3 axes, but the operand has 2",
        "name each axis with a letter, or write '...' for those without a name",
    ),
    (
        lambda: tg.einsum("i1", M), ShapeError, "einsum('i1') of (2, 3) float32", "'1' in 'i1' names no axis",
        "use letters, one '...' at most in each operand, commas and one '->'",
    ),
    (
        lambda: tg.einsum("......", M), ShapeError, "einsum('......') of (2, 3) float32",
        "'.' in '......' names no axis",
        "use letters, one '...' at most in each operand, commas and one '->'",
    ),
    (
        lambda: tg.einsum("ij->i->j", M), ShapeError, "einsum('ij->i->j') of (2, 3) float32",
        "'-' in 'i->j' names no axis", "use letters, one '...' at most in each operand, commas and one '->'",
    ),
    (
        lambda: tg.einsum("ij->ii", M), ShapeError, "einsum('ij->ii') of (2, 3) float32",
        "'i' occurs twice in the result", "name each axis of the result once, with a letter of the operands",
    ),
    (
        lambda: tg.einsum("ij->ik", M), ShapeError, "einsum('ij->ik') of (2, 3) float32",
        "'k' is in the result but in no operand", "name each axis of the result once, with a letter of the operands",
    ),
    (
        lambda: tg.einsum("ii", M), ShapeError, "einsum('ii') of (2, 3) float32",
        "'i' takes the diagonal of axes of 2 and 3 elements", "give the two axes different letters",
    ),
    (
        lambda: tg.einsum("ij,jk", M, tg.ones(2, 4)), ShapeError,
        "einsum('ij,jk') of (2, 3) float32 and (2, 4) float32",
        "'j' stands for an axis of 3 elements and for one of 2",
        "give different letters to axes that count different things",
    ),
    (
        lambda: tg.einsum(M, [0, 52]), ShapeError, "einsum without an equation",
        "after each operand comes a list of its axes, as numbers from 0 to 51", "or give an equation",
    ),
    (
        lambda: tg.einsum(M, 3), ShapeError, "einsum without an equation",
        "after each operand comes a list of its axes, as numbers from 0 to 51", "or give an equation",
    ),
    (
        lambda: tg.einsum("i,i", V, V.long()), DtypeError,
        "einsum((3,) float32, (3,) int64, equation='i,i->') on cpu",
        "the operands are float32 and int64, and a matrix product does not mix dtypes",
        "convert one of them first: y.to('float32')",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[2] for w in WRONG])
def test_refusals(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend):
        call()


# Distances ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
def test_each_row_against_each(p: float) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4, 3)), rng.normal(size=(5, 3))
    found = tg.cdist(tg.tensor(x), tg.tensor(y), p).array
    expected = [[[np.linalg.norm(a - b, p) for b in y] for a in rows] for rows in x]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_equal_rows_have_no_slope() -> None:
    x = tg.ones(2, 3, requires_grad=True)
    tg.cdist(x, tg.ones(1, 3)).sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("shapes", "p", "kind", "why", "mend"),
    [
        (((3,), (2, 3)), 2, ShapeError, "both hold rows: (…, P, M) and (…, R, M)", "add an axis: x.unsqueeze(0)"),
        (
            ((2, 3), (2, 4)), 2, ShapeError, "the rows of one have 3 elements, but those of the other have 4",
            "compare rows of one length",
        ),
        (((2, 3), (2, 3)), -1, ArgumentError, "it is the order of a norm", "use 0 or more: 2, inf"),
    ],
)  # fmt: skip
def test_rows_that_have_no_distance(shapes: Any, p: float, kind: type[EduError], why: str, mend: str) -> None:
    tried = f"cdist({shapes[0]}, {shapes[1]})" + (f" with p={p}" if p < 0 else "")
    with teaches(kind, tried, why, mend):
        tg.cdist(tg.ones(*shapes[0]), tg.ones(*shapes[1]), p)
