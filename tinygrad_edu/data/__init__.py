"""Data sets and loaders."""

from .digits import Digits, digits
from .loader import DataLoader, TensorDataset

__all__ = ["DataLoader", "Digits", "TensorDataset", "digits"]
