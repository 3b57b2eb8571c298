"""Further products, built on those of `linalg`: over chosen axes, of vectors in space, of every pair of elements."""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.base import TensorBase
from ..core.slow import offered
from ..errors import ShapeError
from ..inputs.arguments import as_tensor, axis, whole
from ..inputs.kinds import explain_all
from .arithmetic import mul, sub_op
from .arrange import roll
from .linalg import matmul
from .movement import axes_of, permute_op, reshape_op
from .parts import diagonal
from .reduce import sum


def trace(input: Any) -> Any:
    """The sum of a matrix's diagonal: a single number, int64 for integers. Raises `ShapeError` for other axes.

    >>> import tinygrad_edu as tg
    >>> tg.trace(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    (x,) = offered("trace", (as_tensor(input),))
    if x.ndim != 2:
        tried, why = f"trace of a tensor {tuple(x.shape)}", f"it has {x.ndim} axes, but a matrix has two"
        raise ShapeError(tried, why, "for many matrices, use x.diagonal(dim1=-2, dim2=-1).sum(-1)")
    return sum(diagonal(x))


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Products of elements, summed over pairs of axes, one of ``a`` and one of ``b``. Their other axes follow in order.

    ``dims=n`` pairs the last n axes of ``a`` with the first n of ``b``; two lists name the pairs. An axis of length 1
    is stretched. Raises `ShapeError` where paired axes differ in length, or the lists do.

    >>> import tinygrad_edu as tg
    >>> tg.tensordot(tg.ones(2, 3, 4), tg.ones(4, 5, 3), dims=([1, 2], [2, 0])).shape
    (2, 5)
    """
    a, b = as_tensor(a), as_tensor(b)
    tried = f"tensordot of {tuple(a.shape)} and {tuple(b.shape)} with dims={dims!r}"
    for_a, for_b = _pairs(tried, a, b, dims)
    for i, j in zip(for_a, for_b, strict=True):
        m, n = a.shape[i], b.shape[j]
        if m != n and 1 not in (m, n):
            why = f"axis {i} of the first has {m} elements, but axis {j} of the second has {n}"
            raise ShapeError(tried, why, "pair axes that count the same thing")
    for i, j in zip(for_a, for_b, strict=True):  # stretched, and summed: the same as summing the other one first
        if a.shape[i] != b.shape[j]:
            a, b = (a, sum(b, j, True)) if a.shape[i] == 1 else (sum(a, i, True), b)
    free_a, free_b = ([i for i in range(x.ndim) if i not in used] for x, used in ((a, for_a), (b, for_b)))
    shape = (*(a.shape[i] for i in free_a), *(b.shape[i] for i in free_b))
    summed = how_many(tuple(a.shape[i] for i in for_a))
    rows, columns = (how_many(tuple(x.shape[i] for i in free)) for x, free in ((a, free_a), (b, free_b)))
    left = reshape_op(permute_op(a, dims=(*free_a, *for_a)), shape=(rows, summed))
    right = reshape_op(permute_op(b, dims=(*for_b, *free_b)), shape=(summed, columns))
    return reshape_op(matmul(left, right), shape=shape)


def _pairs(tried: str, a: Any, b: Any, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of each operand that are summed over, counted from 0."""
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
    if not isinstance(dims, (tuple, list)):
        count = whole(tried, "dims", dims)
        if not 0 <= count <= min(a.ndim, b.ndim):
            why = f"they have {a.ndim} and {b.ndim} axes, so dims lies between 0 and {min(a.ndim, b.ndim)}"
            raise ShapeError(tried, why, "name the axes to sum over: dims=([1], [0])")
        return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    if len(dims) != 2:
        raise ShapeError(tried, "dims is one number, or two lists", "name the axes of each: dims=([1], [0])")
    first, second = (tuple(one) if isinstance(one, (tuple, list)) else (one,) for one in dims)
    if len(first) != len(second):
        why = f"{len(first)} axes of the first cannot be paired with {len(second)} of the second"
        raise ShapeError(tried, why, "name as many axes in each list")
    return axes_of(a, first) if first else (), axes_of(b, second) if second else ()


def inner(input: Any, other: Any) -> Any:
    """The sum of products over the last axis of both: (…, n) and (***, n) give (…, ***). A number multiplies.

    Raises `ShapeError` where the last axes differ in length.
    """
    x, other = as_tensor(input), as_tensor(other)
    if not x.ndim or not other.ndim:
        return mul(x, other)
    if x.shape[-1] != other.shape[-1]:
        tried = f"inner of {tuple(x.shape)} and {tuple(other.shape)}"
        why = f"the last axes have {x.shape[-1]} and {other.shape[-1]} elements, but they must be equal"
        raise ShapeError(tried, why, "check which axis of each operand counts the same thing")
    return tensordot(x, other, ([-1], [-1]))


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The cross product of vectors in space, which lie along ``dim``, of length 3; other axes are broadcast.

    Without ``dim``, along the first axis of length 3: `linalg.cross` takes the last. Raises `ShapeError` where that
    axis is not of length 3 in both, or the tensors differ in their number of axes.

    >>> import tinygrad_edu as tg
    >>> tg.cross(tg.tensor([1.0, 0.0, 0.0]), tg.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    x, other = as_tensor(input), as_tensor(other)
    tried = f"cross of {tuple(x.shape)} and {tuple(other.shape)}"
    if x.ndim != other.ndim:
        why = f"they have {x.ndim} and {other.ndim} axes, but vectors lie along the same axis of both"
        raise ShapeError(tried, why, "add an axis to the shorter one: y.unsqueeze(0)")
    if dim is None:
        dim = next((i for i, n in enumerate(x.shape) if n == 3), None)
        if dim is None:
            raise ShapeError(tried, "no axis has 3 elements", "a cross product is of vectors in space: (…, 3)")
    at = axis(x, dim, max(x.ndim, 1))
    if not x.ndim or x.shape[at] != 3 or other.shape[at] != 3:
        found = f"axis {dim} has {x.shape[at]} and {other.shape[at]} elements" if x.ndim else "there is no axis"
        raise ShapeError(tried, f"{found}, but vectors in space have 3", "name their axis: dim=-1")
    # Element i is x[i + 1] * y[i + 2] - x[i + 2] * y[i + 1], counted in a circle.
    return sub_op(mul(roll(x, -1, at), roll(other, -2, at)), mul(roll(x, -2, at), roll(other, -1, at)))


def kron(input: Any, other: Any) -> Any:
    """The Kronecker product: ``other``, multiplied by each element of ``input``, in its place.

    >>> import tinygrad_edu as tg
    >>> tg.kron(tg.tensor([1, 10]), tg.tensor([[1, 2], [3, 4]]))
    tensor([[ 1,  2, 10, 20],
            [ 3,  4, 30, 40]])
    """
    x, other = as_tensor(input), as_tensor(other)
    count = max(x.ndim, other.ndim)
    first, second = ((1,) * (count - one.ndim) + tuple(one.shape) for one in (x, other))
    blocks = reshape_op(x, shape=tuple(n for size in first for n in (size, 1)))
    inside = reshape_op(other, shape=tuple(n for size in second for n in (1, size)))
    return reshape_op(mul(blocks, inside), shape=tuple(m * n for m, n in zip(first, second, strict=True)))


explain_all(globals())
