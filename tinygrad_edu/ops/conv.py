"""Convolution and pooling of images (N, C, H, W), by gathering windows into a matrix."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op
from ..dtypes import is_float

# mypy: disable-error-code="override"


class Im2col(Op):
    """All windows of an image: (N, C, kh, kw, oh, ow) of (N, C, H, W), padded with ``fill``."""

    dtypes = "each"
    saves = ("x.shape", "stride", "padding", "dilation")

    @staticmethod
    def forward(
        xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any, dilation: Any = (1, 1), fill: float = 0.0
    ) -> Any:
        return xp.im2col(x, kernel, stride, padding, dilation, fill)

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
        return xp.im2col(g, shape[2:4], stride, padding, dilation)


class Conv2d(Op):
    """Cross-correlation of (N, C, H, W) with ``weight`` (F, C, kh, kw), plus ``bias`` (F,): one matrix product.

    The windows are kept for backward: kh * kw times the bytes of the input, which is what a plain im2col costs.
    """

    dtypes = "equal"
    saves = ("x", "weight if x", "cache", "x.shape", "weight.shape", "stride", "padding")
    caches = "recomputed"

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any = (1, 1), padding: Any = (0, 0)) -> Any:
        f, c, kh, kw = weight.shape
        cols = xp.im2col(x, (kh, kw), stride, padding)
        n, oh, ow = x.shape[0], cols.shape[4], cols.shape[5]
        cols = xp.reshape(cols, (n, c * kh * kw, oh * ow))
        out = xp.reshape(weight, (f, c * kh * kw)) @ cols
        if bias is not None:
            out = out + xp.reshape(bias, (f, 1))
        return xp.reshape(out, (n, f, oh, ow)), cols

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, cols: Any, xs: Any, ws: Any, stride: Any, padding: Any
    ) -> Any:
        (n, f, oh, ow), (_, c, kh, kw) = g.shape, ws
        flat = xp.reshape(g, (n, f, oh * ow))
        gx = gw = gb = None
        if needs[0]:
            matrix = xp.permute(xp.reshape(weight, (f, c * kh * kw)), (1, 0))
            windows = xp.reshape(matrix @ flat, (n, c, kh, kw, oh, ow))
            gx = xp.col2im(windows, xs, stride, padding)
        if needs[1]:
            if cols is None:
                cols = xp.reshape(xp.im2col(x, (kh, kw), stride, padding), (n, c * kh * kw, oh * ow))
            gw = xp.reshape(xp.sum(flat @ xp.permute(cols, (0, 2, 1)), 0, False), ws)
        if needs[2]:
            gb = xp.sum(flat, (0, 2), False)
        return gx, gw, gb

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, weight = shapes[:2]
        if len(x) != 4:
            return _not_images(x)
        if len(weight) != 4:
            return f"kernels come as (F, C, kh, kw), and these have {len(weight)} axes", "reshape the kernels"
        if min(params["stride"]) < 1:
            return f"the stride is {params['stride']}, and windows move by at least 1", "use stride=1 or more"
        if x[1] != weight[1]:
            return (
                f"the kernel reads {weight[1]} channels, and the image has {x[1]}",
                f"make it Conv2d({x[1]}, {weight[0]}, …)",
            )
        if len(shapes) == 3 and shapes[2] != weight[:1]:
            return f"there are {weight[0]} kernels, and the bias has shape {shapes[2]}", f"make the bias ({weight[0]},)"
        return (
            f"a {weight[2]}x{weight[3]} kernel does not fit into {x[2]}x{x[3]} pixels",
            "add padding, or use a smaller kernel",
        )


def _not_images(x: tuple[int, ...]) -> tuple[str, str]:
    """The hint for an operand that is no batch of images."""
    mend = "add the missing axes: x.unsqueeze(0)" if len(x) < 4 else "flatten the extra axes into the first"
    return f"images come as (N, C, H, W), and this has {len(x)} axes", mend


class MaxPool2d(Op, name="max_pool2d"):
    """The largest element of each window of (N, C, H, W). The first of equal elements gets the gradient."""

    dtypes = "each"
    saves = ("x.shape", "cache", "kernel", "stride", "padding")
    caches = "constant"

    @staticmethod
    def forward(xp: Any, x: Any, *, kernel: Any, stride: Any, padding: Any = (0, 0)) -> Any:
        if 2 * padding[0] > kernel[0] or 2 * padding[1] > kernel[1]:
            raise ValueError(f"padding {padding} is more than half of the window {kernel}: some windows would be empty")
        n, c, kh, kw, oh, ow = (windows := xp.im2col(x, kernel, stride, padding, (1, 1), _lowest(x.dtype))).shape
        windows = xp.reshape(windows, (n, c, kh * kw, oh, ow))
        first = xp.argmax(windows, 2, True)
        return xp.reshape(xp.take_along_axis(windows, first, 2), (n, c, oh, ow)), first

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, first: Any, kernel: Any, stride: Any, padding: Any) -> Any:
        (n, c, oh, ow), (kh, kw) = g.shape, kernel
        chosen = xp.reshape(xp.arange(kh * kw), (1, 1, kh * kw, 1, 1)) == first
        arriving = xp.reshape(g, (n, c, 1, oh, ow))
        spread = xp.where(chosen, arriving, xp.zeros_like(arriving))
        return xp.col2im(xp.reshape(spread, (n, c, kh, kw, oh, ow)), shape, stride, padding)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _not_images(shapes[0]) if len(shapes[0]) != 4 else None


def _lowest(dtype: Any) -> float:
    """What padding holds, so that it never wins."""
    if is_float(dtype):
        return -float("inf")
    return -(2 ** (8 * dtype.itemsize - 1)) if dtype.kind == "i" else 0


im2col, col2im, conv2d, max_pool2d = caller(Im2col), caller(Col2im), caller(Conv2d), caller(MaxPool2d)
