"""Elements repeated, reversed, shifted or blanked out, in new memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backends
from ..backends import room
from ..core.above import above
from ..core.base import TensorBase
from ..core.dispatch import caller
from ..core.op import Op
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import as_tensor, axis, whole
from ..inputs.kinds import explain_all
from .convert import clone
from .index import write
from .movement import axes_of, listed, reshape_op, transpose
from .parts import diagonal, diagonal_op

# mypy: disable-error-code="override"


class Repeat(Op):
    """The whole tensor repeated along each axis, in new memory. New axes may come in front."""

    computes = False
    dtypes = "each"
    saves = ("x.shape", "repeats")

    @staticmethod
    def forward(xp: Any, x: Any, *, repeats: Any) -> Any:
        shape = _padded(x.shape, repeats)
        apart = [n for size in shape for n in (1, size)]
        copies = xp.contiguous(xp.copy(xp.broadcast_to(xp.reshape(x, tuple(apart)), _interleaved(shape, repeats))))
        return xp.reshape(copies, tuple([n * size for n, size in zip(repeats, shape, strict=True)]))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, repeats: Any) -> Any:
        if not repeats:
            return g
        copies = xp.reshape(g, _interleaved(_padded(shape, repeats), repeats))
        return xp.reshape(xp.sum(copies, tuple(range(0, 2 * len(repeats), 2)), False), shape)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return "a number of repeats is negative", "repeat 0 times or more"


def _padded(shape: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[int, ...]:
    """``shape`` with an axis for each of ``repeats``."""
    return (*(1,) * (len(repeats) - len(shape)), *shape)


def _interleaved(shape: tuple[int, ...], repeats: tuple[int, ...]) -> tuple[int, ...]:
    """Each axis after one that counts its repeats."""
    return tuple([n for pair in zip(repeats, shape, strict=True) for n in pair])


class RepeatInterleave(Op, name="repeat_interleave"):
    """The slices of ``dim`` at the positions ``index``, in new memory."""

    computes = False
    dtypes = "each"
    saves = ("x.shape", "dim", "index")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int, index: Any) -> Any:
        return xp.contiguous(x[(*(slice(None),) * dim, index)])

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, dim: int, index: Any) -> Any:
        return xp.scatter_add(shape, (*(slice(None),) * dim, index), g)


class Flip(Op):
    """The axes ``dims`` reversed, in new memory."""

    computes = False
    dtypes = "each"
    saves = ("dims",)

    @staticmethod
    def forward(xp: Any, x: Any, *, dims: Any) -> Any:
        return xp.copy(x[_backwards(x.ndim, dims)])

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, dims: Any) -> Any:
        return g[_backwards(g.ndim, dims)]


def _backwards(ndim: int, dims: tuple[int, ...]) -> tuple[Any, ...]:
    return (*(slice(None, None, -1 if i in dims else None) for i in range(ndim)), ...)


class Roll(Op):
    """Elements moved along ``dims`` by ``shifts``; those that leave at one end come in at the other.

    Without ``dims``, the tensor counts as one long row.
    """

    computes = False
    dtypes = "each"
    saves = ("shifts", "dims")

    @staticmethod
    def forward(xp: Any, x: Any, *, shifts: Any, dims: Any = ()) -> Any:
        return xp.contiguous(_rolled(xp, x, shifts, dims), x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shifts: Any, dims: Any) -> Any:
        return _rolled(xp, g, tuple([-shift for shift in shifts]), dims)


def _rolled(xp: Any, x: Any, shifts: Any, dims: Any) -> Any:
    if not dims:
        return xp.reshape(_rolled(xp, xp.reshape(x, (-1,)), shifts, (0,)), x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        before, size = (slice(None),) * dim, x.shape[dim]
        cut = size - shift % size if size else 0
        parts = (x[(*before, slice(cut, None))], x[(*before, slice(0, cut))])
        x = xp.concatenate(parts, dim)
    return x


class Tril(Op):
    """The last two axes as matrices, with zeros above the diagonal number ``diagonal``."""

    computes = False
    dtypes = "each"
    saves = ("diagonal",)

    @staticmethod
    def forward(xp: Any, x: Any, *, diagonal: int = 0) -> Any:
        return xp.contiguous(xp.where(_column_minus_row(xp, x) <= diagonal, x, xp.zeros((), x.dtype)))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, diagonal: int) -> Any:
        return xp.where(_column_minus_row(xp, g) <= diagonal, g, xp.zeros((), g.dtype))


class Triu(Op):
    """The last two axes as matrices, with zeros below the diagonal number ``diagonal``."""

    computes = False
    dtypes = "each"
    saves = ("diagonal",)

    @staticmethod
    def forward(xp: Any, x: Any, *, diagonal: int = 0) -> Any:
        return xp.contiguous(xp.where(_column_minus_row(xp, x) >= diagonal, x, xp.zeros((), x.dtype)))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, diagonal: int) -> Any:
        return xp.where(_column_minus_row(xp, g) >= diagonal, g, xp.zeros((), g.dtype))


def _column_minus_row(xp: Any, x: Any) -> Any:
    rows, columns = x.shape[-2], x.shape[-1]
    return xp.reshape(xp.arange(columns), (1, columns)) - xp.reshape(xp.arange(rows), (rows, 1))


class Diag(Op):
    """A matrix of zeros with the elements of a vector on its diagonal number ``diagonal``."""

    computes = False
    dtypes = "each"
    saves = ("diagonal",)

    @staticmethod
    def forward(xp: Any, x: Any, *, diagonal: int = 0) -> Any:
        down, right = max(-diagonal, 0), max(diagonal, 0)
        along = xp.arange(x.shape[0])
        size = x.shape[0] + down + right
        return xp.scatter_add((size, size), (along + down, along + right), x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, diagonal: int) -> Any:
        return xp.diagonal(g, diagonal, 0, 1)


repeat_op, repeat_interleave_op, flip_op = caller(Repeat), caller(RepeatInterleave), caller(Flip)
roll_op, tril_op, triu_op, diag_op = caller(Roll), caller(Tril), caller(Triu), caller(Diag)


def repeat(input: Any, *given: Any, repeats: Any = None) -> Any:
    """The whole tensor repeated so many times along each axis, in new memory. New axes may come in front.

    Raises `ShapeError` for fewer numbers than there are axes.
    """
    x, times = as_tensor(input), listed("repeat", given, repeats)
    if len(times) < x.ndim:
        raise ShapeError(
            f"repeat{times} of a tensor {tuple(x.shape)}",
            f"it has {x.ndim} axes, and each needs a number of repeats",
            "use tile(), which repeats the last axes, or 1 for an axis that stays as it is",
        )
    return repeat_op(x, repeats=times)


def tile(input: Any, *given: Any, dims: Any = None) -> Any:
    """`repeat`, with 1 for the leading axes where there are fewer numbers than axes."""
    x, times = as_tensor(input), listed("tile", given, dims)
    return repeat_op(x, repeats=(*(1,) * (x.ndim - len(times)), *times))


def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Each element of ``dim`` repeated so many times in a row; without ``dim``, each element of the tensor.

    ``repeats`` is a number, or a tensor with one for each element. Given alone, as in ``repeat_interleave(repeats)``,
    the result holds the positions: 0 so many times, then 1 and so on. Raises `ShapeError` where the numbers do not fit.
    """
    x = as_tensor(input)
    if repeats is None:
        times = _times(x, x.shape[0] if x.ndim == 1 else -1)
        positions = np.repeat(np.arange(x.shape[0], dtype=x.dtype), times)
        _whole(positions, output_size)
        return above.as_tensor(positions, device=x.device)
    if dim is None:
        x, dim = reshape_op(x, shape=(-1,)), 0
    elif not x.ndim:
        x = reshape_op(x, shape=(1,))
    at = axis(x, dim, x.ndim)
    index = np.repeat(np.arange(x.shape[at]), _times(repeats, x.shape[at]))
    _whole(index, output_size)
    return repeat_interleave_op(x, dim=at, index=index)


