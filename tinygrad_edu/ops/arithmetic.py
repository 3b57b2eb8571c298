"""Arithmetic on each element. Two operands are broadcast; the engine sums their gradients back."""

from __future__ import annotations

from typing import Any, ClassVar

from ..core.dispatch import caller
from ..core.op import Op, Params
from ..dtypes import float32, is_float, scalar_dtype
from ..errors import ArgumentError, DtypeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all

# mypy: disable-error-code="override"
# A body names its operands; the base class cannot know how many there are.


class Add(Op):
    """``x + y``."""

    broadcasts = True
    into = ("add",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x + y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g, g


class Sub(Op):
    """``x - y``."""

    broadcasts = True
    into = ("subtract",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x - y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g, -g if needs[1] else None

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        if len(shapes) < 2:
            return None  # a number that does not fit the dtype: NumPy says which
        return Op.hint(shapes, params) or (
            "bools cannot be subtracted",
            "ask where they differ with x ^ y, or count with x.long() - y.long()",
        )


class Mul(Op):
    """``x * y``, broadcast. Of two bools, whether both are true."""

    broadcasts = True
    into = ("multiply",)
    saves = ("x if y", "y if x")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return g * y if needs[0] else None, g * x if needs[1] else None


class Div(Op):
    """``x / y``, true division: integers give floats."""

    broadcasts = True
    into = ("true_divide",)
    dtypes = "quotient"
    saves = ("x if y", "y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x / y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        gx = g / y
        return gx, -gx * (x / y) if needs[1] else None


class AddScaled(Op, name="add_scaled"):
    """``x + alpha * y``: `add` and `sub` with a factor."""

    broadcasts = True
    saves = ("alpha",)
    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, y: Any, *, alpha: Any) -> Any:
        return x + y * alpha if alpha >= 0 else x - y * -alpha  # uint8 has no -1

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, alpha: Any) -> Any:
        return g, g * alpha if needs[1] else None


class FloorDivide(Op, name="floor_divide"):
    """``x // y``, broadcast: the quotient, rounded down. A step has slope 0.

    Integers stay integers. Raises `DtypeError` for integers divided by 0, and for two bools.
    """

    broadcasts = True

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.floor_divide(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        zero = xp.zeros_like(g)
        return zero, zero


class TruncDivide(Op, name="trunc_divide"):
    """The quotient, rounded towards 0. A step has slope 0."""

    broadcasts = True
    per_element = 6

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        down = xp.floor_divide(x, y)
        if down.dtype.kind in "iu":
            return down + ((down < 0) & (down * y != x))
        exact = x / y  # rounding this once is more precise than correcting `down`
        return xp.where(exact < 0, xp.ceil(exact), xp.floor(exact))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        zero = xp.zeros_like(g)
        return zero, zero


class Remainder(Op):
    """``x % y``, broadcast: the remainder of ``x // y``, with the sign of y.

    Integers stay integers. Raises `DtypeError` for integers divided by 0, and for two bools.
    """

    broadcasts = True
    saves = ("x if y", "y if y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.remainder(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        return g, -(g * xp.floor_divide(x, y)) if needs[1] else None


class Fmod(Op):
    """The remainder of ``x / y`` rounded towards 0: it has the sign of x.

    Integers stay integers. Raises `DtypeError` for integers divided by 0, and for two bools.
    """

    broadcasts = True
    saves = ("x if y", "y if y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.fmod(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any) -> Any:
        if not needs[1]:
            return g, None
        times = x / y
        return g, -(g * xp.where(times < 0, xp.ceil(times), xp.floor(times)))


class Pow(Op):
    """``x ** y``, broadcast. Raises `DtypeError` for integers to negative powers, and for two bools."""

    public: ClassVar[dict[str, str]] = {"x": "input", "y": "exponent"}
    broadcasts = True
    saves = ("x", "y", "out if y")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return xp.power(x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any, out: Any) -> Any:
        gx = gy = None
        if needs[0]:  # x ** 0 is 1 everywhere, so its slope is 0, at x = 0 too; 0 ** -1 would spoil it
            gx = g * (y * x ** (y - (y != 0)))
        if needs[1]:  # 0 ** y is 0 for y > 0, and so is its derivative; log(0) would spoil it
            gy = g * (out * xp.log(xp.where((x != 0) | (y < 0), x, xp.ones_like(out))))
        return gx, gy


class Neg(Op):
    """``-x``. Raises `DtypeError` for bools."""

    into = ("negative",)

    @staticmethod
    def forward(xp: Any, x: Any) -> Any:
        return -x

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return -g

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        return "a bool has no negative", "invert a mask with ~x, or count with -x.long()"


class Lerp(Op):
    """``x + weight * (end - x)``: x at weight 0, ``end`` at weight 1, on the straight line through both elsewhere."""

    dtypes = "floating"
    broadcasts = True
    saves = ("x if weight", "end if weight", "weight")
    per_element = 10

    @staticmethod
    def forward(xp: Any, x: Any, end: Any, weight: Any) -> Any:
        # Measured from the nearer end, so that weight 1 gives `end` exactly in spite of rounding.
        way = end - x
        return xp.where((weight < 0.5) & (weight > -0.5), x + way * weight, end - way * (1 - weight))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, end: Any, weight: Any) -> Any:
        gx = g * (1 - weight) if needs[0] else None
        gend = g * weight if needs[1] else None
        return gx, gend, g * (end - x) if needs[2] else None


class Addcmul(Op):
    """``x + value * y * z``."""

    broadcasts = True
    saves = ("y if z", "z if y", "value")
    per_element = 3

    @staticmethod
    def forward(xp: Any, x: Any, y: Any, z: Any, *, value: Any = 1) -> Any:
        return x + y * z * value

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, y: Any, z: Any, value: Any) -> Any:
        gy = g * (z * value) if needs[1] else None
        return g, gy, g * (y * value) if needs[2] else None


class Addcdiv(Op):
    """``x + value * y / z``."""

    dtypes = "floating"
    broadcasts = True
    saves = ("y if z", "z", "value")
    per_element = 3

    @staticmethod
    def forward(xp: Any, x: Any, y: Any, z: Any, *, value: Any = 1) -> Any:
        return x + y / z * value

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, y: Any, z: Any, value: Any) -> Any:
        gy = g * (value / z)
        return g, gy, -gy * (y / z) if needs[2] else None


# Tensor's operators are these callers themselves, so that `x * y` costs one call.
add_op, sub_op, mul, div_op, pow, neg = caller(Add), caller(Sub), caller(Mul), caller(Div), caller(Pow), caller(Neg)
floor_divide, trunc_divide = caller(FloorDivide), caller(TruncDivide)
remainder, fmod = caller(Remainder), caller(Fmod)
add_scaled, lerp_op, addcmul_op, addcdiv_op = (
    caller(AddScaled), caller(Lerp), caller(Addcmul), caller(Addcdiv),
)  # fmt: skip


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``input + alpha * other``, broadcast. Of two bools, whether any is true.

    ``alpha`` is a number. Raises `DtypeError` for a float that would scale integers.
    """
    if alpha is False:
        return add_op(input, mul(other, False))  # the one factor besides True that bools have
    return (
        add_op(input, other)
        if alpha == 1
        else add_scaled(input, other, alpha=factor("add", "alpha", alpha, input, other))
    )


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``input - alpha * other``, broadcast.

    ``alpha`` is a number. Raises `DtypeError` for a float that would scale integers, and for two bools.
    """
    return (
        sub_op(input, other)
        if alpha == 1
        else add_scaled(input, other, alpha=-factor("sub", "alpha", alpha, input, other))
    )


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """``input / other``, broadcast; integers give floats. Rounded down by ``"floor"``, towards 0 by ``"trunc"``.

    Rounded quotients of integers are integers. Raises `DtypeError` for integers divided by 0 with rounding.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor([7, -7])
    >>> tg.div(x, 2), tg.div(x, 2, rounding_mode="floor"), tg.div(x, 2, rounding_mode="trunc")
    (tensor([ 3.5000, -3.5000]), tensor([ 3, -4]), tensor([ 3, -3]))
    """
    if rounding_mode is None:
        return div_op(input, other)
    if rounding_mode not in ("floor", "trunc"):
        tried, mend = f"div with rounding_mode={rounding_mode!r}", "use 'floor', 'trunc' or None"
        raise ArgumentError(tried, "there is no such rounding mode", mend)
    return floor_divide(input, other) if rounding_mode == "floor" else trunc_divide(input, other)


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """``input + weight * (end - input)``, broadcast; ``weight`` is a number or a tensor.

    Raises `DtypeError` for integers.
    """
    return lerp_op(input, end, weight)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 * tensor2``, broadcast.

    ``value`` is a number. Raises `DtypeError` for a float that would scale integers, and for bools.
    """
    return addcmul_op(input, tensor1, tensor2, value=factor("addcmul", "value", value, input, tensor1, tensor2))


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``input + value * tensor1 / tensor2``, broadcast; ``value`` is a number. Raises `DtypeError` for integers."""
    return addcdiv_op(input, tensor1, tensor2, value=factor("addcdiv", "value", value))


def factor(function: str, name: str, value: Any, *operands: Any) -> Any:
    """``value`` as a Python number. Where all operands are integers it must be one too, or the result would not fit."""
    value = value.item() if hasattr(value, "item") else value
    tried = f"{function} with {name}={value!r}"
    if not isinstance(value, (int, float)):
        raise DtypeError(tried, "a factor is one number", "multiply by it first: y * factor")
    dtypes = {scalar_dtype(o, float32) if type(o) in (bool, int, float) else as_tensor(o).dtype for o in operands}
    if dtypes and all(dtype.kind == "b" for dtype in dtypes):
        raise DtypeError(tried, "bools cannot be scaled", "convert one of them first: x.long()")
    if isinstance(value, float) and dtypes and not any(map(is_float, dtypes)):
        why = "the operands are integers, and so is the result"
        raise DtypeError(tried, why, "convert one of them first: x.float()")
    return int(value) if isinstance(value, bool) else value


explain_all(globals(), "add", "sub", "div", "factor")
