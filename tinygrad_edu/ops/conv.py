"""Convolution of images (N, C, H, W) and of sequences (N, C, L), by gathering windows into a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import as_tensor
from ..core.dispatch import caller, here
from ..core.op import Op
from ..errors import ArgumentError, DtypeError, ShapeError

# mypy: disable-error-code="override"

Pair = tuple[int, int]


class Im2col(Op):
    """All windows of an image: (N, C, kh, kw, oh, ow) of (N, C, H, W), padded with ``fill``."""

    dtypes = "each"
    saves = ("x.shape", "stride", "padding", "dilation")

    @staticmethod
    def forward(
        xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any = (1, 1), fill: Any = 0.0,
        size: Any = None,
    ) -> Any:  # fmt: skip
        return xp.im2col(x, kernel, stride, padding, dilation, fill, size)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        return xp.col2im(g, shape, stride, padding, dilation)


class Col2im(Op):
    """Windows added back to the image that they were read from."""

    dtypes = "each"
    saves = ("cols.shape", "stride", "padding", "dilation")

    @staticmethod
    def forward(xp: Any, cols: Any, *, shape: Any, stride: Any, padding: Any, dilation: Any = (1, 1)) -> Any:
        return xp.col2im(cols, shape, stride, padding, dilation)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        return xp.im2col(g, shape[2:4], stride, padding, dilation, 0.0, shape[4:6])


class Conv2d(Op):
    """Cross-correlation of (N, C, H, W) or (C, H, W) with ``weight`` (F, C / groups, kh, kw), plus ``bias`` (F,).

    One matrix product per image and group. The windows are kept for backward: kh * kw times the bytes of the input,
    which is what a plain im2col costs. ``padding`` is a pair, or ``"same"``: as much as lets the size stay as it is.
    """

    dtypes = "equal"
    saves = (
        "x if weight", "weight if x", "cache if weight", "x.shape", "weight.shape",
        "stride", "padding", "dilation", "groups",
    )  # fmt: skip
    caches = "recomputed"

    @staticmethod
    def forward(
        xp: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any, groups: int = 1
    ) -> Any:
        axes, f = weight.ndim - 2, weight.shape[0]
        cols, size = _windows(xp, x, weight.shape, stride, padding, dilation, groups)
        if f % groups or (bias is not None and bias.shape != (f,)):
            raise ValueError("kernels")
        out = xp.reshape(weight, (groups, f // groups, cols.shape[2])) @ cols
        if bias is not None:
            out += xp.reshape(bias, (groups, f // groups, 1))
        return xp.reshape(out, (*x.shape[: -axes - 1], f, *size[-axes:])), cols

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, cols: Any, xs: Any, ws: Any, stride: Any, padding: Any,
        dilation: Any, groups: int,
    ) -> Any:  # fmt: skip
        axes, f = len(ws) - 2, ws[0]
        n, c, h, w = image_shape(xs, axes)
        oh, ow = image_shape(g.shape, axes)[2:]
        flat = xp.reshape(g, (n, groups, f // groups, oh * ow))
        gx = gw = gb = None
        if needs[0]:
            kernel, step, margin, apart = _how(ws, stride, padding, dilation)
            matrix = xp.reshape(weight, (groups, f // groups, ws[1] * kernel[0] * kernel[1]))
            matrix = xp.permute(matrix, (0, 2, 1))
            windows = matrix @ flat if f > groups else matrix * flat  # BLAS is slow at a single column times a row
            if not _pointwise(ws, stride, padding, dilation):
                windows = xp.col2im(xp.reshape(windows, (n, c, *kernel, oh, ow)), (n, c, h, w), step, margin, apart)
            gx = xp.reshape(windows, xs)
        if needs[1]:
            if cols is None:
                cols, _ = _windows(xp, x, ws, stride, padding, dilation, groups)
            gw = xp.reshape(xp.sum(flat @ xp.permute(cols, (0, 1, 3, 2)), 0, False), ws)
        if needs[2]:
            gb = xp.reshape(xp.sum(flat, (0, 3), False), (f,))
        return gx, gw, gb

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, weight = shapes[:2]
        axes = len(params["stride"])
        if len(weight) != axes + 2:
            form = "(F, C, kh, kw)" if axes == 2 else "(F, C, k)"
            return f"kernels come as {form}, and these have {len(weight)} axes", "reshape the kernels"
        if len(x) not in (axes + 1, axes + 2):
            return not_images(x, axes)
        for name, least, what in (
            ("stride", 1, "windows move by"), ("dilation", 1, "what a window sees is apart by"), ("padding", 0, "it is")
        ):  # fmt: skip
            if params[name] != "same" and min(params[name]) < least:
                return f"the {name} is {params[name]}, and {what} at least {least}", f"use {name}={least} or more"
        groups, c = params["groups"], x[-axes - 1]
        if groups < 1 or weight[0] % groups:
            why = f"{weight[0]} kernels cannot be shared out evenly among {groups} groups"
            return why, "use a number of groups that divides both the channels and the kernels"
        if c != weight[1] * groups:
            of = f" of each of {groups} groups" if groups > 1 else ""
            what, many = "image" if axes == 2 else "sequence", "s" * (weight[1] != 1)
            why = f"the kernel reads {weight[1]} channel{many}{of}, and the {what} has {c}"
            return why, f"make it Conv{axes}d({c}, {weight[0]}, …)"
        if len(shapes) == 3 and shapes[2] != weight[:1]:
            return f"there are {weight[0]} kernels, and the bias has shape {shapes[2]}", f"make the bias ({weight[0]},)"
        if axes == 1:
            return f"a kernel of {weight[2]} does not fit into {x[-1]} places", "add padding, or use a smaller kernel"
        why = f"a {weight[2]}x{weight[3]} kernel does not fit into {x[-2]}x{x[-1]} pixels"
        return why, "add padding, or use a smaller kernel"


class Conv1d(Conv2d, name="conv1d"):
    """Cross-correlation of (N, C, L) or (C, L) with ``weight`` (F, C / groups, k): of images with a height of 1."""


def image_shape(shape: tuple[int, ...], axes: int) -> tuple[int, int, int, int]:
    """The (N, C, H, W) that a shape stands for, of which the last ``axes``, 1 or 2, are those that windows move along:
    N is 1 for a single image, and H for a sequence."""
    batch = len(shape) - axes - 1
    if batch not in (0, 1):
        raise ValueError("axes")
    return shape[0] if batch else 1, shape[batch], 1 if axes == 1 else shape[-2], shape[-1]


def _pointwise(ws: tuple[int, ...], stride: Any, padding: Any, dilation: Any) -> bool:
    """Whether every window is one pixel, and every pixel one window: then x itself is the matrix, uncopied."""
    return (*ws[2:], *stride, *dilation) == (1,) * 3 * len(stride) and padding in ((0, 0), (0,), "same")


def _how(ws: tuple[int, ...], stride: Any, padding: Any, dilation: Any) -> tuple[Any, Any, Any, Any]:
    """Kernel, stride, margin and dilation as pairs. The margin is the padding above and to the left: where "same" has
    an odd number to share out, the larger part goes below and to the right."""
    kernel = ws[2:]
    if padding == "same":
        padding = tuple(d * (k - 1) // 2 for d, k in zip(dilation, kernel, strict=True))
    if len(kernel) == 2:
        return kernel, stride, padding, dilation
    return (1, *kernel), (1, *stride), (0, *padding), (1, *dilation)


def _windows(
    xp: Any, x: Any, ws: tuple[int, ...], stride: Any, padding: Any, dilation: Any, groups: int
) -> tuple[Any, tuple[int, int]]:
    """The windows as matrices (N, groups, what one window of a group holds, windows), and the size of the result."""
    n, c, h, w = image_shape(x.shape, len(ws) - 2)
    if c != ws[1] * groups or len(stride) != len(ws) - 2 or min(ws[2:]) < 1:
        raise ValueError("channels")
    if _pointwise(ws, stride, padding, dilation):
        return xp.reshape(x, (n, groups, c // groups, h * w)), (h, w)
    kernel, stride, margin, dilation = _how(ws, stride, padding, dilation)
    image = x if x.ndim == 4 else xp.reshape(x, (n, c, h, w))
    cols = xp.im2col(image, kernel, stride, margin, dilation, 0.0, (h, w) if padding == "same" else None)
    oh, ow = cols.shape[4:]
    return xp.reshape(cols, (n, groups, c // groups * kernel[0] * kernel[1], oh * ow)), (oh, ow)


def not_images(x: tuple[int, ...], axes: int) -> tuple[str, str]:
    """The hint for an operand that is neither a batch nor one image or sequence."""
    what = "images come as (N, C, H, W) or (C, H, W)" if axes == 2 else "sequences come as (N, C, L) or (C, L)"
    mend = "add the missing axes: x.unsqueeze(0)" if len(x) <= axes else "flatten the extra axes into the first"
    return f"{what}, and this has {len(x)} ax{'i' if len(x) == 1 else 'e'}s", mend


im2col, col2im = caller(Im2col), caller(Col2im)
conv1d_op, conv2d_op = caller(Conv1d), caller(Conv2d)


def counts(value: Any, name: str, axes: int) -> tuple[int, ...]:
    """One integer for each axis: ``3``, ``(3,)`` and ``(3, 3)`` mean the same for an image.

    Raises `ShapeError` for another number of them, `DtypeError` for what is no integer.
    """
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if any(not isinstance(part, (int, np.integer)) for part in parts):
        mend = f"use {name}=1" + ", or a pair of integers" * (axes == 2)
        raise DtypeError(f"{name}={value!r}", "places are counted in integers", mend, here())
    if len(parts) not in (1, axes):
        why = f"it has {len(parts)} parts, and windows move along {axes} ax{'i' if axes == 1 else 'e'}s"
        raise ShapeError(f"{name}={value!r}", why, f"use one number: {name}=1", here())
    return parts if len(parts) == axes else parts * axes


def _padding(padding: Any, stride: Any) -> Any:
    """A number or a tuple as it is; "valid" is none, and "same" goes with a stride of 1."""
    if not isinstance(padding, str):
        return padding
    if padding not in ("same", "valid"):
        raise ArgumentError(
            f"padding={padding!r}", "there is no such padding", "use a number, 'same' or 'valid'", here()
        )
    if padding == "same" and stride not in (1, (1,), (1, 1), [1], [1, 1]):
        why = "a convolution that moves by more than 1 makes the image smaller, whatever the padding"
        raise ArgumentError(f"padding='same' with stride={stride!r}", why, "give the padding as a number", here())
    return padding if padding == "same" else 0


def _conv(op: Any, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, *rest: Any) -> Any:
    x, (dilation, groups) = as_tensor(x), rest
    refuse_bools(op.__name__, x)
    padding = _padding(padding, stride)
    return op(
        x, weight, bias,
        stride=counts(stride, "stride", axes),
        padding=padding if padding == "same" else counts(padding, "padding", axes),
        dilation=counts(dilation, "dilation", axes),
        groups=groups,
    )  # fmt: skip


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Cross-correlation of images (N, C, H, W), or of one (C, H, W), with kernels (F, C / groups, kh, kw).

    The result is (N, F, oh, ow). ``stride``, ``padding`` and ``dilation`` are numbers or pairs; ``padding`` may be
    ``"valid"``, none, or ``"same"``, which keeps H and W. With ``groups``, each group of channels has kernels of its
    own. Raises `ShapeError` where the shapes do not fit, `DtypeError` where dtypes differ.

    >>> import tinygrad_edu as tg
    >>> image = tg.arange(9.0).reshape(1, 1, 3, 3)
    >>> tg.nn.functional.conv2d(image, tg.ones(1, 1, 2, 2)).tolist()
    [[[[8.0, 12.0], [20.0, 24.0]]]]
    """
    return _conv(conv2d_op, 2, x, weight, bias, stride, padding, dilation, groups)


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Cross-correlation of sequences (N, C, L), or of one (C, L), with kernels (F, C / groups, k): (N, F, length).

    Arguments and errors are those of `conv2d`.
    """
    return _conv(conv1d_op, 1, x, weight, bias, stride, padding, dilation, groups)


def refuse_bools(name: str, x: Any) -> None:
    """NumPy's product of bools is "or", not a sum."""
    if x.dtype.kind == "b":
        raise DtypeError(f"{name}({tuple(x.shape)} bool)", "bools are not added up", "convert it: x.float()", here())
