"""NumPy's functions on tensors: ``np.sin(t)``, ``np.sum(t, axis=0)``, ``array * t`` give tensors, with gradients.

Those that are not listed here compute with the values and give arrays, for tensors that require no grad.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from .. import backends
from ..core.base import TensorBase
from ..core.inplace import own_buffer
from ..errors import DtypeError
from ..inputs import arguments
from ..inputs.arguments import as_tensor
from ..ops import arithmetic as ar
from ..ops import arrange as ag
from ..ops import choice as ch
from ..ops import convert as ct
from ..ops import gathering as ga
from ..ops import linalg as la
from ..ops import logic as lg
from ..ops import movement as mv
from ..ops import reduce as rd
from ..ops import scan as sc
from ..ops import shapes as sp
from ..ops import sorting as so
from ..ops import unary as un
from . import creation

UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: ar.add_op, np.subtract: ar.sub_op, np.multiply: ar.mul, np.divide: ar.div_op, np.power: ar.pow,
    np.floor_divide: ar.floor_divide, np.remainder: ar.remainder,
    np.negative: ar.neg, np.exp: un.exp, np.log: un.log, np.sqrt: un.sqrt, np.sin: un.sin, np.cos: un.cos,
    np.tanh: un.tanh, np.absolute: un.abs, np.sign: un.sign, np.maximum: ch.maximum, np.minimum: ch.minimum,
    np.matmul: la.matmul, np.equal: lg.eq, np.not_equal: lg.ne, np.less: lg.lt, np.less_equal: lg.le,
    np.greater: lg.gt, np.greater_equal: lg.ge, np.expm1: un.expm1, np.log1p: un.log1p, np.log2: un.log2,
    np.tan: un.tan, np.floor: un.floor, np.ceil: un.ceil, np.rint: un.round_op, np.square: un.square,
    np.reciprocal: un.reciprocal, np.positive: un.positive, np.isnan: lg.isnan, np.isinf: lg.isinf,
    np.isfinite: lg.isfinite, np.logical_and: lg.logical_and, np.logical_or: lg.logical_or,
    np.logical_xor: lg.logical_xor, np.logical_not: lg.logical_not, np.bitwise_and: lg.bitwise_and,
    np.bitwise_or: lg.bitwise_or, np.bitwise_xor: lg.bitwise_xor, np.invert: lg.bitwise_not,
}  # fmt: skip


def _reduction(op: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return op(as_tensor(a), axis, keepdims)

    return call


def _spread(op: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy divides by n where PyTorch divides by n - 1."""

    def call(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        return op(as_tensor(a), axis, keepdim=keepdims, correction=ddof)

    return call


# Arguments have NumPy's names here, since NumPy hands them on as they were written.


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return ch.clamp(as_tensor(a), a_min if min is None else min, a_max if max is None else max)


def _dot(a: Any, b: Any) -> Any:
    a, b = as_tensor(a), as_tensor(b)
    if b.ndim > 2:
        raise _refuse(
            "numpy.dot with a second operand of more than two axes", "it is not the batched product", "use a @ b"
        )
    return la.matmul(a, b) if a.ndim and b.ndim else ar.mul(a, b)


def _squeeze(a: Any, axis: Any = None) -> Any:
    x = as_tensor(a)
    axes = (
        range(x.ndim)
        if axis is None
        else [arguments.dims(x, one) for one in (axis if isinstance(axis, tuple) else (axis,))]
    )
    return x.reshape(tuple(size for i, size in enumerate(x.shape) if size != 1 or i not in axes))


def _transpose(a: Any, axes: Any = None) -> Any:
    x = as_tensor(a)
    return x.permute(tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def _where(condition: Any, x: Any, y: Any) -> Any:
    return ch.where_op(condition, x, y)


def _copy(a: Any) -> Any:
    return ct.clone(a)


def _concatenate(arrays: Any, axis: int | None = 0) -> Any:
    if axis is None:
        return mv.cat([as_tensor(x).reshape(-1) for x in arrays])
    return mv.cat(arrays, axis)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _reduction(rd.sum),
    np.mean: _reduction(rd.mean),
    np.max: _reduction(rd.amax),
    np.amax: _reduction(rd.amax),
    np.min: _reduction(rd.amin),
    np.amin: _reduction(rd.amin),
    np.argmax: _reduction(rd.argmax),
    np.argmin: _reduction(rd.argmin),
    np.prod: _reduction(rd.prod),
    np.any: _reduction(rd.any),
    np.all: _reduction(rd.all),
    np.std: _spread(rd.std),
    np.var: _spread(rd.var),
    np.cumsum: lambda a, axis: sc.cumsum(as_tensor(a), axis),
    np.cumprod: lambda a, axis: sc.cumprod(as_tensor(a), axis),
    np.sort: lambda a, axis=-1: so.sort(as_tensor(a), axis).values,
    np.argsort: lambda a, axis=-1: so.argsort(as_tensor(a), axis),
    np.flip: lambda m, axis: ag.flip(as_tensor(m), axis if isinstance(axis, tuple) else (axis,)),
    np.tril: lambda m, k=0: ag.tril(as_tensor(m), k),
    np.triu: lambda m, k=0: ag.triu(as_tensor(m), k),
    np.outer: lambda a, b: la.outer(as_tensor(a), as_tensor(b)),
    np.einsum: lambda subscripts, *operands: la.einsum(subscripts, *map(as_tensor, operands)),
    np.moveaxis: lambda a, source, destination: sp.movedim(as_tensor(a), source, destination),
    np.ravel: lambda a: sp.ravel(as_tensor(a)),
    np.take_along_axis: lambda arr, indices, axis: ga.take_along_dim(as_tensor(arr), as_tensor(indices), axis),
    np.reshape: lambda a, shape: as_tensor(a).reshape(shape),
    np.transpose: _transpose,
    np.swapaxes: lambda a, axis1, axis2: as_tensor(a).transpose(axis1, axis2),
    np.squeeze: _squeeze,
    np.expand_dims: lambda a, axis: as_tensor(a).unsqueeze(axis),
    np.broadcast_to: lambda array, shape: as_tensor(array).expand(shape),
    np.concatenate: _concatenate,
    np.stack: lambda arrays, axis=0: mv.stack(arrays, axis),
    np.where: _where,
    np.clip: _clip,
    np.dot: _dot,
    np.zeros_like: lambda a, dtype=None: creation.zeros_like(a, dtype=dtype),
    np.ones_like: lambda a, dtype=None: creation.ones_like(a, dtype=dtype),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.numel(),
    np.copy: _copy,
}


def _refuse(
    tried: str,
    why: str = "this function has no gradient here",
    mend: str = "use a tensor method, or leave the graph first: x.detach().numpy()",
) -> DtypeError:
    return DtypeError(tried, why, mend)


@cache
def _signature(called: Any) -> inspect.Signature:
    return inspect.signature(FUNCTIONS[called])


def ufunc(called: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy met a tensor in a ufunc call. An ``ndarray += tensor`` that would lose a history is refused."""
    tried = f"numpy.{called.__name__}"
    if called in UFUNCS and method == "__call__" and not kwargs:
        return UFUNCS[called](*inputs)
    if _plain([inputs, kwargs]):
        return _by_numpy(f"{tried} on a tensor", getattr(called, method), inputs, kwargs)
    if "out" in kwargs:
        raise _refuse(
            f"{tried}(out=…) of a tensor into an array",
            "an array cannot hold the history of a tensor",
            "make a new tensor: total = total + x, not total += x",
        )
    given = f".{method}" if method != "__call__" else "".join(f"({key}=…)" for key in kwargs)
    raise _refuse(f"{tried}{given} on a tensor")


def function(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy met a tensor in another of its functions."""
    tried = f"numpy.{called.__name__} on a tensor"
    why = ""
    if called in FUNCTIONS:
        try:
            _signature(called).bind(*args, **kwargs)
        except TypeError as error:
            why = f"not with these arguments: {error}"
        else:
            return FUNCTIONS[called](*args, **kwargs)
    if _plain([args, kwargs]):
        return _by_numpy(tried, called, args, kwargs)
    raise _refuse(tried, why) if why else _refuse(tried)


# What is not among ours, NumPy computes itself, as with PyTorch's tensors. It gives arrays: nothing here wants a
# gradient, and most who call such functions, matplotlib among them, want numbers.


def _tensors(value: Any) -> Iterator[TensorBase]:
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)


def _plain(value: Any) -> bool:
    """Whether all tensors in it have values on the host, and no history."""
    return all(not x.requires_grad and backends.of(x.array) is backends.CPU for x in _tensors(value))


def _by_numpy(tried: str, called: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    try:
        return called(*_arrays(args), **_arrays(kwargs))
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        why = "it would write into the tensor, and neither graph nor guard would know"
        raise _refuse(tried, why, "use a method of the tensor that writes: x.copy_(…), x[i] = …") from None


def _arrays(value: Any) -> Any:
    """With arrays that cannot be written to in place of tensors."""
    if isinstance(value, TensorBase):
        own_buffer(value)
        array = value.array.view()
        array.flags.writeable = False
        return array
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    return type(value)(map(_arrays, value)) if type(value) in (list, tuple) else value
