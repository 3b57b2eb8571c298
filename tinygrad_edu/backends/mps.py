"""Is there an Apple GPU to compute on? For programs that ask before they choose a device: never."""

from __future__ import annotations


def is_available() -> bool:
    """Whether tensors can live on an Apple GPU here: no."""
    return False


def is_built() -> bool:
    """Whether this package could use one: no."""
    return False
