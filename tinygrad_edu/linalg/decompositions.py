"""Matrices as products of simpler ones: singular values, QR, eigenvalues, Cholesky.

Factors are not unique: a singular vector or an eigenvector may change its sign, and where values are equal, any
rotation within their space will do. The gradient of a loss has a meaning only if the loss does not depend on that
choice. Where two values are equal, the gradient leaves out how their vectors turn towards each other.

Only the matrix is saved: a second derivative computes the factors again from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..autograd.function import Function
from ..errors import ArgumentError, AutogradError
from ..inputs.kinds import explain_all
from ..ops.movement import cat
from ..ops.out import with_out
from .equations import Solve
from .matrices import by_numpy, diagonal_matrix, eye, inverse_or_0, matrices, shown, square

NO_END = ("holds nan or inf, so the search for the values did not end", "look for the line that made them")


class Factors(NamedTuple):
    """A = U @ diag(S) @ Vh: singular vectors, singular values from large to small, singular vectors."""

    U: Any
    S: Any
    Vh: Any


class QR(NamedTuple):
    """A = Q @ R, with orthonormal columns in Q, and zeros below the diagonal of R."""

    Q: Any
    R: Any


class Eigen(NamedTuple):
    """Eigenvalues from small to large, and the eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class SVD(Function):
    """U, S, Vh."""

    @staticmethod
    def forward(ctx: Any, a: Any, full: bool) -> Any:
        ctx.save_for_backward(a)
        return by_numpy("svd", lambda a: tuple(np.linalg.svd(a, full)), a, why=NO_END)

    @staticmethod
    def backward(ctx: Any, gu: Any, gs: Any, gvh: Any) -> Any:
        # J. Townsend, "Differentiating the singular value decomposition" (2016). Of square U and V, only the columns
        # that belong to singular values count: the others may be any that complete them.
        (a,) = ctx.saved_tensors
        u, s, vh = SVD.apply(a, False)
        k = s.shape[-1]
        gu, gv, v = gu[..., :k], gvh[..., :k, :].mT, vh.mT
        squares = s * s
        f = inverse_or_0(squares.unsqueeze(-2) - squares.unsqueeze(-1))
        turns_u, turns_v = u.mT @ gu, vh @ gv
        inner = ((turns_u - turns_u.mT) * f) * s.unsqueeze(-2) + s.unsqueeze(-1) * ((turns_v - turns_v.mT) * f)
        g = u @ (inner + diagonal_matrix(gs)) @ vh
        over = inverse_or_0(s).unsqueeze(-2)
        if a.shape[-2] > k:  # U may turn out of its space too
            g = g + ((gu - u @ turns_u) * over) @ vh
        if a.shape[-1] > k:
            g = g + u @ ((gv - v @ turns_v) * over).mT
        return g, None


class Orthogonal(Function):
    """Q, R of `qr`."""

    @staticmethod
    def forward(ctx: Any, a: Any, mode: Any) -> Any:
        ctx.save_for_backward(a)
        ctx.mode = mode
        return by_numpy("qr", lambda a: tuple(np.linalg.qr(a, mode)), a, why=NO_END)

    @staticmethod
    def backward(ctx: Any, gq: Any, gr: Any) -> Any:
        # S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2018). Of a wide matrix
        # [X Y] only X decides about Q: R = [U V] with X = Q U and V = Q.mT @ Y.
        (a,) = ctx.saved_tensors
        rows, columns = a.shape[-2:]
        if ctx.mode == "complete" and rows > columns:
            tried, why = (
                f"the gradient of linalg.qr(mode='complete') of {shown(a)}",
                "of a tall matrix, Q is completed ",
            )
            raise AutogradError(tried, why + "by columns that A does not determine", "use mode='reduced'")
        q, r = Orthogonal.apply(a, "reduced")
        if columns > rows:
            gv, y = gr[..., rows:], a[..., rows:]
            gq, gr, r = gq + y @ gv.mT, gr[..., :rows], r[..., :rows]
        middle = r @ gr.mT - gq.mT @ q
        low = middle.tril(-1)
        g = gq + q @ (middle.tril() + low.mT)
        g = _right_solve(g, r.mT)
        if columns > rows:
            return cat([g, q @ gv], -1), None
        return g, None


def _right_solve(b: Any, a: Any) -> Any:
    """``b @ inv(a)``."""
    return Solve.apply(a.mT, b.mT).mT


