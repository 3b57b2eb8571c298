"""Comparisons and other questions about each element. Answers are bools, and have no gradient."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase
from ..core.dispatch import caller
from ..core.op import Op, Params
from ..errors import ArgumentError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from .reduce import all_op

# mypy: disable-error-code="override"


class Compare:
    """Shared by comparisons: the operands meet in one dtype, the result is bool and has no gradient."""

    differentiable = False


class Eq(Compare, Op):
    """``x == y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x == y


class Ne(Compare, Op):
    """``x != y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x != y


class Lt(Compare, Op):
    """``x < y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x < y


class Le(Compare, Op):
    """``x <= y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x <= y


class Gt(Compare, Op):
    """``x > y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x > y


class Ge(Compare, Op):
    """``x >= y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x >= y


class Isnan(Compare, Op):
    """Whether x is nan, which is the only number that differs from itself."""

    dtypes = "each"

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return x != x


class Isinf(Compare, Op):
    """Whether x is infinite, of either sign."""

    dtypes = "each"
    per_element = 3

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return (x == INFINITY) | (x == -INFINITY)


class Isfinite(Compare, Op):
    """Whether x is neither infinite nor nan."""

    dtypes = "each"
    per_element = 3

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return _is_finite(x)


class Isclose(Compare, Op):
    """Whether x and y are equal, or finite and not further apart than ``atol + rtol * |y|``."""

    per_element = 18

    @staticmethod
    def forward(xp: Any, x: Any, y: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
        finite = _is_finite(x) & _is_finite(y)
        # What is not finite becomes 0 here, because infinity less infinity is nan. And 0.0 turns integers into floats.
        a, b = xp.where(finite, x, 0.0), xp.where(finite, y, 0.0)
        close = (x == y) | (finite & (xp.abs(a - b) <= xp.abs(b) * rtol + atol))
        return close | ((x != x) & (y != y)) if equal_nan else close


def _is_finite(x: Any) -> Any:
    return (x < INFINITY) & (x > -INFINITY)


INFINITY = float("inf")


class Logical(Compare):
    """Shared by questions about truth: every number but 0 is true, and dtypes may differ."""

    dtypes = "each"


class LogicalAnd(Logical, Op, name="logical_and"):
    """Whether neither is 0."""

    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return (x != 0) & (y != 0)


class LogicalOr(Logical, Op, name="logical_or"):
    """Whether one of them at least is not 0."""

    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return (x != 0) | (y != 0)


class LogicalXor(Logical, Op, name="logical_xor"):
    """Whether exactly one of them is 0."""

    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return (x != 0) ^ (y != 0)


class LogicalNot(Logical, Op, name="logical_not"):
    """Whether x is 0."""

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return x == 0


class Bitwise(Compare):
    """Shared by operations on bits: floats are refused."""

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        return Op.hint(shapes, params) or (
            "only bools and integers that the dtype can hold have bits",
            "put comparisons in brackets, (x > 0) & (y > 0), because & binds tighter; or convert: x.long()",
        )


class BitwiseAnd(Bitwise, Op, name="bitwise_and"):
    """``x & y``: each bit of both integers; of bools, whether both hold."""

    into = ("bitwise_and",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x & y


class BitwiseOr(Bitwise, Op, name="bitwise_or"):
    """``x | y``: each bit of either integer; of bools, whether one of them holds."""

    into = ("bitwise_or",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x | y


class BitwiseXor(Bitwise, Op, name="bitwise_xor"):
    """``x ^ y``: the bits in which the integers differ; of bools, whether they differ."""

    into = ("bitwise_xor",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x ^ y


class BitwiseNot(Bitwise, Op, name="bitwise_not"):
    """``~x``: every bit turned; of bools, the opposite."""

    into = ("invert",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return ~x


eq, ne, lt, le, gt, ge = caller(Eq), caller(Ne), caller(Lt), caller(Le), caller(Gt), caller(Ge)
isnan, isinf, isfinite, isclose_op = caller(Isnan), caller(Isinf), caller(Isfinite), caller(Isclose)
logical_and, logical_or = caller(LogicalAnd), caller(LogicalOr)
logical_xor, logical_not = caller(LogicalXor), caller(LogicalNot)
bitwise_and, bitwise_or = caller(BitwiseAnd), caller(BitwiseOr)
bitwise_xor, bitwise_not = caller(BitwiseXor), caller(BitwiseNot)


def equals(x: Any, other: Any) -> Any:
    """``x == other``, elementwise; but False for anything that is not a number or array, such as None or a string."""
    return eq(x, other) if _comparable(other) else NotImplemented


def differs(x: Any, other: Any) -> Any:
    """``x != other``, elementwise; but True for anything that is not a number or array, such as None or a string."""
    return ne(x, other) if _comparable(other) else NotImplemented


def _comparable(other: Any) -> bool:
    return isinstance(other, _COMPARABLE) or (hasattr(other, "__array__") and not isinstance(other, type))


_COMPARABLE = (TensorBase, int, float, complex, list, tuple, range)


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether the elements are equal, or finite and not further apart than ``atol + rtol * |other|``; bools.

    A nan is close to nothing, or with ``equal_nan`` to another nan. Raises `ArgumentError` for a negative tolerance.

    >>> import tinygrad_edu as tg
    >>> tg.isclose(tg.tensor([1.0, 1.0]), tg.tensor([1.000001, 1.1]))
    tensor([ True, False])
    """
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            why, mend = "a tolerance cannot be negative", f"give {name} as a number from 0 up"
            raise ArgumentError(f"isclose with {name}={tolerance!r}", why, mend)
    return isclose_op(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close in the sense of `isclose`; a bool. Raises as `isclose` does."""
    return bool(all_op(isclose(input, other, rtol, atol, equal_nan)).item())


def equal(input: Any, other: Any) -> bool:
    """Whether the shapes are equal, and all elements too; a bool. A nan equals nothing."""
    x, other = as_tensor(input), as_tensor(other)
    return tuple(x.shape) == tuple(other.shape) and bool(all_op(eq(x, other)).item())


explain_all(globals(), "equals", "differs")
