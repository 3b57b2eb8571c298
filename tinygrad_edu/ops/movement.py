"""Operations that only rearrange. Most give views: new shape and strides over the same bytes."""

from __future__ import annotations

from typing import Any

from .. import backends
from ..core.base import TensorBase
from ..core.dispatch import caller, slow_caller
from ..core.graph import unbroadcast
from ..core.op import Op

# mypy: disable-error-code="override"


class Reshape(Op):
    """The same elements in another shape: a view where the strides allow it, else a copy. One size may be -1."""

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

    dtypes = "each"
    view = True
    saves = ("x.shape",)

    @staticmethod
    def forward(xp: Any, x: Any, *, shape: Any) -> Any:
        return xp.broadcast_to(x, shape)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any) -> Any:
        return unbroadcast(xp, g, shape)


class Cat(Op):
    """Tensors joined along an existing axis, in memory of their own."""

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


reshape, permute, expand, cat = caller(Reshape), caller(Permute), caller(Expand), caller(Cat)
