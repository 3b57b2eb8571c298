"""Windows over images (N, C, H, W) in NumPy: gathered, added back, and multiplied with kernels.

A convolution is bilinear, in the image and in the kernels, so there are three functions: `conv` itself, and what it
does to a gradient on its way back to either operand, `conv_input` and `conv_kernel`. Each one's derivatives are the
other two.

All three make matrices of windows and leave the rest to BLAS, a few images at a time: the matrices then stay in the
cache, in memory that is kept for the next call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..common.locks import local
from .layout import arrived

Array = Any
Pair = tuple[int, int]


def count_windows(shape: tuple[int, ...], kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Pair:
    """How many windows fit, down and across."""
    if min(*stride, *dilation) < 1:
        raise ValueError(f"the stride is {stride} and the dilation {dilation}, but windows move by at least 1")
    if min(padding) < 0:
        raise ValueError(f"the padding is {padding}, but it cannot be negative")
    room = [n + 2 * p for n, p in zip(shape[2:], padding, strict=True)]
    oh, ow = ((n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(room, kernel, stride, dilation, strict=True))
    if oh < 1 or ow < 1:
        raise ValueError(f"a window of {kernel[0]}x{kernel[1]} does not fit into {room[0]}x{room[1]}")
    return oh, ow


def im2col(
    x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair = (1, 1), fill: float = 0.0, size: Any = None
) -> Array:
    """All windows of (N, C, H, W), gathered by kernel position: (N, C, kh, kw, oh, ow). One slice copy each.

    There are as many as fit, or ``size``; windows of the latter that reach beyond the padding see more padding.
    """
    x = arrived(x)
    (n, c, h, w), (kh, kw), (sh, sw), (ph, pw), (dh, dw) = x.shape, kernel, stride, padding, dilation
    oh, ow = count_windows(x.shape, kernel, stride, padding, dilation) if size is None else size
    tall, wide = sh * (oh - 1) + dh * (kh - 1) + 1, sw * (ow - 1) + dw * (kw - 1) + 1  # what all windows see
    if ph or pw or tall > h or wide > w:
        padded = np.full((n, c, tall, wide), fill, x.dtype) if fill else np.zeros((n, c, tall, wide), x.dtype)
        padded[:, :, ph : ph + h, pw : pw + w] = x[:, :, : max(tall - ph, 0), : max(wide - pw, 0)]
        x = padded
    cols = np.empty((n, c, kh, kw, oh, ow), x.dtype)
    for i in range(kh):
        for j in range(kw):
            top, left = i * dh, j * dw
            cols[:, :, i, j] = x[:, :, top : top + sh * oh : sh, left : left + sw * ow : sw]
    return cols


def col2im(cols: Array, shape: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair = (1, 1)) -> Array:
    """The adjoint of `im2col`: every window is added back where it was read, and what came from padding is dropped."""
    kh, kw, oh, ow = cols.shape[2:]
    (h, w), (sh, sw), (ph, pw), (dh, dw) = shape[2:], stride, padding, dilation
    out = np.zeros(shape, cols.dtype)
    columns = [inside(j * dw - pw, sw, ow, w) for j in range(kw)]
    apart = sh > dh * (kh - 1) and sw > dw * (kw - 1)  # no two windows see the same place: nothing to add up
    for i in range(kh):
        high, rows = inside(i * dh - ph, sh, oh, h)
        for j, (across, there) in enumerate(columns):
            if apart:
                out[:, :, rows, there] = cols[:, :, i, j, high, across]
            else:
                out[:, :, rows, there] += cols[:, :, i, j, high, across]
    return out


def inside(start: int, step: int, count: int, size: int) -> tuple[slice, slice]:
    """Of ``count`` places, ``step`` apart from ``start``, those from 0 to ``size``: which they are, and where."""
    first, stop = max(0, -(start // step)), min(count, -((start - size) // step))
    if first >= stop:
        return slice(0), slice(0)
    return slice(first, stop), slice(start + first * step, start + (stop - 1) * step + 1, step)


# Products of windows and kernels ------------------------------------------------------------------------------------

STRIP = 1 << 20  # bytes of windows at a time: with what they are multiplied into, they fit the cache of a core
KEEP = 8 << 20  # bytes of scratch memory that a thread keeps at most, for each purpose


class _Scratch(local):
    """Memory for intermediate values, by purpose. What it holds lasts until the next request for the same."""

    def __init__(self) -> None:
        self.held: dict[str, Array] = {}

    def __call__(self, purpose: str, shape: tuple[int, ...], dtype: Any) -> Array:
        count = math.prod(shape)
        held = self.held.get(purpose)
        if held is None or held.size < count or held.dtype != dtype:
            held = np.empty(count, dtype)
            if held.nbytes <= KEEP:
                self.held[purpose] = held
        return held[:count].reshape(shape)


scratch = _Scratch()


def conv(
    x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Pair | None = None
) -> Array:
    """Cross-correlation of (N, C, H, W) with kernels (F, C / groups, kh, kw): (N, F, oh, ow).

    There are as many windows as fit, or ``size``; those that reach beyond the padding see more zeros. The padding may
    be negative where a size is given: windows then begin inside the image.
    """
    (f, per_group, kh, kw), n = weight.shape, x.shape[0]
    if x.shape[1] != per_group * groups or f % groups:
        raise ValueError(f"{f} kernels of {per_group} channels in {groups} groups, for {x.shape[1]} channels")
    oh, ow = count_windows(x.shape, (kh, kw), stride, padding, dilation) if size is None else size
    matrix = weight.reshape(groups, f // groups, per_group * kh * kw)
    out = np.empty((n, f, oh, ow), x.dtype)
    for part, cols, row in _strips(x, (kh, kw), stride, padding, dilation, groups, (oh, ow)):
        count = len(cols)
        if row == ow:
            np.matmul(matrix, cols, out=out[part].reshape(count, groups, f // groups, oh * ow))
        else:
            wide = scratch("products", (count, groups, f // groups, oh * row), x.dtype)
            with np.errstate(over="ignore", invalid="ignore"):  # in windows that nobody wants
                np.matmul(matrix, cols, out=wide[..., : cols.shape[-1]])
            out[part] = wide.reshape(count, f, oh, row)[..., :ow]
    return out


def conv_kernel(x: Array, g: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Array:
    """The gradient of the kernels, (F, C / groups, kh, kw), of a `conv` of ``x`` with ``g`` at its result."""
    out = _conv_kernel(x, g, kernel, stride, padding, dilation, groups, True)
    if not np.isfinite(out).all():  # what lies between the rows is multiplied by 0: if it is inf or nan, that shows
        out = _conv_kernel(x, g, kernel, stride, padding, dilation, groups, False)
    return out


def _conv_kernel(
    x: Array, g: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int, between: bool
) -> Array:
    (_, f, oh, ow), per_group = g.shape, x.shape[1] // groups
    out = np.zeros((groups, f // groups, per_group * kernel[0] * kernel[1]), x.dtype)
    for part, cols, row in _strips(x, kernel, stride, padding, dilation, groups, (oh, ow), between):
        count, places = len(cols), cols.shape[-1]
        if row == ow:
            flat = g[part].reshape(count, groups, f // groups, places)
        else:
            wide = scratch("gradients", (count, f, oh, row), x.dtype)
            wide[..., :ow], wide[..., ow:] = g[part], 0
            flat = wide.reshape(count, groups, f // groups, oh * row)[..., :places]
        with np.errstate(invalid="ignore"):  # 0 times inf: see above
            out += (flat @ cols.swapaxes(2, 3)).sum(0)
    return out.reshape(f, per_group, *kernel)


def conv_input(g: Array, weight: Array, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Array:
    """The gradient of the images, (N, C, *size), of a `conv` whose result has the gradient ``g``."""
    (n, f, oh, ow), (_, per_group, kh, kw) = g.shape, weight.shape
    if f != weight.shape[0] or f % groups:
        raise ValueError(f"{weight.shape[0]} kernels in {groups} groups, for {f} channels")
    if stride == (1, 1):
        turned, margin = turned_kernels(weight, padding, dilation, groups)
        return conv(g, turned, stride, margin, dilation, groups, size)
    kernels = weight.reshape(groups, f // groups, per_group, kh, kw)
    matrix = kernels.reshape(groups, f // groups, -1).swapaxes(1, 2)
    out = np.empty((n, groups * per_group, *size), g.dtype)
    step = max(1, STRIP // max(1, per_group * groups * kh * kw * oh * ow * g.itemsize))
    for start in range(0, n, step):
        part = slice(start, min(n, start + step))
        flat = g[part].reshape(part.stop - start, groups, f // groups, oh * ow)
        windows = scratch("products", (len(flat), groups, per_group * kh * kw, oh * ow), g.dtype)
        np.matmul(matrix, flat, out=windows)
        windows = windows.reshape(len(flat), groups * per_group, kh, kw, oh, ow)
        out[part] = col2im(windows, (len(flat), groups * per_group, *size), stride, padding, dilation)
    return out


def turned_kernels(weight: Array, padding: Pair, dilation: Pair, groups: int) -> tuple[Array, Pair]:
    """The kernels, and the padding, of the convolution that is the way back of one with a stride of 1: there each pixel
    gathers from the windows that saw it."""
    f, per_group, kh, kw = weight.shape
    kernels = weight.reshape(groups, f // groups, per_group, kh, kw).swapaxes(1, 2)[..., ::-1, ::-1]
    margin = (dilation[0] * (kh - 1) - padding[0], dilation[1] * (kw - 1) - padding[1])
    return kernels.reshape(groups * per_group, f // groups, kh, kw), margin


def _strips(
    x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Pair, between: bool = True
) -> Iterator[tuple[slice, Array, int]]:
    """The windows of a few images at a time, as matrices (images, groups, what a window of a group holds, windows).

    With them come the slice of the images, and how far apart the rows of the result are. Windows that move by 1 lie
    row behind row in memory. With ``between`` they are copied in long runs. Such a run also holds windows that begin
    in one row and end in the next: nobody wants those, and they lie between the windows of the two rows.
    """
    x = arrived(x)
    (n, c, h, w), (kh, kw), (sh, sw), (ph, pw), (dh, dw) = x.shape, kernel, stride, padding, dilation
    (oh, ow), item = size, x.itemsize
    tall, wide = sh * (oh - 1) + dh * (kh - 1) + 1, sw * (ow - 1) + dw * (kw - 1) + 1  # what all windows see
    runs = between and stride == (1, 1)
    row = wide if runs else ow
    places = (oh - 1) * row + ow
    framed = (ph, pw) != (0, 0) or (tall, wide) != (h, w)
    step = max(1, STRIP // max(1, c * kh * kw * places * item))
    frame = scratch("frame", (min(step, n), c, tall, wide), x.dtype) if framed else None
    if frame is not None:
        frame[...] = 0
    there, here = zip(overlap(tall, ph, h), overlap(wide, pw, w), strict=True)
    for start in range(0, n, step):
        part = slice(start, min(n, start + step))
        count = part.stop - start
        image = x[part] if frame is None else frame[:count]
        if frame is not None:
            image[(..., *there)] = x[(part, slice(None), *here)]
        elif kernel == (1, 1) and stride == (1, 1):
            yield part, image.reshape(count, groups, c // groups, places), row
            continue
        image = np.ascontiguousarray(image)
        cols = scratch("windows", (count, c, kh, kw, places), x.dtype)
        lead, apart = image.strides[:2], (dh * wide * item, dw * item)
        if runs:
            cols[...] = np.ndarray(cols.shape, x.dtype, image, 0, (*lead, *apart, item))
        else:
            shape = (count, c, kh, kw, oh, ow)
            strides = (*lead, *apart, sh * wide * item, sw * item)
            cols.reshape(shape)[...] = np.ndarray(shape, x.dtype, image, 0, strides)
        yield part, cols.reshape(count, groups, c // groups * kh * kw, places), row


def overlap(seen: int, margin: int, length: int) -> tuple[slice, slice]:
    """The slice of a frame of ``seen`` places that an image from ``margin`` on covers, and the image's slice there."""
    first, stop = max(0, margin), min(seen, margin + length)
    stop = max(first, stop)
    return slice(first, stop), slice(first - margin, stop - margin)
