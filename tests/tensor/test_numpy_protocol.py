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
    "nansum": (lambda x: np.nansum(x, axis=0), True),
    "nanmean": (np.nanmean, True),
    "count_nonzero": (lambda x: np.count_nonzero(x, 1), False),
    "quantile": (lambda x: np.quantile(x, 0.3, axis=1), True),
    "diff": (lambda x: np.diff(x, axis=0), True),
    "nan_to_num": (lambda x: np.nan_to_num(x * np.inf), True),
    "isin": (lambda x: np.isin(x, [0.5, 3.0]), False),
    "searchsorted": (lambda x: np.searchsorted(B * 0 + [0.0, 1.0, 2.0], x, side="right"), False),
    "bincount": (
        lambda x: np.bincount(x.reshape(-1).astype(int) if isinstance(x, np.ndarray) else x.reshape(-1).long()),
        False,
    ),
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
    "isclose": (lambda x: np.isclose(x, A + 1e-9), False),
    "isclose-dtypes": (lambda x: np.isclose(x, A.astype("f4"), rtol=0, atol=1), False),
    "argwhere": (lambda x: np.argwhere(x > 1), False),
    "nonzero": (lambda x: np.stack(np.nonzero(x > 1)), False),
    "unique": (np.unique, False),
    "round": (lambda x: np.round(x, 1), True),
    "empty_like": (lambda x: 0 * np.empty_like(x, dtype="i8"), False),
    "full_like": (lambda x: np.full_like(x, 2, dtype="f4"), False),
    "meshgrid": (lambda x: np.stack(np.meshgrid(x[0], B)), True),
    "meshgrid-ij": (lambda x: np.stack(np.meshgrid(x[0], B, indexing="ij")), True),
    "split": (lambda x: np.concatenate(np.split(x, 3, axis=1)), True),
    "split-places": (lambda x: np.split(x, [1], axis=-1)[1], True),
    "array_split": (lambda x: np.array_split(x, 2, axis=1)[0], True),
    "repeat": (lambda x: np.repeat(x, 2), True),
    "repeat-each": (lambda x: np.repeat(x, [2, 0, 1], axis=1), True),
    "tile": (lambda x: np.tile(x, (2, 1)), True),
    "tile-rows": (lambda x: np.tile(x, 2), True),
    "roll": (lambda x: np.roll(x, 1), True),
    "roll-axes": (lambda x: np.roll(x, (1, 1), axis=(0, 1)), True),
    "rot90": (np.rot90, True),
    "fliplr": (np.fliplr, True),
    "flipud": (np.flipud, True),
    "diag": (lambda x: np.diag(x[0], 1), True),
    "diagonal": (lambda x: np.diagonal(x, offset=1), True),
    "trace": (np.trace, True),
    "trace-axes": (lambda x: np.trace(np.stack([x, x]), offset=1, axis1=2, axis2=1), True),
    "vstack": (lambda x: np.vstack([x, x[0]]), True),
    "hstack": (lambda x: np.hstack((x, B[:2, None])), True),
    "dstack": (lambda x: np.dstack([x, x]), True),
    "column_stack": (lambda x: np.column_stack([x[0], B]), True),
    "atleast_1d": (np.atleast_1d, True),
    "atleast_2d": (lambda x: np.atleast_2d(x[0]), True),
    "atleast_3d": (np.atleast_3d, True),
    "tensordot": (lambda x: np.tensordot(x, x, axes=([0], [0])), True),
    "kron": (lambda x: np.kron(x, B), True),
    "inner": (lambda x: np.inner(x, B), True),
    "cross": (lambda x: np.cross(x, A[::-1]), True),
    "linalg.inv": (lambda x: np.linalg.inv(x[:, :2]), True),
    "linalg.det": (lambda x: np.linalg.det(x[:, :2]), True),
    "linalg.slogdet": (lambda x: np.linalg.slogdet(x[:, :2]).logabsdet, True),
    "linalg.solve": (lambda x: np.linalg.solve(x[:, :2], B[:2]), True),
    "linalg.solve-matrices": (lambda x: np.linalg.solve(np.stack([x[:, :2], x[:, 1:]]), A), True),
    "linalg.svd": (lambda x: np.linalg.svd(x, full_matrices=False).S, True),
    "linalg.svd-values": (lambda x: np.linalg.svd(x, compute_uv=False), True),
    "linalg.qr": (lambda x: np.linalg.qr(x).R, True),
    "linalg.eigh": (lambda x: np.linalg.eigh(x[:, :2], "U").eigenvalues, True),
    "linalg.cholesky": (lambda x: np.linalg.cholesky(x[:, :2] + 3 * np.eye(2)), True),
    "linalg.matrix_power": (lambda x: np.linalg.matrix_power(x[:, :2], -2), True),
    "linalg.multi_dot": (lambda x: np.linalg.multi_dot([x, A.T, x]), True),
    "linalg.norm": (np.linalg.norm, True),
    "linalg.norm-axis": (lambda x: np.linalg.norm(x, 1, axis=1, keepdims=True), True),
    "linalg.matrix_norm": (lambda x: np.linalg.matrix_norm(x, ord=2), True),
    "linalg.vector_norm": (lambda x: np.linalg.vector_norm(x, axis=0, ord=3), True),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_are_numpys(name: str) -> None:
    call, differentiable = CALLS[name]
    x = tg.tensor(A, requires_grad=True)
    found, expected = call(x), call(A)
    assert isinstance(found, tg.Tensor)
    assert found.requires_grad is differentiable
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if "linalg" in name:  # other sums in another order
        np.testing.assert_allclose(found.detach().array, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(found.detach().array, expected)


def test_questions() -> None:
    x = tg.tensor(A)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)
    assert np.allclose(x, A + 1e-9) is True
    assert np.allclose(A.astype("f4"), x, rtol=0, atol=0) is True
    assert np.allclose(x, np.nan * A) is False
    assert np.array_equal(x, A) is True
    assert np.array_equal(x, A[0]) is False
    assert np.array_equal([[1, 2]], tg.tensor([[1.0, 2.0]])) is True


