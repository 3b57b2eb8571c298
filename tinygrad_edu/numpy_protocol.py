"""NumPy's functions on tensors: ``np.sin(t)``, ``np.sum(t, axis=0)``, ``array * t`` give tensors, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import creation
from .errors import DtypeError
from .ops import elementwise as ew
from .ops import linalg as la
from .ops import movement as mv
from .ops import reduce as rd
from .tensor import _dims, as_tensor

UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: ew.add, np.subtract: ew.sub, np.multiply: ew.mul, np.divide: ew.div, np.power: ew.pow,
    np.negative: ew.neg, np.exp: ew.exp, np.log: ew.log, np.sqrt: ew.sqrt, np.sin: ew.sin, np.cos: ew.cos,
    np.tanh: ew.tanh, np.absolute: ew.abs, np.sign: ew.sign, np.maximum: ew.maximum, np.minimum: ew.minimum,
    np.matmul: la.matmul, np.equal: ew.eq, np.not_equal: ew.ne, np.less: ew.lt, np.less_equal: ew.le,
    np.greater: ew.gt, np.greater_equal: ew.ge,
}  # fmt: skip


def _reduction(op: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return op(x, dim=_dims(as_tensor(x), axis), keepdim=keepdims)

    return call


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _reduction(rd.sum),
    np.mean: _reduction(rd.mean),
    np.max: _reduction(rd.amax),
    np.amax: _reduction(rd.amax),
    np.min: _reduction(rd.amin),
    np.amin: _reduction(rd.amin),
    np.argmax: _reduction(rd.argmax),
    np.reshape: lambda x, shape: as_tensor(x).reshape(shape),
    np.transpose: lambda x, axes=None: as_tensor(x).permute(axes or tuple(range(as_tensor(x).ndim))[::-1]),
    np.swapaxes: lambda x, a, b: as_tensor(x).transpose(a, b),
    np.squeeze: lambda x, axis=None: as_tensor(x).squeeze(axis),
    np.expand_dims: lambda x, axis: as_tensor(x).unsqueeze(axis),
    np.broadcast_to: lambda x, shape: mv.expand(x, shape=tuple(shape)),
    np.concatenate: lambda xs, axis=0: creation.cat(xs, axis),
    np.stack: lambda xs, axis=0: creation.stack(xs, axis),
    np.where: ew.where,
    np.clip: lambda x, lo=None, hi=None: ew.clamp(as_tensor(x), min=lo, max=hi),
    np.dot: la.matmul,
    np.zeros_like: creation.zeros_like,
    np.ones_like: creation.ones_like,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.numel(),
    np.copy: ew.clone,
}


def _refuse(name: str) -> DtypeError:
    return DtypeError(
        f"{name} on a tensor",
        "this function has no gradient here",
        "use a tensor method, or leave the graph first: x.detach().numpy()",
    )


def ufunc(called: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy met a tensor in a ufunc call. An ``ndarray += tensor`` would lose the graph and is refused."""
    if called not in UFUNCS or method != "__call__" or kwargs:
        given = f".{method}" if method != "__call__" else "".join(f"({key}=…)" for key in kwargs)
        raise _refuse(f"numpy.{called.__name__}{given}")
    return UFUNCS[called](*inputs)


def function(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy met a tensor in another of its functions."""
    if called not in FUNCTIONS:
        raise _refuse(f"numpy.{called.__name__}")
    return FUNCTIONS[called](*args, **kwargs)
