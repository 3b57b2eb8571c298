"""Attention, embeddings and dropout, as operations: what they keep, and what is special about their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler import trace
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, IndexRangeError, ShapeError
from tinygrad_edu.ops.attention import dropout_op

F = tg.nn.functional


def test_the_padding_row_gets_no_gradient() -> None:
    weight, indices = tg.ones(4, 2, requires_grad=True), tg.tensor([[0, 3], [3, 1]])
    for padding_idx in (3, -1):
        (slope,) = tg.autograd.grad(F.embedding(indices, weight, padding_idx=padding_idx).sum(), weight)
        assert slope.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_rows_share_their_gradient_among_those_who_name_them() -> None:
    weight, indices = tg.ones(3, 1, requires_grad=True), tg.tensor([0, 2, 2, 2])
    g = tg.tensor([[1.0], [3.0], [6.0], [9.0]])
    assert tg.autograd.grad(F.embedding(indices, weight), weight, g)[0].tolist() == [[1.0], [0.0], [18.0]]
    shared = F.embedding(indices, weight, scale_grad_by_freq=True)
    assert tg.autograd.grad(shared, weight, g)[0].tolist() == [[1.0], [0.0], [6.0]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_gradients_lose_nothing_on_the_way(dtype: str) -> None:
    """One by one, a thousand bfloat16 ones make 256."""
    weight = tg.zeros(2, 1, dtype=dtype, requires_grad=True)
    F.embedding(tg.zeros(1000, dtype="int64"), weight).sum().backward()
    assert weight.grad[0, 0].item() == 1000


def test_rows_that_are_too_long_are_shortened_where_they_lie() -> None:
    weight = tg.tensor([[3.0, 4.0], [30.0, 40.0], [0.3, 0.4], [6.0, 8.0]], requires_grad=True)
    out = F.embedding(tg.tensor([1, 2, 1, 3]), weight, max_norm=5.0)
    expected = [[3.0, 4.0], [3.0, 4.0], [0.3, 0.4], [3.0, 4.0]]  # row 0 is not named, and row 2 is short
    np.testing.assert_allclose(weight.detach().array, expected, rtol=1e-6)
    np.testing.assert_allclose(out.detach().array, np.array(expected)[[1, 2, 1, 3]], rtol=1e-6)
    out.sum().backward()
    assert weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]
    F.embedding(tg.tensor([1]), weight, max_norm=3.5, norm_type=1.0)
    np.testing.assert_allclose(weight.detach().array[1], [1.5, 2.0], rtol=1e-6)


def test_shapes_of_indices() -> None:
    weight = tg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert F.embedding(tg.tensor(1), weight).tolist() == [3.0, 4.0]
    empty = F.embedding(tg.zeros(0, 3, dtype="int32"), weight)
    assert empty.shape == (0, 3, 2)
    assert tg.autograd.grad(empty.sum(), weight)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_trace_does_not_look_at_the_indices() -> None:
    program = trace(F.embedding, tg.tensor([0, 1]), tg.ones(2, 1))
    assert str(program).splitlines()[1:] == ["  v2: f32[2,1] = getitem(v1, v0)", "  return v2"]


def test_dropout_multiplies_by_what_it_kept() -> None:
    """The gradient goes where the values went."""
    x = tg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    keep = tg.tensor([True, False, True, False])
    out = dropout_op(x, keep, p=0.75)
    assert out.tolist() == [4.0, 0.0, 12.0, 0.0]
    assert out.grad_fn.saved[0] is keep.array, "of x nothing is kept"
    (slope,) = tg.autograd.grad(out.sum(), x)
    assert slope.tolist() == [4.0, 0.0, 4.0, 0.0]
    assert dropout_op(x.half(), keep, p=0.5).dtype == np.float16


TABLE = tg.ones(3, 2)
WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: F.embedding(tg.tensor([0, 3]), TABLE),
        IndexRangeError,
        "embedding((2,) int64, (3, 2) float32)",
        "the indices run from 0 to 3, but the table has 3 rows: 0 to 2",
        "make the table larger, or find out where the indices come from",
    ),
    (
        lambda: F.embedding(tg.tensor([-1]), TABLE),
        IndexRangeError,
        "embedding((1,) int64, (3, 2) float32)",
        "the indices run from -1 to -1, but the table has 3 rows: 0 to 2",
        "count from 0; for padding, set aside a row with padding_idx",
    ),
    (
        lambda: F.embedding(tg.tensor([0.0]), TABLE),
        DtypeError,
        "embedding((1,) float32, (3, 2) float32)",
        "rows are named by integers",
        "convert the indices: x.long()",
    ),
    (
        lambda: F.embedding(tg.tensor([0]), tg.ones(3)),
        ShapeError,
        "embedding((1,) int64, (3,) float32)",
        "the table has 1 axes, but each row of (V, E) stands for one index",
        "pass the indices first and a table (V, E) second",
    ),
    (
        lambda: F.embedding(tg.tensor([0]), TABLE, padding_idx=3),
        IndexRangeError,
        "embedding((1,) int64, (3, 2) float32)",
        "the table has 3 rows, but padding_idx is 3",
        "use 0 to 2",
    ),
    (
        lambda: F.embedding(tg.tensor([0]), TABLE, sparse=True),
        ArgumentError,
        "embedding((1,) int64, (3, 2) float32) with sparse=True",
        "a sparse gradient would hold only the named rows, but gradients here are dense",
        "leave sparse out",
    ),
]


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[3][:40] for w in WRONG])
def test_text(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend, "lambda: F."):
        call()
