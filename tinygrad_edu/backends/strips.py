"""Computations of several steps, done strip by strip if arrays are large and in main memory.

NumPy finishes one step on the whole array before it starts the next. If the arrays are larger than the cache of the
processor, every step waits for memory, and its result needs fresh memory of the same size. A strip stays in the cache
until all steps are done with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = Any

STRIP = 16384  # elements: several arrays of this size fit into the cache
LARGE = 4 * STRIP  # smaller arrays gain little


def strips(flat: Array) -> Iterator[Array]:
    """A one-dimensional array in pieces that fit into the cache: they are views, so writes reach the array."""
    return (flat[start : start + STRIP] for start in range(0, flat.size, STRIP))


def pieces(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Arrays of one shape, cut at the same places into parts that fit into the cache: views, along the first axes.

    They are larger than strips, because they are for a few steps that make no further arrays.
    """
    first = arrays[0]
    if first.size <= LARGE or not first.ndim:
        yield arrays
        return
    rows = max(1, LARGE * len(first) // first.size)
    for start in range(0, len(first), rows):
        if rows == 1:
            yield from pieces(*[one[start] for one in arrays])
        else:
            yield tuple([one[start : start + rows] for one in arrays])


def in_strips(body: Callable[..., Any]) -> Callable[..., Any]:
    """``body``, a forward or a backward that works on each element by itself, in strips on the CPU.

    Only if all arrays have the same shape and are in row-major order; otherwise it runs on whole arrays.
    """

    @functools.wraps(body)
    def run(xp: Any, first: Any, *rest: Any, **params: Any) -> Any:
        if type(first) is not np.ndarray or first.size < LARGE:
            return body(xp, first, *rest, **params)
        args = (first, *rest)
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        if any(a.shape != first.shape or not a.flags.c_contiguous for a in arrays):
            return body(xp, *args, **params)
        flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in args]
        results: list[Any] = []
        several = False
        for start in range(0, first.size, STRIP):
            strip = slice(start, start + STRIP)
            found = body(xp, *[a[strip] if isinstance(a, np.ndarray) else a for a in flat], **params)
            several = type(found) is tuple
            parts = found if several else (found,)
            if not start:
                results = [None if part is None else np.empty(first.size, part.dtype) for part in parts]
            for whole, part in zip(results, parts, strict=True):
                if part is not None:
                    whole[strip] = part
        shaped = [None if whole is None else whole.reshape(first.shape) for whole in results]
        return tuple(shaped) if several else shaped[0]

    return run
