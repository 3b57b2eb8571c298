"""The same values in another dtype, in new memory or in another order."""

from __future__ import annotations

from typing import Any

from .. import backends
from ..backends.layout import lay
from ..core.above import above
from ..core.dispatch import caller
from ..core.op import Op

# mypy: disable-error-code="override"


class Cast(Op):
    """The same values in another dtype. The gradient comes back in the operand's own."""

    computes = False
    converts = True
    dtypes = "each"
    saves = ("x.dtype",)

    @staticmethod
    def forward(xp: Any, x: Any, *, dtype: Any) -> Any:
        return xp.astype(x, dtype)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, dtype: Any) -> Any:
        return xp.astype(g, dtype)


class Clone(Op):
    """A copy in new memory, with the axes in the same order there."""

    computes = False
    dtypes = "each"

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.copy(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g


class Contiguous(Op):
    """The same elements in row-major order."""

    computes = False
    dtypes = "each"

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.contiguous(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g


cast, clone, contiguous_op = caller(Cast), caller(Clone), caller(Contiguous)


def contiguous(input: Any) -> Any:
    """Itself when its elements lie in row-major order already, else a copy in which they do."""
    return input if input.is_contiguous() else contiguous_op(input)


def laid(x: Any, made: Any) -> Any:
    """A new tensor whose axes are in the same order in memory as those of ``x``."""
    if x.array.ndim < 2 or x.is_contiguous():
        return made
    return above.wrap(lay(backends.of(made.array).xp, made.array, x.array.strides))
