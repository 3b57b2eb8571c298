"""Activations made of other operations, as functions.

With ``inplace`` the result overwrites the input. Integers raise `DtypeError`, unless a function says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...common.lines import warn_user
from ...core.slow import offered
from ...dtypes import is_float
from ...errors import ArgumentError, DtypeError, ShapeError
from ...inputs.arguments import as_tensor
from ...inputs.kinds import explain_all
from ...ops import softmax as sm
from ...ops.activation import elu, hardtanh, sigmoid, softplus
from ...ops.choice import where
from ...ops.inplace import twin
from ...ops.unary import tanh
from ...tensor import Tensor


def _run(function: Callable[..., Any], input: Any, inplace: bool, *numbers: Any) -> Tensor:
    """The function's value, or, in place, the input that now holds it."""
    result: Tensor = twin(function)(input, *numbers) if inplace else function(as_tensor(input), *numbers)
    return result


def _with_fractions(name: str, input: Any) -> Tensor:
    x = as_tensor(input)
    if not is_float(x.dtype):
        tried, why = f"{name}({tuple(x.shape)} {x.dtype})", f"{x.dtype} has no fractions, but the result needs them"
        raise DtypeError(tried, why, "convert it first: x.float()")
    return x


def relu6(input: Any, inplace: bool = False) -> Tensor:
    """`relu` that goes no higher than 6: ``hardtanh(x, 0, 6)``. Integers stay integers."""
    result: Tensor = hardtanh(input, 0.0, 6.0, inplace)
    return result


def selu(input: Any, inplace: bool = False) -> Tensor:
    """`elu` with the numbers that keep mean 0 and variance 1 from layer to layer (Klambauer and others, 2017)."""
    return _run(_selu, input, inplace)


def _selu(x: Any) -> Any:
    return elu(x, 1.6732632423543772) * 1.0507009873554805


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``: `elu` without a kink for any ``alpha``.

    Raises `ArgumentError` unless ``alpha`` is positive. In PyTorch it may be negative.
    """
    if not alpha > 0:
        why = "x is divided by it, and below 0 the curve would bend the other way"
        raise ArgumentError(f"celu with alpha={alpha}", why, "use a number above 0")
    return _run(_celu, input, inplace, alpha)


def _celu(x: Any, alpha: float) -> Any:
    x = _with_fractions("celu", x)
    return x.relu() + elu(x.clamp(max=0) / alpha) * alpha


def mish(input: Any, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return _run(_mish, input, inplace)


def _mish(x: Any) -> Any:
    return x * tanh(softplus(x, threshold=math.inf))


def hardsigmoid(input: Any, inplace: bool = False) -> Tensor:
    """`sigmoid` as three straight lines: 0 up to -3, 1 from 3 on, and ``x / 6 + 1 / 2`` in between."""
    return _run(_hardsigmoid, input, inplace)


def _hardsigmoid(x: Any) -> Any:
    return hardtanh(_with_fractions("hardsigmoid", x) + 3.0, 0.0, 6.0) / 6.0


def hardswish(input: Any, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``: `silu` without exponentials."""
    return _run(_hardswish, input, inplace)


def _hardswish(x: Any) -> Any:
    return x * _hardsigmoid(x)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``x`` where it is above ``threshold``, else ``value``. Integers stay integers."""
    return _run(_threshold, input, inplace, threshold, value)


def _threshold(x: Any, limit: float, value: float) -> Any:
    return where(x <= limit, value, x).to(x.dtype)


def prelu(input: Any, weight: Any) -> Tensor:
    """``x`` where it is positive, else ``x`` times a learnt ``weight``: one number, or one for each channel (axis 1).

    Raises `ShapeError` for another number of weights.
    """
    x, weight = offered("prelu", (_with_fractions("prelu", input), as_tensor(weight)))
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.ndim > 1 or weight.numel() not in (1, channels):
        tried = f"prelu of a tensor {tuple(x.shape)} with weight {tuple(weight.shape)}"
        why = f"there {'is' if channels == 1 else 'are'} {channels} channel{'s' * (channels != 1)} along axis 1"
        raise ShapeError(tried, why, "give it one weight, or one for each channel")
    if weight.numel() > 1:
        weight = weight.reshape((-1,) + (1,) * (x.ndim - 2))
    elif weight.ndim:
        weight = weight.reshape(())
    return where(x > 0, x, x * weight)


def softsign(input: Any) -> Tensor:
    """``x / (1 + |x|)``: between -1 and 1, like `tanh`, but with slower limits. Integers become floats."""
    x = as_tensor(input)
    return x / (x.abs() + 1)


def tanhshrink(input: Any) -> Tensor:
    """``x - tanh(x)``. Integers become floats."""
    x = as_tensor(input)
    return x - tanh(x)


def hardshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """``x``, but 0 where it is within ``lambd`` of 0."""
    x = _with_fractions("hardshrink", input)
    return where(x.abs() <= lambd, 0.0, x)


def softshrink(input: Any, lambd: float = 0.5) -> Tensor:
    """``x`` moved towards 0 by ``lambd``, but not past it. Raises `ArgumentError` for a negative ``lambd``."""
    if lambd < 0:
        raise ArgumentError(f"softshrink with lambd={lambd}", "it moves x towards 0", "use 0 or more")
    x = _with_fractions("softshrink", input)
    return x - x.clamp(-lambd, lambd)


def logsigmoid(input: Any) -> Tensor:
    """``log(sigmoid(x))``, in a form that neither overflows nor loses digits."""
    return -softplus(-as_tensor(input).contiguous(), threshold=math.inf)


def softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """Positive numbers that add to 1 along ``dim``: ``exp(x) / sum(exp(x))``.

    With ``dtype`` x is converted first. Without ``dim``, it is axis 0 for 0, 1 or 3 axes and otherwise axis 1, with a
    warning, as in PyTorch, which keeps this for old programs. Raises `DtypeError` for integers.
    """
    result: Tensor = sm.softmax(input, _chosen("softmax", input) if dim is None else dim, dtype=dtype)
    return result


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, with its arguments, in the stable form."""
    result: Tensor = sm.log_softmax(input, _chosen("log_softmax", input) if dim is None else dim, dtype=dtype)
    return result


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """`softmax` of ``-x``, with its arguments: the smallest element gets the most."""
    result: Tensor = sm.softmax(-as_tensor(input), _chosen("softmin", input) if dim is None else dim, dtype=dtype)
    return result


def _chosen(name: str, input: Any) -> int:
    """PyTorch's choice for programs older than ``dim``."""
    warn_user(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    )
    return 0 if as_tensor(input).ndim in (0, 1, 3) else 1


def glu(input: Any, dim: int = -1) -> Tensor:
    """The first half of ``x`` along ``dim``, times the `sigmoid` of the second half.

    Raises `ShapeError` if the axis cannot be halved.
    """
    x = as_tensor(input)
    if not x.ndim or x.size(dim) % 2:
        tried = f"glu of a tensor {tuple(x.shape)} along dim={dim}"
        why = f"the axis has {x.size(dim)} elements, an odd number" if x.ndim else "a 0-d tensor has no axis to halve"
        raise ShapeError(tried, why, "make the layer before it give twice as many numbers")
    values, gates = x.chunk(2, dim)
    return values * sigmoid(gates)


explain_all(globals(), "relu6", "softmax", "log_softmax")