def test_several_results_are_tensors() -> None:
    x = tg.tensor(A, requires_grad=True)
    parts = np.split(x, 3, axis=1)
    assert isinstance(parts, list)
    assert [part.tolist() for part in parts] == [part.tolist() for part in np.split(A, 3, axis=1)]
    assert [part.shape for part in np.array_split(x, 2, -1)] == [(2, 2), (2, 1)]
    assert [part.shape for part in np.atleast_2d(x, x[0], 2.0)] == [(2, 3), (1, 3), (1, 1)]
    with pytest.raises(ShapeError, match="the axis has 3 elements, and they do not split into 2 equal parts"):
        np.split(x, 2, axis=1)


def full_name(called: Any) -> str:
    module = getattr(called, "__module__", None) or "numpy"
    return f"{module}.{called.__name__}".removeprefix("numpy.")


def test_every_function_is_tried() -> None:
    tried = {name.split("-")[0] for name in CALLS} | {"shape", "ndim", "size", "allclose", "array_equal"}
    assert {full_name(f) for f in numpy_protocol.FUNCTIONS} <= tried | {"max", "min"}


# Operations that have a namesake in NumPy which does not lead to them, and why.
NOT_REACHED: dict[str, str] = {
    **dict.fromkeys("arange empty eye full linspace logspace ones zeros".split(), "takes sizes and numbers, no tensor"),
    **dict.fromkeys("can_cast finfo iinfo promote_types result_type".split(), "asks about dtypes"),
    **dict.fromkeys("dtype load save set_printoptions".split(), "is about files, types or printing"),
    **dict.fromkeys(
        "bool byte double float16 float32 float64 half int int8 int16 int32 int64 long short uint8".split(),
        "is a dtype",
    ),
    "median": "NumPy takes the mean of two middle elements, PyTorch the lower one",
    "select": "NumPy's chooses among arrays; ours takes a slice",
    "linalg.LinAlgError": "is an error",
    "from_dlpack": "asks the array itself, and so it is reached",
}


def namesakes() -> dict[str, Any]:
    """NumPy's function of the same name, for every operation that has one."""
    pairs = [(tg, np, ""), (tg.Tensor, np, ""), (tg.linalg, np.linalg, "linalg.")]
    return {
        before + name: getattr(theirs, name)
        for ours, theirs, before in pairs
        for name in getattr(ours, "__all__", None) or dir(ours)
        if not name.startswith("_") and callable(getattr(ours, name, None)) and callable(getattr(theirs, name, None))
    }


