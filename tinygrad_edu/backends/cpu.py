"""NumPy, eager, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array, Backend, Namespace

_reductions: Any = (np.add.reduce, np.maximum.reduce, np.minimum.reduce)  # called by position: half the cost
_add, _max, _min = _reductions
_ZERO = {np.dtype(kind): np.dtype(kind).type(0) for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1")}


def _sum(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    dtype = x.dtype
    if dtype.itemsize > 2 or dtype.kind in "bi":
        return _add(x, axis, None, None, keepdims)
    if dtype.kind == "u":  # NumPy would answer in uint64, which is no dtype of ours
        return _add(x, axis, np.int64, None, keepdims)
    # Added up in half precision, a thousand bfloat16 ones make 256.
    return _add(x, axis, np.float32, None, keepdims).astype(dtype)


def _amax(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return _max(x, axis, None, None, keepdims)


def _amin(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return _min(x, axis, None, None, keepdims)


def _argmax(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.argmax(x, axis=axis, keepdims=keepdims)


def _relu(x: Array) -> Array:
    zero = _ZERO.get(x.dtype)  # a cached zero of the same dtype: np.maximum(x, 0) converts the 0 at each call
    return np.maximum(x, x.dtype.type(0) if zero is None else zero)


def _reshape(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape)


def _permute(x: Array, axes: tuple[int, ...]) -> Array:
    return x.transpose(axes)


def _astype(x: Array, dtype: Any) -> Array:
    return x.astype(dtype)


def _broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    # Nothing stretched: an ordinary view, for NumPy makes what it broadcasts read-only.
    return x[...] if x.shape == shape else np.broadcast_to(x, shape)


def _copy(x: Array) -> Array:
    return x.copy()


def _scatter_add(shape: tuple[int, ...], index: Any, values: Array) -> Array:
    out = np.zeros(shape, values.dtype)
    if is_basic(index):
        out[index] = values  # basic indices never repeat
    else:
        np.add.at(out, index, values)
    return out


def is_basic(index: Any) -> bool:
    """Whether NumPy answers this index with a view: only ints, slices, ``...`` and None."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or (isinstance(part, (slice, int)) and not isinstance(part, bool))
        for part in parts
    )


def _put(x: Array, index: Any, values: Array) -> Array:
    out = np.array(x)
    out[index] = values
    return out


def _out_size(size: int, kernel: int, stride: int, padding: int) -> int:
    return (size + 2 * padding - kernel) // stride + 1


def im2col(
    x: Array, kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int], fill: float = 0.0
) -> Array:
    """All windows of (N, C, H, W), gathered by kernel position: (N, C, kh, kw, oh, ow). One slice copy each."""
    (n, c, h, w), (kh, kw), (sh, sw), (ph, pw) = x.shape, kernel, stride, padding
    if sh < 1 or sw < 1:
        raise ValueError(f"the stride is {stride}, and windows move by at least 1")
    oh, ow = _out_size(h, kh, sh, ph), _out_size(w, kw, sw, pw)
    if ph or pw:
        padded = np.full((n, c, h + 2 * ph, w + 2 * pw), fill, x.dtype)
        padded[:, :, ph : ph + h, pw : pw + w] = x
        x = padded
    if oh < 1 or ow < 1:
        raise ValueError(f"a window of {kh}x{kw} does not fit into {h + 2 * ph}x{w + 2 * pw}")
    cols = np.empty((n, c, kh, kw, oh, ow), x.dtype)
    for i in range(kh):
        for j in range(kw):
            cols[:, :, i, j] = x[:, :, i : i + sh * oh : sh, j : j + sw * ow : sw]
    return cols


def col2im(cols: Array, shape: tuple[int, ...], stride: tuple[int, int], padding: tuple[int, int]) -> Array:
    """The adjoint of `im2col`: every window is added back where it was read."""
    n, c, kh, kw, oh, ow = cols.shape
    (h, w), (sh, sw), (ph, pw) = shape[2:], stride, padding
    out = np.zeros((n, c, h + 2 * ph, w + 2 * pw), cols.dtype)
    for i in range(kh):
        for j in range(kw):
            out[:, :, i : i + sh * oh : sh, j : j + sw * ow : sw] += cols[:, :, i, j]
    return out[:, :, ph : ph + h, pw : pw + w] if ph or pw else out


XP = Namespace(
    "numpy",
    exp=np.exp, log=np.log, tanh=np.tanh, sqrt=np.sqrt, sin=np.sin, cos=np.cos, abs=np.absolute, sign=np.sign,
    maximum=np.maximum, minimum=np.minimum, where=np.where, relu=_relu,
    sum=_sum, amax=_amax, amin=_amin, argmax=_argmax,
    zeros=np.zeros, ones=np.ones, full=np.full, arange=np.arange, zeros_like=np.zeros_like, ones_like=np.ones_like,
    reshape=_reshape, permute=_permute, broadcast_to=_broadcast_to, concatenate=np.concatenate,
    astype=_astype, copy=_copy, take_along_axis=np.take_along_axis, scatter_add=_scatter_add, put=_put,
    im2col=im2col, col2im=col2im,
)  # fmt: skip


class CpuBackend(Backend):
    """NumPy arrays in the computer's main memory."""

    name = "cpu"
    xp = XP
    array_types = (np.ndarray, np.generic)

    def from_numpy(self, array: Any) -> Array:
        return array

    def to_numpy(self, array: Array) -> Any:
        return array

    def owner(self, array: Array) -> Array:
        while isinstance(array.base, np.ndarray):
            array = array.base
        return array
