"""Convolution of images (N, C, H, W) and of sequences (N, C, L).

It is linear in the images and in the kernels. So its derivatives are two more operations of the same family, and the
derivatives of each are the other two. `backends.convolution` shows how windows become matrix products.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.op import Op
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from .formats import channels_last, clone, lies

# mypy: disable-error-code="override"


class Im2col(Op):
    """All windows of an image: (N, C, kh, kw, oh, ow) of (N, C, H, W), padded with ``fill``."""

    dtypes = "each"
    saves = ("x.shape", "stride", "padding", "dilation")
    per_element = 0

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
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, cols: Any, *, shape: Any, stride: Any, padding: Any, dilation: Any = (1, 1)) -> Any:
        return xp.col2im(cols, shape, stride, padding, dilation)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        return xp.im2col(g, shape[2:4], stride, padding, dilation, 0.0, shape[4:6])


class ConvInput(Op, name="conv_input"):
    """The gradient of the images of a convolution, from that of its result: each pixel adds up all that read it."""

    dtypes = "equal"
    saves = ("g if weight", "weight if g", "g.shape", "weight.shape", "stride", "padding", "dilation", "groups")

    @staticmethod
    def forward(
        xp: Any, g: Any, weight: Any, *, size: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Any:
        return xp.conv_input(g, weight, size, stride, padding, dilation, groups)

    @staticmethod
    def backward(xp: Any, h: Any, needs: Any, g: Any, weight: Any, gs: Any, ws: Any, *how: Any) -> Any:
        stride, padding, dilation, groups = how
        gg = gw = None
        if needs[0]:
            gg = xp.conv(h, weight, stride, padding, dilation, groups, gs[2:])
        if needs[1]:
            gw = xp.conv_kernel(h, g, ws[2:], stride, padding, dilation, groups)
        return gg, gw

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return 2 * how_many(shapes[0]) * how_many(shapes[1][1:])


class ConvKernel(Op, name="conv_kernel"):
    """The gradient of the kernels of a convolution, from its result's: for each weight, over all its products."""

    dtypes = "equal"
    saves = ("x if g", "g if x", "x.shape", "g.shape", "stride", "padding", "dilation", "groups")

    @staticmethod
    def forward(xp: Any, x: Any, g: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
        return xp.conv_kernel(x, g, kernel, stride, padding, dilation, groups)

    @staticmethod
    def backward(xp: Any, h: Any, needs: Any, x: Any, g: Any, xs: Any, gs: Any, *how: Any) -> Any:
        stride, padding, dilation, groups = how
        gx = xp.conv_input(g, h, xs[2:], stride, padding, dilation, groups) if needs[0] else None
        gg = xp.conv(x, h, stride, padding, dilation, groups, gs[2:]) if needs[1] else None
        return gx, gg

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return 2 * how_many(shapes[1]) * how_many(out[1:])


class Conv2d(Op):
    """Cross-correlation of (N, C, H, W) or (C, H, W) with ``weight`` (F, C / groups, kh, kw), plus ``bias`` (F,).

    The result has ``size`` places down and across, or as many as windows fit into the padded image.
    """

    dtypes = "equal"
    saves: ClassVar[tuple[str, ...]] = (
        "x if weight", "weight if x", "x.shape", "weight.shape", "stride", "padding", "dilation", "groups"
    )  # fmt: skip

    @staticmethod
    def forward(
        xp: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any, groups: int = 1,
        size: Any = None,
    ) -> Any:  # fmt: skip
        out, bias = images_of_conv(xp, x, weight, bias, stride, padding, dilation, groups, size)
        if bias is not None:
            out += bias
        return as_result(xp, out, x, weight)

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, xs: Any, ws: Any, stride: Any, padding: Any, dilation: Any,
        groups: int,
    ) -> Any:  # fmt: skip
        return gradients_of_conv(xp, g, needs, x, weight, xs, ws, stride, padding, dilation, groups)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, weight = shapes[:2]
        axes = len(params["stride"])
        if len(weight) != axes + 2:
            form = "(F, C, kh, kw)" if axes == 2 else "(F, C, k)"
            return f"kernels are {form}, but these have {len(weight)} axes", "reshape the kernels"
        if len(x) not in (axes + 1, axes + 2):
            return not_images(x, axes)
        for name, least, what in (
            ("stride", 1, "windows move by"), ("dilation", 1, "it must be"), ("padding", 0, "it must be")
        ):  # fmt: skip
            if min(params[name]) < least:
                return f"the {name} is {params[name]}, but {what} at least {least}", f"use {name}={least} or more"
        groups, c = params["groups"], x[-axes - 1]
        if groups < 1 or weight[0] % groups:
            why = f"{weight[0]} kernels cannot be divided evenly among {groups} groups"
            return why, "use a number of groups that divides both the channels and the kernels"
        if c != weight[1] * groups:
            of = f" of each of {groups} groups" if groups > 1 else ""
            what, many = "image" if axes == 2 else "sequence", "s" * (weight[1] != 1)
            why = f"the kernel reads {weight[1]} channel{many}{of}, but the {what} has {c}"
            return why, channels_first(x, weight[1] * groups, axes) or f"make it Conv{axes}d({c}, {weight[0]}, …)"
        if len(shapes) == 3 and shapes[2] != weight[:1]:
            return f"there are {weight[0]} kernels, but the bias has shape {shapes[2]}", f"make the bias ({weight[0]},)"
        if axes == 1:
            return f"a kernel of {weight[2]} does not fit into {x[-1]} places", "add padding, or use a smaller kernel"
        why = f"a {weight[2]}x{weight[3]} kernel does not fit into {x[-2]}x{x[-1]} pixels"
        return why, "add padding, or use a smaller kernel"

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return how_many(out) * (2 * how_many(shapes[1][1:]) + (len(shapes) > 2 and shapes[2] != ()))


