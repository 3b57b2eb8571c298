"""PyTorch's functions that take ``out=``, a tensor to write the result into: for buffers that are used again and again.

These are the functions at top level. Methods and operators have no ``out=``, and do not pay for the check. Ops with an
`Op.into` compute straight into the buffer, without a temporary; the others are computed and copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from ..core.dispatch import caller
from ..errors import ArgumentError, EduError
from ..inputs.explain import check_fits
from ..inputs.kinds import JUNK, again
from ..inputs.source import with_keyword
from ..settings import no_grad
from . import (
    activation,
    angles,
    arithmetic,
    arrange,
    choice,
    gathering,
    into,
    linalg,
    logic,
    movement,
    products,
    reduce,
    scan,
    shapes,
    sorting,
    special,
    statistics,
    unary,
)
from . import (
    softmax as _softmax,
)

Function = Callable[..., Any]


def with_out(function: Function, op: Any = None) -> Function:
    """``function`` that takes ``out=`` too. A call with nothing but the operands of ``op`` goes straight to that.

    Its failures are explained here, as `kinds.explained` does: one wrapper does both.
    """
    function = getattr(function, "__wrapped__", function)

    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None and op is not None and not kwargs and len(args) == len(op.operands):
            return into.compute_into(op, args, {}, out)
        try:
            return function(*args, **kwargs) if out is None else _written(function, args, kwargs, out)
        except EduError:
            raise
        except JUNK as error:
            kwargs = again(call, args, kwargs, error)
        return call(*args, out=out, **kwargs)

    with_keyword(call, "out")
    return call


def _written(function: Function, args: Any, kwargs: Any, out: Any) -> Any:
    """``function(…)``, computed and then copied to ``out``: a tensor, or a tuple of them for several results."""
    name = f"{function.__name__}(…, out=…)"
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for one in outs:
        into.check_out(name, one, (*args, *kwargs.values()))
    with no_grad():
        value = function(*args, **kwargs)
        values = (value,) if isinstance(value, TensorBase) else value
        if len(values) != len(outs):
            why = f"there are {len(values)} results, but out has {len(outs)}"
            mend = "give one for each, as a tuple"
            raise ArgumentError(name, why, mend)
        for one, result in zip(outs, values, strict=True):
            check_fits(name, one, result.array)
        for one, result in zip(outs, values, strict=True):
            one.copy_(result)
    return out if isinstance(value, TensorBase) else type(value)(*outs) if hasattr(value, "_fields") else tuple(outs)


abs, sign = caller(unary.Abs, out=True), caller(unary.Sign, out=True)
floor, ceil = caller(unary.Floor, out=True), caller(unary.Ceil, out=True)
exp, expm1 = caller(unary.Exp, out=True), caller(unary.Expm1, out=True)
log, log1p = caller(unary.Log, out=True), caller(unary.Log1p, out=True)
log2, sqrt = caller(unary.Log2, out=True), caller(unary.Sqrt, out=True)
rsqrt, reciprocal = caller(unary.Rsqrt, out=True), caller(unary.Reciprocal, out=True)
square, sin = caller(unary.Square, out=True), caller(unary.Sin, out=True)
cos, tan = caller(unary.Cos, out=True), caller(unary.Tan, out=True)
tanh, erf = caller(unary.Tanh, out=True), caller(unary.Erf, out=True)
exp2, log10 = caller(unary.Exp2, out=True), caller(unary.Log10, out=True)
trunc, round = caller(unary.Trunc, out=True), with_out(unary.round)
asin, acos = caller(angles.Asin, out=True), caller(angles.Acos, out=True)
atan, atan2 = caller(angles.Atan, out=True), caller(angles.Atan2, out=True)
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
sinh, cosh = caller(angles.Sinh, out=True), caller(angles.Cosh, out=True)
asinh, acosh = caller(angles.Asinh, out=True), caller(angles.Acosh, out=True)
atanh, hypot = caller(angles.Atanh, out=True), caller(angles.Hypot, out=True)
erfc, logit = caller(special.Erfc, out=True), with_out(special.logit)
xlogy, lgamma = caller(special.Xlogy, out=True), caller(special.Lgamma, out=True)
digamma = caller(special.Digamma, out=True)
logaddexp, logaddexp2 = caller(special.Logaddexp, out=True), caller(special.Logaddexp2, out=True)
sigmoid = caller(activation.Sigmoid, out=True)
mul, pow = caller(arithmetic.Mul, out=True), caller(arithmetic.Pow, out=True)
neg, floor_divide = caller(arithmetic.Neg, out=True), caller(arithmetic.FloorDivide, out=True)
remainder, fmod = caller(arithmetic.Remainder, out=True), caller(arithmetic.Fmod, out=True)
add, sub, div = (
    with_out(arithmetic.add, arithmetic.Add),
    with_out(arithmetic.sub, arithmetic.Sub),
    with_out(arithmetic.div, arithmetic.Div),
)
lerp, addcmul, addcdiv = with_out(arithmetic.lerp), with_out(arithmetic.addcmul), with_out(arithmetic.addcdiv)
maximum, minimum = caller(choice.Maximum, out=True), caller(choice.Minimum, out=True)
clamp, clamp_min, clamp_max = with_out(choice.clamp), with_out(choice.clamp_min), with_out(choice.clamp_max)
clip, nan_to_num = clamp, with_out(choice.nan_to_num)
where = with_out(choice.where)
eq, ne = caller(logic.Eq, out=True), caller(logic.Ne, out=True)
lt, le = caller(logic.Lt, out=True), caller(logic.Le, out=True)
gt, ge = caller(logic.Gt, out=True), caller(logic.Ge, out=True)
logical_and, logical_or = caller(logic.LogicalAnd, out=True), caller(logic.LogicalOr, out=True)
logical_xor, logical_not = caller(logic.LogicalXor, out=True), caller(logic.LogicalNot, out=True)
bitwise_and, bitwise_or = caller(logic.BitwiseAnd, out=True), caller(logic.BitwiseOr, out=True)
bitwise_xor, bitwise_not = caller(logic.BitwiseXor, out=True), caller(logic.BitwiseNot, out=True)
matmul = caller(linalg.Matmul, out=True)
mm, bmm, mv, dot = with_out(linalg.mm), with_out(linalg.bmm), with_out(linalg.mv), with_out(linalg.dot)
outer, addmm = with_out(linalg.outer), with_out(linalg.addmm)
baddbmm, cross, inner = with_out(linalg.baddbmm), with_out(products.cross), with_out(products.inner)
kron, tensordot = with_out(products.kron), with_out(products.tensordot)
sum, mean, prod = with_out(reduce.sum), with_out(reduce.mean), with_out(reduce.prod)
amax, amin, argmax, argmin = (
    with_out(reduce.amax),
    with_out(reduce.amin),
    with_out(reduce.argmax),
    with_out(reduce.argmin),
)
std, var = with_out(reduce.std), with_out(reduce.var)
nansum, nanmean, quantile = with_out(statistics.nansum), with_out(statistics.nanmean), with_out(statistics.quantile)
diff, isin, searchsorted = with_out(scan.diff), with_out(sorting.isin), with_out(sorting.searchsorted)
cumsum, cumprod = with_out(scan.cumsum), with_out(scan.cumprod)
column_stack = with_out(shapes.column_stack)
aminmax = with_out(statistics.aminmax)
cummax, cummin = with_out(scan.cummax), with_out(scan.cummin)
norm, any, all = with_out(reduce.norm), with_out(reduce.any), with_out(reduce.all)
cat, stack, concat = with_out(movement.cat), with_out(movement.stack), with_out(movement.concat)
hstack, vstack, dstack = with_out(shapes.hstack), with_out(shapes.vstack), with_out(shapes.dstack)
softmax, log_softmax = with_out(_softmax.softmax), with_out(_softmax.log_softmax)
logsumexp = with_out(_softmax.logsumexp)
max, min, median = with_out(sorting.max), with_out(sorting.min), with_out(sorting.median)
kthvalue = with_out(sorting.kthvalue)
sort, argsort, topk = with_out(sorting.sort), with_out(sorting.argsort), with_out(sorting.topk)
diag, tril, triu = with_out(arrange.diag), with_out(arrange.tril), with_out(arrange.triu)
gather, take_along_dim = with_out(gathering.gather), with_out(gathering.take_along_dim)
scatter, scatter_add = with_out(gathering.scatter), with_out(gathering.scatter_add)
index_select, index_add = with_out(gathering.index_select), with_out(gathering.index_add)
index_copy, masked_select = with_out(gathering.index_copy), with_out(gathering.masked_select)
nonzero = with_out(gathering.nonzero)