def test_numpy_reaches_every_operation_that_it_has_a_name_for() -> None:
    found = namesakes()
    assert len(found) > 100
    reached = {
        name for name, called in found.items()
        if called in numpy_protocol.FUNCTIONS or called in numpy_protocol.UFUNCS
        or getattr(called, "__name__", "") in numpy_protocol.METHODS
    }  # fmt: skip
    assert set(found) - reached <= set(NOT_REACHED), "reach it from NumPy, or say why not"
    assert not reached & set(NOT_REACHED)


@pytest.mark.parametrize(("name", "method"), numpy_protocol.METHODS.items())
def test_ufuncs_of_other_names(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lead to the method, on either side of an array, where there is one, and else to words."""
    called, x = getattr(np, name), tg.tensor(A / 4, requires_grad=True)
    given = (x,) * called.nin
    if not hasattr(tg.Tensor, method):
        with pytest.raises(DtypeError, match=f"numpy.{name} on a tensor"):
            called(*given)
        monkeypatch.setattr(tg.Tensor, method, lambda *given: given, raising=False)
        found = called(*given)
        assert len(found) == len(given)
        assert all(one is x for one in found)
        if called.nin == 2:
            assert isinstance(called(A, x)[0], tg.Tensor)
        return
    if name == "arccosh":
        x = given[0] * 0 + 2
        given = (x,)
    found = called(*given)
    assert isinstance(found, tg.Tensor)
    np.testing.assert_allclose(found.detach().array, called(*(one.detach().array for one in given)), rtol=1e-12)


@pytest.mark.parametrize("name", numpy_protocol.INSTEAD)
def test_what_to_write_instead_is_said_of_functions_that_there_are(name: str) -> None:
    first, *part = name.split(".")
    called = getattr(np, first)
    assert called not in numpy_protocol.FUNCTIONS
    assert not part or callable(getattr(called, part[0]))


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
        "write x.median(), which takes the lower of two middle elements, or, without a gradient: "
        "numpy.median(x.detach().numpy())",
    ),
    "unknown-ufunc": (
        np.cbrt, "numpy.cbrt on a tensor", "this function has no gradient here",
        "compute it without a gradient: numpy.cbrt(x.detach().numpy())",
    ),
    "method": (
        np.add.reduce, "numpy.add.reduce on a tensor", "this function has no gradient here",
        "write x.sum(), or, without a gradient: numpy.add.reduce(x.detach().numpy())",
    ),
    "argument-of-a-ufunc": (
        lambda x: np.add(x, 1, where=True), "numpy.add(where=…) on a tensor", "this function has no gradient here",
        "compute it without a gradient: numpy.add(x.detach().numpy())",
    ),
    "argument": (
        lambda x: np.sum(x, dtype="f4"), "numpy.sum on a tensor",
        "not with these arguments: got an unexpected keyword argument 'dtype'",
        "leave them out, or without a gradient: numpy.sum(x.detach().numpy())",
    ),
    "where-alone": (
        np.where, "numpy.where on a tensor", "not with these arguments: missing a required argument: 'x'",
        "leave them out, or without a gradient: numpy.where(x.detach().numpy())",
    ),
    "into-an-array": (
        np.ones((2, 3)).__iadd__, "numpy.add(out=…) of a tensor into an array",
        "an array cannot hold the history of a tensor", "make a new tensor: total = total + x, not total += x",
    ),
    "function-of-a-part": (
        np.fft.fft, "numpy.fft.fft on a tensor", "this function has no gradient here",
        "compute it without a gradient: numpy.fft.fft(x.detach().numpy())",
    ),
    "argument-of-linalg": (
        lambda x: np.linalg.svd(x, hermitian=True), "numpy.linalg.svd on a tensor",
        "not with these arguments: got an unexpected keyword argument 'hermitian'",
        "leave them out, or without a gradient: numpy.linalg.svd(x.detach().numpy())",
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
        lambda x: np.broadcast_arrays(x, 3)[1], lambda x: np.append(x, x), lambda x: np.histogram(x)[0], np.median,
        np.cbrt, np.add.reduce, lambda x: np.sum(x, dtype="f4"), lambda x: np.hsplit(x, 3)[0],
        lambda x: np.nanmax(x, axis=0),
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
