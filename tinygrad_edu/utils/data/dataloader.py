"""The loader of `tinygrad_edu.data`, under PyTorch's path."""

from ...data import DataLoader, default_collate

__all__ = ["DataLoader", "default_collate"]
