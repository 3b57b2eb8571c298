"""Layers. Parameter names, shapes and initial distributions are PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..creation import zeros
from ..tensor import Tensor
from . import functional as F
from .module import Module, Parameter


def _uniform(shape: tuple[int, ...], fan_in: int) -> Any:
    """A parameter spread evenly over ±1/√fan_in, as PyTorch draws Linear and Conv2d."""
    bound = fan_in**-0.5 if fan_in else 0.0
    return Parameter(zeros(*shape).uniform_(-bound, bound))


class Linear(Module):
    """``x @ weight.T + bias``: (…, in_features) to (…, out_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _uniform((out_features, in_features), in_features)
        self.bias = _uniform((out_features,), in_features) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output."""
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Conv2d(Module):
    """Kernels slid over images: (N, in_channels, H, W) to (N, out_channels, oh, ow)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        kh, kw = F._pair(kernel_size)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, (kh, kw)
        self.stride, self.padding = F._pair(stride), F._pair(padding)
        self.weight = _uniform((out_channels, in_channels, kh, kw), in_channels * kh * kw)
        self.bias = _uniform((out_channels,), in_channels * kh * kw) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output."""
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding)

    def extra_repr(self) -> str:
        """Sizes."""
        how = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return f"{self.in_channels}, {self.out_channels}, {how}"


class MaxPool2d(Module):
    """The largest element of each window."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.padding = F._pair(kernel_size), F._pair(padding)
        self.stride = self.kernel_size if stride is None else F._pair(stride)

    def forward(self, x: Tensor) -> Tensor:
        """The pooled images."""
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class ReLU(Module):
    """``max(x, 0)``."""

    def forward(self, x: Tensor) -> Tensor:
        """The positive part."""
        return F.relu(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Tensor) -> Tensor:
        """Values between -1 and 1."""
        return F.tanh(x)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, x: Tensor) -> Tensor:
        """Values between 0 and 1."""
        return F.sigmoid(x)


class Flatten(Module):
    """All axes but the first as one."""

    def forward(self, x: Tensor) -> Tensor:
        """(N, everything else)."""
        return x.flatten(1)


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for position, module in enumerate(modules):
            self.add_module(str(position), module)

    def forward(self, x: Any) -> Any:
        """Each module's output is the next one's input."""
        for module in self._modules.values():
            x = module(x)
        return x

    def __getitem__(self, position: int) -> Module:
        return list(self._modules.values())[position]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())