def _times(repeats: Any, count: int) -> Any:
    """The numbers of repeats as an array, for ``count`` elements."""
    tried = f"repeat_interleave of {count} elements"
    if isinstance(repeats, TensorBase):
        times = np.asarray(backends.of(repeats.array).to_numpy(repeats.array))
        tried += f" with repeats {tuple(times.shape)} {times.dtype}"
    else:
        times = np.asarray(repeats)
        tried += f" with repeats={repeats!r}"
    if times.dtype.kind != "i":
        raise DtypeError(tried, "numbers of repeats are integers", "pass an int, or an integer tensor")
    if count < 0 or times.ndim > 1 or (times.ndim and times.shape[0] not in (1, count)):
        raise ShapeError(tried, "each element needs one number", "pass one for all, or as many as elements")
    if times.size and times.min() < 0:
        raise ArgumentError(tried, "a number of repeats is negative", "repeat 0 times or more")
    room.check(tried, (sum(times.tolist()),) if times.ndim else (int(times), count), 8)
    return times


def _whole(index: Any, output_size: int | None) -> None:
    if output_size is not None and output_size != len(index):
        tried, why = f"repeat_interleave(output_size={output_size})", f"the repeats add up to {len(index)}"
        raise ShapeError(tried, why, "leave output_size out, or give that number")