class Conv1d(Conv2d, name="conv1d"):
    """Cross-correlation of (N, C, L) or (C, L) with ``weight`` (F, C / groups, k): of images with a height of 1."""


def images_of_conv(
    xp: Any, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, size: Any
) -> tuple[Any, Any]:
    """A convolution without its bias, as images (N, F, oh, ow), and the bias as (F, 1, 1), or None."""
    ws, f, axes = weight.shape, weight.shape[0], weight.ndim - 2
    if len(stride) != axes or min(*ws[2:], *stride, *dilation) < 1 or (bias is not None and bias.shape != (f,)):
        raise ValueError("axes")
    image, kernels, how = _as_images(x.shape, ws, stride, padding, dilation)
    size = size if size is None or axes == 2 else (1, *size)
    out = xp.conv(xp.reshape(x, image), xp.reshape(weight, kernels), *how, groups, size)
    return out, None if bias is None else xp.reshape(bias, (f, 1, 1))


def as_result(xp: Any, out: Any, x: Any, weight: Any) -> Any:
    """Images (N, F, oh, ow) with as many axes as x has, and laid out as x."""
    axes = weight.ndim - 2
    return xp.contiguous(xp.reshape(out, (*x.shape[: -axes - 1], weight.shape[0], *out.shape[4 - axes :])), x)


