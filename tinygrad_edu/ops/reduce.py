"""Operations that make axes disappear. ``dim`` is None for all, an int or a tuple; negative counts from the end."""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.base import TensorBase
from ..core.dispatch import caller
from ..core.op import Op
from ..dtypes import bool_, uint8
from ..errors import DtypeError
from ..inputs.arguments import as_tensor, dims, one_dim
from ..inputs.kinds import explain_all

# mypy: disable-error-code="override"


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """The reduced axes, counted from 0."""
    if dim is None:
        return tuple(range(ndim))
    return tuple(axis % ndim for axis in ((dim,) if isinstance(dim, int) else dim)) if ndim else ()


def kept(shape: tuple[int, ...], dim: Any) -> tuple[int, ...]:
    """The shape of a reduction that keeps the reduced axes with length 1."""
    axes = axes_of(dim, len(shape))
    return tuple(1 if i in axes else size for i, size in enumerate(shape))


def _count(shape: tuple[int, ...], dim: Any) -> int:
    """How many elements go into each element of the result."""
    return how_many(shape) if dim is None else how_many(tuple(shape[axis] for axis in axes_of(dim, len(shape))))


class Sum(Op):
    """The sum over ``dim``. Integers and bools are summed as int64."""

    dtypes = "each"
    saves = ("x.shape", "dim")
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.sum(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, dim: Any) -> Any:
        return xp.broadcast_to(g if dim is None else xp.reshape(g, kept(shape, dim)), shape)


class Mean(Op):
    """The arithmetic mean over ``dim``."""

    dtypes = "floating"
    saves = ("x.shape", "dim")
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.sum(x, dim, keepdim) / (_count(x.shape, dim) or float("nan"))  # 0 / nan is nan without a warning

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, dim: Any) -> Any:
        share = g / (_count(shape, dim) or 1)
        return xp.broadcast_to(share if dim is None else xp.reshape(share, kept(shape, dim)), shape)


class Prod(Op):
    """The product over ``dim``. Integers and bools are multiplied as int64."""

    dtypes = "each"
    saves = ("x", "dim")
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.prod(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, dim: Any) -> Any:
        # Axis by axis: the product of the others along it, from those before and those after. There is no division,
        # so zeros are no special case.
        g = xp.reshape(g, kept(x.shape, dim))
        for axis in axes_of(dim, x.ndim):
            g = g * (before(xp, x, axis) * backwards(before(xp, backwards(x, axis), axis), axis))
            x = xp.prod(x, axis, True)
        return g


def before(xp: Any, x: Any, dim: int) -> Any:
    """The product of all elements before each one along ``dim``, counted from 0: 1 for the first."""
    head = (slice(None),) * dim
    first = xp.ones_like(x[(*head, slice(0, 1))])
    return xp.cumprod(xp.concatenate((first, x[(*head, slice(0, -1))]), dim), dim)


def backwards(x: Any, dim: int) -> Any:
    """``x`` with the axis ``dim``, counted from 0, reversed."""
    return x[(slice(None),) * dim + (slice(None, None, -1),)]


class Var(Op):
    """The variance over ``dim``: the mean squared distance from the mean, but divided by ``count - correction``."""

    dtypes = "floating"
    saves = ("x", "dim", "correction")
    per_element = 2
    per_input = 4

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
        return _variance(xp, x, dim, correction, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, dim: Any, correction: float) -> Any:
        return _to_distances(xp, g, x, dim, correction)


class Std(Op):
    """The standard deviation over ``dim``, the root of the variance. Where it is 0, so is its gradient."""

    dtypes = "floating"
    saves = ("x", "out", "dim", "correction")
    per_element = 3
    per_input = 4

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, correction: float = 1, keepdim: bool = False) -> Any:
        return xp.sqrt(_variance(xp, x, dim, correction, keepdim))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, dim: Any, correction: float) -> Any:
        return _to_distances(xp, g / xp.where(out != 0, out * 2, float("inf")), x, dim, correction)


def _variance(xp: Any, x: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    distance, count = _from_mean(xp, x, dim), _count(x.shape, dim)
    off = xp.sum(distance, dim, keepdim)  # 0, if the mean were not rounded
    total = xp.maximum(xp.sum(distance * distance, dim, keepdim) - off * off / (count or 1), 0)
    return total / max(count - correction, 0)


def _to_distances(xp: Any, g: Any, x: Any, dim: Any, correction: float) -> Any:
    """The gradient of a variance. The mean's own share is 0: the distances from it add to 0."""
    g = g * 2 / max(_count(x.shape, dim) - correction, 0)
    return xp.reshape(g, kept(x.shape, dim)) * _from_mean(xp, x, dim)


def _from_mean(xp: Any, x: Any, dim: Any) -> Any:
    return x - xp.sum(x, dim, True) / (_count(x.shape, dim) or 1)


class Extreme:
    """Shared by reductions that choose an element: an empty axis has none to choose."""

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        shape = shapes[0]
        empty = [axis for axis in axes_of(params["dim"], len(shape)) if not shape[axis]]
        if not empty:
            return None
        return (
            f"axis {empty[0]} has no elements, so none of them is the largest or smallest",
            "find out why the tensor is empty, or check x.numel() first",
        )


class Amax(Extreme, Op):
    """The largest element over ``dim``. Ties share the gradient evenly, as in PyTorch's amax."""

    dtypes = "each"
    saves = ("x", "out", "dim")
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.amax(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, dim: Any) -> Any:
        return _to_ties(xp, g, x, out, dim)


class Amin(Extreme, Op):
    """The smallest element over ``dim``. Ties share the gradient evenly, as in PyTorch's amin."""

    dtypes = "each"
    saves = ("x", "out", "dim")
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.amin(x, dim, keepdim)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, dim: Any) -> Any:
        return _to_ties(xp, g, x, out, dim)


