"""Operations that only rearrange. Most give views: new shape and strides over the same bytes."""

from __future__ import annotations

import math
from typing import Any

from .. import backends
from ..arguments import as_tensor, axis, dims, sizes
from ..core.base import TensorBase
from ..core.dispatch import caller, slow_caller
from ..core.graph import unbroadcast
from ..core.op import Op
from ..errors import ShapeError

# mypy: disable-error-code="override"


class Reshape(Op):
    """The same elements in another shape: a view where the strides allow it, else a copy. One size may be -1."""

    computes = False
    dtypes = "each"
    view = True
    saves = ("x.shape",)

    @staticmethod
    def forward(xp: Any, x: Any, *, shape: Any) -> Any:
        return xp.reshape(x, shape)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any) -> Any:
        return xp.reshape(g, shape)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        count, wanted = 1, params["shape"]
        for size in shapes[0]:
            count *= size
        return (
            f"{shapes[0]} has {count} elements, which do not fill {tuple(wanted)}",
            "let one size be -1 to have it computed",
        )


class Permute(Op):
    """The axes in another order; always a view."""

    computes = False
    dtypes = "each"
    view = True
    saves = ("dims",)

    @staticmethod
    def forward(xp: Any, x: Any, *, dims: Any) -> Any:
        return xp.permute(x, dims)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, dims: Any) -> Any:
        back = [0] * len(dims)
        for new, old in enumerate(dims):
            back[old % len(dims)] = new
        return xp.permute(g, tuple(back))


class Expand(Op):
    """Axes of length 1 stretched to ``shape`` without copying: stride 0. The gradient is the sum over them."""

    computes = False
    dtypes = "each"
    view = True
    saves = ("x.shape",)

    @staticmethod
    def forward(xp: Any, x: Any, *, shape: Any) -> Any:
        return xp.broadcast_to(x, shape)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any) -> Any:
        return unbroadcast(xp, g, shape)


class Diagonal(Op):
    """The elements at equal positions of two axes, as a new last axis; a view. ``offset`` counts to the right."""

    dtypes = "each"
    computes = False
    view = True
    saves = ("x.shape", "offset", "dim1", "dim2")

    @staticmethod
    def forward(xp: Any, x: Any, *, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
        return xp.diagonal(x, offset, dim1, dim2)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
        length = g.shape[-1]
        along = xp.arange(length)
        index: list[Any] = [slice(None)] * len(shape)
        index[dim1], index[dim2] = along + max(-offset, 0), along + max(offset, 0)
        # Two index arrays with a slice between them make their axis the first; side by side it stays in its place.
        apart = max(dim1, dim2) - min(dim1, dim2) > 1
        target = 0 if apart else min(dim1, dim2)
        order = list(range(g.ndim - 1))
        order[target:target] = [g.ndim - 1]
        return xp.scatter_add(shape, tuple(index), xp.permute(g, tuple(order)))


class Unfold(Op):
    """All windows of ``size`` along ``dim``, ``step`` apart, as a new last axis; a view."""

    dtypes = "each"
    view = True
    saves = ("x.shape", "dim", "size", "step")

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: int, size: int, step: int) -> Any:
        return xp.windows(x, dim, size, step)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, dim: int, size: int, step: int) -> Any:
        count = g.shape[dim]
        starts = xp.reshape(xp.arange(count) * step, (count, 1))
        where = starts + xp.reshape(xp.arange(size), (1, size))
        order = (*range(dim + 1), g.ndim - 1, *range(dim + 1, g.ndim - 1))
        return xp.scatter_add(shape, ((slice(None),) * dim + (where,)), xp.permute(g, order))


class AsStrided(Op, name="as_strided"):
    """Any shape and strides, in elements, over a tensor in row-major order; a view. Elements may be seen twice."""

    dtypes = "each"
    view = True
    saves = ("x.shape", "size", "stride", "offset")

    @staticmethod
    def forward(xp: Any, x: Any, *, size: Any, stride: Any, offset: int = 0) -> Any:
        return xp.as_strided(x, size, stride, offset)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, size: Any, stride: Any, offset: int) -> Any:
        count = 1
        for n in shape:
            count *= n
        where = xp.as_strided(xp.arange(count), size, stride, offset)
        flat = xp.scatter_add((count,), (xp.reshape(where, (-1,)),), xp.reshape(g, (-1,)))
        return xp.reshape(flat, shape)


