"""Windows over images (N, C, H, W) for CuPy: each function is a few large kernels, since launches are what costs.

They take what those of `backends.convolution` take, which says what they are; ``cp`` is CuPy.
"""

from __future__ import annotations

from typing import Any

from ..convolution import Pair, count_windows, inside, overlap

Array = Any


def _seen(size: Pair, kernel: Pair, stride: Pair, dilation: Pair) -> Pair:
    """How far down and across all windows reach."""
    down, across = (s * (o - 1) + d * (k - 1) + 1 for o, k, s, d in zip(size, kernel, stride, dilation, strict=True))
    return down, across


def _framed(cp: Any, x: Array, seen: Pair, padding: Pair, fill: float = 0.0) -> Array:
    """The images in a frame that all windows fit into, in row-major order."""
    (n, c, h, w), (tall, wide) = x.shape, seen
    if padding == (0, 0) and (tall, wide) == (h, w):
        return x if x.flags.c_contiguous else cp.ascontiguousarray(x)
    frame = cp.full((n, c, tall, wide), fill, x.dtype)
    (rows, from_rows), (columns, from_columns) = overlap(tall, padding[0], h), overlap(wide, padding[1], w)
    frame[:, :, rows, columns] = x[:, :, from_rows, from_columns]
    return frame


def im2col(
    cp: Any, x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair = (1, 1), fill: float = 0.0,
    size: Any = None,
) -> Array:  # fmt: skip
    """All windows, gathered by kernel position: (N, C, kh, kw, oh, ow)."""
    found: Pair = count_windows(x.shape, kernel, stride, padding, dilation) if size is None else size
    frame = _framed(cp, x, _seen(found, kernel, stride, dilation), padding, fill)
    n, c, down, across = frame.strides
    shape = (*frame.shape[:2], *kernel, *found)
    strides = (n, c, down * dilation[0], across * dilation[1], down * stride[0], across * stride[1])
    return cp.ascontiguousarray(cp.lib.stride_tricks.as_strided(frame, shape, strides))


def col2im(cp: Any, cols: Array, shape: Any, stride: Pair, padding: Pair, dilation: Pair = (1, 1)) -> Array:
    """The adjoint of `im2col`."""
    kh, kw, oh, ow = cols.shape[2:]
    out = cp.zeros(shape, cols.dtype)
    for i in range(kh):
        high, rows = inside(i * dilation[0] - padding[0], stride[0], oh, shape[2])
        for j in range(kw):
            across, there = inside(j * dilation[1] - padding[1], stride[1], ow, shape[3])
            out[:, :, rows, there] += cols[:, :, i, j, high, across]
    return out


def _matrices(
    cp: Any, x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Any
) -> Array:
    """The windows as matrices (N, groups, what a window of a group holds, windows)."""
    cols = im2col(cp, x, kernel, stride, padding, dilation, 0.0, size)
    return cols.reshape((x.shape[0], groups, x.shape[1] // groups * kernel[0] * kernel[1], -1))


def conv(
    cp: Any, x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Any = None
) -> Array:
    """Cross-correlation with kernels (F, C / groups, kh, kw): (N, F, oh, ow)."""
    f, per_group, kh, kw = weight.shape
    if x.shape[1] != per_group * groups or f % groups:
        raise ValueError(f"{f} kernels of {per_group} channels in {groups} groups, for {x.shape[1]} channels")
    found: Pair = count_windows(x.shape, (kh, kw), stride, padding, dilation) if size is None else size
    matrix = weight.reshape((groups, f // groups, per_group * kh * kw))
    products = cp.matmul(matrix, _matrices(cp, x, (kh, kw), stride, padding, dilation, groups, found))
    return products.reshape((x.shape[0], f, *found))


def conv_kernel(
    cp: Any, x: Array, g: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """The gradient of the kernels, of a `conv` of ``x`` with ``g`` at its result."""
    n, f, oh, ow = g.shape
    cols = _matrices(cp, x, kernel, stride, padding, dilation, groups, (oh, ow))
    flat = g.reshape((n, groups, f // groups, oh * ow))
    products = cp.matmul(flat, cols.transpose((0, 1, 3, 2)))
    return cp.sum(products, 0).reshape((f, x.shape[1] // groups, *kernel))


def conv_input(
    cp: Any, g: Array, weight: Array, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Array:
    """The gradient of the images, (N, C, *size), of a `conv` whose result has the gradient ``g``."""
    (n, f, oh, ow), (_, per_group, kh, kw) = g.shape, weight.shape
    if f != weight.shape[0] or f % groups:
        raise ValueError(f"{weight.shape[0]} kernels in {groups} groups, for {f} channels")
    matrix = weight.reshape((groups, f // groups, per_group * kh * kw)).transpose((0, 2, 1))
    cols = cp.matmul(matrix, g.reshape((n, groups, f // groups, oh * ow)))
    cols = cols.reshape((n, groups * per_group, kh, kw, oh, ow))
    return col2im(cp, cols, (n, groups * per_group, *size), stride, padding, dilation)
