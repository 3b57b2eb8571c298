"""NumPy, eager, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DtypeError
from ._erf import erf
from ._sigmoid import sigmoid
from .algorithms import conv, conv_input, conv_kernel
from .base import Array, Backend, Namespace
from .bends import shifted
from .convolution import col2im, im2col
from .layout import arrived, channels_last, inside, order
from .products import einsum, matmul
from .sums import FEW, add, add_few

# glibc returns a large block to the system as soon as it is freed, and the next one costs a page fault for every 4 KiB
# that is touched: for elementwise operations, most of the time. It keeps blocks of up to the largest size that it has
# seen come and go, so we show it one: no page of this is touched, and elsewhere it does nothing.
np.empty(31 << 20, np.uint8)

_reductions: Any = (  # called by position: half the cost
    np.add.reduce, np.maximum.reduce, np.minimum.reduce, np.multiply.reduce, np.logical_or.reduce, np.logical_and.reduce
)  # fmt: skip
_add, _max, _min, _multiply, _or, _and = _reductions
_ZERO = {np.dtype(kind): np.zeros((), kind) for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1")}


def _row_major(x: Array) -> Array:
    return x if x.flags.c_contiguous else x.copy()  # its own method, which knows whether its elements are there


def _contiguous(x: Array, like: Array = None) -> Array:
    if like is not None and like.ndim == 4 and channels_last(like.shape, like.strides):
        pixels = x.transpose(0, 2, 3, 1)
        inside.conversions += not pixels.flags.c_contiguous
        return _row_major(pixels).transpose(0, 3, 1, 2)
    return _row_major(x)


def _room(x: Array, dtype: Any = None) -> Array:
    """An empty array whose axes follow each other in memory as those of ``x``."""
    if 0 not in x.strides:
        return np.empty_like(x, dtype)
    axes = order(x.shape, x.strides)  # NumPy would treat a stride of 0 as the shortest
    back = [axes.index(i) for i in range(x.ndim)]
    return np.empty_like(np.empty([x.shape[i] for i in axes], dtype or x.dtype).transpose(back))


def _sum(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    dtype = x.dtype
    if dtype.itemsize > 2:
        if type(axis) is int and 0 < (n := x.shape[axis]) <= FEW and x.ndim < 3 and dtype.kind == "f":
            out = add_few(x, n, axis, keepdims)
        elif axis is None and x.flags.forc:
            out = _add(x, axis, None, None, keepdims)
        else:
            out = add(x, axis, None, keepdims)
    elif dtype.kind in "bui":  # NumPy would add uint8 in uint64, which is not a dtype of ours
        out = _add(x, axis, np.int64, None, keepdims)
    else:  # added up in half precision, a thousand bfloat16 ones make 256
        out = add(x, axis, np.float32, keepdims).astype(dtype)
    return out if x.ndim < 3 or out.flags.c_contiguous else np.ascontiguousarray(out)


def _amax(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    out = _max(x, axis, None, None, keepdims)
    return out if x.ndim < 3 else _row_major(out)


def _amin(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    out = _min(x, axis, None, None, keepdims)
    return out if x.ndim < 3 else _row_major(out)


def _argmax(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return _row_major(np.argmax(x, axis=axis, keepdims=keepdims))


def _prod(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    out = _multiply(x, axis, np.int64 if x.dtype.kind == "u" else None, None, keepdims)
    return out if x.ndim < 3 else _row_major(out)


def _any(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    out = _or(x, axis, np.bool_, None, keepdims)
    return out if x.ndim < 3 else _row_major(out)


def _all(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    out = _and(x, axis, np.bool_, None, keepdims)
    return out if x.ndim < 3 else _row_major(out)


def _argmin(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return _row_major(np.argmin(x, axis=axis, keepdims=keepdims))


def _cumsum(x: Array, axis: int) -> Array:
    return _running(np.add, x, axis)


def _cumprod(x: Array, axis: int) -> Array:
    return _running(np.multiply, x, axis)


def _running(ufunc: Any, x: Array, axis: int) -> Array:
    dtype = x.dtype
    if dtype.kind in "bui":
        return _row_major(ufunc.accumulate(x, axis, np.int64))
    if x.shape[axis] <= FEW // 4 or dtype.itemsize == 8:
        return _row_major(ufunc.accumulate(x, axis))
    # A running sum can only be added one by one, so it is added in float64.
    return ufunc.accumulate(x, axis, np.float64).astype(dtype, "C")


def _argsort(x: Array, axis: int, descending: bool = False) -> Array:
    if descending:  # backwards twice: equal elements keep their order
        found = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    else:
        found = np.argsort(x, axis, kind="stable")
        if x.flags.c_contiguous:
            return found
    out = _room(x, found.dtype)
    out[...] = found
    return out


def _concatenate(xs: Any, axis: int) -> Array:
    out = np.concatenate(xs, axis)
    if out.flags.c_contiguous or (out.ndim == 4 and all(channels_last(x.shape, x.strides) for x in xs)):
        return out
    return np.ascontiguousarray(out)


def _zeros_like(x: Array) -> Array:
    return np.zeros_like(x if 0 not in x.strides else _room(x))


def _relu(x: Array) -> Array:
    zero = _ZERO.get(x.dtype)  # an array: np.maximum(x, 0) would convert the 0 at each call, which doubles the time
    return np.maximum(x, x.dtype.type(0) if zero is None else zero)


_BITS = {np.dtype(f"f{size}"): np.dtype(f"i{size}") for size in (2, 4, 8)}
_BOOL = np.dtype(bool)


def _where(condition: Array, x: Array, y: Array) -> Array:
    # The processor guesses which way each element goes, and is slow where it guesses wrong. "x or 0" needs no guess:
    # the bits of x times 1 or 0.
    if type(y) is int and y == 0 and type(x) is np.ndarray and condition.dtype is _BOOL and x.flags.c_contiguous:
        bits = _BITS.get(x.dtype)
        if bits is not None:
            return np.multiply(x.view(bits), condition).view(x.dtype)
    return np.where(condition, x, y)


def _power(x: Array, y: Array) -> Array:
    try:
        out = x**y
    except ValueError:
        if whole(x, y) and not np.all(y >= 0):
            why, mend = "an integer to a negative power is a fraction", "use floats: x.float()"
            raise refused("pow", x, y, why, mend) from None
        raise
    if out.dtype is _INT8:
        refuse_bools("pow", x, y)
    return out


def _floor_divide(x: Array, y: Array) -> Array:
    _check_divisor("floor_divide", x, y)
    return x // y


def _remainder(x: Array, y: Array) -> Array:
    _check_divisor("remainder", x, y)
    return x % y


def _fmod(x: Array, y: Array) -> Array:
    _check_divisor("fmod", x, y)
    return np.fmod(x, y)


def _check_divisor(name: str, x: Array, y: Array) -> None:
    """Refuse what NumPy answers with a 0: integers divided by 0."""
    if whole(x, y):
        refuse_bools(name, x, y)
        if not np.all(y):
            mend = "divide floats, where it is inf or nan, or replace the zeros first: where(y == 0, 1, y)"
            raise refused(name, x, y, "integers have no result for a division by zero", mend)


_INT8 = np.dtype("i1")


def refuse_bools(name: str, x: Array, y: Array) -> None:
    """NumPy would answer in int8."""
    if all(isinstance(operand, bool) or getattr(operand, "dtype", None) == np.bool_ for operand in (x, y)):
        raise refused(name, x, y, "it is not defined for two bools", "convert one of them first: x.long()")


def whole(x: Array, y: Array) -> bool:
    """Are both of integers or bools, Python numbers included?"""
    return not any(isinstance(o, float) or getattr(o, "dtype", _INT8).kind not in "bui" for o in (x, y))


def refused(name: str, x: Array, y: Array, why: str, mend: str) -> DtypeError:
    """The error for operands that have no result."""
    shown = (f"{o.shape} {o.dtype}" if hasattr(o, "dtype") else repr(o) for o in (x, y))
    return DtypeError(f"{name}({', '.join(shown)})", why, mend)


def _reshape(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape)


def _permute(x: Array, axes: tuple[int, ...]) -> Array:
    return x.transpose(axes)


def _astype(x: Array, dtype: Any) -> Array:
    if 0 not in x.strides or x.flags.c_contiguous:
        return x.astype(dtype)
    out = _room(x, dtype)
    out[...] = arrived(x)
    return out


def _broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    if x.shape == shape:
        return x[...]  # an ordinary view, because NumPy makes what it broadcasts read-only
    if type(x) is np.ndarray and x.dtype in _ZERO and x.flags.c_contiguous and x.size:
        lead = len(shape) - x.ndim
        axes = zip(x.shape, shape[lead:], x.strides)  # noqa: B905
        strides = [0 if n == 1 else step for n, size, step in axes if n in (1, size)]
        if lead >= 0 and len(strides) == x.ndim:  # what NumPy would return, four times as fast and not read-only
            return np.ndarray(shape, x.dtype, x if x.ndim else np.asarray(x), 0, (0,) * lead + tuple(strides))
    out = np.broadcast_to(x, shape)
    if x.flags.writeable:  # NumPy returns it read-only, but parts of it may well be written to
        try:
            out.flags.writeable = True
        except ValueError:  # the guard has locked the owner of the memory, but not x
            out = np.lib.stride_tricks.as_strided(x, shape, out.strides)
    return out


def _ones_like(x: Array) -> Array:
    return np.ones(x.shape, x.dtype)  # half the time of NumPy's own


def _diagonal(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    result = x.diagonal(offset, axis1, axis2)
    if x.flags.writeable:
        result.flags.writeable = True  # NumPy returns it read-only, for historical reasons
    return result


def _windows(x: Array, axis: int, size: int, step: int) -> Array:
    count = (x.shape[axis] - size) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    strides = (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1 :], x.strides[axis])
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def _as_strided(x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    flat = x.reshape(-1)  # row-major, but its elements may lie apart: the view of a column stays one
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, tuple(step * flat.strides[0] for step in strides))


_restrided: Any = np.lib.stride_tricks.as_strided(np.zeros(1), (1,), (8,))
_Restrided = type(_restrided.base)  # NumPy keeps the array that was restrided behind one of these


def _copy(x: Array) -> Array:
    if x.flags.c_contiguous:
        return x.copy()
    out = _room(x)
    out[...] = arrived(x)
    return out


def _scatter_add(shape: tuple[int, ...], index: Any, values: Array) -> Array:
    out = np.zeros(shape, values.dtype)
    if is_basic(index):
        out[index] = arrived(values)  # basic indices never repeat
    else:
        np.add.at(out, index, arrived(values))
    return out


def ends(values: Array) -> tuple[Any, Any]:
    """The smallest and the largest number. Of a few, NumPy finds the places faster than the numbers themselves."""
    return values.item(values.argmin()), values.item(values.argmax())


def is_basic(index: Any) -> bool:
    """Whether NumPy answers this index with a view: only ints, slices, ``...`` and None."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or (isinstance(part, (slice, int)) and not isinstance(part, bool))
        for part in parts
    )


