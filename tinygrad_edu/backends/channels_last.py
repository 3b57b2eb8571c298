"""Convolutions of images whose channels lie side by side: gathered, multiplied and added back as they lie.

A window is then kh runs of kw * C numbers, so it is copied in long runs, and each pixel of the result is a row of one
product of matrices. Nothing is turned into another layout on the way. The functions are those of `convolution`, for one
group, and so are their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .convolution import STRIP, Array, Pair, count_windows, inside, overlap, scratch, turned_kernels

TO_PIXELS, TO_PLANES = (0, 2, 3, 1), (0, 3, 1, 2)  # axes: from (N, C, H, W) to (N, H, W, C), and back


def conv(x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, size: Pair | None = None) -> Array:
    """Cross-correlation of (N, C, H, W) with kernels (F, C, kh, kw); the result lies channels last."""
    f, _, kh, kw = weight.shape
    oh, ow = count_windows(x.shape, (kh, kw), stride, padding, dilation) if size is None else size
    kernels = weight.transpose(TO_PIXELS).reshape(f, -1).T  # no copy, if the kernels lie channels last as well
    out = np.empty((len(x), oh, ow, f), x.dtype)
    for part, windows in _windows(x, (kh, kw), stride, padding, dilation, (oh, ow)):
        np.dot(windows, kernels, out=out[part].reshape(len(windows), f))
    return out.transpose(TO_PLANES)


def conv_kernel(x: Array, g: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """The gradient of the kernels, (F, C, kh, kw), of a `conv` of ``x`` with ``g`` at its result."""
    f, oh, ow = g.shape[1:]
    pixels, out = g.transpose(TO_PIXELS), np.zeros((f, kernel[0] * kernel[1] * x.shape[1]), x.dtype)
    for part, windows in _windows(x, kernel, stride, padding, dilation, (oh, ow)):
        out += pixels[part].reshape(len(windows), f).T.dot(windows)
    return out.reshape(f, *kernel, x.shape[1]).transpose(TO_PLANES)


def conv_input(g: Array, weight: Array, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """The gradient of the images, (N, C, *size), of a `conv` whose result has the gradient ``g``."""
    f, c, kh, kw = weight.shape
    if stride == (1, 1):
        kernels, margin = turned_kernels(weight, padding, dilation, 1)
        return conv(g, kernels, stride, margin, dilation, size)
    (n, _, oh, ow), pixels = g.shape, g.transpose(TO_PIXELS)
    kernels, out = weight.transpose(TO_PIXELS).reshape(f, -1), np.zeros((n, *size, c), g.dtype)
    step = max(1, STRIP // max(1, oh * ow * kernels.shape[1] * g.itemsize))
    for start in range(0, n, step):
        part = slice(start, min(n, start + step))
        flat = pixels[part].reshape(-1, f)
        windows = scratch("products", (len(flat), kernels.shape[1]), g.dtype)
        np.dot(flat, kernels, out=windows)
        _add_back(windows.reshape(-1, oh, ow, kh, kw, c), out[part], stride, padding, dilation)
    return out.transpose(TO_PLANES)


def _add_back(windows: Array, out: Array, stride: Pair, padding: Pair, dilation: Pair) -> None:
    """Add all windows (N, oh, ow, kh, kw, C) to the places of the images (N, H, W, C) that they were read from."""
    (oh, ow, kh, kw), (h, w) = windows.shape[1:5], out.shape[1:3]
    for i in range(kh):
        high, rows = inside(i * dilation[0] - padding[0], stride[0], oh, h)
        for j in range(kw):
            across, there = inside(j * dilation[1] - padding[1], stride[1], ow, w)
            out[:, rows, there] += windows[:, high, across, i, j]


def _windows(
    x: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, size: Pair
) -> Iterator[tuple[slice, Array]]:
    """The windows of a few images at a time, one in each row of a matrix, and the slice of the images."""
    pixels = x.transpose(TO_PIXELS)
    (n, h, w, c), (kh, kw), (sh, sw), (ph, pw), (dh, dw), (oh, ow) = (
        pixels.shape,
        kernel,
        stride,
        padding,
        dilation,
        size,
    )
    tall, wide = sh * (oh - 1) + dh * (kh - 1) + 1, sw * (ow - 1) + dw * (kw - 1) + 1  # what all windows see
    framed = (ph, pw) != (0, 0) or (tall, wide) != (h, w)
    step = max(1, STRIP // max(1, oh * ow * kh * kw * c * x.itemsize))
    frame = scratch("frame", (min(step, n), tall, wide, c), x.dtype) if framed else None
    if frame is not None:
        frame[...] = 0
    there, here = zip(overlap(tall, ph, h), overlap(wide, pw, w), strict=True)
    for start in range(0, n, step):
        part = slice(start, min(n, start + step))
        image = pixels[part] if frame is None else frame[: part.stop - start]
        if frame is not None:
            image[(slice(None), *there)] = pixels[(part, *here)]
        elif kernel == (1, 1) and stride == (1, 1):
            yield part, image.reshape(-1, c)
            continue
        image = np.ascontiguousarray(image)
        count, (s, down, across, channel) = len(image), image.strides
        shape = (count, oh, ow, kh, kw, c)
        seen = np.ndarray(shape, x.dtype, image, 0, (s, sh * down, sw * across, dh * down, dw * across, channel))
        windows = scratch("windows", shape, x.dtype)
        windows[...] = seen
        yield part, windows.reshape(count * oh * ow, kh * kw * c)
