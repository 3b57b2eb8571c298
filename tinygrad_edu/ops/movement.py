"""Operations that only rearrange. Most give views: new shape and strides over the same bytes."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from .. import backends
from ..common.wording import shown
from ..core.base import TensorBase
from ..core.dispatch import caller, slow_caller
from ..core.graph import unbroadcast
from ..core.op import Op
from ..errors import DtypeError, EduError, ShapeError
from ..inputs.arguments import as_tensor, axis, sizes, whole
from ..inputs.kinds import explain_all, kind_of

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
        wanted = tuple(params["shape"])
        if wanted.count(-1) > 1:
            return f"{wanted} leaves more than one size open", "give all sizes but one"
        count = math.prod(shapes[0])
        if -1 not in wanted:
            why = f"{shapes[0]} has {count} elements, and {wanted} needs another number"
            return why, "let one size be -1 to have it computed"
        known = -math.prod(wanted)
        if not known:
            return f"{shapes[0]} has no elements, so any size would do for the -1", "give all sizes"
        why = f"{shapes[0]} has {count} elements, which is not a multiple of {known}"
        return why, "check the sizes; to join all axes after the first, use flatten(1)"


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

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        count = len(shapes[0])
        return (
            f"{shapes[0]} has {count} axes, but {tuple(params['dims'])} does not name each of them once",
            f"order all of {tuple(range(count))}",
        )


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

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, wanted = shapes[0], tuple(params["shape"])
        if min(wanted, default=0) < 0:
            return f"{wanted} asks for a negative number of elements", "use sizes from 0 up; -1 keeps an axis as it is"
        for back, (n, size) in enumerate(zip(reversed(x), reversed(wanted), strict=False), 1):
            if n not in (1, size):
                return (
                    f"axis {-back} has {n} elements, but only axes of length 1 can be stretched",
                    "give it an axis of length 1 where one is missing: x.unsqueeze(…)",
                )
        return None


class Cat(Op):
    """Tensors joined along an existing axis, in new memory. Those of shape (0,) are skipped."""

    computes = False
    saves = ("xs.shape", "dim")

    @staticmethod
    def forward(xp: Any, *xs: Any, dim: int = 0) -> Any:
        filled = tuple(x for x in xs if tuple(x.shape) != (0,))
        return xp.concatenate(filled, dim) if filled else xp.concatenate(xs, 0)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shapes: Any, dim: int) -> Any:
        parts, start = [], 0
        before = (slice(None),) * (dim % g.ndim)
        for shape in shapes:
            if tuple(shape) == (0,):
                parts.append(xp.reshape(g[(*before, slice(0, 0))], (0,)))
                continue
            stop = start + shape[dim]
            parts.append(g[(*before, slice(start, stop))])
            start = stop
        return tuple(parts)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        shapes = [shape for shape in shapes if shape != (0,)]
        dim, ranks = params["dim"], {len(shape) for shape in shapes}
        if 0 in ranks:
            return "a 0-d tensor has no axis to join along", "use stack(), which makes a new axis"
        count = min(ranks)
        if len(ranks) > 1:
            why = f"the shapes {', '.join(map(str, shapes))} have {' and '.join(map(str, sorted(ranks)))} axes"
            return why, "give them the same number of axes: x.unsqueeze(0), or x.unsqueeze(-1)"
        if not -count <= dim < count:
            axes = "1 axis" if count == 1 else f"{count} axes"
            mend = "use stack(), which makes a new axis" if count == 1 else f"join along 0 to {count - 1}"
            return f"they have {axes}, so there is no axis {dim}", mend
        return (
            f"the shapes {', '.join(map(str, shapes))} differ in more than axis {dim}",
            "make the other axes equal, or join along another axis",
        )


class Stack(Op):
    """Tensors of one shape, side by side along a new axis ``dim``, counted from 0."""

    computes = False
    saves = ("dim",)

    @staticmethod
    def forward(xp: Any, *xs: Any, dim: int = 0) -> Any:
        slices = [xp.reshape(x, (*x.shape[:dim], 1, *x.shape[dim:])) for x in xs]
        return xp.contiguous(xp.concatenate(tuple(slices), dim))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, dim: int) -> Any:
        before = (slice(None),) * dim
        return tuple(g[(*before, i)] for i in range(g.shape[dim]))

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return (
            f"the shapes {', '.join(map(str, shapes))} are not all the same",
            "make them equal, or join along an axis that they have: cat()",
        )


class Transfer(Op):
    """The same values on another device. The gradient travels back.

    Two worlds meet here, so this is the one body that uses backends and not only ``xp``.
    """

    computes = False
    crosses = True
    dtypes = "each"
    saves = ("home",)

    @staticmethod
    def forward(xp: Any, x: Any, *, home: str, device: str, non_blocking: bool = False) -> Any:
        return _carry(x, device, non_blocking)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, home: str) -> Any:
        return transfer(g, home) if isinstance(g, TensorBase) else _carry(g, home)


def _carry(array: Any, device: str, non_blocking: bool = False) -> Any:
    return backends.get(device).take(array, backends.of(array), non_blocking)


_transfer = slow_caller(Transfer)


def transfer(x: Any, device: str, non_blocking: bool = False) -> Any:
    """A tensor's values on ``device``. The host may go on before they are there, where the device can do that."""
    return _transfer(x, home=x.device, device=device, non_blocking=non_blocking)


