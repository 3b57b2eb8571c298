"""The linear algebra that PyTorch also has at top level and as methods."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..inputs.kinds import explain_all
from ..ops.out import with_out
from . import equations
from .decompositions import svd as decompose
from .determinants import det as det
from .matrices import matrices, square


class SVDFactors(NamedTuple):
    """A = U @ diag(S) @ V.mT."""

    U: Any
    S: Any
    V: Any


@with_out
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    """X of A X = B, where A is known by its Cholesky factor L, from `linalg.cholesky`: A = L @ L.mT.

    ``input`` is B, of shape (…, n, k), and ``input2`` is L, (…, n, n); with ``upper``, A = L.mT @ L. Only that triangle
    of L is read. Raises `LinAlgError` where its diagonal holds a 0.
    """
    b, factor = matrices("cholesky_solve", input), square("cholesky_solve", input2)
    factor = factor.mT if upper else factor
    inner = equations.solve_triangular(factor, b, upper=False)
    return equations.solve_triangular(factor.mT, inner, upper=True)


@with_out
def inverse(x: Any) -> Any:
    """`linalg.inv` under its older name."""
    return equations.inv(x)


def svd(x: Any, some: bool = True, compute_uv: bool = True) -> SVDFactors:
    """The singular value decomposition ``U @ diag(S) @ V.mT``, as a named tuple; `linalg.svd` gives V transposed.

    With ``some=False``, U and V are square. With ``compute_uv=False`` they are square too, and hold zeros.
    """
    x = matrices("svd", x)
    u, s, vh = decompose(x, not (some and compute_uv))
    if compute_uv:
        return SVDFactors(u, s, vh.mT)
    return SVDFactors((u * 0).detach(), s, (vh * 0).detach())


explain_all(globals(), "det")
