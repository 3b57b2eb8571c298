"""Counts, and a few numbers that describe many: built from reductions, orderings and choices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import backends
from ..core.above import above
from ..core.base import TensorBase
from ..dtypes import as_dtype, is_float
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import as_tensor, extremes, one_dim, whole
from ..inputs.kinds import explain_all
from .arithmetic import div_op, lerp_op, mul
from .choice import where_op
from .convert import clone
from .logic import isnan, logical_not, ne
from .reduce import Dims, amax_op, amin_op, any_op, mean, std, sum, var
from .sorting import sort
from .unary import ceil, floor, round_op


class MinAndMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Any
    max: Any


def count_nonzero(input: Any, dim: Dims = None) -> Any:
    """How many elements over ``dim``, or of all, are not 0, as int64; nan is not. There is no gradient.

    >>> import tinygrad_edu as tg
    >>> tg.count_nonzero(tg.tensor([[0, 1], [2, 3]]), dim=1)
    tensor([1, 2])
    """
    return sum(ne(as_tensor(input), 0), dim)


def std_mean(
    input: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Any, Any]:
    """The standard deviation and the mean over ``dim``, or over everything. The arguments are those of `std`."""
    return std(input, dim, unbiased, keepdim, correction=correction), _mean_beside(input, dim, unbiased, keepdim)


def var_mean(
    input: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Any, Any]:
    """The variance and the mean over ``dim``, or over everything. The arguments are those of `var`."""
    return var(input, dim, unbiased, keepdim, correction=correction), _mean_beside(input, dim, unbiased, keepdim)


def _mean_beside(x: Any, dim: Any, unbiased: Any, keepdim: bool) -> Any:
    return mean(x, None if isinstance(dim, bool) and unbiased is None else dim, keepdim)  # var_mean(x, unbiased)


def aminmax(input: Any, *, dim: int | None = None, keepdim: bool = False) -> MinAndMax:
    """The smallest and the largest element over ``dim``, or of all: a named tuple of ``min`` and ``max``.

    Ties share the gradient, as in `amin` and `amax`; nan counts as both. Raises `ShapeError` where there is no element.

    >>> import tinygrad_edu as tg
    >>> low, high = tg.aminmax(tg.tensor([3.0, 1.0, 2.0]))
    >>> low.item(), high.item()
    (1.0, 3.0)
    """
    x = as_tensor(input)
    axis = None if dim is None else one_dim(x, dim)
    return MinAndMax(amin_op(x, dim=axis, keepdim=keepdim), amax_op(x, dim=axis, keepdim=keepdim))


def nansum(input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over ``dim``, or over everything, of what is not nan; 0 where all are. Dtypes are those of `sum`."""
    x = as_tensor(input)
    return sum(where_op(isnan(x), 0, x) if is_float(x.dtype) else x, dim, keepdim, dtype=dtype)