reshape_op, permute_op, expand_op = caller(Reshape), caller(Permute), caller(Expand)
cat_op, stack_op = caller(Cat), caller(Stack)


def listed(name: str, given: tuple[Any, ...], keyword: Any) -> tuple[int, ...]:
    """The integers of ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""
    values = sizes(given if keyword is None else (*given, keyword))
    if not given and keyword is None:
        mend = f"pass integers, one by one or as a tuple: {name}((2, 3))"
        raise DtypeError(f"{name}()", "no sizes or axes were given", mend)
    if all(type(value) is int for value in values):
        return values
    try:
        if not any(isinstance(value, bool) for value in values):
            return tuple(index(value) for value in values)
    except TypeError:
        pass
    tried = f"{name}({', '.join(map(repr, values))})"
    raise DtypeError(tried, "these are not all integers", "pass integers, or one tuple of them") from None


def axes_of(x: Any, given: Any) -> tuple[int, ...]:
    """Axes counted from 0, each named once. A 0-d tensor counts as having one here, as in PyTorch."""
    found = tuple(axis(x, dim, max(x.ndim, 1)) for dim in given)
    if len(set(found)) < len(found):
        tried, why = f"dims {tuple(given)} of a tensor {tuple(x.shape)}", "they name one axis twice"
        raise ShapeError(tried, why, "name each axis once")
    return found


def reshape(input: Any, *given: Any, shape: Any = None) -> Any:
    """The same elements in another shape: a view where that is possible, else a copy. One size may be -1.

    Raises `ShapeError` where the number of elements does not fit the shape.

    >>> import tinygrad_edu as tg
    >>> tg.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    wanted = listed("reshape", given, shape)
    if min(wanted, default=0) < -1:
        raise ShapeError(f"reshape{wanted}", "a size is negative", "let one size be -1 to have it computed")
    return reshape_op(input, shape=wanted)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """The axes from ``start_dim`` to ``end_dim`` as one; itself where that changes nothing."""
    x = as_tensor(input)
    start, end = (axis(x, dim, max(x.ndim, 1)) for dim in (start_dim, end_dim))
    if start > end:
        tried = f"flatten({start_dim}, {end_dim}) of a tensor {tuple(x.shape)}"
        raise ShapeError(tried, "its first axis comes after its last", f"flatten({end_dim}, {start_dim})")
    if x.ndim and start == end:
        return x
    return reshape_op(x, shape=(*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def squeeze(input: Any, dim: int | tuple[int, ...] | None = None) -> Any:
    """The tensor without its axes of length 1, or without those of ``dim`` that have length 1; a view.

    >>> import tinygrad_edu as tg
    >>> tg.zeros(1, 3, 1).squeeze().shape, tg.zeros(1, 3, 1).squeeze(0).shape
    ((3,), (3, 1))
    """
    x = as_tensor(input)
    every = range(x.ndim) if dim is None else dim
    drop = axes_of(x, every if isinstance(every, (tuple, list, range)) else (every,))
    return reshape_op(x, shape=tuple(n for i, n in enumerate(x.shape) if n != 1 or i not in drop))


def unsqueeze(input: Any, dim: int) -> Any:
    """The tensor with a new axis of length 1 at ``dim``; a view."""
    x = as_tensor(input)
    at = axis(x, dim, x.ndim + 1)
    return reshape_op(x, shape=(*x.shape[:at], 1, *x.shape[at:]))


def permute(input: Any, *given: Any, dims: Any = None) -> Any:
    """The axes in the given order; a view.

    >>> import tinygrad_edu as tg
    >>> tg.zeros(2, 3, 4).permute(2, 0, 1).shape
    (4, 2, 3)
    """
    x = as_tensor(input)
    return permute_op(x, dims=axes_of(x, listed("permute", given, dims) if given or dims is not None else ()))


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two axes swapped; a view."""
    x = as_tensor(input)
    order = list(range(x.ndim))
    a, b = (axis(x, dim, max(x.ndim, 1)) for dim in (dim0, dim1))
    if order:
        order[a], order[b] = b, a
    return permute_op(x, dims=tuple(order))


def expand(input: Any, *given: Any, size: Any = None) -> Any:
    """Axes of length 1 stretched without copying; -1 keeps an axis as it is. New axes may come in front. A view.

    Raises `ShapeError` for an axis that would change although its length is not 1.

    >>> import tinygrad_edu as tg
    >>> tg.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    x = as_tensor(input)
    wanted = listed("expand", given, size)
    lead = len(wanted) - x.ndim
    if lead < 0 or -1 in wanted[:lead]:
        few = f"{len(wanted)} sizes do not name all of its {x.ndim} axes"
        raise ShapeError(
            f"expand{wanted} of a tensor {tuple(x.shape)}",
            few if lead < 0 else "-1 keeps an axis as it is, but a new axis has no length yet",
            "give every axis of the result a size; -1 keeps the length of an existing one",
        )
    return expand_op(x, shape=tuple(x.shape[i - lead] if n == -1 else n for i, n in enumerate(wanted)))


def several(name: str, tensors: Any) -> list[Any]:
    """The tensors to join. Raises `DtypeError` for one that is not in a list, `ShapeError` for an empty list."""
    if isinstance(tensors, TensorBase):
        mend = f"put them into a list: {name}([x, y])"
        raise DtypeError(f"{name} of one tensor", "it takes a list of tensors to join", mend)
    if not isinstance(tensors, (list, tuple)):
        try:
            tensors = list(tensors)
        except TypeError:
            why = f"tensors takes a list of tensors, but this is {kind_of(tensors)}"
            raise DtypeError(f"{name} of {shown(tensors)}", why, f"put them into a list: {name}([x, y])") from None
    if not len(tensors):
        raise ShapeError(f"{name} of no tensors", "there is nothing to take a shape from", "pass at least one tensor")
    try:
        return [as_tensor(part) for part in tensors]
    except EduError as error:
        raise type(error)(f"{name} with {error.tried} among its tensors", error.why, error.mend) from None


def cat(tensors: Any, dim: int = 0) -> Any:
    """Tensors joined along ``dim``, in the dtype in which they meet. Those of shape (0,) are skipped.

    Raises `ShapeError` when the other axes differ, or for an empty list.

    >>> import tinygrad_edu as tg
    >>> tg.cat([tg.zeros(2, 1), tg.ones(2, 2)], dim=1)
    tensor([[0., 1., 1.],
            [0., 1., 1.]])
    """
    return cat_op(*several("cat", tensors), dim=dim if type(dim) is int else whole("cat", "dim", dim))


concat = cat


def stack(tensors: Any, dim: int = 0) -> Any:
    """Tensors of one shape, side by side along a new axis. Raises `ShapeError` as `cat` does.

    >>> import tinygrad_edu as tg
    >>> tg.stack([tg.zeros(2), tg.ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    parts = several("stack", tensors)
    return stack_op(*parts, dim=axis(parts[0], dim, parts[0].ndim + 1))


explain_all(globals(), "reshape", "permute", "transpose", "expand", "listed", "axes_of", "transfer", "several")
