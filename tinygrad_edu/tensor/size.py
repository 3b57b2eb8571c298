"""The size of a tensor: a tuple that knows how many elements there are."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from ..errors import DtypeError


class Size(tuple[int, ...]):
    """The length of each axis, as ``x.shape`` and ``x.size()`` give it: a tuple with `numel`.

    Raises `DtypeError` unless all sizes are integers.

    >>> import tinygrad_edu as tg
    >>> tg.zeros(2, 3, 4).shape[1:].numel()
    12
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[int] = ()) -> Size:
        try:
            return tuple.__new__(cls, map(operator.index, sizes))
        except TypeError:
            why, mend = "a size is made of integers", "give a list of them: Size([2, 3])"
            raise DtypeError(f"Size({sizes!r:.60})", why, mend) from None

    def numel(self) -> int:
        """The number of elements of a tensor of this size."""
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size((*self, *other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return tuple.__new__(Size, tuple.__mul__(self, count))

    __rmul__ = __mul__
