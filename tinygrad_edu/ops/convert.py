"""The same values in another dtype, or in memory of their own."""

from __future__ import annotations

from typing import Any

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
    """A copy in memory of its own."""

    computes = False
    dtypes = "each"

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return xp.copy(x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g


cast, clone = caller(Cast), caller(Clone)
