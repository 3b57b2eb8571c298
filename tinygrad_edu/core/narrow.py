"""Sixteen-bit floats, called *narrow* here: kept in 16 bits and computed with in 32, rounded once per operation.

Accelerators do the same, and so does PyTorch on a CPU. NumPy rounds after each step inside an operation, and for
bfloat16 it often answers in float32. So an op that computes is replaced by a variant of itself, with the same body.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..dtypes import FLOATS, float32, is_float
from .op import Op


def is_narrow(dtype: Any) -> bool:
    """float16 or bfloat16?"""
    return dtype.itemsize == 2 and is_float(dtype)


def widened(op: type[Op], dtypes: list[Any]) -> type[Op]:
    """The op itself, or its variant for operands whose floats are all of one 16-bit dtype."""
    floats = {dtype for dtype in dtypes if is_float(dtype)}
    return variant(op, floats.pop()) if op.computes and len(floats) == 1 and is_narrow(next(iter(floats))) else op


def _make_variant(op: type[Op], narrow: Any) -> type[Op]:
    """``op`` with both bodies in float32, between casts."""

    inner, outer = op.forward, op.backward

    def widen(xp: Any, values: Any) -> list[Any]:
        return [
            tuple(widen(xp, value)) if type(value) is tuple
            else xp.astype(value, float32) if getattr(value, "dtype", None) == narrow else value
            for value in values
        ]  # fmt: skip

    def round_to(xp: Any, value: Any) -> Any:
        return xp.astype(value, narrow) if value is not None and FLOATS[value.dtype] else value

    def forward(xp: Any, *arrays: Any, **params: Any) -> Any:
        result = inner(xp, *widen(xp, arrays), **params)
        return (round_to(xp, result[0]), result[1]) if op.caches else round_to(xp, result)

    def backward(xp: Any, g: Any, needs: Any, *saved: Any) -> Any:
        grads = outer(xp, *widen(xp, (g,)), needs, *widen(xp, saved))
        return tuple([round_to(xp, part) for part in (grads if type(grads) is tuple else (grads,))])

    bodies: dict[str, Callable[..., Any]] = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(op.__name__, (op,), {**bodies, "into": (), "narrow": narrow, "__doc__": op.__doc__}, register=False)


variant: Any = cache(_make_variant)
