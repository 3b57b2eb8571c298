"""Reading and writing by index. Slices and ints give views; integer and boolean tensors give copies."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.graph import unbroadcast
from ..core.op import Op

# mypy: disable-error-code="override"


class GetItem(Op, name="getitem"):
    """``x[index]``. The gradient goes back to where each element was read, and adds where one was read twice."""

    computes = False
    dtypes = "each"
    view = True
    saves = ("x.shape", "index")

    @staticmethod
    def forward(xp: Any, x: Any, *, index: Any) -> Any:
        return x[index]

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, index: Any) -> Any:
        return xp.scatter_add(shape, index, g)


class ScatterAdd(Op, name="scatter_add_at"):
    """``values`` added at ``zeros(shape)[index]``: the adjoint of reading by index."""

    dtypes = "each"
    saves = ("index",)

    @staticmethod
    def forward(xp: Any, values: Any, *, shape: Any, index: Any) -> Any:
        return xp.scatter_add(shape, index, values)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, index: Any) -> Any:
        return g[index]


class Put(Op):
    """A copy of ``x`` with ``x[index] = values``. What was overwritten gets no gradient."""

    computes = False
    dtypes = "each"
    saves = ("index", "values.shape")

    @staticmethod
    def forward(xp: Any, x: Any, values: Any, *, index: Any) -> Any:
        return xp.put(x, index, values)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, index: Any, shape: Any) -> Any:
        read = g[index]
        gx = xp.put(g, index, xp.zeros_like(read)) if needs[0] else None
        if not needs[1]:
            return gx, None
        lead = max(len(shape) - read.ndim, 0)  # NumPy lets what is written have more axes, of length 1, in front
        gv = unbroadcast(xp, read, shape[lead:])
        return gx, xp.reshape(gv, shape) if lead else gv


class TakeAlong(Op, name="take_along_dim"):
    """``x`` read at ``indices`` along ``dim``; the shapes agree but for that axis."""

    computes = False
    dtypes = "each"
    saves = ("x.shape", "indices", "dim")

    @staticmethod
    def forward(xp: Any, x: Any, indices: Any, *, dim: int) -> Any:
        return xp.take_along_axis(x, indices, dim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, indices: Any, dim: int) -> Any:
        return xp.scatter_add(shape, _along(xp, indices, dim), g), None


def _along(xp: Any, indices: Any, dim: int) -> tuple[Any, ...]:
    """The full index that ``take_along_axis(x, indices, dim)`` stands for: a range along every other axis."""
    rank = indices.ndim
    ranges = [
        xp.reshape(xp.arange(size), (1,) * i + (size,) + (1,) * (rank - 1 - i)) for i, size in enumerate(indices.shape)
    ]
    ranges[dim] = indices
    return tuple(ranges)


getitem, scatter_add_at, put = caller(GetItem), caller(ScatterAdd), caller(Put)
take_along_dim_op = caller(TakeAlong)
