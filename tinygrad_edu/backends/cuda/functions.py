"""The agreed names over CuPy's arrays, and what CuPy does otherwise than NumPy.

``cp`` is the module `cupy` and ``cpx`` is `cupyx`; they are handed in, so that this file can be read and tested where
there is none. CuPy has no cuDNN here: a convolution is a product of windows and kernels. Where NumPy refuses values and
CuPy does not look, this file looks, which costs a wait; only integers are concerned.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..cpu import is_basic, refuse_bools, refused, whole
from ..layout import channels_last, order
from . import windows

Array = Any
_ADDED = ("i4", "f2", "f4", "f8", "u4", "u8")  # what CuPy can add at repeated places
_SAME = (
    "exp expm1 log log1p log2 log10 tanh sqrt sin cos tan arcsin arccos arctan arctan2 sinh cosh arcsinh arccosh "
    "arctanh sign floor ceil maximum minimum zeros ones empty full arange ones_like broadcast_to concatenate "
    "take_along_axis einsum"
).split()
_CALLED = {"abs": "absolute", "round": "rint"}  # otherwise


def functions(cp: Any, cpx: Any) -> dict[str, Callable[..., Any]]:
    """All agreed names, on CuPy's own arrays."""
    own = {name.lstrip("_"): partial(function, cp) for name, function in _OWN.items()}
    same = {name: getattr(cp, name) for name in _SAME} | {name: getattr(cp, its) for name, its in _CALLED.items()}
    special = {"erf": cpx.scipy.special.erf, "sigmoid": cpx.scipy.special.expit}
    return {**same, **special, **own}


# Memory --------------------------------------------------------------------------------------------------------------


def _row_major(cp: Any, x: Array) -> Array:
    return x if x.flags.c_contiguous else cp.ascontiguousarray(x)


def _contiguous(cp: Any, x: Array, like: Array = None) -> Array:
    if like is not None and like.ndim == 4 and channels_last(like.shape, like.strides):
        return _row_major(cp, x.transpose((0, 2, 3, 1))).transpose((0, 3, 1, 2))
    return _row_major(cp, x)


def _room(cp: Any, x: Array, dtype: Any = None) -> Array:
    """An empty array whose axes follow each other in memory as those of ``x``."""
    axes = order(x.shape, x.strides)
    back = tuple([axes.index(i) for i in range(x.ndim)])
    return cp.empty(tuple([x.shape[i] for i in axes]), dtype or x.dtype).transpose(back)


def _copy(cp: Any, x: Array) -> Array:
    if x.flags.c_contiguous:
        return x.copy()
    out = _room(cp, x)
    out[...] = x
    return out


def _astype(cp: Any, x: Array, dtype: Any) -> Array:
    if x.flags.c_contiguous:
        return x.astype(dtype)
    out = _room(cp, x, dtype)
    out[...] = x.astype(dtype)
    return out


def _zeros_like(cp: Any, x: Array) -> Array:
    out = _room(cp, x)
    out[...] = 0
    return out


def _reshape(cp: Any, x: Array, shape: Any) -> Array:
    return x.reshape(shape)


def _permute(cp: Any, x: Array, axes: Any) -> Array:
    return x.transpose(axes)


def _diagonal(cp: Any, x: Array, offset: int, axis1: int, axis2: int) -> Array:
    return cp.diagonal(x, offset, axis1, axis2)


def _windows(cp: Any, x: Array, axis: int, size: int, step: int) -> Array:
    count = (x.shape[axis] - size) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    strides = (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1 :], x.strides[axis])
    return cp.lib.stride_tricks.as_strided(x, shape, strides)


def _as_strided(cp: Any, x: Array, shape: Any, strides: Any, offset: int) -> Array:
    flat = x.reshape(-1)
    step = flat.strides[0]
    return cp.lib.stride_tricks.as_strided(flat[offset:], shape, tuple([one * step for one in strides]))


# Sums, and what else goes along axes ---------------------------------------------------------------------------------


