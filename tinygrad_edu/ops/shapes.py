"""Further functions of shapes, under PyTorch's and NumPy's names, all built from the operations of `movement`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backends.layout import viewable
from ..errors import DtypeError, EduError, ShapeError
from ..inputs.arguments import as_tensor, axis
from ..inputs.kinds import explain_all
from .convert import contiguous as contiguous
from .movement import axes_of, cat, expand, expand_op, listed, permute_op, reshape, reshape_op, several, transpose


def view(input: Any, *given: Any, size: Any = None) -> Any:
    """Like `reshape`, but never a copy.

    Raises `ShapeError` if no strides over the same bytes show the elements in this order, and `DtypeError` for a
    dtype: here bytes are never read as another dtype.

    >>> import tinygrad_edu as tg
    >>> x = tg.zeros(4)
    >>> x.view(2, 2)[0].fill_(1)
    tensor([1., 1.])
    >>> x
    tensor([1., 1., 0., 0.])
    """
    if given and isinstance(given[0], (np.dtype, type)):
        why = "it shows the same memory in another shape, but does not read the bytes as another dtype"
        raise DtypeError("view(dtype)", why, "x.to(dtype) converts the values")
    try:
        result = reshape(input, *given, shape=size)
    except EduError as error:
        raise type(error)(error.tried.replace("reshape", "view", 1), error.why, error.mend, error.line) from None
    if not viewable(tuple(input.shape), input.array.strides, tuple(result.shape)):
        raise ShapeError(
            f"view{listed('view', given, size)} of a tensor {tuple(input.shape)} with strides {input.stride()}",
            "no shape and strides over the same bytes show these elements in this order",
            "use reshape(), which copies where it must, or contiguous() first",
        )
    return result


def view_as(input: Any, other: Any) -> Any:
    """`view` in the shape of ``other``."""
    return view(input, other.shape)


def reshape_as(input: Any, other: Any) -> Any:
    """`reshape` to the shape of ``other``."""
    return reshape_op(input, shape=tuple(other.shape))


def ravel(input: Any) -> Any:
    """All elements along one axis, in row-major order: a view where that is possible, else a copy."""
    return reshape_op(contiguous(as_tensor(input)), shape=(-1,))


def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """The axis ``dim`` as several, of the given ``sizes``; one of them may be -1. A view.

    Raises `ShapeError` unless the product of the sizes is the length of the axis.
    """
    x = as_tensor(input)
    at, parts = axis(x, dim, x.ndim), listed("unflatten", (sizes,), None)
    known = math.prod(size for size in parts if size != -1)
    length = x.shape[at]
    if parts.count(-1) == 1 and known > 0 and length % known == 0:
        parts = tuple(length // known if size == -1 else size for size in parts)
    if not parts or min(parts) < 0 or math.prod(parts) != length:
        raise ShapeError(
            f"unflatten({dim}, {tuple(sizes)}) of a tensor {tuple(x.shape)}",
            f"the axis has {length} elements, and the product of these sizes is another number",
            "check the sizes; only one may be -1" if -1 in tuple(sizes) else "let one size be -1 to have it computed",
        )
    return reshape_op(x, shape=(*x.shape[:at], *parts, *x.shape[at + 1 :]))


def swapaxes(input: Any, axis0: int, axis1: int) -> Any:
    """Two axes swapped; a view. NumPy's name for `transpose`."""
    return transpose(input, axis0, axis1)


def t(input: Any) -> Any:
    """A matrix with its axes swapped; a view. Raises `ShapeError` for more than two axes."""
    x = as_tensor(input)
    if x.ndim > 2:
        tried, mend = f"t() of a tensor {tuple(x.shape)}", "use mT for the last two axes, or permute()"
        raise ShapeError(tried, f"it has {x.ndim} axes, but t() swaps the two of a matrix", mend)
    return permute_op(x, dims=tuple(range(x.ndim))[::-1])


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """The axes ``source`` moved to the places ``destination``, the others kept in their order; a view."""
    x = as_tensor(input)
    old, new = (axes_of(x, dims if isinstance(dims, (tuple, list)) else (dims,)) for dims in (source, destination))
    if len(old) != len(new):
        tried = f"movedim({source}, {destination}) of a tensor {tuple(x.shape)}"
        raise ShapeError(tried, f"{len(old)} axes cannot go to {len(new)} places", "name a place for each axis")
    moved, others = dict(zip(new, old, strict=True)), (i for i in range(x.ndim) if i not in old)
    return permute_op(x, dims=tuple(moved[i] if i in moved else next(others) for i in range(x.ndim)))