def _to_ties(xp: Any, g: Any, x: Any, out: Any, dim: Any) -> Any:
    """The gradient in equal shares for all elements equal to the result; where that is nan, for every nan.

    PyTorch's max() does the same. Its amax gives nan to a whole row with a nan.
    """
    shape = kept(x.shape, dim)
    ties = xp.astype((x == xp.reshape(out, shape)) | (x != x), g.dtype)
    return ties * (xp.reshape(g, shape) / xp.sum(ties, dim, True))


class Norm(Extreme, Op):
    """The p-norm over ``dim``, the p-th root of the sum of ``abs(x) ** p``. p = 0 counts what is not 0."""

    dtypes = "floating"
    saves = ("x", "out", "p", "dim")
    per_input = 2

    @staticmethod
    def forward(xp: Any, x: Any, *, p: float, dim: Any = None, keepdim: bool = False) -> Any:
        if p == 0:
            return xp.sum(xp.astype(x != 0, x.dtype), dim, keepdim)
        if p == 2:
            return xp.sqrt(xp.sum(x * x, dim, keepdim))
        size = xp.abs(x)
        if p == float("inf"):
            return xp.amax(size, dim, keepdim)
        if p == float("-inf"):
            return xp.amin(size, dim, keepdim)
        return xp.sum(size, dim, keepdim) if p == 1 else xp.sum(size**p, dim, keepdim) ** (1 / p)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, out: Any, p: float, dim: Any) -> Any:
        if p == 0:
            return xp.zeros_like(x)
        if p in (float("inf"), float("-inf")):
            return xp.sign(x) * _to_ties(xp, g, xp.abs(x), out, dim)
        g, out = xp.reshape(g, kept(x.shape, dim)), xp.reshape(out, kept(x.shape, dim))
        if p < 1:  # infinitely steep at 0, where PyTorch's slope is 0: inf to a negative power
            size = xp.where(x != 0, xp.abs(x), float("inf"))
            return g * (xp.sign(x) * size ** (p - 1) * out ** (1 - p))
        share = x / xp.where(out != 0, out, float("inf"))  # at the origin the slope is 0, as in PyTorch
        return g * share if p == 2 else g * (xp.sign(x) * xp.abs(share) ** (p - 1))


class Any_(Op, name="any"):
    """Whether some element over ``dim`` is not 0."""

    dtypes = "each"
    differentiable = False
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.any(x, dim, keepdim)


class All(Op):
    """Whether no element over ``dim`` is 0."""

    dtypes = "each"
    differentiable = False
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.all(x, dim, keepdim)


class Argmin(Extreme, Op):
    """The position of the first smallest element over ``dim``, as int64. nan counts as smaller than any number."""

    dtypes = "each"
    differentiable = False
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.argmin(x, dim, keepdim)


