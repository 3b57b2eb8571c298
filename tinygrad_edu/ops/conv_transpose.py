"""Transposed convolution: the windows that a convolution reads are written, and added up where they overlap."""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.op import Op
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from .conv import channels_first, counts, image_shape, not_images, refuse_bools

# mypy: disable-error-code="override"


class ConvTranspose2d(Op, name="conv_transpose2d"):
    """Each pixel of (N, C, H, W) or (C, H, W) writes ``weight`` (C, F / groups, kh, kw), times itself, into a window of
    the result; plus ``bias`` (F,). The backward of `conv2d` does the same, from its result's gradient to its input's.

    ``padding`` takes edges off the result, ``output_padding`` adds rows and columns below and to the right.
    """

    dtypes = "equal"
    saves = ("x if weight", "weight if x", "x.shape", "weight.shape", "stride", "padding", "dilation", "groups")

    @staticmethod
    def forward(
        xp: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, output_padding: Any,
        dilation: Any, groups: int = 1,
    ) -> Any:  # fmt: skip
        ws, axes = weight.shape, weight.ndim - 2
        image, f = _image(x.shape, ws, groups), ws[1] * groups
        if bias is not None and bias.shape != (f,):
            raise ValueError("bias")
        size = _size(x.shape[-axes:], ws[2:], stride, padding, output_padding, dilation)
        kernel, *how = _pairs(ws[2:], stride, padding, dilation)
        pixels, kernels = xp.reshape(x, image), xp.reshape(weight, (*ws[:2], *kernel))
        out = xp.conv_input(pixels, kernels, (*((1,) * (2 - axes)), *size), *how, groups)
        if bias is not None:
            out += xp.reshape(bias, (f, 1, 1))
        return xp.contiguous(xp.reshape(out, (*x.shape[: -axes - 1], f, *size)), x)

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, xs: Any, ws: Any, stride: Any, padding: Any, dilation: Any,
        groups: int,
    ) -> Any:  # fmt: skip
        axes = len(ws) - 2
        image, g = image_shape(xs, axes), xp.reshape(g, image_shape(g.shape, axes))
        kernel, *how = _pairs(ws[2:], stride, padding, dilation)
        gx = gw = gb = None
        if needs[0]:
            gx = xp.reshape(xp.conv(g, xp.reshape(weight, (*ws[:2], *kernel)), *how, groups, image[2:]), xs)
        if needs[1]:
            gw = xp.reshape(xp.conv_kernel(g, xp.reshape(x, image), kernel, *how, groups), ws)
        if needs[2]:
            gb = xp.sum(g, (0, 2, 3), False)
        return gx, gw, gb

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, weight = shapes[:2]
        axes, groups = len(params["stride"]), params["groups"]
        if len(weight) != axes + 2:
            form = "(C, F, kh, kw)" if axes == 2 else "(C, F, k)"
            return f"kernels are {form}, but these have {len(weight)} axes", "reshape the kernels"
        if len(x) not in (axes + 1, axes + 2):
            return not_images(x, axes)
        for name, least in (("stride", 1), ("dilation", 1), ("padding", 0), ("output_padding", 0)):
            if min(params[name]) < least:
                return f"the {name} is {params[name]}, but it must be at least {least}", f"use {name}={least} or more"
        c, what = x[-axes - 1], "image" if axes == 2 else "sequence"
        if c != weight[0]:
            why = f"there are kernels for {weight[0]} channel{'s' * (weight[0] != 1)}, but the {what} has {c}"
            mend = channels_first(x, weight[0], axes)
            return why, mend or f"make it ConvTranspose{axes}d({c}, {weight[1] * groups}, …)"
        if groups < 1 or c % groups:
            return f"{c} channels cannot be divided evenly among {groups} groups", "use a number that divides them"
        if len(shapes) == 3 and shapes[2] != (weight[1] * groups,):
            why = f"the result has {weight[1] * groups} channels, but the bias has shape {shapes[2]}"
            return why, f"make the bias ({weight[1] * groups},)"
        if 0 in (*x[-axes - 1 :], *weight):
            return f"a tensor {x if 0 in x else weight} has no elements to write", "check how it came to be empty"
        if _too_far(params["output_padding"], params["stride"], params["dilation"]):
            why = f"output_padding {params['output_padding']} is not below stride or dilation: no window would reach it"
            return why, "use less output_padding, or pad the result"
        return f"padding {params['padding']} takes all of the result away", "use less padding"

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return 2 * how_many(shapes[0]) * how_many(shapes[1][1:])


