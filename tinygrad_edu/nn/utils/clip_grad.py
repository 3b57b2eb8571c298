"""Gradients kept within bounds. PyTorch's ``foreach`` chooses a loop; here it has no effect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...common.lines import user_line, warn_user
from ...core.inplace import own_buffer
from ...core.narrow import is_narrow
from ...core.storage import written_all
from ...errors import AutogradError
from ...inputs.kinds import explain_all
from ...ops.out import stack
from ...ops.reduce import norm
from ...settings import no_grad
from ...tensor import Tensor, tensor, wrap

Tensors = Tensor | Iterable[Tensor]


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients by one factor, in place, so that their norm as one vector is at most ``max_norm``.

    Returns the norm before scaling, 0-d. Gradients within the bound do not change; one that is not finite makes all
    of them so, or with ``error_if_nonfinite`` raises `AutogradError`, before anything is changed.

    >>> import tinygrad_edu as tg
    >>> w = tg.zeros(2, requires_grad=True)
    >>> (w * tg.tensor([3.0, 4.0])).sum().backward()
    >>> clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    parameters = _listed(parameters)
    gradients = [p.grad for p in parameters if p.grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all the tensors' elements as one vector, 0-d; 0 if there are none. ``inf`` takes the largest.

    For 16-bit floats it is computed, and returned, in float32. Raises `AutogradError` with ``error_if_nonfinite`` for
    a norm that is not finite.
    """
    tensors, order = _listed(tensors), float(norm_type)
    if not tensors:
        return tensor(0.0)
    arrays = [t.array for t in tensors]
    if order == 2.0 and all(map(_is_plain, arrays)):
        squares = sum(float(np.dot(flat, flat)) for flat in (a.reshape(-1) for a in arrays))
        total = wrap(np.full((), math.sqrt(squares), np.result_type(*arrays)))
    else:
        with no_grad():
            parts = [norm(t.float() if is_narrow(t.dtype) else t, order) for t in tensors]
            total = norm(stack(parts), order)
    if error_if_nonfinite and not math.isfinite(total.item()):
        why, mend = "no factor can bring it down", "look for the first loss that is not finite"
        raise AutogradError(f"clipping gradients whose norm is {total.item()}", why, mend)
    return total


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients by ``max_norm / total_norm``, in place, if that is below 1: the rest of `clip_grad_norm_`."""
    gradients = [p.grad for p in _listed(parameters) if p.grad is not None]
    if not all(_is_plain(g.array) for g in (*gradients, total_norm)):
        with no_grad():
            scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
            for g in gradients:
                g.mul_(scale.to(g.dtype))
        return
    factor = float(max_norm) / (total_norm.item() + 1e-6)
    if factor < 1 or math.isnan(factor):
        of_dtype = {np.dtype(kind): np.full((), factor, kind) for kind in ("f4", "f8")}  # converted once, not per array
        _write(gradients, lambda array: np.multiply(array, of_dtype[array.dtype], array), "clip_grad_norm_")


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Bring each element of each gradient into ``[-clip_value, clip_value]``, in place."""
    gradients = [p.grad for p in _listed(parameters) if p.grad is not None]
    bound = float(clip_value)
    if all(_is_plain(g.array) for g in gradients):
        _write(gradients, lambda array: np.clip(array, -bound, bound, array), "clip_grad_value_")
        return
    with no_grad():
        for g in gradients:
            g.clamp_(-bound, bound)


def _write(tensors: list[Tensor], change: Callable[[Any], Any], name: str) -> None:
    """Change arrays in place, and record it: views of this memory, and operations that saved it, must know."""
    arrays = [own_buffer(t) for t in tensors]
    try:
        for array in arrays:
            change(array)
    finally:
        written_all([t.storage for t in tensors], name, user_line())


def _listed(tensors: Tensors) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        return [tensors]
    found = list(tensors)
    if not found and isinstance(tensors, Iterator):
        text = (
            "clipping no gradients: the generator of parameters was used up, or had none. Call model.parameters() again"
        )
        warn_user(text)
    return found


def _is_plain(array: Any) -> bool:
    """A writeable NumPy array, of a dtype that NumPy computes in."""
    return type(array) is np.ndarray and array.dtype.char in "fd" and array.flags.writeable


explain_all(globals())
