"""How large vectors and matrices are."""

from __future__ import annotations

from typing import Any

from ..dtypes import as_dtype, is_float
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from ..ops import reduce
from ..ops.movement import axes_of
from ..ops.out import with_out
from .decompositions import svd
from .matrices import matrices, shown

INF = float("inf")
ORDERS = ("fro", "nuc", INF, -INF, 1, -1, 2, -2)


@with_out
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of order ``ord`` of the elements along ``dim``, or of all: the ord-th root of the sum of abs(x) ** ord.

    With ``inf`` and ``-inf`` it is the largest and the smallest absolute value; 0 counts what is not 0. Raises
    `DtypeError` for integers, and for an order that is not a number.
    """
    x = _given("vector_norm", x, dtype)
    if isinstance(ord, str) or ord is None:
        tried = f"linalg.vector_norm of {shown(x)} with ord={ord!r}"
        raise DtypeError(tried, "the order of a vector's norm is a number", "use 2, 1 or float('inf')")
    return reduce.norm(x, ord, dim, keepdim)


@with_out
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of each matrix, whose rows and columns are the axes ``dim``.

    ``"fro"``: the root of the sum of squares; ``"nuc"``: the sum of singular values; 2, -2: the largest and smallest
    singular value; inf, -inf: the largest and smallest sum of absolute values along a row; 1, -1: along a column.
    Raises `ArgumentError` for other orders, `ShapeError` unless ``dim`` names two axes, `DtypeError` for integers.
    """
    x = _given("matrix_norm", A, dtype)
    tried = f"linalg.matrix_norm of {shown(x)} with ord={ord!r} and dim={dim!r}"
    if ord not in ORDERS:
        raise ArgumentError(
            tried, "matrices have no norm of that order", f"choose among {', '.join(map(repr, ORDERS))}"
        )
    if not isinstance(dim, (tuple, list)) or len(dim) != 2 or x.ndim < 2:
        raise ShapeError(tried, "a matrix has two axes", "name both: dim=(-2, -1), or use vector_norm()")
    rows, columns = axes_of(x, dim)
    if ord == "fro":
        return reduce.norm(x, 2, (rows, columns), keepdim)
    if ord in (1, -1, INF, -INF):
        sums = x.abs().sum(rows if ord in (1, -1) else columns, True)
        return (sums.amax if ord in (1, INF) else sums.amin)((rows, columns), keepdim)
    values = svd(matrices("matrix_norm", x.movedim((rows, columns), (-2, -1))), False).S
    found = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord == 2 else values.amin(-1)
    for at in sorted((rows, columns)) if keepdim else ():
        found = found.unsqueeze(at)
    return found


@with_out
def norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of a vector or of matrices, by the number of axes: `vector_norm` or `matrix_norm`.

    Without ``ord``, the root of the sum of squares along ``dim``, or of all elements. With ``ord``, a vector norm for
    one axis in ``dim`` and a matrix norm for two; without ``dim``, the tensor itself is a vector or a matrix. Raises
    `ShapeError` where it is neither, else as those do.

    >>> import tinygrad_edu as tg
    >>> tg.linalg.norm(tg.tensor([3.0, 4.0])), tg.linalg.norm(tg.eye(3), "nuc")
    (tensor(5.), tensor(3.))
    """
    x = _given("norm", x, dtype)
    axes = x.ndim if dim is None else len(dim) if isinstance(dim, (tuple, list)) else 1
    if ord is None or (axes == 1 and not isinstance(ord, str)):
        return vector_norm(x, 2 if ord is None else ord, dim, keepdim)
    if axes != 2:
        tried = f"linalg.norm of {shown(x)} with ord={ord!r} and dim={dim!r}"
        why = f"this norm is of {'' if isinstance(ord, str) else 'vectors or '}matrices, and these axes are {axes}"
        raise ShapeError(tried, why, "name the axes: dim=-1 for vectors, dim=(-2, -1) for matrices")
    return matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim)


def _given(name: str, x: Any, dtype: Any) -> Any:
    """``x`` as a tensor of floats, in ``dtype`` if given."""
    x = as_tensor(x)
    if dtype is not None:
        x = x.to(as_dtype(dtype))
    if not is_float(x.dtype):
        raise DtypeError(
            f"linalg.{name} of {shown(x)}", "a norm is a root, and roots are floats", "convert it first: x.float()"
        )
    return x


explain_all(globals())