def _put(x: Array, index: Any, values: Array) -> Array:
    out = np.asarray(_copy(x))
    out[index] = arrived(values)
    return out


XP = Namespace(
    "numpy",
    exp=np.exp, expm1=np.expm1, log=np.log, log1p=np.log1p, log2=np.log2, log10=np.log10, tanh=np.tanh,
    sqrt=np.sqrt, sin=np.sin, cos=np.cos, tan=np.tan, arcsin=np.arcsin, arccos=np.arccos, arctan=np.arctan,
    arctan2=np.arctan2, sinh=np.sinh, cosh=np.cosh, arcsinh=np.arcsinh, arccosh=np.arccosh, arctanh=np.arctanh,
    sigmoid=sigmoid, erf=erf, abs=np.absolute, sign=np.sign, floor=np.floor, ceil=np.ceil,
    round=np.rint, maximum=np.maximum, minimum=np.minimum, where=_where, relu=_relu,
    power=_power, floor_divide=_floor_divide, remainder=_remainder, fmod=_fmod,
    sum=_sum, prod=_prod, amax=_amax, amin=_amin, argmax=_argmax, argmin=_argmin, any=_any, all=_all,
    cumsum=_cumsum, cumprod=_cumprod, argsort=_argsort,
    zeros=np.zeros, ones=np.ones, empty=np.empty, full=np.full, arange=np.arange, zeros_like=_zeros_like,
    ones_like=_ones_like,
    reshape=_reshape, permute=_permute, broadcast_to=_broadcast_to, concatenate=_concatenate,
    astype=_astype, copy=_copy, contiguous=_contiguous, diagonal=_diagonal, windows=_windows, as_strided=_as_strided,
    take_along_axis=np.take_along_axis, scatter_add=_scatter_add, put=_put, matmul=matmul, einsum=einsum,
    im2col=im2col, col2im=col2im, conv=conv, conv_input=conv_input, conv_kernel=conv_kernel,
)  # fmt: skip


