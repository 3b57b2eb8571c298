"""NumPy's functions on tensors: ``np.sin(t)``, ``np.sum(t, axis=0)``, ``array * t`` give tensors, with gradients.

Functions that are not listed here compute with the values and give arrays, if no tensor requires grad.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from .. import backends
from ..core.above import above
from ..core.base import TensorBase
from ..core.inplace import own_buffer
from ..dtypes import promote
from ..errors import DtypeError, ShapeError
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
from ..ops import parts as pt
from ..ops import products as pr
from ..ops import reduce as rd
from ..ops import scan as sc
from ..ops import shapes as sp
from ..ops import sorting as so
from ..ops import statistics as st
from ..ops import unary as un
from ..settings import modes
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

# Ufuncs, and the method of tensors that does the same, under PyTorch's name: used where tensors have it.
METHODS = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "copysign": "copysign", "cosh": "cosh", "deg2rad": "deg2rad", "exp2": "exp2", "fmax": "fmax",
    "fmin": "fmin", "fmod": "fmod", "heaviside": "heaviside", "hypot": "hypot", "log10": "log10",
    "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "rad2deg": "rad2deg", "signbit": "signbit", "sinh": "sinh",
    "trunc": "trunc",
}  # fmt: skip

# What to write in place of a function that has no counterpart. For all others there are only NumPy's values.
INSTEAD = {
    "add.reduce": "x.sum()", "average": "(x * weights).sum() / weights.sum()", "append": "cat([x, y])",
    "compress": "x[condition]", "convolve": "nn.functional.conv1d()",
    "delete": "cat([x[:i], x[i + 1 :]])", "dsplit": "x.split(sizes, 2)",
    "extract": "x[condition]", "flatnonzero": "x.ravel().nonzero()", "hsplit": "x.split(sizes, 1)",
    "hypot": "(x * x + y * y).sqrt()", "insert": "cat([x[:i], y, x[i:]])", "maximum.reduce": "x.amax()",
    "median": "x.median(), which takes the lower of two middle elements", "minimum.reduce": "x.amin()",
    "multiply.reduce": "x.prod()",
    "nanmax": "x.masked_fill(x.isnan(), -inf).amax()",
    "nanmin": "x.masked_fill(x.isnan(), inf).amin()",
    "pad": "nn.functional.pad()", "partition": "x.topk(k)", "argpartition": "x.topk(k).indices",
    "ptp": "x.amax() - x.amin()", "resize": "x.repeat()", "rollaxis": "x.movedim()", "select": "where()",
    "take": "x.index_select()", "vdot": "x.ravel().dot(y.ravel())", "vsplit": "x.split(sizes, 0)",
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


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    x = as_tensor(ary)
    if not isinstance(indices_or_sections, (tuple, list)) and x.ndim:
        count, pieces = x.shape[arguments.axis(x, axis, x.ndim)], indices_or_sections
        if isinstance(pieces, int) and pieces > 0 and count % pieces:
            why = f"the axis has {count} elements, and they do not split into {pieces} equal parts"
            raise ShapeError(
                f"numpy.split of a tensor {tuple(x.shape)}", why, "use numpy.array_split or tensor_split()"
            )
    return list(pt.tensor_split(x, indices_or_sections, axis))


def _counts(repeats: Any) -> Any:
    return repeats if isinstance(repeats, int) else as_tensor(repeats)


def _alike(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as tensors of one dtype."""
    a, b = as_tensor(a), as_tensor(b)
    dtype = promote(modes().promotion, a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def _array_equal(a1: Any, a2: Any) -> bool:
    a, b = _alike(a1, a2)
    return a.shape == b.shape and bool(lg.equal(a, b))


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return rd.sum(pt.diagonal(as_tensor(a), offset, axis1, axis2), -1)


def _solve(a: Any, b: Any) -> Any:
    a, b = as_tensor(a), as_tensor(b)
    return _linalg("solve", a, b if b.ndim in (1, a.ndim) else b.unsqueeze(0))  # to NumPy, only one axis makes a vector


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    found = _linalg("svd", as_tensor(a), full_matrices and compute_uv)
    return found if compute_uv else found.S


def _linalg(name: str, *given: Any, **named: Any) -> Any:
    from .. import linalg  # loaded when it is first used

    return getattr(linalg, name)(*given, **named)


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
    np.nansum: _reduction(st.nansum),
    np.nanmean: _reduction(st.nanmean),
    np.count_nonzero: lambda a, axis=None: st.count_nonzero(as_tensor(a), axis),
    np.quantile: lambda a, q, axis=None, keepdims=False: st.quantile(as_tensor(a), q, axis, keepdims),
    np.diff: lambda a, n=1, axis=-1: sc.diff(as_tensor(a), n, axis),
    np.nan_to_num: lambda x, nan=0.0, posinf=None, neginf=None: ch.nan_to_num(as_tensor(x), nan, posinf, neginf),
    np.isin: lambda element, test_elements: so.isin(as_tensor(element), as_tensor(test_elements)),
    np.searchsorted: lambda a, v, side="left": so.searchsorted(as_tensor(a), as_tensor(v), side=side),
    np.bincount: lambda x, weights=None, minlength=0: st.bincount(as_tensor(x), weights, minlength),
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
    np.allclose: lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: lg.allclose(*_alike(a, b), rtol, atol, equal_nan),
    np.isclose: lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: lg.isclose(*_alike(a, b), rtol, atol, equal_nan),
    np.array_equal: _array_equal,
    np.argwhere: lambda a: ga.argwhere(as_tensor(a)),
    np.nonzero: lambda a: ga.nonzero(as_tensor(a), as_tuple=True),
    np.unique: lambda ar: so.unique(as_tensor(ar)),
    np.round: lambda a, decimals=0: un.round(as_tensor(a), decimals=decimals),
    np.empty_like: lambda prototype, dtype=None: creation.empty_like(prototype, dtype=dtype),
    np.full_like: lambda a, fill_value, dtype=None: creation.full_like(a, fill_value, dtype=dtype),
    np.meshgrid: lambda *xi, indexing="xy": ga.meshgrid(*map(as_tensor, xi), indexing=indexing),
    np.split: _split,
    np.array_split: lambda ary, indices_or_sections, axis=0: list(pt.tensor_split(ary, indices_or_sections, axis)),
    np.repeat: lambda a, repeats, axis=None: ag.repeat_interleave(as_tensor(a), _counts(repeats), axis),
    np.tile: lambda A, reps: ag.tile(as_tensor(A), reps if isinstance(reps, (tuple, list)) else (reps,)),
    np.roll: lambda a, shift, axis=None: ag.roll(as_tensor(a), shift, () if axis is None else axis),
    np.rot90: lambda m, k=1, axes=(0, 1): ag.rot90(as_tensor(m), k, axes),
    np.fliplr: lambda m: ag.fliplr(as_tensor(m)),
    np.flipud: lambda m: ag.flipud(as_tensor(m)),
    np.diag: lambda v, k=0: ag.diag(as_tensor(v), k),
    np.diagonal: lambda a, offset=0, axis1=0, axis2=1: pt.diagonal(as_tensor(a), offset, axis1, axis2),
    np.trace: _trace,
    np.vstack: sp.vstack,
    np.hstack: sp.hstack,
    np.dstack: sp.dstack,
    np.column_stack: sp.column_stack,
    np.atleast_1d: sp.atleast_1d,
    np.atleast_2d: sp.atleast_2d,
    np.atleast_3d: sp.atleast_3d,
    np.tensordot: lambda a, b, axes=2: pr.tensordot(as_tensor(a), as_tensor(b), axes),
    np.kron: lambda a, b: pr.kron(as_tensor(a), as_tensor(b)),
    np.inner: lambda a, b: pr.inner(as_tensor(a), as_tensor(b)),
    np.cross: lambda a, b, axis=-1: pr.cross(as_tensor(a), as_tensor(b), axis),
    np.linalg.inv: lambda a: _linalg("inv", a),
    np.linalg.det: lambda a: _linalg("det", a),
    np.linalg.slogdet: lambda a: _linalg("slogdet", a),
    np.linalg.solve: _solve,
    np.linalg.svd: _svd,
    np.linalg.qr: lambda a, mode="reduced": _linalg("qr", a, mode),
    np.linalg.eigh: lambda a, UPLO="L": _linalg("eigh", a, UPLO),
    np.linalg.cholesky: lambda a, *, upper=False: _linalg("cholesky", a, upper=upper),
    np.linalg.matrix_power: lambda a, n: _linalg("matrix_power", a, n),
    np.linalg.multi_dot: lambda arrays: _linalg("multi_dot", arrays),
    np.linalg.norm: lambda x, ord=None, axis=None, keepdims=False: _linalg("norm", x, ord, axis, keepdims),
    np.linalg.matrix_norm: lambda x, *, keepdims=False, ord="fro": _linalg("matrix_norm", x, ord, keepdim=keepdims),
    np.linalg.vector_norm: lambda x, *, axis=None, keepdims=False, ord=2: _linalg(
        "vector_norm", x, ord, axis, keepdims
    ),
}