def _sum(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    if x.dtype.kind in "bui":
        return cp.sum(x, axis, dtype=np.int64, keepdims=keepdims)
    if x.dtype.itemsize == 2:  # added up in half precision, a thousand bfloat16 ones make 256
        return cp.sum(x.astype(np.float32), axis, keepdims=keepdims).astype(x.dtype)
    return cp.sum(x, axis, keepdims=keepdims)


def _matmul(cp: Any, x: Array, y: Array) -> Array:
    """CuPy adds up 16-bit floats in 32 bits. It has no product of several matrices in bfloat16."""
    if max(x.ndim, y.ndim) > 2 and x.dtype.name == "bfloat16":
        return cp.matmul(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    return cp.matmul(x, y)


def _prod(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return cp.prod(x, axis, dtype=np.int64 if x.dtype.kind in "bui" else None, keepdims=keepdims)


def _amax(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return cp.amax(x, axis, keepdims=keepdims)


def _amin(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return cp.amin(x, axis, keepdims=keepdims)


def _argmax(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return cp.argmax(x, axis, keepdims=keepdims)


def _argmin(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return cp.argmin(x, axis, keepdims=keepdims)


def _any(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return cp.any(x, axis, keepdims=keepdims)


def _all(cp: Any, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return cp.all(x, axis, keepdims=keepdims)


def _cumsum(cp: Any, x: Array, axis: int) -> Array:
    return cp.cumsum(x, axis, dtype=np.int64 if x.dtype.kind in "bui" else None)


def _cumprod(cp: Any, x: Array, axis: int) -> Array:
    return cp.cumprod(x, axis, dtype=np.int64 if x.dtype.kind in "bui" else None)


def _argsort(cp: Any, x: Array, axis: int, descending: bool = False) -> Array:
    if not descending:
        return cp.argsort(x, axis, kind="stable")
    # Backwards twice: equal elements keep their order.
    found = x.shape[axis] - 1 - cp.argsort(cp.flip(x, axis), axis, kind="stable")
    return _row_major(cp, cp.flip(found, axis))


# Elements ------------------------------------------------------------------------------------------------------------


def _relu(cp: Any, x: Array) -> Array:
    return cp.maximum(x, 0)


def _where(cp: Any, condition: Any, x: Array, y: Array) -> Array:
    return cp.where(cp.asarray(condition), x, y)  # it may be one of Python's


def _power(cp: Any, x: Array, y: Array) -> Array:
    if whole(x, y):
        refuse_bools("pow", x, y)
        if _any_of(cp, y < 0):
            why, mend = "an integer to a negative power is a fraction", "use floats: x.float()"
            raise refused("pow", x, y, why, mend)
    return x**y


def _floor_divide(cp: Any, x: Array, y: Array) -> Array:
    _check_divisor(cp, "floor_divide", x, y)
    return x // y


def _remainder(cp: Any, x: Array, y: Array) -> Array:
    _check_divisor(cp, "remainder", x, y)
    return x % y


def _fmod(cp: Any, x: Array, y: Array) -> Array:
    _check_divisor(cp, "fmod", x, y)
    return cp.fmod(x, y)


def _check_divisor(cp: Any, name: str, x: Array, y: Array) -> None:
    if whole(x, y):
        refuse_bools(name, x, y)
        if _any_of(cp, y == 0):
            mend = "divide floats, where it is inf or nan, or replace the zeros first: where(y == 0, 1, y)"
            raise refused(name, x, y, "integers have no result for a division by zero", mend)


def _any_of(cp: Any, wrong: Any) -> bool:
    """Is any true? The host waits for the answer."""
    return wrong if isinstance(wrong, bool) else bool(cp.any(wrong).get())


# Indices -------------------------------------------------------------------------------------------------------------


def check_range(cp: Any, index: Any, shape: tuple[int, ...]) -> None:
    """Raise IndexError for positions outside, as NumPy does: CuPy would read or write somewhere else."""
    parts = index if isinstance(index, tuple) else (index,)
    taken = sum(_axes_of(part) for part in parts)
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - taken
            continue
        if getattr(part, "ndim", 0) and part.dtype.kind in "iu" and part.size:
            size = shape[axis]
            if _any_of(cp, (part < -size) | (part >= size)):
                raise IndexError(f"index out of bounds for axis {axis} with size {size}")
        axis += _axes_of(part)


def _axes_of(part: Any) -> int:
    """How many axes a part of an index takes."""
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    return part.ndim if getattr(part, "dtype", None) == np.bool_ else 1


def _scatter_add(cp: Any, shape: Any, index: Any, values: Array) -> Array:
    if is_basic(index):
        out = cp.zeros(shape, values.dtype)
        out[index] = values
        return out
    check_range(cp, index, shape)
    parts = index if isinstance(index, tuple) else (index,)
    if all(getattr(part, "dtype", None) == np.bool_ for part in parts if hasattr(part, "dtype")):
        out = cp.zeros(shape, values.dtype)
        out[index] = values  # a mask names no place twice
        return out
    dtype = values.dtype
    if dtype == np.int64:  # added up as unsigned numbers, which gives the same bits
        out = cp.zeros(shape, dtype)
        cp.add.at(out.view(np.uint64), index, values.view(np.uint64))
        return out
    held = dtype if dtype.str[1:] in _ADDED else np.dtype(np.int32 if dtype.kind in "bui" else np.float32)
    out = cp.zeros(shape, held)
    cp.add.at(out, index, values.astype(held))
    return out if held == dtype else out.astype(dtype)


def _put(cp: Any, x: Array, index: Any, values: Array) -> Array:
    check_range(cp, index, x.shape)
    out = _copy(cp, x)
    out[index] = values
    return out


def _im2col(cp: Any, *args: Any) -> Array:
    return windows.im2col(cp, *args)


def _col2im(cp: Any, *args: Any) -> Array:
    return windows.col2im(cp, *args)


def _conv(cp: Any, *args: Any) -> Array:
    return windows.conv(cp, *args)


def _conv_input(cp: Any, *args: Any) -> Array:
    return windows.conv_input(cp, *args)


def _conv_kernel(cp: Any, *args: Any) -> Array:
    return windows.conv_kernel(cp, *args)


_OWN = {
    name: globals()[name]
    for name in (
        "_contiguous _copy _astype _zeros_like _reshape _permute _diagonal _windows _as_strided _sum _prod _amax _amin "
        "_argmax _argmin _any _all _cumsum _cumprod _argsort _relu _where _power _floor_divide _remainder _fmod _put "
        "_matmul _scatter_add _im2col _col2im _conv _conv_input _conv_kernel"
    ).split()
}
