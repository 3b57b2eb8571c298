"""Activations. With ``inplace`` the result overwrites the input."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, ShapeError
from ..tensor import Tensor
from ..tensor.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _InPlace(Module):
    """Activations that may overwrite their input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Whether it overwrites its input."""
        return "inplace=True" if self.inplace else ""

    def _shown(self, numbers: str) -> str:
        return f"{numbers}, inplace=True" if self.inplace else numbers


# With a corner --------------------------------------------------------------------------------------------------------


class ReLU(_InPlace):
    """``max(x, 0)``."""

    def forward(self, input: Tensor) -> Tensor:
        """The positive part."""
        return F.relu(input, self.inplace)


class Hardtanh(_InPlace):
    """``x`` limited to the range from ``min_val`` to ``max_val``.

    Raises `ArgumentError` unless ``min_val`` is below ``max_val``. PyTorch's older names, ``min_value`` and
    ``max_value``, are left out.
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        if not min_val < max_val:
            tried, why = f"Hardtanh(min_val={min_val}, max_val={max_val})", "min_val must be below max_val"
            raise ArgumentError(tried, why, "give the smaller one first")
        self.min_val, self.max_val = min_val, max_val

    def forward(self, input: Tensor) -> Tensor:
        """Values from ``min_val`` to ``max_val``."""
        result: Tensor = F.hardtanh(input, self.min_val, self.max_val, self.inplace)
        return result

    def extra_repr(self) -> str:
        """The limits."""
        return self._shown(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """`ReLU` that goes no higher than 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether it overwrites its input."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(_InPlace):
    """``x`` where it is positive, else ``x * negative_slope``."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        """The positive part, and a little of the negative part."""
        result: Tensor = F.leaky_relu(input, self.negative_slope, self.inplace)
        return result

    def extra_repr(self) -> str:
        """The slope."""
        return self._shown(f"negative_slope={self.negative_slope}")


class PReLU(Module):
    """`LeakyReLU` whose slope is learnt: ``weight`` is one number, or one for each channel (axis 1).

    The slopes start at ``init``.
    """

    weight: Tensor

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes back to their first value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The positive part, and the negative part times a learnt slope."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


class Threshold(_InPlace):
    """``x`` where it is above ``threshold``, else ``value``."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold, self.value = threshold, value

    def forward(self, input: Tensor) -> Tensor:
        """The values above the threshold."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """The threshold, and the value for everything below it."""
        return self._shown(f"threshold={self.threshold}, value={self.value}")


class Hardsigmoid(_InPlace):
    """`Sigmoid` as three straight lines: 0 up to -3, 1 from 3 on, and ``x / 6 + 1 / 2`` in between."""

    def forward(self, input: Tensor) -> Tensor:
        """Values from 0 to 1."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardswish(_InPlace):
    """``x * hardsigmoid(x)``: `SiLU` without exponentials."""

    def forward(self, input: Tensor) -> Tensor:
        """``x`` times a factor from 0 to 1."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The threshold."""
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """``x``, but 0 where it is within ``lambd`` of 0."""

    def forward(self, input: Tensor) -> Tensor:
        """The values far from 0."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """``x`` moved towards 0 by ``lambd``, but not past it."""

    def forward(self, input: Tensor) -> Tensor:
        """``x``, nearer to 0."""
        return F.softshrink(input, self.lambd)


# Smooth ---------------------------------------------------------------------------------------------------------------


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Values between -1 and 1."""
        result: Tensor = F.tanh(input)
        return result


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """The difference between x and its tanh."""
        return F.tanhshrink(input)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Values between 0 and 1."""
        result: Tensor = F.sigmoid(input)
        return result


class LogSigmoid(Module):
    """``log(sigmoid(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """Values below 0."""
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Values between -1 and 1."""
        return F.softsign(input)


class _WithAlpha(_InPlace):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def extra_repr(self) -> str:
        """The factor of the negative part."""
        return self._shown(f"alpha={self.alpha}")


class ELU(_WithAlpha):
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""

    def forward(self, input: Tensor) -> Tensor:
        """Values above ``-alpha``."""
        result: Tensor = F.elu(input, self.alpha, self.inplace)
        return result


class CELU(_WithAlpha):
    """``x`` where it is positive, else ``alpha * (exp(x / alpha) - 1)``: `ELU` without a kink for any ``alpha``."""

    def forward(self, input: Tensor) -> Tensor:
        """Values above ``-alpha``. Raises `ArgumentError` unless ``alpha`` is positive."""
        return F.celu(input, self.alpha, self.inplace)


class SELU(_InPlace):
    """`ELU` with the numbers that keep mean 0 and variance 1 from layer to layer (Klambauer and others, 2017)."""

    def forward(self, input: Tensor) -> Tensor:
        """Values above -1.76."""
        return F.selu(input, self.inplace)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; where ``beta * x > threshold``, x itself."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """Values above 0."""
        result: Tensor = F.softplus(input, self.beta, self.threshold)
        return result

    def extra_repr(self) -> str:
        """How sharp the corner is, and where it ends."""
        return f"beta={self.beta}, threshold={self.threshold}"


class GELU(Module):
    """``x`` times the probability that a standard normal variable is below x; ``"tanh"`` approximates it."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """``x`` times a factor from 0 to 1. Raises `ArgumentError` for another approximation."""
        result: Tensor = F.gelu(input, approximate=self.approximate)
        return result

    def extra_repr(self) -> str:
        """The approximation, if any."""
        return f"approximate={self.approximate!r}"


class SiLU(_InPlace):
    """``x * sigmoid(x)``, also called swish."""

    def forward(self, input: Tensor) -> Tensor:
        """``x`` times a factor from 0 to 1."""
        result: Tensor = F.silu(input, self.inplace)
        return result


class Mish(_InPlace):
    """``x * tanh(softplus(x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """``x`` times a factor from 0 to 1."""
        return F.mish(input, self.inplace)


# Of several elements --------------------------------------------------------------------------------------------------


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """The axis."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """Positive numbers that add to 1 along ``dim``: ``exp(x) / sum(exp(x))``.

    Give ``dim``: without it, the number of axes decides, with a warning; see `functional.softmax`.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Shares."""
        result: Tensor = F.softmax(input, self.dim)
        return result


class LogSoftmax(_AlongDim):
    """The logarithm of `Softmax`, in the stable form."""

    def forward(self, input: Tensor) -> Tensor:
        """The logarithms of numbers that add to 1."""
        result: Tensor = F.log_softmax(input, self.dim)
        return result


class Softmin(_AlongDim):
    """`Softmax` of ``-x``."""

    def forward(self, input: Tensor) -> Tensor:
        """Shares."""
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """`Softmax` over the channels of images (N, C, H, W), or of one (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """Numbers that add to 1. Raises `ShapeError` for other numbers of axes."""
        if input.ndim not in (3, 4):
            tried, why = f"Softmax2d of a tensor {tuple(input.shape)}", "it takes images (N, C, H, W) or (C, H, W)"
            raise ShapeError(tried, why, "use Softmax(dim=1) for other inputs")
        result: Tensor = F.softmax(input, -3)
        return result


class GLU(Module):
    """The first half along ``dim``, times the `Sigmoid` of the second half."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Half as many elements. Raises `ShapeError` if the axis cannot be halved."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """The axis."""
        return f"dim={self.dim}"
