"""Layers that multiply by a matrix."""

from __future__ import annotations

import math
from typing import Any

from ..errors import ArgumentError
from ..tensor import Tensor
from ..tensor.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class Identity(Module):
    """Its input, unchanged: a place to put a layer later. Arguments are accepted and ignored, as in PyTorch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """``x @ weight.T + bias``: (…, in_features) to (…, out_features).

    ``weight`` is (out_features, in_features), ``bias`` (out_features,), or None with ``bias=False``. Both start
    uniform over ±1/√in_features. An input whose last axis has another size raises `ShapeError`.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        spread(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The layer's output, (…, out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``x1 @ weight[o] @ x2 + bias[o]`` for each output o: (…, I) and (…, J) to (…, O).

    ``weight`` is (O, I, J), ``bias`` (O,), or None with ``bias=False``. Both start uniform over ±1/√I.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in1_features < 1:
            tried, why = f"Bilinear({in1_features}, …)", "without a first feature all outputs are 0"
            raise ArgumentError(tried, why, "use in1_features=1 or more")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        spread(self.weight, self.bias, self.in1_features)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The layer's output, (…, out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


def spread(weight: Tensor, bias: Tensor | None, fan_in: int | None = None) -> None:
    """Fill both with uniform numbers over ±1/√fan_in, as PyTorch draws them.

    ``fan_in`` is how many numbers each output reads: by default, the size of one row of ``weight``.
    """
    fan_in = math.prod(weight.shape[1:]) if fan_in is None else fan_in
    bound = fan_in**-0.5 if fan_in else 0.0
    init.uniform_(weight, -bound, bound)
    if bias is not None:
        init.uniform_(bias, -bound, bound)
