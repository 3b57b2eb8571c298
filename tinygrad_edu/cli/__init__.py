"""The command ``tinygrad-edu``, also as ``python -m tinygrad_edu``."""

from .main import main

__all__ = ["main"]
