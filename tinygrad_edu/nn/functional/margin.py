"""Losses that push the scores of true classes above those of others, by a margin or softly.

``reduction`` is "mean", "sum", or "none" for one loss per sample.
"""

from __future__ import annotations

from typing import Any

from ...core.slow import offered
from ...errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ...inputs.arguments import as_tensor, extremes
from ...inputs.kinds import explain_all
from ...tensor import Tensor
from .activation import logsigmoid
from .loss import alike, reduced


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean"
) -> Tensor:
    """How far each wrong class's score exceeds the true one's less ``margin``: the mean over all C classes.

    ``input`` is (N, C) or (C,), ``target`` the class indices (N,) or (). ``p=2`` squares each excess. ``weight`` (C,)
    weights samples by their true classes. Raises `ShapeError`, `DtypeError` and `IndexRangeError` for targets that do
    not fit, `ArgumentError` for another ``p``.
    """
    x, labels = offered("multi_margin_loss", (as_tensor(input), as_tensor(target)))
    tried = f"multi_margin_loss({tuple(x.shape)}, target {tuple(labels.shape)} {labels.dtype})"
    if p not in (1, 2):
        raise ArgumentError(f"{tried} with p={p!r}", "it is the power of each excess", "use p=1 or p=2")
    rows = x if x.ndim == 2 else x.reshape(1, -1)
    if x.ndim > 2 or labels.numel() != len(rows) or labels.ndim > 1 or (x.ndim == 2 and labels.ndim == 0):
        why = "it takes one row of scores and one class index per sample: (N, C) and (N,), or (C,) and ()"
        raise ShapeError(tried, why, "flatten to these shapes")
    classes = rows.shape[1]
    _check_classes(tried, labels, 0, classes)
    true = labels.long().reshape(-1, 1)
    above = (rows - rows.gather(1, true) + margin).relu() ** p
    losses = above.scatter(1, true, 0.0)
    if weight is not None:
        weight = as_tensor(weight)
        if tuple(weight.shape) != (classes,):
            why = f"there are {classes} classes, but the weight is {tuple(weight.shape)}"
            raise ShapeError(tried, why, f"give it weights of shape ({classes},)")
        losses = losses * weight.to(x.dtype)[true]
    losses = losses.sum(1) / classes
    return reduced(losses if labels.ndim else losses.sum(), reduction)


def multilabel_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Tensor:
    """How far each wrong class's score exceeds each true one's less 1: the sum over all such pairs, divided by C.

    Each row of ``target``, (N, C) or (C,) as ``input``, lists the indices of the true classes, and ends before the
    first -1. Raises `ShapeError` unless the shapes are equal, `DtypeError` and `IndexRangeError` for targets that are
    not classes.
    """
    x, target = alike("multilabel_margin_loss", input, target)
    tried = f"multilabel_margin_loss({tuple(x.shape)}, target {tuple(target.shape)} {target.dtype})"
    if x.ndim > 2:
        raise ShapeError(tried, "it takes one row of scores per sample: (N, C), or (C,)", "flatten to these shapes")
    rows = x if x.ndim == 2 else x.reshape(1, -1)
    classes = rows.shape[1]
    _check_classes(tried, target, -1, classes)
    listed = target.long().reshape(rows.shape)
    named = (listed >= 0).long().cumprod(1)  # 1 up to the first -1
    listed = listed * named
    wrong = named.new_zeros(rows.shape).scatter_add(1, listed, named) == 0
    above = (1 - rows.gather(1, listed).unsqueeze(2) + rows.unsqueeze(1)).relu()  # each true class, each class
    losses = (above * (named.bool().unsqueeze(2) & wrong.unsqueeze(1))).sum((1, 2)) / classes
    return reduced(losses if x.ndim == 2 else losses.sum(), reduction)


def _check_classes(tried: str, target: Tensor, least: int, classes: int) -> None:
    if target.dtype.kind not in "iu":
        raise DtypeError(tried, "class labels must be integers", "find out where they come from, then target.long()")
    low, high = extremes(target) or (0, -1)
    if low < least or high >= classes:
        why = f"labels run from {low} to {high}, but there are {classes} classes: 0 to {classes - 1}"
        mend = "count the classes from 0" + "; -1 ends the list" * (least < 0)
        raise IndexRangeError(tried, why, f"{mend}, or give the last layer more outputs")


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Tensor:
    """`binary_cross_entropy_with_logits` of each class separately: the mean over the last axis, the classes.

    ``target`` holds numbers from 0 to 1; ``weight`` is broadcast. Raises `ShapeError` unless the shapes of
    ``input`` and ``target`` are equal.
    """
    x, target = alike("multilabel_soft_margin_loss", input, target)
    if not x.ndim:
        tried, why = "multilabel_soft_margin_loss of a number", "its last axis counts the classes"
        raise ShapeError(tried, why, "add the axis: input.unsqueeze(0), target.unsqueeze(0)")
    losses = -(target * logsigmoid(x) + (1 - target) * logsigmoid(-x))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.mean(-1), reduction)


explain_all(globals())