moveaxis = movedim


def broadcast_to(input: Any, *given: Any, size: Any = None) -> Any:
    """`expand` under NumPy's name."""
    return expand(input, *given, size=size)


def expand_as(input: Any, other: Any) -> Any:
    """`expand` to the shape of ``other``."""
    return expand(input, tuple(other.shape))


def hstack(tensors: Any) -> Any:
    """Tensors joined from left to right: vectors end to end, others along axis 1. Raises as `cat` does.

    >>> import tinygrad_edu as tg
    >>> tg.hstack([tg.zeros(2, 1), tg.ones(2, 2)])
    tensor([[0., 1., 1.],
            [0., 1., 1.]])
    """
    parts = [part if part.ndim else part.reshape(1) for part in several("hstack", tensors)]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(tensors: Any) -> Any:
    """Tensors joined one below the other, along axis 0; a vector is a row. Raises as `cat` does.

    >>> import tinygrad_edu as tg
    >>> tg.vstack([tg.zeros(2), tg.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    return cat([part if part.ndim > 1 else part.reshape(1, -1) for part in several("vstack", tensors)], 0)


def dstack(tensors: Any) -> Any:
    """Tensors joined one behind the other, along axis 2; a matrix (n, m) is (n, m, 1) there, a vector (1, n, 1).

    Raises as `cat` does.
    """
    parts = [part if part.ndim > 1 else part.reshape(1, -1) for part in several("dstack", tensors)]
    return cat([part if part.ndim > 2 else part.unsqueeze(-1) for part in parts], 2)


def column_stack(tensors: Any) -> Any:
    """Tensors side by side as columns: a vector is one column, a matrix several. Raises as `cat` does.

    >>> import tinygrad_edu as tg
    >>> tg.column_stack([tg.zeros(2), tg.ones(2, 2)])
    tensor([[0., 1., 1.],
            [0., 1., 1.]])
    """
    return cat([part if part.ndim > 1 else part.reshape(-1, 1) for part in several("column_stack", tensors)], 1)


def atleast_1d(*tensors: Any) -> Any:
    """The tensor itself, or a number (0-d) as a vector of one element; a view. A tuple of tensors gives a tuple."""
    return _each(lambda x: x if x.ndim else reshape_op(x, shape=(1,)), tensors)


def atleast_2d(*tensors: Any) -> Any:
    """The tensor with at least two axes: a vector (n,) as a row (1, n); a view. A tuple of tensors gives a tuple."""
    return _each(lambda x: x if x.ndim > 1 else reshape_op(x, shape=(1, *(x.shape or (1,)))), tensors)


def atleast_3d(*tensors: Any) -> Any:
    """The tensor with at least three axes: (n,) as (1, n, 1), (n, m) as (n, m, 1); a view. A tuple gives a tuple."""

    def cube(x: Any) -> Any:
        if x.ndim > 2:
            return x
        return reshape_op(x, shape=(*x.shape, 1) if x.ndim == 2 else (1, *(x.shape or (1,)), 1))

    return _each(cube, tensors)


def _each(change: Any, given: tuple[Any, ...]) -> Any:
    """``change`` of one tensor, or of each of several: ``f(x)``, ``f(x, y)`` or ``f((x, y))``."""
    if len(given) == 1 and isinstance(given[0], (tuple, list)):
        given = tuple(given[0])
    elif len(given) == 1:
        return change(as_tensor(given[0]))
    return tuple(change(as_tensor(x)) for x in given)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape; one that has it already is returned itself.

    Raises `ShapeError` for shapes that cannot be broadcast.
    """
    parts = [as_tensor(part) for part in tensors]
    shapes = [tuple(part.shape) for part in parts]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"broadcast_tensors of {', '.join(map(str, shapes))}",
            "from the last axis on, sizes must be equal, and only a 1 can be stretched",
            "give the shorter ones axes of length 1 where they lack them: x.unsqueeze(…)",
        ) from None
    return tuple(part if tuple(part.shape) == shape else expand_op(part, shape=shape) for part in parts)


explain_all(globals(), "view", "t", "contiguous", "swapaxes")
