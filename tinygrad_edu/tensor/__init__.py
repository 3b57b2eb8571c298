"""What makes a tensor: its class, creation, random numbers, printing, and the ways to and from NumPy."""

from .handle import RemovableHandle
from .size import Size
from .tensor import SlowTensor, Tensor, as_tensor, clear_gradient, from_numpy, tensor, wrap

__all__ = [
    "RemovableHandle", "Size", "SlowTensor", "Tensor", "as_tensor", "clear_gradient", "from_numpy", "tensor", "wrap",
]  # fmt: skip
