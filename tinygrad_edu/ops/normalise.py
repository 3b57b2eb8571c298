"""Normalisation over the last axes: layer norm and RMS norm."""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.narrow import is_narrow
from ..core.op import Op
from ..core.slow import offered
from ..dtypes import float32, float64
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all

# mypy: disable-error-code="override"


PIECE = (
    1024  # elements at a time, in rows longer than 16 times this: their sums would drift, as BLAS adds in a few lanes
)


def _in_pieces(xp: Any, x: Any, y: Any) -> Any:
    """`dot` of long rows."""
    count = x.shape[-1]
    whole = count - count % PIECE
    parts = []
    for one in (x, y):
        part = one[(..., slice(0, whole))]
        parts.append(xp.reshape(part, (*part.shape[:-1], whole // PIECE, PIECE)))
    out = xp.reshape(xp.sum(dot(xp, *parts), -2, False), (*x.shape[:-1], 1))
    if whole < count:
        rest = slice(whole, count)
        out = out + xp.sum(x[(..., rest)] * y[(..., rest)], -1, True)
    return out


def total(xp: Any, x: Any, weight: Any = None) -> Any:
    """The sums along the last axis, which stays with length 1, each element times its ``weight``. It is a product of
    matrices, because BLAS adds several times as fast as a sum does."""
    count = x.shape[-1]
    if count == 1 and weight is None:
        return x
    if count > 16 * PIECE:
        return _in_pieces(xp, x, xp.ones((count,), x.dtype) if weight is None else xp.reshape(weight, (-1,)))
    return xp.matmul(x, xp.ones((x.shape[-1], 1), x.dtype) if weight is None else xp.reshape(weight, (-1, 1)))


def dot(xp: Any, x: Any, y: Any) -> Any:
    """The sums of ``x * y`` along the last axis, which stays with length 1, without an array of the products."""
    *lead, count = x.shape
    if count == 1:
        return x * y
    if count > 16 * PIECE:
        return _in_pieces(xp, x, y)
    return xp.reshape(xp.reshape(x, (*lead, 1, count)) @ xp.reshape(y, (*y.shape[:-1], count, 1)), (*lead, 1))


def _rows(xp: Any, x: Any, shape: Any, *parameters: Any) -> Any:
    """``x`` as a matrix of one row per normalised part. Refuses parameters of another shape than ``shape``."""
    for parameter in parameters:
        if parameter is not None and parameter.shape != shape:
            raise ValueError("shape")
    split = x.ndim - len(shape)
    if split < 0 or not shape or x.shape[split:] != shape:
        raise ValueError("shape")
    return xp.reshape(xp.contiguous(x), (how_many(x.shape[:split]), how_many(shape)))


def _hint_of_last(shapes: Any, params: Any) -> tuple[str, str] | None:
    """Why `_rows` refused."""
    shape, x = params["shape"], shapes[0]
    if not shape:
        return "normalized_shape is empty, and a single element is its own mean", "give the sizes of the last axes"
    if x[max(len(x) - len(shape), 0) :] != shape:
        why = f"the last axes of the input are {x[-len(shape) :]}, but the layer normalises {shape}"
        return why, f"make the layer for the input: normalized_shape={x[-len(shape) :]}"
    return f"its parameters must have the normalised shape {shape}", f"make them of shape {shape}"


class LayerNorm(Op, name="layer_norm"):
    """Mean 0 and variance 1 over the last axes, which have ``shape``; then times ``weight``, plus ``bias``."""

    dtypes = "floating"
    saves = ("x", "weight if x", "cache", "shape", "eps")
    caches = "recomputed"
    per_element = 9

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any = None, bias: Any = None, *, shape: Any, eps: float = 1e-5) -> Any:
        rows = _rows(xp, x, shape, weight, bias)
        out, mean, scale = _row_moments(xp, rows, eps)
        out *= scale
        if weight is not None:
            out *= xp.reshape(weight, (-1,))
        if bias is not None:
            out += xp.reshape(bias, (-1,))
        return xp.reshape(out, x.shape), (mean, scale)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, weight: Any, cache: Any, shape: Any, eps: float) -> Any:
        rows, xs = _rows(xp, x, shape), x.shape
        g = xp.reshape(g, rows.shape)
        mean, scale = _row_moments(xp, rows, eps)[1:] if cache is None else cache
        normal = (rows - mean) * scale
        along = g * normal
        gx = None
        if needs[0]:
            count = rows.shape[1] or float("nan")
            pull = normal * (total(xp, along, weight) / count) + total(xp, g, weight) / count
            gx = xp.reshape(((g if weight is None else g * xp.reshape(weight, (-1,))) - pull) * scale, xs)
        gw = xp.reshape(xp.sum(along, 0, False), shape) if needs[1] else None
        return gx, gw, xp.reshape(xp.sum(g, 0, False), shape) if needs[2] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint_of_last(shapes, params)


def _row_moments(xp: Any, rows: Any, eps: float) -> tuple[Any, Any, Any]:
    """Rows without their means, the means, and 1 / the standard deviations."""
    count = rows.shape[1] or float("nan")
    mean = total(xp, rows) / count
    centred = rows - mean
    return centred, mean, 1 / xp.sqrt(dot(xp, centred, centred) / count + eps)


class RMSNorm(Op, name="rms_norm"):
    """The last axes, which have ``shape``, divided by the root of their mean square; then times ``weight``."""

    dtypes = "floating"
    saves = ("x", "weight if x", "cache", "shape", "eps")
    caches = "recomputed"
    per_element = 5

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any = None, *, shape: Any, eps: float) -> Any:
        rows = _rows(xp, x, shape, weight)
        scale = _per_root(xp, rows, eps)
        out = rows * scale
        if weight is not None:
            out *= xp.reshape(weight, (-1,))
        return xp.reshape(out, x.shape), scale

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, weight: Any, scale: Any, shape: Any, eps: float) -> Any:
        rows, xs = _rows(xp, x, shape), x.shape
        g = xp.reshape(g, rows.shape)
        if scale is None:
            scale = _per_root(xp, rows, eps)
        normal = rows * scale
        along = g * normal
        gx = None
        if needs[0]:
            pull = normal * (total(xp, along, weight) / (rows.shape[1] or float("nan")))
            gx = xp.reshape(((g if weight is None else g * xp.reshape(weight, (-1,))) - pull) * scale, xs)
        return gx, xp.reshape(xp.sum(along, 0, False), shape) if needs[1] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint_of_last(shapes, params)


