"""Is there room for it? Sizes are checked before memory is asked for, so an absurd one is refused at once."""

from __future__ import annotations

import math
import os
from functools import cache
from typing import Any

from ..errors import OutOfMemoryError, ShapeError

_MOST_AXES, _MOST_BYTES = 64, 2**63 - 1  # NumPy's limit, and for bytes everybody's


@cache
def memory() -> int:
    """The bytes of main memory; where the system does not tell, the largest number of bytes."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        found = -1
    return found if found > 0 else _MOST_BYTES


def check(tried: str, shape: tuple[int, ...], itemsize: int) -> None:
    """Refuse what this machine has no room for. Sizes of 0 count as 1: other axes must be countable even then."""
    if len(shape) > _MOST_AXES:
        raise ShapeError(tried, f"{len(shape)} axes are more than the {_MOST_AXES} that an array can have", "use fewer")
    asked = itemsize * math.prod(n or 1 for n in shape)
    if asked > (memory() if 0 not in shape else _MOST_BYTES):
        raise OutOfMemoryError(tried, _too_much(asked), "make it smaller, or work on one part at a time")


def _too_much(asked: int) -> str:
    count = f"{asked:,}" if asked < 10**21 else f"10**{len(str(asked)) - 1}"
    words = f"it asks for {count} bytes"
    if memory() < _MOST_BYTES:
        return f"{words}, but this machine has {memory():,}: out of memory"  # programs look for these words
    return f"{words}, which is too much"


_BEYOND = ("is too big", "iterator is too large", "llowed dimension", "maximum supported dimension")


def refused(error: Exception) -> tuple[str, str] | None:
    """Why NumPy got no memory, or could not make so large an array, and how to fix it; None for other errors."""
    if not isinstance(error, MemoryError):
        mend = "make it smaller, or work on one part at a time"
        beyond = any(words in str(error) for words in _BEYOND)
        return ("no array can have so many elements, or so many axes", mend) if beyond else None
    shape: Any = getattr(error, "shape", None)  # NumPy's own kind of error says what was asked for
    asked = None if shape is None else math.prod(shape) * getattr(error, "dtype").itemsize  # noqa: B009
    why = "the system gave no more memory" if asked is None else _too_much(asked)
    return why, "make it smaller, work on one part at a time, or free what is no longer needed: del x"
