"""The linear algebra that PyTorch also has at top level and as methods."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..inputs.kinds import explain_all
from ..ops.out import with_out
from . import equations
from .decompositions import svd as decompose
from .determinants import det as det
from .matrices import matrices


class SVDFactors(NamedTuple):
    """A = U @ diag(S) @ V.mT."""

    U: Any
    S: Any
    V: Any


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
