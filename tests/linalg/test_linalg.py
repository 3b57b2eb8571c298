"""Linear algebra: against NumPy, with derivatives of first and second order, and the mistakes.

Where factors are free in their sign, what is differentiated does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import linalg
from tinygrad_edu.autograd import gradcheck, gradgradcheck, jvp
from tinygrad_edu.errors import ArgumentError, AutogradError, DeviceError, DtypeError, EduError, LinAlgError, ShapeError

Call = Callable[..., Any]
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(3, 4, 4)) + 2 * np.eye(4), RNG.normal(size=(3, 4, 2))
TALL, WIDE = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 3, 4))


def symmetric(x: Any) -> Any:
    return x + x.mT


def positive(x: Any) -> Any:
    return x @ x.mT + tg.eye(4, dtype=x.dtype)


def pieces(factors: Any) -> list[Any]:
    """Of U, S, Vh: what no choice of signs changes."""
    u, s, vh = factors
    k = s.shape[-1]
    return [s, u[..., :k] ** 2, vh[..., :k, :] ** 2, u[..., :k] @ vh[..., :k, :]]


# What is differentiated, of which arrays, and the same in NumPy where its functions have no like name.
VALUES: dict[str, tuple[Call, Call, list[Any]]] = {
    "inv": (linalg.inv, np.linalg.inv, [A]),
    "inverse": (tg.inverse, np.linalg.inv, [A]),
    "solve": (linalg.solve, np.linalg.solve, [A, B]),
    "solve-vector": (linalg.solve, np.linalg.solve, [A[0], B[0, :, 0]]),
    "solve-vectors": (linalg.solve, lambda a, b: np.linalg.solve(a, b[..., None])[..., 0], [A, B[..., 0]]),
    "solve-broadcast": (linalg.solve, np.linalg.solve, [A[0], B]),
    "solve-right": (lambda a, b: linalg.solve(a, b.mT, left=False),
                    lambda a, b: np.swapaxes(b, 1, 2) @ np.linalg.inv(a), [A, B]),
    "solve_triangular": (
        lambda a, b: linalg.solve_triangular(a, b, upper=False), lambda a, b: np.linalg.solve(np.tril(a), b), [A, B],
    ),
    "solve_triangular-upper": (
        lambda a, b: linalg.solve_triangular(a, b.mT, upper=True, left=False),
        lambda a, b: b.mT @ np.linalg.inv(np.triu(a)), [A[0], B],
    ),
    "solve_triangular-ones": (
        lambda a, b: linalg.solve_triangular(a, b, upper=True, unitriangular=True),
        lambda a, b: np.linalg.solve(np.triu(a, 1) + np.eye(4), b), [A, B],
    ),
    "cholesky_solve": (
        lambda a, b: tg.cholesky_solve(b, a), lambda a, b: np.linalg.solve(np.tril(a) @ np.tril(a).mT, b), [A, B],
    ),
    "cholesky_solve-upper": (
        lambda a, b: b.cholesky_solve(a, upper=True),
        lambda a, b: np.linalg.solve(np.triu(a).mT @ np.triu(a), b), [A, B],
    ),
    "det": (linalg.det, np.linalg.det, [A]),
    "det-method": (lambda x: x.det(), np.linalg.det, [A[0]]),
    "logdet": (lambda x: linalg.slogdet(x).logabsdet, lambda a: np.linalg.slogdet(a)[1], [A]),
    "sign": (lambda x: linalg.slogdet(x).sign, lambda a: np.linalg.slogdet(a)[0], [A]),
    "matrix_power": (lambda x: linalg.matrix_power(x, 5), lambda a: np.linalg.matrix_power(a, 5), [A]),
    "matrix_power-inverse": (lambda x: linalg.matrix_power(x, -2), lambda a: np.linalg.matrix_power(a, -2), [A]),
    "matrix_power-0": (lambda x: linalg.matrix_power(x, 0), lambda a: np.linalg.matrix_power(a, 0), [A]),
    "matrix_power-1": (lambda x: linalg.matrix_power(x, 1), lambda a: a, [A]),
    "multi_dot": (lambda *xs: linalg.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs), [B[0].T, A[0], A[1], B[0]]),
    "multi_dot-vectors": (
        lambda *xs: linalg.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs), [B[0, :, 0], A[0], B[1, :, 0]],
    ),
    "cholesky": (lambda x: linalg.cholesky(positive(x)), lambda a: np.linalg.cholesky(a @ a.mT + np.eye(4)), [A]),
    "cholesky-upper": (
        lambda x: linalg.cholesky(positive(x), upper=True), lambda a: np.linalg.cholesky(a @ a.mT + np.eye(4)).mT, [A],
    ),
    "eigenvalues": (lambda x: linalg.eigh(symmetric(x))[0], lambda a: np.linalg.eigvalsh(a + a.mT), [A]),
    "singular-values": (lambda x: linalg.svd(x).S, lambda a: np.linalg.svd(a).S, [TALL]),
    "qr-r": (lambda x: linalg.qr(x).R ** 2, lambda a: np.linalg.qr(a).R ** 2, [TALL]),
    "norm": (linalg.norm, np.linalg.norm, [A]),
    "norm-of-rows": (lambda x: linalg.norm(x, 3, dim=-1), lambda a: np.linalg.norm(a, 3, -1), [A]),
    "vector_norm": (lambda x: linalg.vector_norm(x, 1, (0, 2), True),
                    lambda a: np.linalg.vector_norm(a, ord=1, axis=(0, 2), keepdims=True), [A]),
    **{f"matrix_norm-{order}": (
        lambda x, order=order: linalg.matrix_norm(x, order, (2, 0), True),
        lambda a, order=order: np.linalg.norm(a, order, (2, 0), True), [A],
    ) for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)},
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_against_numpy(name: str, dtype: str) -> None:
    ours, numpys, arrays = VALUES[name]
    arrays = [a.astype(dtype) for a in arrays]
    found, expected = ours(*map(tg.tensor, arrays)), numpys(*arrays)
    assert (found.shape, found.dtype.name) == (expected.shape, dtype)
    np.testing.assert_allclose(found.array, expected, rtol=2e-4 if dtype == "float32" else 1e-11, atol=1e-5)


@pytest.mark.parametrize("name", sorted(set(VALUES) - {"matrix_power-0"}))  # the identity, whatever the matrix
def test_derivatives(name: str) -> None:
    ours, _, arrays = VALUES[name]
    leaves = [tg.tensor(a, requires_grad=True) for a in arrays]
    assert gradcheck(ours, leaves, check_forward_ad=True)
    assert gradgradcheck(ours, leaves)


FACTORS: dict[str, tuple[Call, Any]] = {
    "svd": (lambda x: pieces(linalg.svd(x)), A),
    "svd-tall": (lambda x: pieces(linalg.svd(x)), TALL),
    "svd-tall-reduced": (lambda x: pieces(linalg.svd(x, full_matrices=False)), TALL),
    "svd-wide": (lambda x: pieces(linalg.svd(x)), WIDE),
    "svd-wide-reduced": (lambda x: pieces(linalg.svd(x, False)), WIDE),
    "svd-method": (lambda x: [(u * s.unsqueeze(-2)) @ v.mT * u[..., :1] ** 2 for u, s, v in [x.svd()]], TALL),
    "qr": (lambda x: [q * r[..., :1, :1] for q, r in [linalg.qr(x)]], A),
    "qr-tall": (lambda x: [part for q, r in [linalg.qr(x)] for part in (q @ q.mT, r**2)], TALL),
    "qr-wide": (lambda x: [part**2 for part in linalg.qr(x)], WIDE),
    "qr-complete": (lambda x: [part**2 for part in linalg.qr(x, "complete")], WIDE),
    "eigh": (lambda x: [w.unsqueeze(-2) * v**2 for w, v in [linalg.eigh(symmetric(x))]], A),
    "eigh-upper": (lambda x: [w.unsqueeze(-2) * v**2 for w, v in [linalg.eigh(symmetric(x), UPLO="U")]], A),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORS)
def test_derivatives_of_what_no_sign_changes(name: str) -> None:
    call, array = FACTORS[name]
    x = tg.tensor(array, requires_grad=True)
    assert gradcheck(lambda x: tuple(call(x)), x)
    assert gradgradcheck(lambda x: tuple(call(x)), x)


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.peers
def test_the_same_in_pytorch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    call, array = FACTORS[name]
    mine = tg.tensor(array, requires_grad=True)
    found = call(mine)
    theirs = torch.tensor(array, requires_grad=True)
    with monkeypatch.context() as patch:
        patch.setattr("tests.linalg.test_linalg.linalg", torch.linalg)
        expected = call(theirs)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.detach().array, other.detach().numpy(), rtol=1e-9, atol=1e-10)
    weights = [RNG.normal(size=one.shape) for one in found]
    sum((one * tg.tensor(w)).sum() for one, w in zip(found, weights, strict=True)).backward()
    sum((one * torch.tensor(w)).sum() for one, w in zip(expected, weights, strict=True)).backward()
    np.testing.assert_allclose(mine.grad.array, theirs.grad.numpy(), rtol=1e-8, atol=1e-9)


def test_factors_multiply_to_the_matrix() -> None:
    for array in (A, TALL, WIDE, np.zeros((0, 3)), np.zeros((2, 0, 0))):
        x = tg.tensor(array)
        rows, columns = x.shape[-2:]
        k = min(rows, columns)
        for full in (True, False):
            u, s, vh = linalg.svd(x, full)
            assert (u.shape[-1], vh.shape[-2]) == ((rows, columns) if full else (k, k))
            np.testing.assert_allclose(((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]).array, array, atol=1e-12)
        for mode in ("reduced", "complete"):
            q, r = linalg.qr(x, mode)
            assert q.shape[-1] == (rows if mode == "complete" else k)
            np.testing.assert_allclose((q @ r).array, array, atol=1e-12)
            np.testing.assert_array_equal(r.array, np.triu(r.array))
    nothing, r = linalg.qr(tg.tensor(TALL), mode="r")
    assert (nothing.shape, r.tolist()) == ((0,), linalg.qr(tg.tensor(TALL)).R.tolist())
    w, v = linalg.eigh(symmetric(tg.tensor(A)))
    np.testing.assert_allclose(((v * w.unsqueeze(-2)) @ v.mT).array, A + A.mT, atol=1e-12)


def test_the_older_svd() -> None:
    x = tg.tensor(TALL)
    u, s, v = tg.svd(x)
    np.testing.assert_allclose(((u * s.unsqueeze(-2)) @ v.mT).array, TALL, atol=1e-12)
    assert [part.shape for part in tg.svd(x, some=False)] == [(2, 4, 4), (2, 3), (2, 3, 3)]
    u, only, v = x.svd(compute_uv=False)
    assert (u.shape, only.tolist(), v.shape) == ((2, 4, 4), s.tolist(), (2, 3, 3))
    assert not u.any()
    assert not v.any()


def test_one_triangle_is_read() -> None:
    x = tg.tensor([[2.0, 100.0], [1.0, 3.0]], dtype="float64")
    lower = tg.tensor([[2.0, 1.0], [1.0, 3.0]], dtype="float64")
    assert linalg.eigh(x).eigenvalues.tolist() == linalg.eigh(lower).eigenvalues.tolist()
    assert linalg.eigh(x.mT, "U").eigenvalues.tolist() == linalg.eigh(lower).eigenvalues.tolist()
    assert linalg.cholesky(x).tolist() == linalg.cholesky(lower).tolist()
    assert linalg.cholesky(x.mT, upper=True).tolist() == linalg.cholesky(lower, upper=True).tolist()


def test_a_singular_matrix_has_a_determinant_with_a_gradient() -> None:
    """The cofactors, worked out by hand; of one matrix in the batch that is regular too."""
    x = tg.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]], dtype="float64", requires_grad=True)
    linalg.det(x).sum().backward()
    np.testing.assert_allclose(x.grad.array, [[[4, -2], [-2, 1]], [[4, -3], [-2, 1]]], atol=1e-12)
    zero = tg.zeros(3, 3, requires_grad=True)
    linalg.det(zero).backward()
    assert zero.grad.tolist() == [[0.0] * 3] * 3
    assert [part.item() for part in linalg.slogdet(tg.zeros(2, 2))] == [0.0, -np.inf]


def test_equal_values_have_gradients() -> None:
    """Where vectors may turn, what says nothing about them still has its slope."""
    x = tg.eye(3, dtype="float64").requires_grad_()
    assert tg.autograd.grad(linalg.eigh(x).eigenvalues.sum(), x)[0].tolist() == np.eye(3).tolist()
    np.testing.assert_allclose(tg.autograd.grad(linalg.svd(x).S.sum(), x)[0].array, np.eye(3), atol=1e-12)
    low = tg.tensor([[1.0, 1.0], [1.0, 1.0]], dtype="float64", requires_grad=True)
    np.testing.assert_allclose(tg.autograd.grad(linalg.matrix_norm(low, 2), low)[0].array, np.full((2, 2), 0.5))


def test_the_order_of_a_chain_is_the_cheapest() -> None:
    parts = [tg.ones(2, 50), tg.ones(50, 50), tg.ones(50, 1), tg.ones(1, 50)]
    with tg.observe.Counters() as counted:
        found = linalg.multi_dot(parts)
    assert found.tolist() == [[2500.0] * 50] * 2
    # First what shrinks to a column of 50, then with it to one of 2, and the long row at last.
    assert counted.allocated == 4 * (50 + 2 + 2 * 50)


def test_forward_mode() -> None:
    x, tangent = tg.tensor(A[0]), tg.tensor(A[1])
    found = jvp(linalg.inv, (x,), (tangent,))[1]
    np.testing.assert_allclose(found.array, -np.linalg.inv(A[0]) @ A[1] @ np.linalg.inv(A[0]), rtol=1e-10)


def test_results_go_into_a_buffer() -> None:
    x, buffer = tg.tensor(A), tg.empty(3, 4, 4, dtype="float64")
    assert linalg.inv(x, out=buffer) is buffer
    assert buffer.tolist() == tg.inverse(x).tolist()


SINGULAR = "is singular: some column is a sum of multiples of the others, so no matrix undoes what it does"
HELP = "look for columns that are zero or alike, or add a little to the diagonal: A + 1e-6 * eye(n)"
WRONG: list[tuple[Call, type[EduError], str, str, str]] = [
    (lambda: linalg.inv(tg.ones(2, 2)), LinAlgError, "linalg.inv of (2, 2) float32", f"the matrix {SINGULAR}", HELP),
    (lambda: linalg.solve(tg.zeros(3, 2, 2), tg.ones(3, 2, 1)), LinAlgError,
     "linalg.solve of (3, 2, 2) float32 and (3, 2, 1) float32", f"a matrix among them {SINGULAR}", HELP),
    (lambda: linalg.inv(tg.ones(2, 3)), ShapeError, "linalg.inv of (2, 3) float32",
     "it has 2 rows and 3 columns, but this takes square matrices",
     "make it square, such as x.mT @ x, or use svd() or qr()"),
    (lambda: linalg.svd(tg.ones(2)), ShapeError, "linalg.svd of (2,) float32", "a matrix has two axes",
     "give it both: x.unsqueeze(-1) is a column, x.unsqueeze(0) a row"),
    (lambda: tg.eye(2).long().det(), DtypeError, "linalg.det of (2, 2) int64",
     "determinants, inverses and factors are computed in floats", "convert it first: x.float()"),
    (lambda: tg.eye(2).half().inverse(), DtypeError, "linalg.inv of (2, 2) float16",
     "errors grow from step to step, and 16-bit floats begin with large ones", "convert it first: x.float()"),
    (lambda: linalg.cholesky(-tg.eye(2)), LinAlgError, "linalg.cholesky of (2, 2) float32",
     "the matrix is not positive definite: by the triangle that is read, x @ A @ x > 0 does not hold for every x but 0",
     "check that A is symmetric, such as x @ x.mT, and add a little to the diagonal: A + 1e-6 * eye(n)"),
    (lambda: linalg.svd(tg.full((2, 2), tg.nan)), LinAlgError, "linalg.svd of (2, 2) float32",
     "the matrix holds nan or inf, so the search for the values did not end",
     "look for the line that made them"),
    (lambda: linalg.solve(tg.eye(2), tg.ones(3)), ShapeError, "linalg.solve of (2, 2) float32 and (3,) float32",
     "A has 2 rows, but B has 3", "give B as many rows as A"),
    (lambda: linalg.solve(tg.eye(2), tg.ones(2, dtype="float64")), DtypeError,
     "linalg.solve of (2, 2) float32 and (2,) float64", "both must have one dtype",
     "convert one of them: x.to('float32')"),
    (lambda: linalg.solve(tg.eye(2).expand(3, 2, 2), tg.ones(2, 2, 1)), ShapeError,
     "linalg.solve of (3, 2, 2) float32 and (2, 2, 1) float32",
     "the leading axes are (3,) and (2,), and only a 1 can be stretched",
     "check which of the leading axes count the same thing"),
    (lambda: linalg.solve(tg.eye(2), tg.ones(2), left=False), ShapeError,
     "linalg.solve of (2, 2) float32 and (2,) float32", "in X A = B, X has rows, but vectors count as columns",
     "make each vector a row: B.unsqueeze(-2)"),
    (lambda: linalg.solve_triangular(tg.eye(2), tg.ones(2), upper=True), ShapeError,
     "linalg.solve_triangular of (2,) float32", "a matrix has two axes",
     "give it both: x.unsqueeze(-1) is a column, x.unsqueeze(0) a row"),
    (lambda: linalg.solve_triangular(tg.eye(2), tg.ones(2, 1, dtype="float64"), upper=True), DtypeError,
     "linalg.solve_triangular of (2, 2) float32 and (2, 1) float64", "both must have one dtype",
     "convert one of them: x.to('float32')"),
    (lambda: linalg.solve_triangular(tg.eye(2), tg.ones(1, 3), upper=True, left=False), ShapeError,
     "linalg.solve_triangular of (2, 2) float32 and (1, 3) float32", "A has 2 columns, and B has 3",
     "B has as many columns as A"),
    (lambda: linalg.qr(tg.eye(2), "full"), ArgumentError, "linalg.qr of (2, 2) float32 with mode='full'",
     "there is no such mode", "choose 'reduced', 'complete' or 'r'"),
    (lambda: linalg.eigh(tg.eye(2), "lower"), ArgumentError, "linalg.eigh of (2, 2) float32 with UPLO='lower'",
     "it names the triangle that is read", "write 'L' for the lower, 'U' for the upper"),
    (lambda: linalg.matrix_norm(tg.eye(2), 3), ArgumentError,
     "linalg.matrix_norm of (2, 2) float32 with ord=3 and dim=(-2, -1)", "matrices have no norm of that order",
     "choose among 'fro', 'nuc', inf, -inf, 1, -1, 2, -2"),
    (lambda: linalg.matrix_norm(tg.ones(2)), ShapeError,
     "linalg.matrix_norm of (2,) float32 with ord='fro' and dim=(-2, -1)", "a matrix has two axes",
     "name both: dim=(-2, -1), or use vector_norm()"),
    (lambda: linalg.norm(tg.ones(2), "nuc"), ShapeError, "linalg.norm of (2,) float32 with ord='nuc' and dim=None",
     "this norm is of matrices, and these axes are 1",
     "name the axes: dim=-1 for vectors, dim=(-2, -1) for matrices"),
    (lambda: linalg.norm(tg.ones(2, 2, 2), 2), ShapeError, "linalg.norm of (2, 2, 2) float32 with ord=2 and dim=None",
     "this norm is of vectors or matrices, and these axes are 3",
     "name the axes: dim=-1 for vectors, dim=(-2, -1) for matrices"),
    (lambda: linalg.vector_norm(tg.ones(2).long()), DtypeError, "linalg.vector_norm of (2,) int64",
     "a norm is a root, and roots are floats", "convert it first: x.float()"),
    (lambda: linalg.vector_norm(tg.ones(2), "fro"), DtypeError, "linalg.vector_norm of (2,) float32 with ord='fro'",
     "the order of a vector's norm is a number", "use 2, 1 or float('inf')"),
    (lambda: linalg.multi_dot([tg.eye(2)]), ShapeError, "linalg.multi_dot of (2, 2) float32",
     "one matrix is not a product", "pass at least two"),
    (lambda: linalg.multi_dot([tg.eye(2), tg.eye(3)]), ShapeError,
     "linalg.multi_dot of (2, 2) float32 and (3, 3) float32", "the inner sizes 2 and 3 must be equal",
     "check the order of the matrices, or transpose one: x.mT"),
    (lambda: linalg.multi_dot([tg.eye(2), tg.ones(2), tg.eye(2)]), ShapeError,
     "linalg.multi_dot of (2, 2) float32 and (2,) float32 and (2, 2) float32",
     "number 1 has 1 axes; matrices have two, and only the first and the last may be vectors",
     "use @ for batches of matrices"),
    (lambda: linalg.inv(tg.eye(2).to("far")), DeviceError, "linalg.inv of (2, 2) float32 on far",
     "NumPy does this work, but it cannot reach what is on far", "bring it here: x.cpu()"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[f"{w[2]}: {w[3][:20]}" for w in WRONG])
def test_words(call: Call, kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend):
        call()


def test_factors_that_are_not_determined_have_no_gradient() -> None:
    x = tg.tensor(TALL, requires_grad=True)
    q, _ = linalg.qr(x, "complete")
    with pytest.raises(AutogradError, match="of a tall matrix, Q is completed by columns that A does not determine"):
        q.sum().backward()
    assert not linalg.qr(x, "r").R.requires_grad
