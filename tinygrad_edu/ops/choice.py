"""One of two: the larger, the one that a condition picks, the nearest between bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.above import above
from ..core.base import TensorBase
from ..core.dispatch import caller, slow_caller
from ..core.op import Op
from ..dtypes import is_float
from ..errors import DtypeError, ShapeError
from ..inputs.arguments import as_tensor, number
from ..inputs.kinds import explain_all
from ..inputs.outside import outside
from ..settings import modes
from .unary import beside

# mypy: disable-error-code="override"


class Maximum(Op):
    """The larger of x and y, broadcast; nan where either is nan. Where they are equal, each gets half the gradient."""

    broadcasts = True
    into = ("maximum",)
    saves = ("x", "y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.maximum(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return _to_the_chosen(xp, g, needs, x == y, x < y, y < x)


class Minimum(Op):
    """The smaller of x and y, broadcast; nan where either is nan. Where they are equal, each gets half the gradient."""

    broadcasts = True
    into = ("minimum",)
    saves = ("x", "y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.minimum(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return _to_the_chosen(xp, g, needs, x == y, y < x, x < y)


def _to_the_chosen(xp: Any, g: Any, needs: Any, tie: Any, x_loses: Any, y_loses: Any) -> Any:
    """The gradient for the operand that was taken; half of it for each where they tie, all of it for both at a nan."""
    share, zero = xp.where(tie, g * 0.5, g), xp.zeros_like(g)
    gx = xp.where(x_loses, zero, share) if needs[0] else None
    return gx, xp.where(y_loses, zero, share) if needs[1] else None


class Where(Op):
    """``x`` where ``condition`` holds, else ``y``."""

    broadcasts = True
    dtypes = "where"
    saves = ("condition",)

    @staticmethod
    def forward(xp: Any, condition: Any, x: Any, y: Any) -> Any:
        return xp.where(condition, x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, condition: Any) -> Any:
        zero = xp.zeros_like(g)
        return (
            None,
            xp.where(condition, g, zero) if needs[1] else None,
            xp.where(condition, zero, g) if needs[2] else None,
        )


class Clamp(Op):
    """``x`` held between the numbers ``min`` and ``max``; gradients pass where x was inside, both ends included."""

    saves = ("x", "min", "max")
    into = ("clip",)
    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, *, min: Any = None, max: Any = None) -> Any:
        if min is None and max is None:
            raise ValueError("neither min nor max is given")
        return _held(xp, x, min, max)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, min: Any, max: Any) -> Any:
        return _where_inside(xp, g, x, min, max)


class ClampBetween(Op, name="clamp_between"):
    """`clamp` with tensors as bounds. The gradient goes to x where it was inside, ends included, else to a bound.

    Where ``min`` is above ``max`` the result is ``max``, which also gets the gradient.
    """

    broadcasts = True
    saves = ("x", "min", "max")
    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, min: Any = None, max: Any = None) -> Any:
        return _held(xp, x, min, max)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, min: Any, max: Any) -> Any:
        gx = gmin = gmax = None
        if needs[0]:
            gx = _where_inside(xp, g, x, min, max)
        if needs[1]:
            below = x < min if max is None else (x < min) & (min < max)
            gmin = xp.where(below, g, xp.zeros_like(g))
        if needs[2]:
            above = x > max if min is None else (x > max) | (max < min)
            gmax = xp.where(above, g, xp.zeros_like(g))
        return gx, gmin, gmax


def _held(xp: Any, x: Any, min: Any, max: Any) -> Any:
    """``x``, not below ``min`` and not above ``max``. If the two contradict each other, ``max`` wins."""
    if min is not None:
        x = xp.maximum(x, min)
    return x if max is None else xp.minimum(x, max)


def _where_inside(xp: Any, g: Any, x: Any, min: Any, max: Any) -> Any:
    if min is not None:
        g = xp.where(x >= min, g, xp.zeros_like(g))
    return g if max is None else xp.where(x <= max, g, xp.zeros_like(g))


class NanToNum(Op, name="nan_to_num"):
    """``x`` with numbers in place of nan and both infinities, where the gradient is 0."""

    dtypes = "each"
    computes = False
    saves = ("x",)

    @staticmethod
    def forward(xp: Any, x: Any, *, nan: float, posinf: float, neginf: float) -> Any:
        if x.dtype.kind in "bui":
            return xp.copy(x)
        x = xp.where(x == INFINITY, beside(xp, posinf, x), xp.where(x == -INFINITY, beside(xp, neginf, x), x))
        return xp.where(x != x, beside(xp, nan, x), x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any) -> Any:
        return xp.where((x < INFINITY) & (x > -INFINITY), g, xp.zeros_like(g))


INFINITY = float("inf")
LARGEST = {
    "float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}  # fmt: skip


class MaskedFill(Op, name="masked_fill"):
    """``x`` with ``value``, one number of its dtype, wherever ``mask`` holds."""

    dtypes = "each"
    computes = False
    broadcasts = True
    saves = ("mask",)

    @staticmethod
    def forward(xp: Any, x: Any, mask: Any, value: Any) -> Any:
        return xp.contiguous(xp.where(mask, value, x))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, mask: Any) -> Any:
        zero = xp.zeros_like(g)
        gx = xp.where(mask, zero, g) if needs[0] else None
        return gx, None, xp.where(mask, g, zero) if needs[2] else None


maximum, minimum, clamp_op = caller(Maximum), caller(Minimum), caller(Clamp)
nan_to_num_op = caller(NanToNum)
where_op, clamp_between, masked_fill_op = caller(Where), slow_caller(ClampBetween), slow_caller(MaskedFill)


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """``input`` held between ``min`` and ``max``, numbers or tensors that broadcast; one of them may be left out.

    Where ``min`` is above ``max`` the result is ``max``. Integers held by a float become floats. Bounds that are
    tensors get the gradient where they hold the input. Raises `ShapeError` when there is no bound.

    >>> import tinygrad_edu as tg
    >>> tg.clamp(tg.tensor([-2.0, 0.5, 3.0]), min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    x = as_tensor(input)
    if _has_axes(min) or _has_axes(max):
        return clamp_between(x, min, max)
    low, high = _number(min), _number(max)
    if x.dtype.kind in "bui" and not low is high is None:
        return clamp_between(x, low, high)  # where the bounds help to decide the dtype
    return clamp_op(x, min=low, max=high)


clip = clamp


def clamp_min(input: Any, min: Any) -> Any:
    """``input``, but nowhere below ``min``, a number or a tensor: see `clamp`."""
    return clamp(input, min=min)


def clamp_max(input: Any, max: Any) -> Any:
    """``input``, but nowhere above ``max``, a number or a tensor: see `clamp`."""
    return clamp(input, max=max)


def _has_axes(bound: Any) -> bool:
    """Whether a bound is a tensor, of any shape, or an array of more than one number."""
    return isinstance(bound, TensorBase) or getattr(bound, "ndim", 0) > 0


def _number(bound: Any) -> Any:
    """A bound as a Python number: a NumPy scalar would widen the result to its own dtype."""
    if bound is None or type(bound) in (bool, int, float):
        return bound
    if not hasattr(bound, "item"):
        tried, why = f"clamp with a bound of type {type(bound).__name__}", "a bound is a number or a tensor"
        raise DtypeError(tried, why, "make a tensor of it first: tensor(…)")
    return bound.item()


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """``input`` where ``condition`` holds, else ``other``; all broadcast. Each may be a number.

    With the condition alone: the positions where it holds, as one int64 tensor per axis. Raises `DtypeError` for a
    condition that is not bool.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor([-1.0, 0.0, 2.0])
    >>> tg.where(x > 0, x, 0.0)
    tensor([0., 0., 2.])
    """
    if input is None and other is None:
        from .gathering import nonzero

        return nonzero(as_tensor(condition), as_tuple=True)
    if input is None or other is None:
        mend = "give both: where(condition, x, y)"
        raise DtypeError("where with one value", "it needs a second one for where the condition fails", mend)
    condition = as_tensor(condition)
    if condition.dtype.kind != "b":
        why, mend = "a condition is true or false at each element", "compare first: where(condition != 0, x, y)"
        raise DtypeError(f"where with a condition of dtype {condition.dtype}", why, mend)
    if not isinstance(input, TensorBase) and not isinstance(other, TensorBase):
        input = as_tensor(input)  # two numbers meet in the dtypes that tensors of them would have
    return where_op(condition, input, other)


def nan_to_num(input: Any, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    """``input`` with numbers in place of nan and of both infinities, where the gradient is 0. Integers are copied.

    Without ``posinf`` and ``neginf``, infinities become the largest and the smallest number that the dtype has. Raises
    `DtypeError` for a replacement that is not a number.

    >>> import tinygrad_edu as tg
    >>> tg.nan_to_num(tg.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
    tensor([0., 1., 9.])
    """
    x = as_tensor(input)
    named = {"nan": nan, "posinf": posinf, "neginf": neginf}
    given = [None if v is None else number("nan_to_num", v, name) for name, v in named.items()]
    limit = LARGEST.get(x.dtype.name, 0.0)
    defaults = (0.0, limit, -limit)
    nan, posinf, neginf = (d if v is None else v for v, d in zip(given, defaults, strict=True))
    return nan_to_num_op(x, nan=nan, posinf=posinf, neginf=neginf)


def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """``input`` with ``value``, a number or a 0-d tensor, wherever ``mask`` holds. The dtype of the input stays.

    Raises `DtypeError` for a mask that is not bool and for a value that the dtype of the input cannot hold,
    `ShapeError` for a value with axes.
    """
    x, mask = as_tensor(input), as_tensor(mask)
    tried = f"masked_fill of {tuple(x.shape)} {x.dtype}, mask {tuple(mask.shape)} {mask.dtype}"
    if mask.dtype.kind != "b":
        raise DtypeError(tried, "a mask is true or false at each element", "compare first: mask != 0")
    if getattr(value, "ndim", 0):
        why = f"the value has shape {tuple(value.shape)}, but all places get the same number"
        raise ShapeError(tried, why, "use where(mask, value, x)")
    if not isinstance(value, TensorBase):
        value = _element(tried, value, x.dtype)
    elif is_float(value.dtype) and x.dtype.kind in "iu":
        why = f"the value is {value.dtype}, but {x.dtype} has no fractions"
        raise DtypeError(tried, why, f"convert it first: value.to('{x.dtype}')")
    return masked_fill_op(x, mask, value.to(x.dtype))


def _element(tried: str, value: Any, dtype: Any) -> Any:
    """A number as a 0-d tensor of ``dtype``. Raises `DtypeError` where that cannot hold it."""
    value = value.item() if hasattr(value, "item") else value
    fits = isinstance(value, (int, float))
    if fits:
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(float(value) if is_float(dtype) else value).astype(dtype)
                fits = np.isinf(found) == np.isinf(value) if is_float(dtype) else dtype.kind == "b" or found == value
        except (OverflowError, TypeError):  # an integer beyond all dtypes
            fits = False
    if not fits:
        raise DtypeError(tried, f"{dtype} cannot hold {value!r}", "fill with a number that it can, or convert x first")
    if modes().observers:
        outside("made", found)
    return above.wrap(found)


explain_all(globals())