def flip(input: Any, *given: Any, dims: Any = None) -> Any:
    """The axes ``dims`` reversed, in new memory: PyTorch has no views that go backwards."""
    x = as_tensor(input)
    return flip_op(x, dims=axes_of(x, listed("flip", given, dims)))


def roll(input: Any, shifts: Any, dims: Any = ()) -> Any:
    """Elements moved along ``dims`` by ``shifts``; those that leave at one end come in at the other.

    Without ``dims``, the tensor is rolled as one long row. Raises `ShapeError` for another number of shifts than axes.
    """
    x = as_tensor(input)
    steps = listed("roll", (shifts,), None)
    along = () if dims is None else tuple(axis(x, dim, x.ndim) for dim in listed("roll", (dims,), None))
    if len(steps) != max(len(along), 1):
        tried, why = (
            f"roll({shifts}, {dims}) of a tensor {tuple(x.shape)}",
            f"{len(steps)} shifts for {len(along)} axes",
        )
        raise ShapeError(tried, why, "give each axis one shift, or one shift and no axes")
    return roll_op(x, shifts=steps, dims=along)


def tril(input: Any, diagonal: int = 0) -> Any:
    """The last two axes as matrices, with zeros above the diagonal; ``diagonal=1`` keeps one more, -1 one less."""
    return tril_op(_matrices("tril", input), diagonal=diagonal)


def triu(input: Any, diagonal: int = 0) -> Any:
    """The last two axes as matrices, with zeros below the diagonal; ``diagonal=1`` keeps one less, -1 one more."""
    return triu_op(_matrices("triu", input), diagonal=diagonal)


def _matrices(name: str, x: Any) -> Any:
    x = as_tensor(x)
    if x.ndim < 2:
        tried, why = f"{name} of a tensor {tuple(x.shape)}", "a triangle needs rows and columns"
        raise ShapeError(tried, why, "give it two axes: x.unsqueeze(0)")
    return x


