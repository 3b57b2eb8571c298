"""Several ways to the same convolution, and which one is taken.

All give the same numbers, each rounded in its own way. Which one is fastest depends on the shapes and on the machine,
so with ``backends.cudnn.benchmark`` each is timed where a shape comes for the first time. See `autotune` for that.

``windows``
    all windows are gathered into a matrix: one large product. See `convolution`.
``positions``
    one product for each place in the kernel, with the image moved by as much; the products are added up. Nothing is
    gathered, but kernels of k * k places need k * k products.
``channels last``
    the images are laid out channels last, and the result is laid back. See `channels_last`.
``spectrum``
    by FFT, where a convolution is a product for each frequency. The kernel may be as large as the image for the same
    price. Rounding is relative to the largest number of the image, so an infinite one is left to the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import autotune, channels_last, convolution, cudnn
from .convolution import Array, Pair, count_windows, overlap, scratch, turned_kernels
from .layout import arrived, inside
from .layout import channels_last as lies_last

Way = Callable[..., Array]


def conv(
    x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Pair | None = None
) -> Array:
    """`convolution.conv`, in the way that fits how the images lie, or else the settings of `cudnn`."""
    x, weight = arrived(x), arrived(weight)
    if lies_last(x.shape, x.strides):
        if groups == 1:
            return channels_last.conv(x, weight, stride, padding, dilation, size)
        inside.conversions += 1
    elif cudnn.benchmark and not cudnn.deterministic and _tunable(x, weight):
        given = (x, weight, stride, padding, dilation, groups, size)
        key = (x.shape, weight.shape, stride, padding, dilation, groups, size, x.dtype.name)
        return autotune.best(key, _applicable(*given), given)
    return convolution.conv(x, weight, stride, padding, dilation, groups, size)


def conv_kernel(x: Array, g: Array, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Array:
    """`convolution.conv_kernel`, in the way that fits how the images lie."""
    x, g = arrived(x), arrived(g)
    if lies_last(x.shape, x.strides):
        if groups == 1:
            inside.conversions += not lies_last(g.shape, g.strides)
            return channels_last.conv_kernel(x, g, kernel, stride, padding, dilation)
        inside.conversions += 1
    return convolution.conv_kernel(x, g, kernel, stride, padding, dilation, groups)


def conv_input(g: Array, weight: Array, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Array:
    """`convolution.conv_input`, in the way that fits how the gradient lies. With a stride of 1 it is a `conv`."""
    g, weight = arrived(g), arrived(weight)
    if lies_last(g.shape, g.strides):
        if groups == 1:
            return channels_last.conv_input(g, weight, size, stride, padding, dilation)
        inside.conversions += 1
    elif stride == (1, 1) and cudnn.benchmark and g.shape[1] == weight.shape[0]:
        kernels, margin = turned_kernels(weight, padding, dilation, groups)
        return conv(g, kernels, stride, margin, dilation, groups, size)
    return convolution.conv_input(g, weight, size, stride, padding, dilation, groups)


# The other ways -------------------------------------------------------------------------------------------------------


def by_positions(
    x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Pair | None = None
) -> Array:
    """A product for each place in the kernel, added up.

    In the frame around an image, a step to the right or down is a step in memory, always the same one. So the moved
    image is the same memory from another place on, and rows are as long as the frame is wide: what does not belong to
    the result lies between its rows.
    """
    (n, c, _, _), (f, per_group, kh, kw) = x.shape, weight.shape
    oh, ow = count_windows(x.shape, (kh, kw), stride, padding, dilation) if size is None else size
    frame = _framed(x, (oh, ow), (kh, kw), stride, padding, dilation)
    tall, wide = frame.shape[2:]
    kernels = np.ascontiguousarray(weight.transpose(2, 3, 0, 1)).reshape(kh, kw, groups, f // groups, per_group)
    runs = stride == (1, 1)
    row = wide if runs else ow
    places = (oh - 1) * row + ow
    total = np.zeros((n, groups, f // groups, oh * row), x.dtype)
    sums, part = total[..., :places], scratch("products", (n, groups, f // groups, places), x.dtype)
    flat = frame.reshape(n, groups, c // groups, tall * wide)
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilation[0], j * dilation[1]
            if runs:
                moved = flat[..., top * wide + left :][..., :places]
            else:
                rows = slice(top, top + stride[0] * (oh - 1) + 1, stride[0])
                columns = slice(left, left + stride[1] * (ow - 1) + 1, stride[1])
                moved = frame[:, :, rows, columns].reshape(n, groups, c // groups, places)
            with np.errstate(over="ignore", invalid="ignore"):  # between the rows
                np.matmul(kernels[i, j], moved, out=part)
                sums += part
    return np.ascontiguousarray(total.reshape(n, f, oh, row)[..., :ow])


def by_channels_last(
    x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Pair | None = None
) -> Array:
    """Laid out anew, and the result laid back."""
    pixels = np.ascontiguousarray(x.transpose(channels_last.TO_PIXELS)).transpose(channels_last.TO_PLANES)
    return np.ascontiguousarray(channels_last.conv(pixels, weight, stride, padding, dilation, size))


def by_spectrum(
    x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Pair | None = None
) -> Array:
    """A product for each frequency. Its windows move by 1; those that the stride leaves out are dropped."""
    (n, c, _, _), (f, per_group, kh, kw) = x.shape, weight.shape
    oh, ow = count_windows(x.shape, (kh, kw), stride, padding, dilation) if size is None else size
    frame = _framed(x, (oh, ow), (kh, kw), stride, padding, dilation)
    if not np.isfinite(frame).all():
        return convolution.conv(x, weight, stride, padding, dilation, groups, size)
    sizes = frame.shape[2:]
    spread = np.zeros((f, per_group, *sizes), x.dtype)
    spread[:, :, : dilation[0] * kh : dilation[0], : dilation[1] * kw : dilation[1]] = weight
    images, kernels = np.fft.rfft2(frame), np.fft.rfft2(spread).conj()  # conjugate: windows are not turned round
    count = images.shape[2] * images.shape[3]
    left = images.reshape(n, groups, c // groups, count).transpose(3, 1, 0, 2)
    right = kernels.reshape(groups, f // groups, per_group, count).transpose(3, 0, 2, 1)
    product = np.matmul(left, right).transpose(2, 1, 3, 0).reshape(n, f, *images.shape[2:])
    out = np.fft.irfft2(product, sizes)
    rows, columns = slice(0, stride[0] * (oh - 1) + 1, stride[0]), slice(0, stride[1] * (ow - 1) + 1, stride[1])
    return np.ascontiguousarray(out[:, :, rows, columns])


def _framed(x: Array, size: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """What all windows see, with zeros around the images."""
    tall, wide = (s * (o - 1) + d * (k - 1) + 1 for s, o, d, k in zip(stride, size, dilation, kernel, strict=True))
    if padding == (0, 0) and (tall, wide) == x.shape[2:]:
        return np.ascontiguousarray(x)
    frame = np.zeros((*x.shape[:2], tall, wide), x.dtype)
    (rows, from_rows), (columns, from_columns) = (
        overlap(tall, padding[0], x.shape[2]),
        overlap(wide, padding[1], x.shape[3]),
    )
    frame[:, :, rows, columns] = x[:, :, from_rows, from_columns]
    return frame


# Which of them --------------------------------------------------------------------------------------------------------

WAYS: dict[str, Way] = {
    "windows": convolution.conv, "positions": by_positions, "channels last": by_channels_last,
    "spectrum": by_spectrum,
}  # fmt: skip
MOST = 1 << 26  # bytes of frequencies: where there are more, that way is not tried


def _tunable(x: Array, weight: Array) -> bool:
    """Whether there is a choice: of floats, and of some. What does not fit together, the usual way refuses."""
    return bool(x.dtype.kind == "f" and x.dtype.itemsize > 2 and x.size and weight.size)


def _applicable(
    x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, groups: int, size: Pair | None
) -> dict[str, Way]:
    """The ways that this convolution can go. The first is the one that is taken without a benchmark."""
    ways = dict(WAYS)
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        return {"windows": convolution.conv}  # which says what does not fit
    if groups > 1:
        del ways["channels last"]
    (n, c, h, w), (f, per_group, kh, kw) = x.shape, weight.shape
    frequencies = (n * c + f * per_group + n * f) * (h + 2 * abs(padding[0])) * (w + 2 * abs(padding[1]))
    if (kh, kw) == (1, 1) or frequencies * x.itemsize > MOST:  # those of a single number are all alike
        del ways["spectrum"]
    return ways