def gradients_of_conv(
    xp: Any, g: Any, needs: Any, x: Any, weight: Any, xs: Any, ws: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    """Those of x, weight and bias. ``xs`` and ``ws`` are the shapes of x and weight, either of which may be None."""
    image, kernels, how = _as_images(xs, ws, stride, padding, dilation)
    g = xp.reshape(g, image_shape(g.shape, len(ws) - 2))
    if x is not None:
        g = xp.contiguous(g, x)  # once, for both gradients
    gx = gw = gb = None
    if needs[0]:
        gx = xp.reshape(xp.conv_input(g, xp.reshape(weight, kernels), image[2:], *how, groups), xs)
    if needs[1]:
        gw = xp.reshape(xp.conv_kernel(xp.reshape(x, image), g, kernels[2:], *how, groups), ws)
    if needs[2]:
        gb = xp.sum(g, (0, 2, 3), False)
    return gx, gw, gb


def image_shape(shape: tuple[int, ...], axes: int) -> tuple[int, int, int, int]:
    """The (N, C, H, W) that a shape stands for. Windows move along its last ``axes``, 1 or 2: N is 1 for a single
    image, and H is 1 for a sequence."""
    batch = len(shape) - axes - 1
    if batch not in (0, 1):
        raise ValueError("axes")
    return shape[0] if batch else 1, shape[batch], 1 if axes == 1 else shape[-2], shape[-1]


def _as_images(xs: Any, ws: Any, stride: Any, padding: Any, dilation: Any) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """The shapes of images and kernels, and stride, padding and dilation: a sequence is an image with a height of 1."""
    image = image_shape(xs, len(ws) - 2)
    if len(ws) == 4:
        return image, ws, (stride, padding, dilation)
    return image, (*ws[:2], 1, ws[2]), ((1, *stride), (0, *padding), (1, *dilation))


def not_images(shape: tuple[int, ...], axes: int) -> tuple[str, str]:
    """The hint for an operand that is neither a batch nor one image or sequence."""
    what = "images come as (N, C, H, W) or (C, H, W)" if axes == 2 else "sequences come as (N, C, L) or (C, L)"
    mend = "add the missing axes: x.unsqueeze(0)" if len(shape) <= axes else "flatten the extra axes into the first"
    return f"{what}, but this has {len(shape)} ax{'i' if len(shape) == 1 else 'e'}s", mend


def channels_first(x: tuple[int, ...], channels: int, axes: int) -> str:
    """How to fix an operand whose channels come last, as in image files; "" where they do not."""
    order = (*range(len(x) - axes - 1), len(x) - 1, *range(len(x) - axes - 1, len(x) - 1))
    return f"channels come before the places: x.permute{order}" if x[-1] == channels else ""


im2col, col2im = caller(Im2col), caller(Col2im)
conv_input, conv_kernel = caller(ConvInput), caller(ConvKernel)
conv1d_op, conv2d_op = caller(Conv1d), caller(Conv2d)


def counts(value: Any, name: str, axes: int) -> tuple[int, ...]:
    """One integer for each axis: ``3``, ``(3,)`` and ``(3, 3)`` mean the same for an image.

    Raises `ShapeError` for another number of them, `DtypeError` for what is not an integer.
    """
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if any(not isinstance(part, (int, np.integer)) for part in parts):
        mend = f"use {name}=1" + ", or a pair of integers" * (axes == 2)
        raise DtypeError(f"{name}={value!r}", "places are counted in integers", mend)
    if len(parts) not in (1, axes):
        why = f"it has {len(parts)} parts, but windows move along {axes} ax{'i' if axes == 1 else 'e'}s"
        raise ShapeError(f"{name}={value!r}", why, f"use one number: {name}=1")
    return parts if len(parts) == axes else parts * axes


def convolve(
    op: Any, axes: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, *rest: Any, **more: Any
) -> Any:
    """``op`` with the window's parameters as it takes them, one number for each axis, and with ``more``."""
    x, weight, (dilation, groups) = as_tensor(x), as_tensor(weight), rest
    refuse_bools(op.__name__, x)
    stride, dilation, size = counts(stride, "stride", axes), counts(dilation, "dilation", axes), {}
    if isinstance(padding, str):
        check_word(op.__name__, padding, stride)
        size = {"size": tuple(x.shape[-axes:])} if padding == "same" else {}
        kernel = weight.shape[2:] if padding == "same" else (1,) * axes
        # Where "same" has to split an odd number, the larger part goes below and to the right.
        padding = tuple(d * (k - 1) // 2 for d, k in zip(dilation, kernel, strict=False)) or 0
    padding = counts(padding, "padding", axes)
    if axes == 2 and x.ndim == 4 and lies_last(weight) and not lies_last(x):
        x = clone(x, memory_format=channels_last)
    return op(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups, **size, **more)


def lies_last(x: Any) -> bool:
    """Whether the elements lie channels last, and could not be said to lie in row-major order as well."""
    return not x.is_contiguous() and lies(x, channels_last)


def check_word(name: str, padding: str, stride: tuple[int, ...]) -> None:
    """Refuse words for a padding other than "valid", which means none, and "same", which needs a stride of 1."""
    if padding not in ("same", "valid"):
        tried, mend = f"{name} with padding={padding!r}", "use a number, 'same' or 'valid'"
        raise ArgumentError(tried, "there is no such padding", mend)
    if padding == "same" and max(stride) > 1:
        tried = f"{name} with padding='same' and stride={stride}"
        why = "a convolution that moves by more than 1 makes the image smaller, whatever the padding"
        raise ArgumentError(tried, why, "give the padding as a number")


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Cross-correlation of images (N, C, H, W), or of one (C, H, W), with kernels (F, C / groups, kh, kw).

    The result is (N, F, oh, ow). ``stride``, ``padding`` and ``dilation`` are numbers or pairs; ``padding`` may be
    ``"valid"``, none, or ``"same"``, which keeps H and W. With ``groups``, each group of channels has its own kernels.
    If images or kernels lie channels last, so does the result, and it is computed so, unless there are groups.
    Raises `ShapeError` where the shapes do not fit, `DtypeError` where dtypes differ.

    >>> import tinygrad_edu as tg
    >>> image = tg.arange(9.0).reshape(1, 1, 3, 3)
    >>> tg.nn.functional.conv2d(image, tg.ones(1, 1, 2, 2)).tolist()
    [[[[8.0, 12.0], [20.0, 24.0]]]]
    """
    return convolve(conv2d_op, 2, input, weight, bias, stride, padding, dilation, groups)


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Cross-correlation of sequences (N, C, L), or of one (C, L), with kernels (F, C / groups, k): (N, F, length).

    Arguments and errors are those of `conv2d`.
    """
    return convolve(conv1d_op, 1, input, weight, bias, stride, padding, dilation, groups)


def refuse_bools(name: str, x: Any) -> None:
    """NumPy's product of bools is "or", not a sum."""
    if x.dtype.kind == "b":
        raise DtypeError(f"{name}({tuple(x.shape)} bool)", "bools cannot be added up", "convert it: x.float()")


explain_all(
    globals(), "counts", "not_images", "image_shape", "channels_first", "lies_last", "check_word", "refuse_bools",
    "convolve", "images_of_conv", "as_result", "gradients_of_conv",
)  # fmt: skip
