"""Functions that bend, by name, and their slopes: for operations that add a bias and bend in one pass over memory.

The fast forms differ a little: in float32, ``fast_sigmoid`` by less than 1e-7, ``fast_silu`` by less than 2e-7 times x,
and ``fast_gelu``, with tanh in place of erf, by less than 0.0005. A test measures these bounds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .layout import order
from .strips import LARGE, pieces

Array = Any

ROOT_OF_HALF, PEAK = 0.7071067811865476, 0.3989422804014327  # the second: the normal distribution's curve at 0
STEEPNESS, CUBE = 0.7978845608028654, 0.044715  # sqrt(2 / pi), and what Hendrycks and Gimpel chose


def bend(xp: Any, x: Array, activation: str) -> Array:
    """The activation of each element."""
    if activation == "relu":
        return xp.relu(x)
    if activation == "tanh":
        return xp.tanh(x)
    if activation == "sigmoid":
        return xp.sigmoid(x)
    if activation == "fast_sigmoid":
        return fast_sigmoid(xp, x)
    if activation == "silu":
        return x * xp.sigmoid(x)
    if activation == "fast_silu":
        return x * fast_sigmoid(xp, x)
    if activation == "gelu":
        return x * share_below(xp, x)
    return x * (curve(xp, x) * 0.5 + 0.5)  # fast_gelu


def pull_from_result(xp: Any, g: Array, out: Array, activation: str) -> Array:
    """``g`` times the slope, where the result tells it."""
    if activation == "relu":
        return xp.where(out > 0, g, 0)  # a product would make nan of infinity times 0
    if activation == "tanh":
        return g * (1 - out * out)
    return g * (out * (1 - out))  # sigmoid


def pull_from_sum(xp: Any, g: Array, x: Array, activation: str) -> Array:
    """``g`` times the slope at x, where the result does not tell it: gelu and silu have the same result twice."""
    if activation == "gelu":
        return g * (share_below(xp, x) + x * (xp.exp(x * x * -0.5) * PEAK))
    if activation == "fast_gelu":
        bent = curve(xp, x)
        slope = x * x * (3 * CUBE * STEEPNESS) + STEEPNESS
        return g * (bent * 0.5 + 0.5 + x * ((1 - bent * bent) * slope) * 0.5)
    share = xp.sigmoid(x) if activation == "silu" else fast_sigmoid(xp, x)
    return g * (share + x * (share * (1 - share)))


def share_below(xp: Any, x: Array) -> Array:
    """The fraction of a normal distribution that lies below x."""
    return xp.erf(x * ROOT_OF_HALF) * 0.5 + 0.5


def curve(xp: Any, x: Array) -> Array:
    """``tanh(0.798 * (x + 0.0447 * x**3))``, nearly ``erf(x / sqrt(2))``."""
    return xp.tanh(x * (x * x * (CUBE * STEEPNESS) + STEEPNESS))


def fast_sigmoid(xp: Any, x: Array) -> Array:
    """The same curve as sigmoid, from tanh, for which NumPy has vector code. Far to the left it is exactly 0."""
    return xp.tanh(x * 0.5) * 0.5 + 0.5


def in_pieces(body: Callable[..., Any]) -> Callable[..., Any]:
    """``body``, which is `shifted`, piece by piece where a NumPy array is large: a piece stays in the cache."""

    @functools.wraps(body)
    def run(xp: Any, x: Array, bias: Array, activation: str, out: Array = None) -> Array:
        if type(x) is not np.ndarray or (out is None and (x.size < LARGE or not x.flags.forc)):
            return body(xp, x, bias, activation, out)
        out = np.empty_like(x) if out is None else out
        axes, step = order(out.shape, out.strides), _INTO.get(activation)
        given = [np.broadcast_to(one, out.shape).transpose(axes) for one in (x, bias) if one is not None]
        for part, read, *shift in pieces(out.transpose(axes), *given):
            if shift:
                read = np.add(read, shift[0], out=part)
            if step is None:
                part[...] = bend(xp, read, activation)
            else:
                step(read, part)
        return out

    return run


def _relu_into(x: Array, out: Array) -> Array:
    return np.maximum(x, x.dtype.type(0), out=out)


_INTO: dict[str, Any] = {"relu": _relu_into, "tanh": np.tanh}  # those that NumPy computes in one step


@in_pieces
def shifted(xp: Any, x: Array, bias: Array, activation: str, out: Array = None) -> Array:
    """``activation(x + bias)``, or ``activation(x)`` where bias is None. Where ``out`` is x, nobody needs x any more.

    NumPy's arrays are then written over to the last step. Other worlds do so with the sum, and fuse as they can.
    """
    if bias is not None:
        if out is None:
            x = x + bias
        else:
            x += bias
    return bend(xp, x, activation)
