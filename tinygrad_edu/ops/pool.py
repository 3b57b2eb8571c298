"""Pooling of images (N, C, H, W) and of sequences (N, C, L): the largest element, or the mean, of each window."""

from __future__ import annotations

from typing import Any

from ..backends import room
from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.op import Op
from ..dtypes import is_float
from ..errors import ArgumentError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from .conv import counts, image_shape, not_images, refuse_bools

# mypy: disable-error-code="override"


def _geometry(
    x: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Image, kernel, stride, padding, dilation, and the number of windows, all as for images: a sequence has a height
    of 1. Refuses what would leave a window empty, or give no window."""
    axes = len(kernel)
    image = image_shape(x, axes)
    if min(*kernel, *stride, *dilation, *image[1:]) < 1 or min(padding) < 0:
        raise ValueError("windows")
    if axes == 1:
        kernel, stride, padding, dilation = (1, *kernel), (1, *stride), (0, *padding), (1, *dilation)
    size = []
    for length, k, s, p, d in zip(image[2:], kernel, stride, padding, dilation, strict=True):
        reach = d * (k - 1) + 1
        room = length + 2 * p - reach
        count = (room + s - 1 if ceil_mode else room) // s + 1
        if ceil_mode and (count - 1) * s >= length + p:
            count -= 1  # a window that begins beyond the image would hold only padding
        in_padding = range(min(count, -(-p // s)))  # the windows that begin there, and what they see first of the image
        if 2 * p > reach or count < 1 or max([0, *((s * i - p) % d for i in in_padding)]) >= length:
            raise ValueError("windows")
        size.append(count)
    return image, kernel, stride, padding, dilation, tuple(size)


def _hint(shapes: Any, params: Any) -> tuple[str, str] | None:
    """Why `_geometry` refused."""
    x, kernel, stride, padding = shapes[0], params["kernel"], params["stride"], params["padding"]
    axes, dilation = len(kernel), params.get("dilation", (1,) * len(kernel))
    if len(x) not in (axes + 1, axes + 2):
        return not_images(x, axes)
    if 0 in x[-axes - 1 :]:
        return "without channels or without places there are no windows", "check how the tensor came to be empty"
    for name, value in (("kernel", kernel), ("stride", stride), ("dilation", dilation), ("padding", padding)):
        least = 0 if name == "padding" else 1
        if min(value) < least:
            return f"the {name} is {value}, but it must be at least {least}", f"use {name}={least} or more"
    if any(2 * p > d * (k - 1) + 1 for p, d, k in zip(padding, dilation, kernel, strict=True)):
        why = f"padding {padding} is more than half of the window {kernel}: some windows would be empty"
        return why, "use less padding, or a larger window"
    if any(p and d > length for p, d, length in zip(padding, dilation, x[-axes:], strict=True)):
        why = f"with dilation {dilation}, a window may see padding on both sides of {x[-axes:]}, and nothing of it"
        return why, "use less dilation, or no padding"
    return f"a window of {kernel} does not fit into {x[-axes:]}", "use a smaller window"


def _framed(xp: Any, x: Any, how: Any, fill: Any) -> Any:
    """``x`` as images, with ``fill`` around them as far as the windows reach."""
    image, kernel, stride, padding, dilation, size = how
    n, c, h, w = image
    x = x if x.ndim == 4 else xp.reshape(x, image)
    reach = [s * (count - 1) + d * (k - 1) + 1 for count, k, s, d in zip(size, kernel, stride, dilation, strict=True)]
    (tall, wide), (top, left) = reach, padding
    if top == left == 0 and tall <= h and wide <= w:
        return x
    shape = (n, c, max(tall, top + h), max(wide, left + w))
    inside = (slice(None), slice(None), slice(top, top + h), slice(left, left + w))
    return xp.put(xp.full(shape, fill, x.dtype), inside, x) if fill else xp.scatter_add(shape, inside, x)


def _places(x: Any, axis: int, count: int, kernel: int, stride: int, dilation: int) -> list[Any]:
    """For each place in a window, what the windows along ``axis`` see there: slices of x."""
    before, span = (slice(None),) * axis, stride * (count - 1) + 1
    return [x[(*before, slice(i * dilation, i * dilation + span, stride))] for i in range(kernel)]


def _stages(how: Any) -> list[tuple[int, Any]]:
    """Windows of images as windows along rows, then windows along columns of those results; each with its axis."""
    (n, c, h, w), (kh, kw), (sh, sw), (ph, pw), (dh, dw), (oh, ow) = how
    return [
        (3, ((n, c, h, w), (1, kw), (1, sw), (0, pw), (1, dw), (h, ow))),
        (2, ((n, c, h, ow), (kh, 1), (sh, 1), (ph, 0), (dh, 1), (oh, ow))),
    ]


def _seen(xp: Any, x: Any, axis: int, how: Any, fill: Any) -> list[Any]:
    """`_places` of one stage, with ``fill`` for padding."""
    _, kernel, stride, _, dilation, size = how
    i = axis - 2
    return _places(_framed(xp, x, how, fill), axis, size[i], kernel[i], stride[i], dilation[i])


def _largest(xp: Any, x: Any, axis: int, how: Any) -> Any:
    out, *others = _seen(xp, x, axis, how, lowest(x.dtype))
    for other in others:
        out = xp.maximum(out, other)
    return out


class MaxPool2d(Op, name="max_pool2d"):
    """The largest element of each window of (N, C, H, W) or (C, H, W). The first of equal ones gets the gradient."""

    dtypes = "each"
    saves = ("x", "kernel", "stride", "padding", "dilation", "ceil_mode")  # not `out`: it may be overwritten

    @staticmethod
    def forward(
        xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool = False
    ) -> Any:
        how = _geometry(x.shape, kernel, stride, padding, dilation, ceil_mode)
        out, axes = xp.reshape(x, how[0]), len(kernel)
        for axis, stage in _stages(how):
            out = _largest(xp, out, axis, stage)
        out = xp.reshape(out if max(kernel) > 1 else xp.copy(out), (*x.shape[:-axes], *out.shape[4 - axes :]))
        return xp.contiguous(out, x)

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> Any:
        how = _geometry(x.shape, kernel, stride, padding, dilation, ceil_mode)
        (n, c), (oh, ow) = how[0][:2], how[-1]
        x, shape = xp.reshape(x, how[0]), x.shape
        g = xp.reshape(g, (n, c, oh, ow))
        across, down = _stages(how)
        rows = _largest(xp, x, *across)
        out = _largest(xp, rows, *down)
        for (axis, stage), before, after in ((down, rows, out), (across, x, rows)):
            image, window, step, margin, apart, size = stage
            if (window, step) == ((1, 1), (1, 1)):
                continue
            seen = _seen(xp, before, axis, stage, float("nan"))  # padding equals nothing
            chosen = xp.reshape(_first(xp, seen, after), (n, c, *window, *size))
            spread = xp.where(chosen, xp.reshape(g, (n, c, 1, 1, *size)), 0)
            g = xp.col2im(spread, image, step, margin, apart)
        return xp.reshape(g, shape)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint(shapes, params)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return how_many(out) * (how_many(params["kernel"]) - 1)


def _first(xp: Any, places: list[Any], out: Any) -> Any:
    """For each place in a window, whether it is the first that holds ``out``, the largest element; along axis 2."""
    free, chosen = None, []
    for place in places:
        hit = place == out
        if free is not None:
            hit = hit & free
        free = ~hit if free is None else free & ~hit
        chosen.append(xp.reshape(hit, (*out.shape[:2], 1, *out.shape[2:])))
    return xp.concatenate(chosen, 2)


class MaxPool1d(MaxPool2d, name="max_pool1d"):
    """The largest element of each window of (N, C, L) or (C, L). The first of equal ones gets the gradient."""


def lowest(dtype: Any) -> Any:
    """The value of padding, so that it never wins."""
    if is_float(dtype):
        return -float("inf")
    return -(2 ** (8 * dtype.itemsize - 1)) if dtype.kind == "i" else 0


class ArgmaxPool(Op, name="argmax_pool"):
    """Where the largest element of each window is: its place in the flattened image, or in the sequence, as int64."""

    dtypes = "each"
    differentiable = False

    @staticmethod
    def forward(
        xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool = False
    ) -> Any:
        axes, how = len(kernel), _geometry(x.shape, kernel, stride, padding, dilation, ceil_mode)
        (n, c, h, w), (kh, kw), stride, padding, dilation, (oh, ow) = how
        images = xp.reshape(x, (n, c, h, w))
        windows = xp.im2col(images, (kh, kw), stride, padding, dilation, lowest(x.dtype), (oh, ow))
        first = xp.argmax(xp.reshape(windows, (n, c, kh * kw, oh, ow)), 2, False)
        rows = xp.reshape(xp.arange(oh), (oh, 1)) * stride[0] - padding[0] + first // kw * dilation[0]
        where = rows * w + xp.arange(ow) * stride[1] - padding[1] + first % kw * dilation[1]
        return xp.contiguous(xp.reshape(where, (*x.shape[:-axes], *(oh, ow)[-axes:])), x)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint(shapes, params)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return 3 * how_many(out) * how_many(params["kernel"])


class AvgPool2d(Op, name="avg_pool2d"):
    """The mean of each window of (N, C, H, W) or (C, H, W). Padding is zeros, which ``count_include_pad`` counts."""

    dtypes = "each"
    saves = ("x.shape", "kernel", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    @staticmethod
    def forward(
        xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        axes, how = len(kernel), _geometry(x.shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
        _, kernel, stride, _, _, size = how
        out = _framed(xp, x, how, 0)
        for axis in (0, 1):  # first the sums of a window's columns, then the sum of those
            first, *others = _places(out, axis + 2, size[axis], kernel[axis], stride[axis], 1)
            out = first
            for other in others:
                out = out + other
        divisor = divisor_override or _divisor(xp, x.dtype, how, ceil_mode, count_include_pad)
        if is_float(x.dtype):
            out = out / divisor
        else:  # towards zero, as PyTorch divides integers
            down = out // divisor
            out = down + ((down < 0) & (down * divisor != out))
        return xp.reshape(xp.contiguous(out, xp.reshape(x, how[0])), (*x.shape[:-axes], *size[-axes:]))

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, shape: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
        count_include_pad: bool, divisor_override: Any,
    ) -> Any:  # fmt: skip
        how = _geometry(shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
        image, kernel, stride, padding, _, (oh, ow) = how
        n, c = image[:2]
        divisor = divisor_override or _divisor(xp, g.dtype, how, ceil_mode, count_include_pad)
        share = xp.reshape(xp.reshape(g, (n, c, oh, ow)) / divisor, (n, c, 1, 1, oh, ow))
        windows = xp.broadcast_to(share, (n, c, *kernel, oh, ow))
        return xp.reshape(xp.col2im(windows, image, stride, padding), shape)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint(shapes, params)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return how_many(out) * how_many(params["kernel"])


class AvgPool1d(AvgPool2d, name="avg_pool1d"):
    """The mean of each window of (N, C, L) or (C, L). Padding is zeros, which ``count_include_pad`` counts."""


def _divisor(xp: Any, dtype: Any, how: Any, ceil_mode: bool, count_include_pad: bool) -> Any:
    """How many elements each window averages: one number if all windows are complete, else (oh, ow)."""
    image, kernel, stride, padding, _, size = how
    if count_include_pad and not ceil_mode:
        return kernel[0] * kernel[1]
    lengths = []
    for length, k, s, p, count in zip(image[2:], kernel, stride, padding, size, strict=True):
        starts, margin = xp.arange(count) * s - p, p if count_include_pad else 0
        zeros = xp.zeros_like(starts)
        lengths.append(xp.minimum(starts + k, zeros + (length + margin)) - xp.maximum(starts, zeros - margin))
    return xp.astype(xp.reshape(lengths[0], (size[0], 1)) * lengths[1], dtype)


class AdaptiveAvgPool2d(Op, name="adaptive_avg_pool2d"):
    """The means of ``size`` windows of (N, C, H, W) or (C, H, W), which divide the pixels as evenly as possible."""

    dtypes = "floating"
    saves = ("x.shape",)
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, size: Any) -> Any:
        (n, c, h, w), (oh, ow) = image_shape(x.shape, 2), size
        shape = (*x.shape[:-2], oh, ow)
        if h % oh == 0 and w % ow == 0:
            whole = xp.reshape(x, (n, c, oh, h // oh, ow, w // ow))
            return xp.contiguous(xp.reshape(xp.sum(whole, (3, 5), False) / (h // oh * (w // ow)), shape), x)
        rows = _sums(xp, xp.reshape(x, (n, c, h, w)), 2, oh) / xp.reshape(_lengths(xp, h, oh, x.dtype), (oh, 1))
        return xp.contiguous(xp.reshape(_sums(xp, rows, 3, ow) / _lengths(xp, w, ow, x.dtype), shape), x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any) -> Any:
        # A pixel belongs to one window, or to a few neighbouring ones. The same rule finds which.
        (h, w), (n, c, oh, ow) = shape[-2:], image_shape(g.shape, 2)
        rows = _sums(xp, xp.reshape(g, (n, c, oh, ow)) / _lengths(xp, w, ow, g.dtype), 3, w)
        return xp.reshape(_sums(xp, rows / xp.reshape(_lengths(xp, h, oh, g.dtype), (oh, 1)), 2, h), shape)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return not_images(shapes[0], 2)


def _sums(xp: Any, x: Any, axis: int, count: int) -> Any:
    """The sums of ``count`` windows along an axis. Window i begins at i * size / count, rounded down, and ends where
    the next one would begin, rounded up: neighbours may share an element."""
    size, before, after = x.shape[axis], x.shape[:axis], x.shape[axis + 1 :]
    if size % count == 0:
        return xp.sum(xp.reshape(x, (*before, count, size // count, *after)), axis + 1, False)
    if count % size == 0:
        repeated = xp.broadcast_to(xp.reshape(x, (*before, size, 1, *after)), (*before, size, count // size, *after))
        return xp.reshape(repeated, (*before, count, *after))
    head = (slice(None),) * axis
    windows = [x[(*head, slice(i * size // count, -(-(i + 1) * size // count)))] for i in range(count)]
    return xp.concatenate([xp.sum(window, axis, True) for window in windows], axis)


def _lengths(xp: Any, size: int, count: int, dtype: Any) -> Any:
    """The lengths of the windows of `_sums`."""
    i = xp.arange(count)
    return xp.astype(-(-(i + 1) * size // count) - i * size // count, dtype)


max_pool1d_op, max_pool2d_op, argmax_pool = caller(MaxPool1d), caller(MaxPool2d), caller(ArgmaxPool)
avg_pool1d_op, avg_pool2d_op, adaptive_avg_pool2d_op = caller(AvgPool1d), caller(AvgPool2d), caller(AdaptiveAvgPool2d)


def _how(axes: int, kernel_size: Any, stride: Any, padding: Any, **rest: Any) -> dict[str, Any]:
    kernel = counts(kernel_size, "kernel_size", axes)
    return {
        "kernel": kernel,
        "stride": kernel if stride is None or stride in ((), []) else counts(stride, "stride", axes),
        "padding": counts(padding, "padding", axes),
        **rest,
    }


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of images (N, C, H, W), or of one (C, H, W).

    ``stride`` is ``kernel_size`` by default. Padding never wins. With ``ceil_mode`` a last window may reach beyond the
    image. With ``return_indices`` the result is a pair: values, and their places in the flattened image as int64.
    Raises `ShapeError` if some window would be empty.
    """
    more = {"dilation": counts(dilation, "dilation", 2), "ceil_mode": ceil_mode}
    how = _how(2, kernel_size, stride, padding, **more)
    values = max_pool2d_op(input, **how)
    return (values, argmax_pool(input, **how)) if return_indices else values


def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of sequences (N, C, L), or of one (C, L); otherwise as `max_pool2d`."""
    more = {"dilation": counts(dilation, "dilation", 1), "ceil_mode": ceil_mode}
    how = _how(1, kernel_size, stride, padding, **more)
    values = max_pool1d_op(input, **how)
    return (values, argmax_pool(input, **how)) if return_indices else values


def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window of images (N, C, H, W), or of one (C, H, W).

    ``stride`` is ``kernel_size`` by default. Padding is zeros; they count as elements unless ``count_include_pad`` is
    false. ``divisor_override`` divides the sums in place of the count. Integers are divided towards zero. Raises
    `ShapeError` if some window would be empty.
    """
    x = as_tensor(input)
    refuse_bools("avg_pool2d", x)
    if divisor_override == 0:
        raise ArgumentError("divisor_override=0", "no sum can be divided by 0", "leave it out, or give another number")
    more = {"count_include_pad": count_include_pad, "divisor_override": divisor_override}
    return avg_pool2d_op(x, **_how(2, kernel_size, stride, padding, ceil_mode=ceil_mode, **more))


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window of sequences (N, C, L), or of one (C, L); otherwise as `avg_pool2d`."""
    x = as_tensor(input)
    refuse_bools("avg_pool1d", x)
    more = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
    return avg_pool1d_op(x, **_how(1, kernel_size, stride, padding, **more))


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The means of windows that divide images (N, C, H, W), or one (C, H, W), into ``output_size`` parts.

    It is a number, or a pair in which None keeps H or W. Where the sizes do not divide evenly, windows differ in length
    by one at most, and neighbours share pixels. Raises `ArgumentError` for sizes below 1.
    """
    x = as_tensor(input)
    wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if x.ndim not in (3, 4) or len(wanted) != 2 or 0 in x.shape[-3:]:
        raise ShapeError(
            f"adaptive_avg_pool2d of a tensor {tuple(x.shape)} to {output_size!r}",
            "it takes images (N, C, H, W) or (C, H, W) with at least one pixel, and a size for H and one for W",
            "add the missing axes: x.unsqueeze(0), and give a pair: (1, 1)"
        )  # fmt: skip
    size = tuple(old if new is None else new for old, new in zip(x.shape[-2:], wanted, strict=True))
    if min(counts(size, "output_size", 2)) < 1:
        why = "a result without pixels would hold no mean"
        raise ArgumentError(f"adaptive_avg_pool2d to {output_size!r}", why, "use sizes of 1 or more")
    room.check(f"adaptive_avg_pool2d to {output_size!r}", (*x.shape[:-2], *size), 8)
    return adaptive_avg_pool2d_op(x, size=size)


explain_all(globals(), "lowest")