def _per_root(xp: Any, rows: Any, eps: float) -> Any:
    """1 / the root of each row's mean square."""
    return 1 / xp.sqrt(dot(xp, rows, rows) / (rows.shape[1] or float("nan")) + eps)


layer_norm_op, rms_norm_op = caller(LayerNorm), caller(RMSNorm)


def mixed(x: Any, *parameters: Any) -> bool:
    """Whether x has 16 bits and a parameter 32: then the result is computed in 32, and returned in the dtype of x."""
    return is_narrow(x.dtype) and any(getattr(p, "dtype", None) == float32 for p in parameters)


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 over the last axes, which have ``normalized_shape``; then times ``weight``, plus ``bias``.

    Raises `ShapeError` where the input does not end in that shape, or a parameter does not have it.

    >>> import tinygrad_edu as tg
    >>> tg.nn.functional.layer_norm(tg.tensor([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]), (3,))
    tensor([[-1.2247,  0.0000,  1.2247],
            [-1.2247,  0.0000,  1.2247]])
    """
    x, weight, bias = offered("layer_norm", (as_tensor(input), weight, bias))
    shape = _shape(normalized_shape)
    if mixed(x, weight, bias):
        return layer_norm_op(x.float(), weight, bias, shape=shape, eps=eps).to(x.dtype)
    return layer_norm_op(x, weight, bias, shape=shape, eps=eps)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """The last axes, which have ``normalized_shape``, divided by the root of their mean square, times ``weight``.

    ``eps`` is by default the smallest step at 1 in the dtype of the computation. Raises as `layer_norm` does.
    """
    x, weight = offered("rms_norm", (as_tensor(input), weight))
    shape = _shape(normalized_shape)
    if eps is None:
        eps = 2.0**-52 if x.dtype == float64 else 2.0**-23
    if mixed(x, weight):
        return rms_norm_op(x.float(), weight, shape=shape, eps=eps).to(x.dtype)
    return rms_norm_op(x, weight, shape=shape, eps=eps)


explain_all(globals(), "total", "dot", "mixed")
