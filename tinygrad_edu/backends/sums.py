"""Long sums that stay precise.

NumPy adds in pairs along the axis whose elements are neighbours in memory, and one by one along all others. A million
float32 added one by one are wrong in the third digit, because each addition is rounded at the size that the sum has
reached. Here no more than `FEW` are added one by one. A long axis is split into `BLOCKS` parts, which are added to each
other; then the result is split, and so on. The parts follow each other in memory, so the loops are as long as can be.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from .layout import Sizes, how_many

Array = Any

FEW = 64
SMALL = 1 << 15  # in arrays up to this size twice as many: two more calls would take longer than the additions
BLOCKS = 16


_add: Any = np.add.reduce


def add(x: Array, axis: Any, dtype: Any, keepdims: bool) -> Array:
    """``np.sum`` over ``axis``, computed in ``dtype``."""
    shape = x.shape
    if type(axis) is int and ((n := shape[axis]) <= FEW or (n <= 2 * FEW and x.size <= SMALL)):
        return _add(x, axis, dtype, None, keepdims)
    ordered = x.flags.c_contiguous
    if type(axis) is int:
        if ordered and axis in (-1, len(shape) - 1):
            return _add(x, axis, dtype, None, keepdims)
        if ordered:
            return _along(x, axis % len(shape), dtype, keepdims)
    elif _easy(x, axis):
        return _add(x, axis, dtype, None, keepdims)
    axes = _counted(axis, len(shape))
    if ordered and axes == list(range(len(axes))):  # in memory they are one axis
        out = _along(x.reshape(-1, *shape[len(axes) :]), 0, dtype, False)
        return out.reshape((1,) * len(axes) + out.shape) if keepdims else out
    inner = _in_pairs(shape, x.strides, axes)
    outer = [a for a in axes if a not in inner]
    if how_many(tuple([shape[a] for a in outer])) <= FEW:
        return _add(x, axis, dtype, None, keepdims)
    out = _add(x, tuple(inner), dtype, None, True) if inner else x
    for a in sorted(outer, key=lambda a: shape[a], reverse=True):
        out = _along(out, a, dtype, True)
    if keepdims:
        return out
    return out.reshape([size for a, size in enumerate(out.shape) if a not in axes])[()]


_ONES: dict[tuple[int, Any], Array] = {}


def add_few(x: Array, n: int, axis: int, keepdims: bool) -> Array:
    """Sums of rows or columns of ``n`` numbers, as a product with ones: BLAS is three to ten times as fast."""
    ones = _ONES.get((n, x.dtype))
    if ones is None:
        ones = _ONES[n, x.dtype] = np.ones(n, x.dtype)
    if axis in (0, -2):
        out = ones.dot(x)
        return out[None] if keepdims else out
    out = x.dot(ones)
    return out[..., None] if keepdims else out


def _easy(x: Array, axis: Any) -> bool:
    """Does the sum take in one whole block of memory, or only few elements for each result?"""
    if axis is None:
        return bool(x.flags.forc)
    return how_many(tuple([x.shape[a] for a in axis])) <= FEW


def _counted(axis: Any, ndim: int) -> list[int]:
    """The axes counted from 0."""
    if axis is None:
        return list(range(ndim))
    return [a % ndim for a in ((axis,) if isinstance(axis, int) else axis)]


def _in_pairs(shape: Sizes, strides: Sizes, axes: list[int]) -> list[int]:
    """Those of ``axes`` along which NumPy adds in pairs: the innermost in memory, and what follows without a gap."""
    found: list[int] = []
    apart = 0
    for stride, size, a in sorted((abs(strides[a]), size, a) for a, size in enumerate(shape) if size != 1):
        if not stride or a not in axes or (found and stride != apart):
            break
        found.append(a)
        apart = stride * size
    return found


def _along(x: Array, axis: int, dtype: Any, keepdims: bool) -> Array:
    """Add up one axis."""
    while (size := x.shape[axis]) > 2 * BLOCKS:
        even = size >= BLOCKS * BLOCKS or not size % BLOCKS
        blocks = BLOCKS if even else isqrt(size)  # so that the rest fits into the first part
        length = size // blocks
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        if size == blocks * length:
            x = _add(x.reshape(*before, blocks, length, *after), axis, dtype)
            continue
        head = (slice(None),) * axis
        whole, rest = x[(*head, slice(blocks * length))], x[(*head, slice(blocks * length, None))]
        x = _add(whole.reshape(*before, blocks, length, *after), axis, dtype)
        start = x[(*head, slice(rest.shape[axis]))]
        np.add(start, rest, out=start)
    return _add(x, axis, dtype, None, keepdims)
