"""Elements repeated, turned round, shifted and blanked out: against NumPy, and in memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, ShapeError

X = np.arange(24).reshape(2, 3, 4)
SAME: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "repeat": (lambda x: x.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    "repeat, a new axis": (lambda x: x.repeat((2, 1, 1, 2)), lambda a: np.tile(a, (2, 1, 1, 2))),
    "repeat once": (lambda x: x.repeat(repeats=(1, 1, 1)), lambda a: a),
    "tile": (lambda x: x.tile(2), lambda a: np.tile(a, 2)),
    "tile by more": (lambda x: tg.tile(x, dims=(3, 1, 2, 1)), lambda a: np.tile(a, (3, 1, 2, 1))),
    "tile by nothing": (lambda x: x.tile(()), lambda a: a),
    "repeat_interleave": (lambda x: x.repeat_interleave(2), lambda a: np.repeat(a, 2)),
    "repeat_interleave, dim": (lambda x: x.repeat_interleave(3, -1), lambda a: np.repeat(a, 3, -1)),
    "repeat_interleave, each": (
        lambda x: x.repeat_interleave(tg.tensor([2, 0, 1]), dim=1, output_size=3),
        lambda a: np.repeat(a, [2, 0, 1], 1),
    ),
    "repeat_interleave, one for all": (lambda x: x.repeat_interleave(tg.tensor([2]), 0), lambda a: np.repeat(a, 2, 0)),
    "repeat_interleave never": (lambda x: x.repeat_interleave(0, 0), lambda a: np.repeat(a, 0, 0)),
    "flip": (lambda x: x.flip(0, -1), lambda a: a[::-1, :, ::-1]),
    "flip by a tuple": (lambda x: tg.flip(x, (1,)), lambda a: a[:, ::-1]),
    "flip by name": (lambda x: x.flip(dims=[2]), lambda a: a[..., ::-1]),
    "flip nothing": (lambda x: x.flip(()), lambda a: a),
    "roll": (lambda x: x.roll(5), lambda a: np.roll(a, 5)),
    "roll, dim": (lambda x: x.roll(-1, 1), lambda a: np.roll(a, -1, 1)),
    "roll, dims": (lambda x: tg.roll(x, (1, -7), dims=(0, 2)), lambda a: np.roll(a, (1, -7), (0, 2))),
    "roll, one dim twice": (lambda x: x.roll((1, 1), (2, 2)), lambda a: np.roll(a, 2, 2)),
    "tril": (lambda x: x.tril(1), lambda a: np.tril(a, 1)),
    "triu": (lambda x: tg.triu(x, diagonal=-1), lambda a: np.triu(a, -1)),
    "tril, all blank": (lambda x: x.tril(-9), np.zeros_like),
    "diag": (lambda x: x[0, 0].diag(1), lambda a: np.diag(a[0, 0], 1)),
    "diag of a matrix": (lambda x: tg.diag(x[0], -1), lambda a: np.diag(a[0], -1)),
}


@pytest.mark.parametrize(("ours", "numpys"), SAME.values(), ids=SAME)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int64", "uint8", "bool"])
def test_against_numpy(ours: Callable[[Any], Any], numpys: Callable[[Any], Any], dtype: str) -> None:
    x = tg.tensor(X).to(dtype)
    found, expected = ours(x), numpys(x.array)
    assert found.dtype == x.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.array, expected)


@pytest.mark.parametrize(("ours", "numpys"), SAME.values(), ids=SAME)
@pytest.mark.parametrize(
    "make", [lambda x: x, lambda x: x.transpose(0, 2).contiguous().transpose(0, 2)], ids=["", "turned"]
)
def test_the_memory_is_their_own(ours: Callable[[Any], Any], numpys: Any, make: Callable[[Any], Any]) -> None:
    """As in PyTorch, none of them is ever a view: a write to the result leaves the operand as it was."""
    x = make(tg.tensor(X))
    found = ours(x)
    assert found.origin is None
    found.fill_(-1)
    np.testing.assert_array_equal(x.array, X)


def test_blanks_are_zeros_whatever_was_there() -> None:
    """A product with a mask would leave nan."""
    x = tg.tensor([[np.inf, np.nan], [np.nan, -np.inf]], requires_grad=True)
    assert x.tril().tolist()[0] == [np.inf, 0.0]
    assert x.triu().tolist()[1] == [0.0, -np.inf]
    x.tril(-2).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_numbers_and_nothing() -> None:
    one, nothing = tg.tensor(3.0), tg.zeros(0, 2)
    assert [t.shape for t in (one.repeat(()), one.repeat(2), one.tile(()), one.tile(2, 2))] == [(), (2,), (), (2, 2)]
    assert [t.shape for t in (one.flip(0), one.flip(-1), one.roll(1), one.roll(7))] == [()] * 4
    assert one.repeat_interleave(2).tolist() == one.repeat_interleave(2, 0).tolist() == [3.0, 3.0]
    shapes = [
        t.shape for t in (nothing.repeat(2, 2), nothing.flip(0), nothing.roll(1, 0), nothing.roll(1), nothing.tril())
    ]
    assert shapes == [(0, 4), (0, 2), (0, 2), (0, 2), (0, 2)]
    assert nothing.repeat_interleave(tg.tensor([], dtype="int64"), 0).shape == (0, 2)
    assert tg.zeros(0).diag(1).tolist() == [[0.0]]


def test_positions_alone() -> None:
    positions = tg.repeat_interleave(tg.tensor([2, 0, 1]))
    assert (positions.tolist(), positions.dtype) == ([0, 0, 2], tg.int64)
    assert tg.repeat_interleave(tg.tensor([1, 1], dtype="int32")).dtype == tg.int32


def test_repeats_may_change_after_their_use() -> None:
    x, times = tg.ones(2, requires_grad=True), tg.tensor([1, 2])
    repeated = x.repeat_interleave(times, 0)
    times[0] = 5
    repeated.sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


REPEATS = "repeat 0 times or more"
WRONG: list[tuple[Callable[[Any], Any], type[EduError], str, str, str]] = [
    (
        lambda x: x.repeat(2),
        ShapeError,
        "repeat(2,) of a tensor (2, 3)",
        "it has 2 axes, and each needs a number of repeats",
        "use tile(), which repeats the last axes, or 1 for an axis that stays as it is",
    ),
    (
        lambda x: x.repeat(-1, 1),
        ShapeError,
        "repeat((2, 3) float32, repeats=(-1, 1)) on cpu",
        "a number of repeats is negative",
        REPEATS,
    ),
    (
        lambda x: x.tile(-1),
        ShapeError,
        "repeat((2, 3) float32, repeats=(1, -1)) on cpu",
        "a number of repeats is negative",
        REPEATS,
    ),
    (
        lambda x: x.repeat(1.5, 1),
        DtypeError,
        "repeat(1.5, 1)",
        "these are not all integers",
        "pass integers, or one tuple of them",
    ),
    (
        lambda x: x.repeat_interleave(-1),
        ArgumentError,
        "repeat_interleave of 6 elements with repeats=-1",
        "a number of repeats is negative",
        REPEATS,
    ),
    (
        lambda x: x.repeat_interleave(tg.tensor([1, 2])),
        ShapeError,
        "repeat_interleave of 6 elements with repeats (2,) int64",
        "each element needs one number",
        "pass one for all, or as many as elements",
    ),
    (
        lambda x: x.repeat_interleave(tg.ones(2, 3, dtype="int64"), 0),
        ShapeError,
        "repeat_interleave of 2 elements with repeats (2, 3) int64",
        "each element needs one number",
        "pass one for all, or as many as elements",
    ),
    (
        lambda x: x.repeat_interleave(tg.ones(2), 0),
        DtypeError,
        "repeat_interleave of 2 elements with repeats (2,) float32",
        "numbers of repeats are integers",
        "pass an int, or an integer tensor",
    ),
    (
        lambda x: x.repeat_interleave(2, 0, output_size=5),
        ShapeError,
        "repeat_interleave(output_size=5)",
        "the repeats add up to 4",
        "leave output_size out, or give that number",
    ),
    (
        lambda x: x.flip(),
        DtypeError,
        "flip()",
        "no sizes or axes were given",
        "pass integers, one by one or as a tuple: flip((2, 3))",
    ),
    (
        lambda x: x.flip(0, -2),
        ShapeError,
        "dims (0, -2) of a tensor (2, 3)",
        "they name one axis twice",
        "name each axis once",
    ),
    (
        lambda x: x.roll((1, 2), 0),
        ShapeError,
        "roll((1, 2), 0) of a tensor (2, 3)",
        "2 shifts for 1 axes",
        "give each axis one shift, or one shift and no axes",
    ),
    (
        lambda x: x.roll((1, 2)),
        ShapeError,
        "roll((1, 2), ()) of a tensor (2, 3)",
        "2 shifts for 0 axes",
        "give each axis one shift, or one shift and no axes",
    ),
    (
        lambda x: x[0].tril(),
        ShapeError,
        "tril of a tensor (3,)",
        "a triangle needs rows and columns",
        "give it two axes: x.unsqueeze(0)",
    ),
    (
        lambda x: x.unsqueeze(0).diag(),
        ShapeError,
        "diag of a tensor (1, 2, 3)",
        "it has 3 axes, but diag() takes vectors and matrices",
        "use diagonal(dim1=-2, dim2=-1) for many matrices",
    ),
]


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[2] for w in WRONG])
def test_words(call: Callable[[Any], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    x = tg.ones(2, 3)
    with teaches(kind, tried, why, mend):
        call(x)
