"""What an operation says when it cannot be done: what was tried, why not, the line, and a way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu.core.op import Op
from tinygrad_edu.errors import DtypeError, EduError, IndexRangeError, ShapeError

F = tg.nn.functional
WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: tg.ones(2, 3) @ tg.ones(4, 5),
        ShapeError,
        "matmul((2, 3) float32, (4, 5) float32) on cpu",
        "the inner sizes are 3 and 4, but they must be equal",
        "check which axis of each operand counts the same thing",
    ),
    (
        lambda: tg.ones(3, 2) @ tg.ones(3, 5),
        ShapeError,
        "matmul((3, 2) float32, (3, 5) float32) on cpu",
        "the inner sizes are 2 and 3, but they must be equal",
        "transpose the first: x.mT @ y",
    ),
    (
        lambda: tg.ones(2, 3) @ tg.ones(4, 3),
        ShapeError,
        "matmul((2, 3) float32, (4, 3) float32) on cpu",
        "the inner sizes are 3 and 4, but they must be equal",
        "transpose the second: x @ y.mT",
    ),
    (
        lambda: tg.tensor(2.0) @ tg.ones(3),
        ShapeError,
        "matmul(() float32, (3,) float32) on cpu",
        "a 0-d tensor has no axis to sum over",
        "use * for a product with a number",
    ),
    (
        lambda: F.linear(tg.ones(2, 8), tg.ones(3, 4)),
        ShapeError,
        "linear((2, 8) float32, (3, 4) float32) on cpu",
        "the layer takes 4 features, but the last axis of its input has 8",
        "flatten or project the input to (…, 4), or make the layer Linear(8, 3)",
    ),
    (
        lambda: F.linear(tg.ones(2, 4), tg.ones(3, 4), tg.ones(2)),
        ShapeError,
        "linear((2, 4) float32, (3, 4) float32, (2,) float32) on cpu",
        "there are 3 outputs, but the bias has shape (2,)",
        "make the bias (3,)",
    ),
    (
        lambda: tg.ones(2, 3, 4) @ tg.ones(3, 4, 5),
        ShapeError,
        "matmul((2, 3, 4) float32, (3, 4, 5) float32) on cpu",
        "the leading axes are (2,) and (3,), and only a 1 can be stretched",
        "check which of the leading axes count the same thing",
    ),
    (
        lambda: tg.cat([tg.ones(2, 3), tg.ones(3, 3)], 1),
        ShapeError,
        "cat((2, 3) float32, (3, 3) float32, dim=1) on cpu",
        "the shapes (2, 3), (3, 3) differ in more than axis 1",
        "make the other axes equal, or join along another axis",
    ),
    (
        lambda: tg.cat([tg.tensor(1.0), tg.tensor(2.0)]),
        ShapeError,
        "cat(() float32, () float32, dim=0) on cpu",
        "a 0-d tensor has no axis to join along",
        "use stack(), which makes a new axis",
    ),
    (
        lambda: tg.cat([tg.ones(2), tg.ones(2)], 1),
        IndexRangeError,
        "cat((2,) float32, (2,) float32, dim=1) on cpu",
        "they have 1 axis, so there is no axis 1",
        "use stack(), which makes a new axis",
    ),
    (
        lambda: tg.cat([tg.ones(2, 3), tg.ones(3)]),
        ShapeError,
        "cat((2, 3) float32, (3,) float32, dim=0) on cpu",
        "the shapes (2, 3), (3,) have 1 and 2 axes",
        "give them the same number of axes: x.unsqueeze(0), or x.unsqueeze(-1)",
    ),
    (
        lambda: tg.ones(2, 3).reshape(4, 2),
        ShapeError,
        "reshape((2, 3) float32, shape=(4, 2)) on cpu",
        "(2, 3) has 6 elements, and (4, 2) needs another number",
        "let one size be -1 to have it computed",
    ),
    (
        lambda: tg.ones(3)[3],
        IndexRangeError,
        "x[3] of a tensor (3,)",
        "axis 0 has 3 elements, and index 3 is not among them",
        "use -3 to 2",
    ),
    (
        lambda: tg.ones(3)[tg.tensor([0, -4])],
        IndexRangeError,
        "x[[0, -4]] of a tensor (3,)",
        "axis 0 has 3 elements, and index -4 is not among them",
        "use -3 to 2",
    ),
    (
        lambda: tg.ones(2, 3).sum(2),
        ShapeError,
        "dim=2 of a tensor (2, 3)",
        "it has 2 axes, so dim lies between -2 and 1",
        "count the axes from 0, or from -1 at the end",
    ),
    (
        lambda: tg.ones(2, 3) + tg.ones(2),
        ShapeError,
        "add((2, 3) float32, (2,) float32) on cpu",
        "axis -1 has 3 elements in one and 2 in the other, and only a 1 can be stretched",
        "give the shorter one an axis of length 1 where it lacks one: y.unsqueeze(-1)",
    ),
    (
        lambda: tg.clamp(tg.ones(2)),
        ShapeError,
        "clamp((2,) float32) on cpu",
        "neither min nor max is given",
        "check the shapes and the arguments named above",
    ),
    (
        lambda: tg.clamp(tg.ones(2), min="low"),
        DtypeError,
        "clamp with a bound of type str",
        "a bound is a number or a tensor",
        "make a tensor of it first: tensor(…)",
    ),
    (
        lambda: tg.ones(2) + "one",
        DtypeError,
        "add with a tensor from str holding 'one'",
        "it has dtype <U3, but tensors hold bools, integers and floats",
        "convert it to numbers first: labels to class indices, for example",
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "tried", "why", "mend"), WRONG, ids=[f"{w[2].split('(')[0]}-{i}" for i, w in enumerate(WRONG)]
)
def test_text(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert (error.tried, error.why, error.mend) == (tried, why, mend)
    assert error.line.startswith("test_errors.py, line ")
    assert str(error) == f"{tried}\n  why:  {why}\n  line: {error.line}\n  mend: {mend}"


def test_the_line_is_the_users_own() -> None:
    with pytest.raises(ShapeError) as caught:
        tg.ones(2) @ tg.ones(3)
    assert caught.value.line.endswith(": tg.ones(2) @ tg.ones(3)")


def test_a_failed_op_leaves_no_trace() -> None:
    """The same tensors go on working, and the arrays given in are not locked."""
    x = tg.ones(2, requires_grad=True)
    with pytest.raises(ShapeError):
        x * tg.ones(3)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_registering_an_op_twice_is_refused() -> None:
    with pytest.raises(TypeError, match="an operation called 'add' exists already"):

        class Add(Op):
            pass