class Cat(Op):
    """Tensors joined along an existing axis, in memory of their own."""

    computes = False
    saves = ("xs.shape", "dim")

    @staticmethod
    def forward(xp: Any, *xs: Any, dim: int = 0) -> Any:
        return xp.concatenate(xs, dim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shapes: Any, dim: int) -> Any:
        parts, start = [], 0
        before = (slice(None),) * (dim % g.ndim)
        for shape in shapes:
            stop = start + shape[dim]
            parts.append(g[(*before, slice(start, stop))])
            start = stop
        return tuple(parts)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        dim, ranks = params["dim"], {len(shape) for shape in shapes}
        if 0 in ranks:
            return "a 0-d tensor has no axis to join along", "use stack(), which makes a new axis"
        if len(ranks) == 1 and not -min(ranks) <= dim < min(ranks):
            return f"they have {min(ranks)} axes, and there is no axis {dim}", f"join along 0 to {min(ranks) - 1}"
        return (
            f"the shapes {', '.join(map(str, shapes))} differ in more than axis {dim}",
            "make the other axes equal, or join along another axis",
        )


class Transfer(Op):
    """The same values on another device. The gradient travels back.

    Here two worlds meet, so this is the one body that names backends and not ``xp`` alone.
    """

    computes = False
    dtypes = "each"
    saves = ("home",)

    @staticmethod
    def forward(xp: Any, x: Any, *, home: str, device: str) -> Any:
        return _carry(x, device)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, home: str) -> Any:
        return transfer(g, home) if isinstance(g, TensorBase) else _carry(g, home)


def _carry(array: Any, device: str) -> Any:
    return backends.get(device).from_numpy(backends.of(array).to_numpy(array))


_transfer = slow_caller(Transfer)


def transfer(x: Any, device: str) -> Any:
    """A tensor's values on ``device``."""
    return _transfer(x, home=x.device, device=device)


reshape_op, permute_op, expand_op, cat_op = caller(Reshape), caller(Permute), caller(Expand), caller(Cat)
diagonal_op, unfold_op, as_strided_op = caller(Diagonal), caller(Unfold), caller(AsStrided)


def reshape(x: Any, *shape: Any) -> Any:
    """The same elements in another shape: a view where that is possible, else a copy. One size may be -1."""
    return reshape_op(x, shape=sizes(shape))


def permute(x: Any, *order: Any) -> Any:
    """The axes in the given order; a view."""
    return permute_op(x, dims=tuple(dims(x, dim) for dim in sizes(order)))


def transpose(x: Any, dim0: int, dim1: int) -> Any:
    """Two axes swapped; a view."""
    order = list(range(x.ndim))
    a, b = dims(x, dim0), dims(x, dim1)
    if order:
        order[a], order[b] = b, a
    return permute_op(x, dims=tuple(order))


def expand(x: Any, *shape: Any) -> Any:
    """Axes of length 1 stretched without copying; -1 keeps an axis as it is."""
    wanted = sizes(shape)
    lead = len(wanted) - x.ndim
    return expand_op(x, shape=tuple(x.shape[i - lead] if n == -1 else n for i, n in enumerate(wanted)))


def squeeze(x: Any, dim: int | None = None) -> Any:
    """Without its axes of length 1, or without ``dim`` if that has length 1; a view."""
    drop = range(x.ndim) if dim is None else (dims(x, dim),)
    return reshape_op(x, shape=tuple(n for i, n in enumerate(x.shape) if n != 1 or i not in drop))


def unsqueeze(x: Any, dim: int) -> Any:
    """With a new axis of length 1 at ``dim``; a view."""
    at = axis(x, dim, x.ndim + 1)
    return reshape_op(x, shape=(*x.shape[:at], 1, *x.shape[at:]))


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The axes from ``start_dim`` to ``end_dim`` as one."""
    if not x.ndim:
        return reshape_op(x, shape=(1,))
    start, end = dims(x, start_dim), dims(x, end_dim)
    middle = math.prod(x.shape[start : end + 1])
    return reshape_op(x, shape=(*x.shape[:start], middle, *x.shape[end + 1 :]))


def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors joined along ``dim``. Raises `ShapeError` when the other axes differ, or for an empty list."""
    if not len(tensors):
        raise ShapeError("cat of no tensors", "there is nothing to take a shape from", "pass at least one tensor")
    return cat_op(*tensors, dim=dim)


def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors of one shape, side by side along a new axis. Raises `ShapeError` as `cat` does."""
    return cat([unsqueeze(as_tensor(t), dim) for t in tensors], dim)
