"""Tensors in nested tuples, lists and dicts."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase


def tensors_in(tree: Any) -> list[TensorBase]:
    """The tensors in nested tuples, lists and dicts, in order."""
    if isinstance(tree, TensorBase):
        return [tree]
    items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]
