"""`tinygrad_edu.backends` as PyTorch has it: `cudnn`, `mps`, and `cuda` with its switch for TF32."""

from ....backends import cudnn, mps
from . import cuda

__all__ = ["cuda", "cudnn", "mps"]