def _refuse(
    tried: str,
    why: str = "this function has no gradient here",
    mend: str = "",
) -> DtypeError:
    return DtypeError(tried, why, mend)


def _instead(called: Any, method: str = "") -> str:
    """What to write in place of a function of NumPy's."""
    name = called.__name__ + method
    module = getattr(called, "__module__", None) or "numpy"  # ufuncs have none
    without = f"without a gradient: {module}.{name}(x.detach().numpy())"
    return f"write {INSTEAD[name]}, or, {without}" if name in INSTEAD else f"compute it {without}"


@cache
def _signature(called: Any) -> inspect.Signature:
    return inspect.signature(FUNCTIONS[called])


def ufunc(called: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy met a tensor in a ufunc call. An ``ndarray += tensor`` that would lose a history is refused."""
    tried = f"numpy.{called.__name__}"
    if called in UFUNCS and method == "__call__" and not kwargs:
        return UFUNCS[called](*inputs)
    named = getattr(above.Tensor, METHODS.get(called.__name__, ""), None)
    if named is not None and method == "__call__" and not kwargs:
        return named(as_tensor(inputs[0]), *inputs[1:])
    if _plain([inputs, kwargs]):
        return _by_numpy(f"{tried} on a tensor", getattr(called, method), inputs, kwargs)
    if "out" in kwargs:
        raise _refuse(
            f"{tried}(out=…) of a tensor into an array",
            "an array cannot hold the history of a tensor",
            "make a new tensor: total = total + x, not total += x",
        )
    part = f".{method}" if method != "__call__" else ""
    given = part or "".join(f"({key}=…)" for key in kwargs)
    raise _refuse(f"{tried}{given} on a tensor", mend=_instead(called, part))


def function(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy met a tensor in another of its functions."""
    tried = f"{called.__module__}.{called.__name__} on a tensor"
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
    if why:
        raise _refuse(tried, why, f"leave them out, or {_instead(called).removeprefix('compute it ')}")
    raise _refuse(tried, mend=_instead(called))


# NumPy itself computes what is not listed here, as with PyTorch's tensors. It gives arrays: no tensor here requires
# grad, and most callers of such functions, matplotlib among them, want numbers.


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
    """The same, with read-only arrays in place of tensors."""
    if isinstance(value, TensorBase):
        own_buffer(value)
        array = value.array.view()
        array.flags.writeable = False
        return array
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    return type(value)(map(_arrays, value)) if type(value) in (list, tuple) else value
