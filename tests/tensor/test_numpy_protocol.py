"""NumPy's own functions on tensors: they give tensors, with gradients, or say why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.errors import DtypeError, ShapeError
from tinygrad_edu.tensor import numpy_protocol

A = np.array([[0.5, 1.5, 2.0], [1.0, 0.25, 3.0]])
B = np.array([1.5, 0.5, 2.5])


@pytest.mark.parametrize("called", numpy_protocol.UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs_are_numpys(called: Any) -> None:
    """On tensors, and on an array beside a tensor on either side."""
    whole = called in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
    first, second = ((A * 10).astype("i8"), (B * 10).astype("i8")) if whole else (A, B)
    if called.nin == 1:
        operands: list[tuple[Any, ...]] = [(tg.tensor(first),)]
        expected = called(first)
    else:
        x, y = (first, second) if called is not np.matmul else (A, A.T)
        operands = [(tg.tensor(x), tg.tensor(y)), (x, tg.tensor(y)), (tg.tensor(x), y)]
        expected = called(x, y)
    for arguments in operands:
        found = called(*arguments)
        assert isinstance(found, tg.Tensor)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.array, expected)


CALLS: dict[str, tuple[Callable[[Any], Any], bool]] = {  # the call, and whether a gradient flows
    "sum": (np.sum, True),
    "sum-axis": (lambda x: np.sum(x, axis=0), True),
    "sum-keepdims": (lambda x: np.sum(x, 1, keepdims=True), True),
    "mean": (lambda x: np.mean(x, axis=(0, 1)), True),
    "max": (lambda x: np.max(x, axis=1), True),
    "amax": (np.amax, True),
    "min": (lambda x: np.min(x, axis=-1), True),
    "amin": (lambda x: np.amin(x, 0), True),
    "argmax": (lambda x: np.argmax(x, axis=1), False),
    "reshape": (lambda x: np.reshape(x, (3, 2)), True),
    "reshape-int": (lambda x: np.reshape(x, -1), True),
    "transpose": (np.transpose, True),
    "transpose-axes": (lambda x: np.transpose(x, (1, 0)), True),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), True),
    "expand_dims": (lambda x: np.expand_dims(x, 1), True),
    "squeeze": (lambda x: np.squeeze(np.expand_dims(x, 0)), True),
    "squeeze-axis": (lambda x: np.squeeze(np.expand_dims(x, 0), axis=0), True),
    "squeeze-axes": (lambda x: np.squeeze(np.reshape(x, (1, 6, 1)), axis=(0, 2)), True),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 2, 3)), True),
    "concatenate": (lambda x: np.concatenate([x, x], axis=1), True),
    "concatenate-flat": (lambda x: np.concatenate((x, x), axis=None), True),
    "stack": (lambda x: np.stack([x, x], axis=-1), True),
    "where": (lambda x: np.where(x > 1, x, -x), True),
    "clip": (lambda x: np.clip(x, 0.6, 1.6), True),
    "clip-names": (lambda x: np.clip(x, a_min=0.6, a_max=None), True),
    "clip-new-names": (lambda x: np.clip(x, max=1.6), True),
    "dot": (lambda x: np.dot(x, B), True),
    "dot-number": (lambda x: np.dot(2.0, x), True),
    "zeros_like": (np.zeros_like, False),
    "ones_like": (lambda x: np.ones_like(x, dtype="f4"), False),
    "copy": (np.copy, True),
    "argmin": (lambda x: np.argmin(x, axis=0), False),
    "prod": (lambda x: np.prod(x, axis=1), True),
    "any": (lambda x: np.any(x > 1, axis=0), False),
    "all": (np.all, False),
    "std": (lambda x: np.std(x, axis=1), True),
    "std-ddof": (lambda x: np.std(x, ddof=1), True),
    "var": (lambda x: np.var(x, axis=0, keepdims=True), True),
    "cumsum": (lambda x: np.cumsum(x, axis=1), True),
    "cumprod": (lambda x: np.cumprod(x, axis=0), True),
    "sort": (lambda x: np.sort(x, axis=0), True),
    "argsort": (np.argsort, False),
    "flip": (lambda x: np.flip(x, axis=(0, 1)), True),
    "tril": (np.tril, True),
    "triu": (lambda x: np.triu(x, 1), True),
    "outer": (lambda x: np.outer(x[0], B), True),
    "einsum": (lambda x: np.einsum("ij,j->i", x, B), True),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), True),
    "ravel": (np.ravel, True),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.array([[0, 1, 1]]), axis=0), True),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_are_numpys(name: str) -> None:
    call, differentiable = CALLS[name]
    x = tg.tensor(A, requires_grad=True)
    found, expected = call(x), call(A)
    assert isinstance(found, tg.Tensor)
    assert found.requires_grad is differentiable
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.detach().array, expected)


def test_questions_about_shape() -> None:
    x = tg.tensor(A)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)


def test_every_function_is_tried() -> None:
    tried = {name.split("-")[0] for name in CALLS} | {"shape", "ndim", "size"}
    assert {f.__name__ for f in numpy_protocol.FUNCTIONS} <= tried | {"max", "min"}


def test_gradients_flow_through_numpys_spelling() -> None:
    x = tg.tensor(A, requires_grad=True)
    np.sum(np.sin(x) * B + np.exp(-x)).backward()
    np.testing.assert_allclose(x.grad.array, np.cos(A) * B - np.exp(-A), rtol=1e-12)


def test_an_array_beside_a_tensor() -> None:
    x = tg.tensor(A, requires_grad=True)
    for found, expected in (
        (B + x, B + A),
        (B - x, B - A),
        (x / B, A / B),
        (A @ x.mT, A @ A.T),
        (np.float64(2) * x, 2 * A),
    ):
        assert isinstance(found, tg.Tensor)
        assert found.requires_grad
        np.testing.assert_array_equal(found.detach().array, expected)


REFUSED: dict[str, tuple[Callable[[Any], Any], str, str, str]] = {
    "unknown-function": (
        np.median, "numpy.median on a tensor", "this function has no gradient here",
        "use a tensor method, or leave the graph first: x.detach().numpy()",
    ),
    "unknown-ufunc": (
        np.arctan, "numpy.arctan on a tensor", "this function has no gradient here",
        "use a tensor method, or leave the graph first: x.detach().numpy()",
    ),
    "method": (
        np.add.reduce, "numpy.add.reduce on a tensor", "this function has no gradient here",
        "use a tensor method, or leave the graph first: x.detach().numpy()",
    ),
    "argument-of-a-ufunc": (
        lambda x: np.add(x, 1, where=True), "numpy.add(where=…) on a tensor", "this function has no gradient here",
        "use a tensor method, or leave the graph first: x.detach().numpy()",
    ),
    "argument": (
        lambda x: np.sum(x, dtype="f4"), "numpy.sum on a tensor",
        "not with these arguments: got an unexpected keyword argument 'dtype'",
        "use a tensor method, or leave the graph first: x.detach().numpy()",
    ),
    "where-alone": (
        np.where, "numpy.where on a tensor", "not with these arguments: missing a required argument: 'x'",
        "use a tensor method, or leave the graph first: x.detach().numpy()",
    ),
    "into-an-array": (
        np.ones((2, 3)).__iadd__, "numpy.add(out=…) of a tensor into an array",
        "an array cannot hold the history of a tensor", "make a new tensor: total = total + x, not total += x",
    ),
    "batched-dot": (
        lambda x: np.dot(A, x.reshape(1, 3, 2)), "numpy.dot with a second operand of more than two axes",
        "it is not the batched product", "use a @ b",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, tried, why, mend = REFUSED[name]
    with pytest.raises(DtypeError) as caught:
        call(tg.tensor(A, requires_grad=True))
    assert (caught.value.tried, caught.value.why, caught.value.mend) == (tried, why, mend)
    assert caught.value.line.startswith("test_numpy_protocol.py, line ")


def test_errors_keep_their_words() -> None:
    with pytest.raises(ShapeError, match="dim=2 of a tensor"):
        np.sum(tg.tensor(A), axis=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.broadcast_arrays(x, 3)[1], np.atleast_1d, lambda x: np.column_stack([x, x]),
        lambda x: np.histogram(x)[0], np.median, lambda x: np.hypot(x, 1), np.add.reduce,
        lambda x: np.sum(x, dtype="f4"), lambda x: np.array_split(x, 2)[0], lambda x: np.nanmax(x, axis=0),
    ],
)  # fmt: skip
def test_what_is_not_ours_gives_arrays_where_no_gradient_is_wanted(call: Callable[[Any], Any]) -> None:
    found, expected = call(tg.tensor(A)), call(A)
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(DtypeError):
        call(tg.tensor(A, requires_grad=True))


def test_an_array_takes_up_a_tensor_without_a_history() -> None:
    total = np.zeros((2, 3))
    total += tg.tensor(A)
    np.testing.assert_array_equal(total, A)


@pytest.mark.parametrize(
    "write", [lambda x: np.copyto(x, 0), lambda x: np.fill_diagonal(x, 0), lambda x: np.put(x, 0, 0)]
)
def test_numpy_does_not_write_into_a_tensor(write: Callable[[Any], Any]) -> None:
    x = tg.tensor(A)
    with pytest.raises(DtypeError, match="neither graph nor guard would know"):
        write(x)
    assert x.tolist() == A.tolist()
    with pytest.raises(DtypeError):
        np.hypot(1, 1, out=x)
