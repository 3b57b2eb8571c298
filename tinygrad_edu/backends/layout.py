"""Arithmetic of shapes and strides: how elements lie in memory, whatever holds them."""

from __future__ import annotations

from math import gcd, prod
from typing import Any

import numpy as np

from ..common.locks import local

Sizes = tuple[int, ...]


class _Inside(local):
    """What operations of this thread did inside, which their operands and results do not show."""

    conversions = 0  # images that were laid out anew, because the operation wants or gives another layout
    tries = 0  # ways of a convolution that were timed, see `autotune`


inside = _Inside()


def arrived(x: Any) -> Any:
    """The array itself, where a copy from a device may still be under way to it; NumPy asks nobody before it reads."""
    return x if type(x) is np.ndarray or not hasattr(x, "settled") else x.settled()


def how_many(sizes: Sizes) -> int:
    """All sizes multiplied: the number of elements of a shape."""
    count = 1  # a loop, not `prod`: bodies of operations call this, and may use builtins only
    for size in sizes:
        count *= size
    return count


def contiguous(shape: Sizes, strides: Sizes, itemsize: int) -> bool:
    """Do the elements lie in row-major order without gaps? Strides along axes of length 1 do not matter."""
    if 0 in shape:
        return True
    expected = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def channels_last(shape: Sizes, strides: Sizes) -> bool:
    """Do images (N, C, H, W) lie pixel by pixel, with the channels of each side by side? There may be gaps."""
    if len(shape) != 4 or 0 in shape or not strides[1]:
        return False
    reach = 0
    for axis in (1, 3, 2, 0):
        if strides[axis] < reach or (axis == 0 and strides[0] == strides[1]):
            return False
        reach = strides[axis] * shape[axis]
    return True


def order(shape: Sizes, strides: Sizes) -> Sizes:
    """The axes, outermost in memory first. An axis without an order of its own, such as one with a stride of 0, keeps
    its place, as in PyTorch: a longer stride changes places with the next shorter one behind it."""
    axes = list(reversed(range(len(shape))))  # innermost first
    for first in range(1, len(axes)):
        i = first
        for j in reversed(range(first)):
            inner, outer = abs(strides[axes[j]]), abs(strides[axes[i]])
            if not inner or not outer:
                continue
            if inner > outer or (inner == outer and shape[axes[j]] > shape[axes[i]]):
                axes[i], axes[j] = axes[j], axes[i]
                i = j
            elif inner < outer:
                break
    return tuple(reversed(axes))


def lay(xp: Any, array: Any, strides: Sizes) -> Any:
    """The array without gaps, its axes in memory in the order of ``strides``; a copy unless it lies so already."""
    axes = order(tuple(array.shape), strides)
    if axes == tuple(range(len(axes))):
        return xp.contiguous(array)
    back = tuple([axes.index(i) for i in range(len(axes))])
    return xp.permute(xp.contiguous(xp.permute(array, axes)), back)


def lay_as_leaf(xp: Any, g: Any, strides: Sizes) -> Any:
    """A gradient laid out as its leaf is, with ``strides``; in row-major order if the leaf has gaps, as in PyTorch."""
    shape = tuple(g.shape)
    axes = order(shape, strides)
    dense = contiguous(tuple(shape[i] for i in axes), tuple(strides[i] for i in axes), g.dtype.itemsize)
    return lay(xp, g, strides) if dense else xp.contiguous(g)


def viewable(shape: Sizes, strides: Sizes, wanted: Sizes) -> bool:
    """Can other strides over the same bytes show ``shape`` as ``wanted``, which holds as many elements?

    Axes that follow each other without a gap are one block of memory, and each block must be filled by sizes of
    ``wanted``.
    """
    if 0 in shape:
        return True
    axes = [(size, stride) for size, stride in zip(shape, strides, strict=True) if size != 1]
    blocks: list[int] = []
    for i, (size, stride) in enumerate(axes):
        if i and axes[i - 1][1] == size * stride:
            blocks[-1] *= size
        else:
            blocks.append(size)
    filled = 1
    for size in wanted:
        if size == 1:
            continue
        filled *= size
        if not blocks or blocks[0] % filled:
            return False
        if filled == blocks[0]:
            filled, blocks = 1, blocks[1:]
    return True


def overlaps(shape: Sizes, strides: Sizes) -> bool:
    """Are two elements the same place in memory, as in an expanded tensor or in windows that overlap?"""
    if 0 in shape:
        return False
    axes = sorted((abs(stride), size) for size, stride in zip(shape, strides, strict=True) if size != 1)
    reach, nested = 0, True
    for stride, size in axes:
        nested = nested and stride > reach  # each step leads beyond all that the shorter steps reach
        reach += stride * (size - 1)
    if nested:
        return False
    step = gcd(*(stride for stride, _ in axes))
    if not step or prod(size for _, size in axes) > reach // step + 1:
        return True  # more elements than places
    places, count = {0}, 1
    for stride, size in axes:  # rare: look at every place
        places, count = {place + i * stride for place in places for i in range(size)}, count * size
    return len(places) < count


def broadcast_shape(shapes: list[Sizes]) -> Sizes | None:
    """The shape to which these are stretched; None where they cannot be."""
    length = max(map(len, shapes))
    columns = zip(*((1,) * (length - len(shape)) + shape for shape in shapes), strict=True)
    result = []
    for sizes in columns:
        stretched = {size for size in sizes if size != 1}
        if len(stretched) > 1:
            return None
        result.append(stretched.pop() if stretched else 1)
    return tuple(result)


def why_not_broadcast(x: Sizes, y: Sizes) -> tuple[str, str] | None:
    """Which axis keeps two shapes from being stretched to one, and how to fix it; None when nothing does."""
    for back, (m, n) in enumerate(zip(reversed(x), reversed(y), strict=False), 1):
        if m != n and 1 not in (m, n):
            why = f"axis {-back} has {m} elements in one and {n} in the other, and only a 1 can be stretched"
            if len(x) != len(y) and (m in y or n in x):
                return why, "give the shorter one an axis of length 1 where it lacks one: y.unsqueeze(-1)"
            return why, "check which axis of each operand counts the same thing"
    return None