class Argmax(Extreme, Op):
    """The position of the first largest element over ``dim``, as int64. nan counts as larger than any number."""

    dtypes = "each"
    differentiable = False
    per_element = 0
    per_input = 1

    @staticmethod
    def forward(xp: Any, x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
        return xp.argmax(x, dim, keepdim)


sum_op, mean_op, prod_op, amax_op, amin_op = caller(Sum), caller(Mean), caller(Prod), caller(Amax), caller(Amin)
var_op, std_op, norm_op = caller(Var), caller(Std), caller(Norm)
argmax_op, argmin_op, any_op, all_op = caller(Argmax), caller(Argmin), caller(Any_), caller(All)

Dims = int | tuple[int, ...] | None


def over(x: Any, dim: Dims) -> Any:
    """``dim`` counted from 0. An empty tuple means all axes, as in PyTorch."""
    if dim is None or (type(dim) is int and 0 <= dim < x.array.ndim):  # the usual cases, kept short
        return dim
    found = dims(x, dim)
    return None if found == () else found


def given(x: Any, dtype: Any) -> Any:
    """``x`` as a tensor, of ``dtype`` if there is one."""
    if dtype is not None:
        return as_tensor(x).to(dtype=dtype)
    return x if isinstance(x, TensorBase) else as_tensor(x)


def sum(input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over ``dim``, or over everything. Integers and bools give int64, unless ``dtype`` says otherwise.

    With ``dtype`` the elements are converted before they are added. Raises `ShapeError` for a ``dim`` out of range.

    >>> import tinygrad_edu as tg
    >>> tg.tensor([[1.0, 2.0], [3.0, 4.0]]).sum(dim=1, keepdim=True).tolist()
    [[3.0], [7.0]]
    """
    x = given(input, dtype)
    total = sum_op(x, dim=over(x, dim), keepdim=keepdim)
    return total if dtype is None else total.to(dtype=dtype)


def prod(input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over ``dim``, or over everything. Dtypes are those of `sum`. Its gradient is exact at zeros too."""
    x = given(input, dtype)
    product = prod_op(x, dim=over(x, dim), keepdim=keepdim)
    return product if dtype is None else product.to(dtype=dtype)


def mean(input: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over ``dim``, or over everything; nan where there is nothing.

    Raises `DtypeError` for integers and bools, unless ``dtype`` is a float dtype to convert them to.

    >>> import tinygrad_edu as tg
    >>> tg.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(dim=0).tolist()
    [2.0, 3.0]
    """
    x = given(input, dtype)
    return mean_op(x, dim=over(x, dim), keepdim=keepdim)


def var(
    input: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """The variance over ``dim``, or over everything.

    The squared distances of n elements from their mean are added, and divided by ``n - correction``. ``correction`` is
    1 by default; ``unbiased=False`` is an older way to write 0. Raises `DtypeError` for integers and bools, and if both
    are given.
    """
    return _spread(var_op, input, dim, unbiased, keepdim, correction)


def std(
    input: Any,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """The standard deviation over ``dim``, or over everything: the square root of `var`, with its arguments.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor([1.0, 3.0])
    >>> x.std(correction=0).item()
    1.0
    """
    return _spread(std_op, input, dim, unbiased, keepdim, correction)


def _spread(op: Any, x: Any, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None) -> Any:
    if isinstance(dim, bool) and unbiased is None:  # PyTorch's var(x, unbiased)
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise DtypeError(
            f"{op.__name__} with unbiased={unbiased} and correction={correction}",
            "unbiased=True means correction=1, and unbiased=False means correction=0",
            "give only correction",
        )
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    x = as_tensor(x)
    return op(x, dim=over(x, dim), correction=correction, keepdim=keepdim)


def norm(input: Any, p: Any = "fro", dim: Dims = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The p-norm of the elements along ``dim``, or of all: the p-th root of the sum of ``abs(input) ** p``.

    ``"fro"`` is 2. With ``inf`` and ``-inf`` it is the largest and the smallest absolute value; 0 counts what is not
    0. Where a norm has no derivative, at 0, the gradient is 0. Raises `DtypeError` for integers, and for other names.
    """
    if p is None or p == "fro":
        p = 2
    if isinstance(p, str):
        raise DtypeError(
            f"norm with p={p!r}",
            "there is no such norm here" + (": this one needs singular values" if p == "nuc" else ""),
            "p is 'fro' or a number",
        )
    x = given(input, dtype)
    return norm_op(x, p=float(p), dim=over(x, dim), keepdim=keepdim)


def amax(input: Any, dim: Dims = (), keepdim: bool = False) -> Any:
    """The largest element over ``dim``; the gradient is shared by ties. Raises `ShapeError` where there is none."""
    x = as_tensor(input)
    return amax_op(x, dim=over(x, dim), keepdim=keepdim)


def amin(input: Any, dim: Dims = (), keepdim: bool = False) -> Any:
    """The smallest element over ``dim``; the gradient is shared by ties. Raises `ShapeError` where there is none."""
    x = as_tensor(input)
    return amin_op(x, dim=over(x, dim), keepdim=keepdim)


def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The position, int64, of the first largest element over ``dim``, or in the flattened tensor.

    Raises `ShapeError` where there is none, and `DtypeError` for bools, as PyTorch does.
    """
    return _position(argmax_op, input, dim, keepdim)


def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """The position, int64, of the first smallest element over ``dim``, or in the flattened tensor; see `argmax`."""
    return _position(argmin_op, input, dim, keepdim)


def _position(op: Any, x: Any, dim: int | None, keepdim: bool) -> Any:
    x = as_tensor(x)
    if x.dtype == bool_:
        raise DtypeError(f"{op.__name__} of a tensor of bools", "PyTorch has none either", "convert it first: x.long()")
    return op(x, dim=None if dim is None else one_dim(x, dim), keepdim=keepdim)


def any(input: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether some element over ``dim`` is not 0. Bools, but uint8 gives uint8. ``dim=()`` reduces nothing."""
    return _truth(any_op, input, dim, keepdim)


def all(input: Any, dim: Dims = None, keepdim: bool = False) -> Any:
    """Whether no element over ``dim`` is 0. Bools, but uint8 gives uint8. ``dim=()`` reduces nothing."""
    return _truth(all_op, input, dim, keepdim)


def _truth(op: Any, x: Any, dim: Dims, keepdim: bool) -> Any:
    x = as_tensor(x)
    result = op(x, dim=dims(x, dim), keepdim=keepdim)
    return result.to(dtype=uint8) if x.dtype == uint8 else result


explain_all(globals(), "axes_of", "kept", "before", "backwards", "over", "given")
