"""What an operation asks of a device: arithmetic, and bytes that are read from its memory and written to it.

A simulator, a roofline and a profiler read it. The counts are those of one kernel that reads each operand once and
writes its result once. Operations are counted by one convention: an addition counts one, and so does an exponential or
a comparison; moving an element counts none.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from . import of
from .layout import Sizes, how_many


class Cost(NamedTuple):
    """Operations on numbers, bytes read and bytes written."""

    flops: int
    read: int
    written: int


def bytes_of(array: Any) -> int:
    """The bytes of memory behind an array; those of an expanded axis count once."""
    if not hasattr(array, "dtype"):
        return 0  # a Python number travels with the command
    if 0 not in array.strides or 0 in array.shape:
        return int(array.nbytes)
    return int(array.dtype.itemsize) * how_many(
        tuple(n for n, step in zip(array.shape, array.strides, strict=True) if step)
    )


def _index_bytes(index: Any) -> int:
    parts = index if isinstance(index, (tuple, list)) else (index,)
    return sum(bytes_of(part) for part in parts)


class Costed:
    """The part of an `Op` that states its cost. Most only say how much they do for each element."""

    computes: ClassVar[bool] = True
    view: ClassVar[bool] = False
    per_element: ClassVar[int] = 1  # operations for each element of the result
    per_input: ClassVar[int] = 0  # and for each element of the first operand: reductions
    crosses: ClassVar[bool] = False  # does its result live on another device?
    gathers: ClassVar[bool] = False  # does it read only those elements of the first operand that it hands on?

    @classmethod
    def flops(cls, shapes: list[Sizes], out: Sizes, params: dict[str, Any]) -> int:
        """Operations on numbers, from the shapes of operands and result. Products have formulas of their own."""
        if not cls.computes:
            return 0
        return cls.per_element * how_many(out) + cls.per_input * how_many(shapes[0] if shapes else ())

    @classmethod
    def cost(cls, operands: Any, out: Any, params: dict[str, Any]) -> Cost:
        """What the operation costs for these arrays (and Python numbers), given its result. A view costs nothing."""
        if cls.view and of(out).owner(out) is of(operands[0]).owner(operands[0]):
            return Cost(0, 0, 0)
        first, *rest = [bytes_of(o) for o in operands]
        if cls.gathers:
            first = min(first, bytes_of(out)) + _index_bytes(params.get("index"))
        shapes = [tuple(getattr(o, "shape", ())) for o in operands]
        return Cost(cls.flops(shapes, tuple(out.shape), params), first + sum(rest), bytes_of(out))