def _bias_activation(x: Array, bias: Array, *, activation: str, out: Array) -> Array:
    if np.may_share_memory(bias, out):
        bias = bias.copy()  # it would be overwritten by the first piece
    return shifted(XP, x, bias, activation, out)


def _fast_activation(x: Array, *, activation: str, out: Array) -> Array:
    return shifted(XP, x, None, activation, out)


_OWN = {"bias_activation": _bias_activation, "fast_activation": _fast_activation}


def writer(function: str) -> Any:
    """What computes ``function`` into its ``out``: NumPy, or a function of ours."""
    return _OWN.get(function) or getattr(np, function)


class CpuBackend(Backend):
    """NumPy arrays in the computer's main memory."""

    name = "cpu"
    xp = XP
    array_types = (np.ndarray, np.generic)

    def from_numpy(self, array: Any) -> Array:
        return array

    def from_dlpack(self, array: Any) -> Array:
        return np.from_dlpack(array)

    def to_numpy(self, array: Array) -> Any:
        return arrived(array)

    def into(self, function: str, out: Array, *operands: Any, **params: Any) -> bool:
        if function == "put":
            return super().into(function, out, operands[0], self.to_numpy(operands[1]), **params)
        writer(function)(*operands, out=out, **params)
        return True

    def owner(self, array: Array) -> Array:
        return self.chain(array)[-1]

    def chain(self, array: Array) -> list[Array]:
        """The array, the array that it is a view of, and so on up to the owner of the memory."""
        found: list[Any] = [array]
        while True:
            base = found[-1].base
            if type(base) is _Restrided:
                base = base.base
            if not isinstance(base, np.ndarray):
                return found
            found.append(base)