def nanmean(input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over ``dim``, or over everything, of what is not nan; nan where there is no such element.

    Raises `DtypeError` for integers and bools: they have no nan, and no mean.

    >>> import tinygrad_edu as tg
    >>> tg.nanmean(tg.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    x = as_tensor(input)
    if not is_float(x.dtype):
        why, mend = "a mean is a fraction, and integers and bools have no nan to skip", "use x.float().mean()"
        raise DtypeError(f"nanmean of a tensor {tuple(x.shape)} {x.dtype}", why, mend)
    return div_op(nansum(x, dim, keepdim, dtype=dtype), sum(logical_not(isnan(x)), dim, keepdim))


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The number below which the fraction ``q`` of the elements along ``dim``, or of all, lies; nan if one is nan.

    ``q`` is a number from 0 to 1, or a vector of them in the dtype of input: then the result has a new first axis with
    one place for each. Between two elements, ``interpolation`` follows a straight line, or takes the ``"lower"``, the
    ``"higher"``, the ``"nearest"`` or their ``"midpoint"``. Raises `DtypeError` for integers and another dtype of
    ``q``, `ArgumentError` for a ``q`` outside 0 and 1, `ShapeError` where there is no element.

    >>> import tinygrad_edu as tg
    >>> tg.quantile(tg.tensor([1.0, 2.0, 3.0, 5.0]), tg.tensor([0.5, 1.0]))
    tensor([2.5000, 5.0000])
    """
    x = as_tensor(input)
    shares = q if isinstance(q, TensorBase) else above.as_tensor(q, x.dtype)
    tried = f"quantile of a tensor {tuple(x.shape)} {x.dtype}, q {tuple(shares.shape)} {shares.dtype}"
    _check_quantile(tried, x, shares, interpolation)
    flat, axis = (x.reshape(-1), 0) if dim is None else (x, one_dim(x, dim))
    if axis is None:  # a 0-d tensor has one element along its one axis
        flat, axis = x.reshape(1), 0
    size = flat.shape[axis]
    if not size:
        raise ShapeError(tried, "there is no element", "check how the tensor came to be empty")
    rows = sort(flat.movedim(axis, -1)).values
    places = mul(shares.reshape(-1), size - 1)
    if interpolation in ("lower", "higher", "nearest"):
        places = {"lower": floor, "higher": ceil, "nearest": round_op}[interpolation](places)
    low = floor(places).detach()
    between = rows[..., ceil(places).detach().long()]
    weight = 0.5 * (ceil(places) - low) if interpolation == "midpoint" else places - low
    found = lerp_op(rows[..., low.long()], between, weight)
    found = where_op(any_op(isnan(rows), dim=-1, keepdim=True), float("nan"), found).movedim(-1, 0)
    if keepdim:
        found = found.reshape(-1, *(1,) * x.ndim) if dim is None else found.unsqueeze(axis + 1) if x.ndim else found
    elif dim is not None and not x.ndim:
        found = found.reshape(-1)
    return clone(found if shares.ndim else found[0])  # not a view, which would keep all of it alive


def _check_quantile(tried: str, x: Any, q: Any, interpolation: str) -> None:
    if interpolation not in INTERPOLATIONS:
        why, mend = f"there is no interpolation {interpolation!r}", f"use one of {', '.join(INTERPOLATIONS)}"
        raise ArgumentError(tried, why, mend)
    if not is_float(x.dtype) or x.dtype.itemsize == 2:
        raise DtypeError(tried, "quantiles are float32 or float64 numbers", "convert it first: x.float()")
    if q.dtype != x.dtype:
        raise DtypeError(tried, "q and the tensor differ in dtype", f"convert one of them: q.to('{x.dtype}')")
    if q.ndim > 1:
        raise ShapeError(tried, "q is one fraction, or a vector of them", "use q.reshape(-1)")
    ends = extremes(q)
    if ends is not None and not (ends[0] >= 0 and ends[1] <= 1):
        why = f"q goes from {ends[0]:g} to {ends[1]:g}, but it must be between 0 and 1"
        raise ArgumentError(tried, why, "divide percentages by 100 first")


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each of the integers 0, 1, 2, ... up to the largest occurs in a vector, as int64.

    With ``weights``, one for each element, each place sums the weights of its elements, in float64, or in float32 if
    the weights are. The result has at least ``minlength`` places; how many more depends on the values, so it is found
    on the host. There is no gradient. Raises `DtypeError` for floats, `ShapeError` for more axes, `ArgumentError` for
    negative numbers.

    >>> import tinygrad_edu as tg
    >>> tg.bincount(tg.tensor([0, 2, 2, 5]))
    tensor([1, 0, 2, 0, 0, 1])
    """
    x = as_tensor(input)
    tried = f"bincount of a tensor {tuple(x.shape)} {x.dtype}"
    places = whole("bincount", "minlength", minlength)
    if x.dtype.kind not in "iu":
        raise DtypeError(tried, "it counts integers", "convert it first: x.long()")
    if x.ndim != 1:
        raise ShapeError(tried, "it counts the elements of a vector", "use x.reshape(-1)")
    if places < 0:
        raise ArgumentError(f"bincount with minlength={places}", "a length is not negative", "leave minlength out")
    backend = backends.of(x.array)
    values = np.asarray(backend.to_numpy(x.array))
    if values.size and values.min() < 0:
        raise ArgumentError(tried, f"there is no place for {values.min()}", "shift the numbers first: x - x.min()")
    if weights is None:
        return above.wrap(backend.from_numpy(np.bincount(values, minlength=places).astype("int64")))
    weights = as_tensor(weights)
    if tuple(weights.shape) != tuple(x.shape):
        why = f"the weights have shape {tuple(weights.shape)}, but each element has one"
        raise ShapeError(tried, why, "give as many weights as elements")
    factors = np.asarray(backend.to_numpy(weights.array))
    found = np.bincount(values, factors, places)
    kind = "float32" if weights.dtype == as_dtype("float32") else "float64"
    return above.wrap(backend.from_numpy(found.astype(kind)))


explain_all(globals())
