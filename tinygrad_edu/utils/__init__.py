"""Modules under the paths that PyTorch programs use: ``from tinygrad_edu.utils.data import DataLoader``."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