def diag(input: Any, diagonal: int = 0) -> Any:
    """For a vector, a matrix with it on the diagonal; for a matrix, a copy of its diagonal.

    Raises `ShapeError` for any other number of axes. For the diagonals of many matrices there is `diagonal`.
    """
    x = as_tensor(input)
    if x.ndim == 1:
        size = x.shape[0] + abs(whole(f"diag of a tensor {tuple(x.shape)}", "diagonal", diagonal))
        room.check(f"diag of a tensor {tuple(x.shape)}", (size, size), x.dtype.itemsize)
        return diag_op(x, diagonal=diagonal)
    if x.ndim == 2:
        return clone(diagonal_op(x, offset=diagonal, dim1=0, dim2=1))
    tried, why = f"diag of a tensor {tuple(x.shape)}", f"it has {x.ndim} axes, but diag() takes vectors and matrices"
    raise ShapeError(tried, why, "use diagonal(dim1=-2, dim2=-1) for many matrices")


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the last axis of ``input`` on their diagonal, and zeros elsewhere: the reverse of `diagonal`.

    (…, n) becomes (…, m, m), with m = n + abs(offset); ``dim1`` and ``dim2`` are the axes of the result that hold the
    rows and the columns. A positive ``offset`` begins that many columns to the right, a negative one that many rows
    further down.

    >>> import tinygrad_edu as tg
    >>> tg.diag_embed(tg.tensor([[1.0, 2.0], [3.0, 4.0]])).shape
    (2, 2, 2)
    """
    x = as_tensor(input)
    tried = f"diag_embed of a tensor {tuple(x.shape)}"
    if not x.ndim:
        raise ShapeError(tried, "it has no axis to put on a diagonal", "give it one: x.unsqueeze(0)")
    first, second = axis(x, dim1, x.ndim + 1), axis(x, dim2, x.ndim + 1)
    if first == second:
        raise ShapeError(f"{tried} with dim1={dim1} and dim2={dim2}", "both are the same axis", "name two axes")
    size, lead = x.shape[-1] + abs(whole(tried, "offset", offset)), iter(x.shape[:-1])
    shape = tuple(size if i in (first, second) else next(lead) for i in range(x.ndim + 1))
    room.check(tried, shape, x.dtype.itemsize)
    made = above.wrap(backends.of(x.array).xp.zeros(shape, x.dtype))
    write(diagonal(made, offset, first, second), ..., x, "diag_embed")
    return made


def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Turned ``k`` times by a right angle, from the first of ``dims`` towards the second; a copy.

    Raises `ShapeError` unless ``dims`` are two axes of the tensor.

    >>> import tinygrad_edu as tg
    >>> tg.rot90(tg.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    x = as_tensor(input)
    tried = f"rot90 of a tensor {tuple(x.shape)} with dims={dims!r}"
    turns = whole(tried, "k", k) % 4
    named = listed("rot90", (tuple(dims),), None)
    if len(named) != 2 or x.ndim < 2:
        why = f"a plane has two axes, and {'dims names' if x.ndim > 1 else 'the tensor has'} "
        raise ShapeError(tried, why + str(len(named) if x.ndim > 1 else x.ndim), "name two axes: dims=(0, 1)")
    first, second = axes_of(x, named)
    if turns in (0, 2):
        return flip_op(x, dims=(first, second)) if turns else clone(x)
    return flip_op(transpose(x, first, second), dims=(first if turns == 1 else second,))


def fliplr(input: Any) -> Any:
    """The columns in reverse, axis 1; a copy. Raises `ShapeError` for fewer than two axes."""
    return _flipped("fliplr", input, 1)


def flipud(input: Any) -> Any:
    """The rows in reverse, axis 0; a copy. Raises `ShapeError` for a 0-d tensor."""
    return _flipped("flipud", input, 0)


def _flipped(name: str, x: Any, at: int) -> Any:
    x = as_tensor(x)
    if x.ndim <= at:
        tried, why = f"{name} of a tensor {tuple(x.shape)}", f"it has no axis {at} to reverse"
        raise ShapeError(tried, why, "flip() takes the axis to reverse: flip(x, 0)" if at else "give it an axis")
    return flip_op(x, dims=(at,))


explain_all(globals())
