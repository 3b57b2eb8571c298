"""In place: PyTorch's names with an underscore. Each writes the result into the buffer of its first operand.

An op that can write straight into a buffer (`Op.into`) needs no temporary; any other result is computed and copied.
Either way `core.inplace` rewrites history: gradients are those of the out-of-place form.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from ..core.graph import Leaf
from ..core.inplace import View, inplace, settle, shows_twice
from ..core.inplace import _move_keep as move_keep
from ..core.op import REQUIRED, Op
from ..errors import InplaceError
from ..inputs.arguments import as_tensor, axis
from ..inputs.explain import check_fits
from ..inputs.kinds import explained
from ..inputs.source import as_signed
from ..settings import enable_grad, modes, no_grad
from . import (
    activation,
    angles,
    arithmetic,
    arrange,
    choice,
    gathering,
    linalg,
    logic,
    movement,
    scan,
    shapes,
    special,
    unary,
)
from .convert import clone
from .index import Put, write
from .movement import Permute, Reshape
from .shapes import broadcast_to

Method = Callable[..., Any]


def twin(function: Callable[..., Any], op: type[Op] | None = None) -> Method:
    """The in-place form of ``function``. Calls with nothing but the operands of ``op`` go straight to that."""
    name = f"{function.__name__.removesuffix('_op')}_"
    defaults = {} if op is None else {key: value for key, value in op.params.items() if value is not REQUIRED}
    anything = function if hasattr(function, "__wrapped__") else explained(function)

    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        if op is not None and not kwargs and len(args) == len(op.operands) - 1:
            return inplace(op, x, args, defaults, name)
        return _overwrite(name, anything, x, args, kwargs)

    as_signed(method, function)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{name[:-1]}` in place: the result overwrites this tensor, which is returned."
    return method


def _overwrite(name: str, function: Callable[..., Any], x: Any, args: Any, kwargs: Any) -> Any:
    """``x`` becomes ``function(x, …)``: computed in new memory, then copied into its buffer."""
    given = (x, *args, *kwargs.values())
    tracked = modes().grad and any(isinstance(v, TensorBase) and v.requires_grad for v in given)
    # What the graph saves of x must not be the buffer that is about to be overwritten.
    value = function(clone(x) if tracked else x, *args, **kwargs)
    check_fits(name, x, value.array)
    return inplace(Put, x, (value.to(x.dtype),), {"index": (...,)}, name)


abs_, sign_, floor_, ceil_ = (
    twin(unary.abs, unary.Abs),
    twin(unary.sign, unary.Sign),
    twin(unary.floor, unary.Floor),
    twin(unary.ceil, unary.Ceil),
)
round_ = twin(unary.round)
exp_, expm1_ = twin(unary.exp, unary.Exp), twin(unary.expm1, unary.Expm1)
log_, log1p_, log2_ = twin(unary.log, unary.Log), twin(unary.log1p, unary.Log1p), twin(unary.log2, unary.Log2)
sqrt_, rsqrt_ = twin(unary.sqrt, unary.Sqrt), twin(unary.rsqrt, unary.Rsqrt)
reciprocal_, square_ = twin(unary.reciprocal, unary.Reciprocal), twin(unary.square, unary.Square)
sin_, cos_, tan_ = twin(unary.sin, unary.Sin), twin(unary.cos, unary.Cos), twin(unary.tan, unary.Tan)
tanh_, erf_ = twin(unary.tanh, unary.Tanh), twin(unary.erf, unary.Erf)
exp2_, log10_, trunc_ = twin(unary.exp2, unary.Exp2), twin(unary.log10, unary.Log10), twin(unary.trunc, unary.Trunc)
asin_, acos_, atan_ = twin(angles.asin, angles.Asin), twin(angles.acos, angles.Acos), twin(angles.atan, angles.Atan)
atan2_, hypot_ = twin(angles.atan2, angles.Atan2), twin(angles.hypot, angles.Hypot)
arcsin_, arccos_, arctan_, arctan2_ = asin_, acos_, atan_, atan2_
sinh_, cosh_ = twin(angles.sinh, angles.Sinh), twin(angles.cosh, angles.Cosh)
asinh_, acosh_, atanh_ = (
    twin(angles.asinh, angles.Asinh),
    twin(angles.acosh, angles.Acosh),
    twin(angles.atanh, angles.Atanh),
)
erfc_, logit_, xlogy_ = twin(special.erfc, special.Erfc), twin(special.logit), twin(special.xlogy, special.Xlogy)
lgamma_, digamma_ = twin(special.lgamma, special.Lgamma), twin(special.digamma, special.Digamma)
sigmoid_, relu_ = twin(activation.sigmoid, activation.Sigmoid), twin(activation.relu, activation.Relu)

add_, sub_ = twin(arithmetic.add, arithmetic.Add), twin(arithmetic.sub, arithmetic.Sub)
mul_, div_ = twin(arithmetic.mul, arithmetic.Mul), twin(arithmetic.div, arithmetic.Div)
pow_, neg_ = twin(arithmetic.pow, arithmetic.Pow), twin(arithmetic.neg, arithmetic.Neg)
floor_divide_ = twin(arithmetic.floor_divide, arithmetic.FloorDivide)
remainder_, fmod_ = twin(arithmetic.remainder, arithmetic.Remainder), twin(arithmetic.fmod, arithmetic.Fmod)
nan_to_num_ = twin(choice.nan_to_num)
lerp_, addcmul_, addcdiv_ = twin(arithmetic.lerp), twin(arithmetic.addcmul), twin(arithmetic.addcdiv)
addmm_, baddbmm_ = twin(linalg.addmm), twin(linalg.baddbmm)
clamp_min_, clamp_max_ = twin(choice.clamp_min), twin(choice.clamp_max)

logical_and_, logical_or_ = twin(logic.logical_and), twin(logic.logical_or)
logical_xor_, logical_not_ = twin(logic.logical_xor), twin(logic.logical_not)
bitwise_and_ = twin(logic.bitwise_and, logic.BitwiseAnd)
bitwise_or_ = twin(logic.bitwise_or, logic.BitwiseOr)
bitwise_xor_ = twin(logic.bitwise_xor, logic.BitwiseXor)
bitwise_not_ = twin(logic.bitwise_not, logic.BitwiseNot)

eq_, ne_, lt_, le_ = twin(logic.eq), twin(logic.ne), twin(logic.lt), twin(logic.le)
gt_, ge_ = twin(logic.gt), twin(logic.ge)

cumsum_, cumprod_ = twin(scan.cumsum), twin(scan.cumprod)
tril_, triu_ = twin(arrange.tril), twin(arrange.triu)
scatter_, scatter_add_ = twin(gathering.scatter), twin(gathering.scatter_add)
index_add_, index_copy_ = twin(gathering.index_add), twin(gathering.index_copy)


def by_places(method: Method, assignment: Callable[..., Any]) -> Method:
    """``method``, which turns into an assignment by index if the tensor shows some places in memory several times.

    ``assignment`` takes the arguments and returns index and value. A result computed in new memory would have several
    values for such a place.
    """

    @functools.wraps(method)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(x, *args, **kwargs)
        except InplaceError:
            found = assignment(x, *args, **kwargs) if shows_twice(x.array) else None
            if found is None:
                raise
        index, value = found
        return write(x, index, value, method.__name__)

    return call


def _mask_places(x: Any, mask: Any, value: Any) -> Any:
    return broadcast_to(as_tensor(mask), x.array.shape), value


def _fill_places(x: Any, dim: int, index: Any, value: Any) -> Any:
    return (*(slice(None),) * axis(x, dim, x.array.ndim), index), value


def _put_places(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    return None if accumulate else (tuple(indices), values)


masked_fill_ = by_places(twin(choice.masked_fill), _mask_places)
index_fill_ = by_places(twin(gathering.index_fill), _fill_places)
index_put_ = by_places(twin(gathering.index_put), _put_places)

_clamp = twin(choice.clamp)


def clamp_(x: Any, min: Any = None, max: Any = None) -> Any:
    """`clamp` in place: the result overwrites this tensor, which is returned."""
    plain = {type(bound) for bound in (min, max)} <= (
        {int, type(None)} if x.dtype.kind == "i" else {int, float, type(None)}
    )
    if plain and x.dtype.kind in "if" and (min, max) != (None, None):
        return inplace(choice.Clamp, x, (), {"min": min, "max": max}, "clamp_")
    return _clamp(x, min, max)


clip_ = clamp_


def reshaper(function: Callable[..., Any]) -> Method:
    """The in-place form of a function that gives a view: from now on the tensor itself shows its memory that way."""
    name = f"{function.__name__}_"

    @functools.wraps(function)
    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        settle(x)
        _check_reshaping(name, x)
        settle_views(x)
        before, tracked = tuple(x.array.shape), x.node is not None and not isinstance(x.node, Leaf)
        # Recorded inside no_grad() too: else the gradient would arrive at the tensor's node in the new shape.
        with enable_grad() if tracked else no_grad():
            view = function(x, *args, **kwargs)
        if view is x:
            return x
        if view.origin is not None:  # in a recording nothing is known as a view
            step = view.origin.chain[-1]
            if x.origin is None:
                _keep_views(x, _way_back(step, before))
            else:
                x.origin = View(x.origin.base, (*x.origin.chain, step), x.origin.tracked)
        if tracked:
            move_keep(x.node, view.node)
            x.node = view.node
        x.array = view.array
        return x

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{name[:-1]}` of this tensor itself, which is returned. Its memory stays as it is."
    return method


def _check_reshaping(name: str, x: Any) -> None:
    tried = f"{name} on a tensor {tuple(x.array.shape)} {x.array.dtype}"
    base = x if x.origin is None else x.origin.base
    mend = f"use {name[:-1]}, which gives a view"
    if modes().grad and (isinstance(x.node, Leaf) or isinstance(base.node, Leaf)):
        what = "a leaf that requires grad" if isinstance(x.node, Leaf) else "a view of a leaf that requires grad"
        raise InplaceError(tried, f"it is {what}, and gradients arrive there in its present shape", mend)


def settle_views(base: Any) -> None:
    """Let views that have not looked since the last write find their place in the graph, before the base changes."""
    for reference in [] if base.storage is None else list(base.storage.stale.values()):
        view = reference()
        if view is not None and view.origin is not None and view.origin.base is base:
            settle(view)


def _way_back(step: Any, shape: tuple[int, ...]) -> Any:
    """The step that undoes ``step``: it gives the tensor its old ``shape`` back."""
    op, params = step
    if op is not Permute:
        return Reshape, {"shape": shape}
    dims = params["dims"]
    return Permute, {"dims": tuple(dims.index(axis) for axis in range(len(dims)))}


def _keep_views(base: Any, back: Any) -> None:
    """Let the views of a base that is about to change its shape go on showing the same elements."""
    for reference in base.storage.views:
        other = reference()
        if other is not None and other.origin is not None and other.origin.base is base:
            other.origin = View(base, (back, *other.origin.chain), other.origin.tracked)


unsqueeze_, squeeze_ = reshaper(movement.unsqueeze), reshaper(movement.squeeze)
transpose_, t_ = reshaper(movement.transpose), reshaper(shapes.t)