class ConvTranspose1d(ConvTranspose2d, name="conv_transpose1d"):
    """The same for sequences (N, C, L) or (C, L) and ``weight`` (C, F / groups, k): images with a height of 1."""


def _image(xs: tuple[int, ...], ws: tuple[int, ...], groups: int) -> tuple[int, int, int, int]:
    """The (N, C, H, W) that the input stands for. Refuses what does not fit the kernels."""
    image = image_shape(xs, len(ws) - 2)
    if groups < 1 or image[1] != ws[0] or ws[0] % groups or min(*ws, *image[1:]) < 1:
        raise ValueError("channels")
    return image


def _size(lengths: Any, kernel: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any) -> tuple[int, ...]:
    """How long each axis of the result is."""
    if min(*stride, *dilation) < 1 or min(*padding, *output_padding) < 0:
        raise ValueError("how")
    if _too_far(output_padding, stride, dilation):
        raise ValueError("output_padding")
    size = tuple(
        (length - 1) * s - 2 * p + d * (k - 1) + 1 + extra
        for length, k, s, p, extra, d in zip(lengths, kernel, stride, padding, output_padding, dilation, strict=True)
    )
    if min(size) < 1:
        raise ValueError("size")
    return size


def _too_far(output_padding: Any, stride: Any, dilation: Any) -> bool:
    return max([extra - max(s, d) for extra, s, d in zip(output_padding, stride, dilation, strict=True)]) >= 0


def _pairs(kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[Any, Any, Any, Any]:
    """A sequence is an image with a height of 1."""
    if len(kernel) == 2:
        return kernel, stride, padding, dilation
    return (1, *kernel), (1, *stride), (0, *padding), (1, *dilation)


conv_transpose1d_op, conv_transpose2d_op = caller(ConvTranspose1d), caller(ConvTranspose2d)


def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv2d`, which makes images larger: (N, C, H, W), or (C, H, W), to (N, F, oh, ow).

    Each pixel writes its kernel of ``weight`` (C, F / groups, kh, kw), times itself, into a window of the result;
    windows are ``stride`` apart, and are added up where they overlap. ``padding`` is taken off every edge;
    ``output_padding`` is added below and to the right, as `conv2d` maps several sizes to the same one: ``oh`` is
    ``(H - 1) * stride - 2 * padding + dilation * (kh - 1) + output_padding + 1``. Raises `ShapeError` where the shapes
    do not fit, `DtypeError` where dtypes differ.

    >>> import tinygrad_edu as tg
    >>> image = tg.tensor([[[[1.0, 2.0]]]])
    >>> tg.nn.functional.conv_transpose2d(image, tg.ones(1, 1, 1, 2)).tolist()
    [[[[1.0, 3.0, 2.0]]]]
    """
    return _transpose(conv_transpose2d_op, 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv1d`, which makes sequences longer: (N, C, L), or (C, L), to (N, F, length).

    Arguments and errors are those of `conv_transpose2d`; ``weight`` is (C, F / groups, k).
    """
    return _transpose(conv_transpose1d_op, 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _transpose(op: Any, axes: int, x: Any, weight: Any, bias: Any, *how: Any) -> Any:
    x, (stride, padding, output_padding, groups, dilation) = as_tensor(x), how
    refuse_bools(op.__name__, x)
    return op(
        x, weight, bias,
        stride=counts(stride, "stride", axes),
        padding=counts(padding, "padding", axes),
        output_padding=counts(output_padding, "output_padding", axes),
        dilation=counts(dilation, "dilation", axes),
        groups=groups,
    )  # fmt: skip


explain_all(globals())