class Symmetric(Function):
    """Eigenvalues and eigenvectors of `eigh`."""

    @staticmethod
    def forward(ctx: Any, a: Any, triangle: Any) -> Any:
        ctx.save_for_backward(a)
        ctx.triangle = triangle
        return by_numpy("eigh", lambda a: tuple(np.linalg.eigh(a, triangle)), a, why=NO_END)

    @staticmethod
    def backward(ctx: Any, gw: Any, gv: Any) -> Any:
        (a,) = ctx.saved_tensors
        w, v = Symmetric.apply(a, ctx.triangle)
        f = inverse_or_0(w.unsqueeze(-2) - w.unsqueeze(-1))
        return v @ (diagonal_matrix(gw) + (v.mT @ gv) * f) @ v.mT, None  # Giles 2008, 3.1


class Cholesky(Function):
    """L of A = L @ L.mT, or its transpose."""

    @staticmethod
    def forward(ctx: Any, a: Any, upper: bool) -> Any:
        why = (
            "is not positive definite: by the triangle that is read, x @ A @ x > 0 does not hold for every x but 0",
            "check that A is symmetric, such as x @ x.mT, and add a little to the diagonal: A + 1e-6 * eye(n)",
        )
        factor = by_numpy("cholesky", lambda a: np.linalg.cholesky(a, upper=upper), a, why=why)
        ctx.save_for_backward(factor)
        ctx.upper = upper
        return factor

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        # I. Murray, "Differentiation of the Cholesky decomposition" (2016), eq. 10.
        (low,) = ctx.saved_tensors
        if ctx.upper:
            low, g = low.mT, g.mT
        middle = (low.mT @ g).tril()
        middle = middle - 0.5 * middle * eye(low.shape[-1], low)
        half = _right_solve(_right_solve(middle, low).mT, low)  # inv(L).mT @ middle @ inv(L), transposed
        return 0.5 * (half + half.mT), None


def svd(A: Any, full_matrices: bool = True) -> Factors:
    """The singular value decomposition of each matrix: ``A = U @ diag(S) @ Vh``, as a named tuple.

    For (…, m, n), with k the smaller of m and n: S is (…, k), U (…, m, m) and Vh (…, n, n), or with
    ``full_matrices=False`` (…, m, k) and (…, k, n).

    >>> import tinygrad_edu as tg
    >>> tg.linalg.svd(tg.tensor([[3.0, 0.0], [0.0, -4.0]])).S
    tensor([4., 3.])
    """
    return Factors(*SVD.apply(matrices("svd", A), bool(full_matrices)))


def qr(A: Any, mode: str = "reduced") -> QR:
    """Each matrix (…, m, n) as a product of orthonormal columns and a triangle: ``A = Q @ R``, as a named tuple.

    With k the smaller of m and n, Q is (…, m, k) and R (…, k, n); with ``mode="complete"`` (…, m, m) and (…, m, n);
    with ``mode="r"`` Q is empty, and there is no gradient. Raises `ArgumentError` for other modes.
    """
    A = matrices("qr", A)
    if mode not in ("reduced", "complete", "r"):
        tried = f"linalg.qr of {shown(A)} with mode={mode!r}"
        raise ArgumentError(tried, "there is no such mode", "choose 'reduced', 'complete' or 'r'")
    if mode == "r":
        r = by_numpy("qr", lambda a: np.linalg.qr(a, "r"), A, why=NO_END)
        return QR(r.new_empty(0), r)
    return QR(*Orthogonal.apply(A, mode))


def eigh(A: Any, UPLO: str = "L") -> Eigen:
    """Eigenvalues and eigenvectors of each symmetric matrix (…, n, n): ``A @ V = V @ diag(w)``, as a named tuple.

    Only the lower triangle is read, or with ``UPLO="U"`` the upper one; that A is symmetric is not checked. Raises
    `ArgumentError` for another ``UPLO``.

    >>> import tinygrad_edu as tg
    >>> tg.linalg.eigh(tg.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    A = square("eigh", A)
    if UPLO not in ("L", "U", "l", "u"):
        tried = f"linalg.eigh of {shown(A)} with UPLO={UPLO!r}"
        raise ArgumentError(tried, "it names the triangle that is read", "write 'L' for the lower, 'U' for the upper")
    return Eigen(*Symmetric.apply(A, UPLO.upper()))


@with_out
def cholesky(A: Any, *, upper: bool = False) -> Any:
    """L, lower triangular, of ``A = L @ L.mT``, for each symmetric, positive definite matrix (…, n, n).

    Only the lower triangle is read. With ``upper=True`` the upper one is, and the result is ``L.mT``. Raises
    `LinAlgError` where there is no L.

    >>> import tinygrad_edu as tg
    >>> tg.linalg.cholesky(tg.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return Cholesky.apply(square("cholesky", A), bool(upper))


explain_all(globals())
