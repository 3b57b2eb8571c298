"""Optimisers: they step in place and allocate nothing after the first step."""

from .sgd import SGD

__all__ = ["SGD"]
