"""Modules under the paths that PyTorch's programs know them by: ``from tinygrad_edu.utils.data import DataLoader``."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
