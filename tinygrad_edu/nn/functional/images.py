"""Images taken apart and put together: windows as columns, and channels as pixels."""

from __future__ import annotations

import math
from typing import Any

from ...backends import room
from ...errors import ArgumentError, ShapeError
from ...inputs.arguments import as_tensor, whole
from ...inputs.kinds import explain_all
from ...ops.conv import col2im, counts, im2col, not_images
from ...tensor import Tensor

WINDOWS = ("kernel_size", "dilation", "padding", "stride")
Pairs = tuple[tuple[int, ...], ...]


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The windows of images (N, C, H, W) as columns (N, C * kh * kw, windows); without the N for a single image.

    The other arguments are numbers or pairs, as in `conv2d`. Raises `ShapeError` if no window fits.
    """
    x = as_tensor(input)
    kernel, dilation, padding, stride = how = _pairs(kernel_size, dilation, padding, stride)
    tried = f"unfold of a tensor {tuple(x.shape)} into windows {kernel}"
    if x.ndim not in (3, 4):
        raise ShapeError(tried, *not_images(x.shape, 2))
    _how_many(tried, x.shape[-2:], how)
    batch = x if x.ndim == 4 else x.unsqueeze(0)
    windows = im2col(batch, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    result: Tensor = windows.reshape(len(batch), math.prod(windows.shape[1:4]), math.prod(windows.shape[4:]))
    return result if x.ndim == 4 else result.squeeze(0)


def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Windows put back: columns (N, C * kh * kw, windows) to images (N, C, H, W) of ``output_size`` (H, W).

    The arguments are those of `unfold`, which made the columns. Where windows overlap, their elements are added up. N
    may be missing. Raises `ShapeError` if there are more or fewer windows than such images have.
    """
    x = as_tensor(input)
    size = counts(output_size, "output_size", 2)
    kernel, dilation, padding, stride = how = _pairs(kernel_size, dilation, padding, stride)
    tried = f"fold of a tensor {tuple(x.shape)} to {size}, of windows {kernel}"
    if x.ndim not in (2, 3):
        why = "columns are (N, C * kh * kw, windows), or without the N"
        raise ShapeError(tried, why, "flatten the axes of a window into one")
    down, across = _how_many(tried, size, how)
    batch = x if x.ndim == 3 else x.unsqueeze(0)
    rows, windows = batch.shape[1:]
    if not rows or rows % math.prod(kernel):
        why = f"a column has {rows} elements, but a window of one channel {math.prod(kernel)}"
        raise ShapeError(tried, why, "give the kernel_size that unfold was given")
    if windows != down * across:
        why = f"there are {windows} windows, but {size} has {down} down times {across} across: {down * across}"
        raise ShapeError(tried, why, "give the sizes that unfold was given, and H and W of its input")
    shape = (len(batch), rows // math.prod(kernel), *size)
    room.check(tried, shape, 8)
    apart = batch.reshape(*shape[:2], *kernel, down, across)
    result: Tensor = col2im(apart, shape=shape, stride=stride, padding=padding, dilation=dilation)
    return result if x.ndim == 3 else result.squeeze(0)


def _pairs(*given: Any) -> Pairs:
    """kernel_size, dilation, padding and stride as pairs."""
    return tuple(counts(value, name, 2) for name, value in zip(WINDOWS, given, strict=True))


def _how_many(tried: str, size: tuple[int, ...], how: Pairs) -> list[int]:
    """The number of windows down and across. Refuses impossible windows."""
    for name, pair in zip(WINDOWS, how, strict=True):
        if min(pair) < (name != "padding"):
            raise ShapeError(tried, f"the {name} is {pair}", f"use {name}=1")
    found = []
    for n, k, d, p, s in zip(size, *how, strict=True):
        left = n + 2 * p - d * (k - 1) - 1
        if left < 0:
            raise ShapeError(tried, "the window does not fit", "add padding, or use a smaller window")
        found.append(left // s + 1)
    return found


def pixel_shuffle(input: Any, upscale_factor: int) -> Tensor:
    """Channels laid out as pixels: (…, C * r², H, W) to (…, C, H * r, W * r), for r = ``upscale_factor``.

    Every r² consecutive channels become r x r squares of pixels. Raises `ShapeError` if the channels
    cannot be divided so, `ArgumentError` for a factor below 1.
    """
    x, r = as_tensor(input), _factor("pixel_shuffle", "upscale_factor", upscale_factor)
    tried = f"pixel_shuffle of a tensor {tuple(x.shape)} by {r}"
    _check_images(tried, x)
    *lead, channels, h, w = x.shape
    if channels % r**2:
        why = f"{channels} channels do not make squares of {r} x {r} pixels"
        raise ShapeError(tried, why, f"give it a multiple of {r**2} channels")
    squares = x.reshape(*lead, channels // r**2, r, r, h, w).movedim((-4, -3), (-3, -1))
    return _copied(squares, r).reshape(*lead, channels // r**2, h * r, w * r)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Tensor:
    """Pixels stacked as channels: (…, C, H * r, W * r) to (…, C * r², H, W). It undoes `pixel_shuffle`.

    Raises `ShapeError` if H or W is not a multiple of the factor r, `ArgumentError` for a factor below 1.
    """
    x, r = as_tensor(input), _factor("pixel_unshuffle", "downscale_factor", downscale_factor)
    tried = f"pixel_unshuffle of a tensor {tuple(x.shape)} by {r}"
    _check_images(tried, x)
    *lead, channels, h, w = x.shape
    if h % r or w % r:
        why = f"{h} x {w} pixels do not make squares of {r} x {r}"
        raise ShapeError(tried, why, f"give it a height and a width that are multiples of {r}")
    squares = x.reshape(*lead, channels, h // r, r, w // r, r).movedim((-3, -1), (-4, -3))
    return _copied(squares, r).reshape(*lead, channels * r**2, h // r, w // r)


def _factor(name: str, argument: str, value: Any) -> int:
    factor = whole(name, argument, value)
    if factor < 1:
        why = "it is the side of a square of pixels"
        raise ArgumentError(f"{name} with {argument}={factor}", why, f"use {argument}=2, for example")
    return factor


def _copied(squares: Tensor, r: int) -> Tensor:
    """The result is never the input in another shape; squares of more than one pixel are copied by reshape."""
    return squares.clone() if r == 1 else squares


def _check_images(tried: str, x: Tensor) -> None:
    if x.ndim < 3:
        why = f"images are (…, C, H, W), but this has {x.ndim} ax{'i' if x.ndim == 1 else 'e'}s"
        raise ShapeError(tried, why, "add the missing axes: x.unsqueeze(0)")


explain_all(globals())
