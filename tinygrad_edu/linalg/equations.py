"""Linear equations: inverses and solutions.

The gradients are from M. Giles, *An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation* (2008), section 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.function import Function
from ..errors import DtypeError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from ..ops.out import with_out
from .matrices import SINGULAR, by_numpy, eye, floats, matrices, shown, square


class Inverse(Function):
    """Y = inv(A)."""

    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        y = by_numpy("inv", np.linalg.inv, a, why=SINGULAR)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return -(y.mT @ g @ y.mT)  # Giles 2.2.3: from A Y = I follows dY = -Y dA Y


class Solve(Function):
    """X of A X = B."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        x = by_numpy("solve", np.linalg.solve, a, b, why=SINGULAR)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, x = ctx.saved_tensors
        gb = Solve.apply(a.mT, g)  # Giles 2.3.1: from A X = B follows A dX = dB - dA X
        return -(gb @ x.mT), gb


@with_out
def inv(A: Any) -> Any:
    """The inverse of each square matrix (…, n, n). Raises `LinAlgError` where it is singular.

    For equations, `solve` is quicker and more exact than a product with the inverse.

    >>> import tinygrad_edu as tg
    >>> tg.linalg.inv(tg.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return Inverse.apply(square("inv", A))


@with_out
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X of A X = B, for square matrices (…, n, n) and (…, n, k), or vectors (n,) or (…, n). Leading axes are broadcast.

    With ``left=False``, X of X A = B. B holds vectors if it has one axis, or exactly the axes of A without the last.
    Raises `LinAlgError` where A is singular, `ShapeError` and `DtypeError` where the two do not fit.

    >>> import tinygrad_edu as tg
    >>> tg.linalg.solve(tg.tensor([[2.0, 0.0], [0.0, 4.0]]), tg.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    a, b = square("solve", A), as_tensor(B)
    b = floats("solve", b) if b.ndim == 1 else matrices("solve", b)
    tried = f"linalg.solve of {shown(a, b)}"
    if a.dtype != b.dtype:
        raise DtypeError(tried, "both must have one dtype", f"convert one of them: x.to('{a.dtype}')")
    vectors = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    if vectors and not left:
        why = "in X A = B, X has rows, but vectors count as columns"
        raise ShapeError(tried, why, "make each vector a row: B.unsqueeze(-2)")
    if vectors:
        b = b.unsqueeze(-1)
    x = _solved(tried, a, b, left)
    return x.squeeze(-1) if vectors else x


@with_out
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """`solve` for a triangle: of the matrices (…, n, n) only the part on and above the diagonal is read, or below it.

    ``upper`` says which; with ``unitriangular`` the diagonal is read as ones. B holds matrices, (…, n, k), or (…, k, n)
    with ``left=False``. Raises `LinAlgError` where the diagonal holds a 0: there PyTorch gives inf or nan.

    >>> import tinygrad_edu as tg
    >>> factor = tg.tensor([[2.0, 0.0], [1.0, 1.0]])
    >>> tg.linalg.solve_triangular(factor, tg.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    a, b = square("solve_triangular", A), matrices("solve_triangular", B)
    tried = f"linalg.solve_triangular of {shown(a, b)}"
    if a.dtype != b.dtype:
        raise DtypeError(tried, "both must have one dtype", f"convert one of them: x.to('{a.dtype}')")
    inner = (1 if upper else -1) if unitriangular else 0
    a = a.triu(inner) if upper else a.tril(inner)
    return _solved(tried, a + eye(a.shape[-1], a) if unitriangular else a, b, left)


def _solved(tried: str, a: Any, b: Any, left: bool) -> Any:
    """X of A X = B or X A = B, for matrices."""
    if not left:
        a, b = a.mT, b.mT
    if a.shape[-1] != b.shape[-2]:
        lines = "rows" if left else "columns"
        raise ShapeError(tried, f"A has {a.shape[-1]} {lines}, but B has {b.shape[-2]}", f"give B as many {lines} as A")
    if a.shape[:-2] != b.shape[:-2]:
        try:
            lead = np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
        except ValueError:
            why = f"the leading axes are {tuple(a.shape[:-2])} and {tuple(b.shape[:-2])}, and only a 1 can be stretched"
            raise ShapeError(tried, why, "check which of the leading axes count the same thing") from None
        a, b = (x.expand(*lead, *x.shape[-2:]) for x in (a, b))
    x = Solve.apply(a, b)
    return x if left else x.mT


explain_all(globals())
