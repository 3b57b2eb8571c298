"""The stateless forms of layers and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backends
from ..core.dispatch import here
from ..dtypes import is_float
from ..errors import DtypeError, IndexRangeError, ShapeError
from ..ops import conv as cv
from ..ops import linalg as la
from ..ops import loss as ls
from ..ops.unary import relu, sigmoid, tanh
from ..tensor import Tensor, as_tensor

__all__ = [
    "conv2d", "cross_entropy", "linear", "log_softmax", "max_pool2d", "mse_loss", "relu", "sigmoid", "softmax", "tanh",
]  # fmt: skip

linear = la.linear


def _pair(value: Any) -> tuple[int, int]:
    """``3`` and ``(3, 3)`` mean the same."""
    return (value, value) if isinstance(value, int) else tuple(value)


def softmax(x: Tensor, dim: int) -> Tensor:
    """Positive numbers that add to 1 along ``dim``."""
    return x.softmax(dim)


def log_softmax(x: Tensor, dim: int) -> Tensor:
    """The logarithm of `softmax`, in the stable form."""
    return x.log_softmax(dim)


def conv2d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0) -> Tensor:
    """Cross-correlation of images (N, C, H, W) with kernels (F, C, kh, kw): (N, F, oh, ow)."""
    return cv.conv2d(x, weight, bias, stride=_pair(stride), padding=_pair(padding))


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    """The largest element of each window of (N, C, H, W). The stride is the window's size unless given."""
    kernel = _pair(kernel_size)
    return cv.max_pool2d(x, kernel=kernel, stride=kernel if stride is None else _pair(stride), padding=_pair(padding))


def _reduce(losses: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return losses
    if reduction not in ("mean", "sum"):
        raise ShapeError(f"reduction={reduction!r}", "there is no such reduction", "use 'mean', 'sum' or 'none'")
    return losses.mean() if reduction == "mean" else losses.sum()


def cross_entropy(scores: Any, target: Any, reduction: str = "mean") -> Tensor:
    """How surprised the scores (N, C) are by the true classes ``target`` (N,): softmax, logarithm and pick in one.

    Raises `DtypeError` for labels that are not integers (NaN among them), `IndexRangeError` for a label outside
    0 to C - 1, `ShapeError` when the shapes do not belong together.
    """
    scores, labels = as_tensor(scores), as_tensor(target)
    if scores.ndim != 2 or labels.ndim != 1 or scores.shape[0] != labels.shape[0]:
        raise ShapeError(
            _scored(scores, labels), "it takes one row of scores and one class index per sample: (N, C) and (N,)",
            "flatten to these shapes; one-hot rows become indices by target.argmax(1)", here(),
        )  # fmt: skip
    if is_float(labels.dtype) or labels.dtype.kind == "b":
        nan = (
            ", and some of these are NaN"
            if is_float(labels.dtype) and np.isnan(np.asarray(labels.tolist())).any()
            else ""
        )
        why, mend = f"class labels are integers{nan}", "find out where they come from, then target.long()"
        raise DtypeError(_scored(scores, labels), why, mend, here())
    (low, high), classes = _range(labels), scores.shape[1]
    if low < 0 or high >= classes:
        raise IndexRangeError(
            _scored(scores, labels),
            f"labels run from {low} to {high}, and there are {classes} classes: 0 to {classes - 1}",
            "count the classes from 0, or give the last layer more outputs", here(),
        )  # fmt: skip
    return _reduce(ls.softmax_cross_entropy(scores if is_float(scores.dtype) else scores.float(), labels), reduction)


def _scored(scores: Tensor, labels: Tensor) -> str:
    return f"cross_entropy(scores {tuple(scores.shape)}, target {tuple(labels.shape)} {labels.dtype})"


def _range(labels: Tensor) -> tuple[int, int]:
    """The smallest and the largest label; while tracing nobody may look, and a replay looks no more."""
    backend, array = backends.of(labels.array), labels.array
    if not labels.numel() or not backend.readable:
        return 0, 0
    # On raw arrays: this is a check, and no step of the model that an observer should see.
    low, high = (backend.to_numpy(extreme(array)) for extreme in (backend.xp.amin, backend.xp.amax))
    return int(low), int(high)


def mse_loss(x: Any, target: Any, reduction: str = "mean") -> Tensor:
    """The squared distance of ``x`` from ``target``. Raises `ShapeError` unless the shapes are equal.

    Broadcasting is refused here: (N, 1) against (N,) would silently compare every sample with every other.
    """
    x, target = as_tensor(x), as_tensor(target)
    if tuple(x.shape) != tuple(target.shape):
        raise ShapeError(
            f"mse_loss({tuple(x.shape)}, {tuple(target.shape)})",
            "broadcasting would compare elements that do not belong together",
            "reshape one to the other's shape: target.reshape(x.shape)",
            here(),
        )
    difference = x - target
    return _reduce(difference * difference, reduction)
