"""The base class of modules, under PyTorch's path."""

from ..module import Module

__all__ = ["Module"]
