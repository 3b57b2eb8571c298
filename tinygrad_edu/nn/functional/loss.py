"""How far a model's answer is from the right one: the losses of `functional`.

``reduction`` is "mean", "sum", or "none" for one loss per sample or element.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import backends
from ...core.slow import offered
from ...dtypes import is_float
from ...errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ...inputs.arguments import as_tensor, extremes
from ...inputs.kinds import explain_all
from ...ops import loss as ls
from ...ops.choice import where
from ...settings import no_grad
from ...tensor import Tensor

# Classes ------------------------------------------------------------------------------------------------------------


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """How surprised the scores ``input`` are by the true classes: softmax, logarithm and pick in one.

    ``input`` is (N, C), (C), or (N, C, d1, …) for a class at each of several places. ``target`` holds class indices,
    (N), () or (N, d1, …), or else class probabilities: floats in the shape of ``input``.

    ``weight`` (C) weights the classes; the mean over labels is then over their weights. Samples of the class
    ``ignore_index`` do not count; if there are no others, the mean is nan. ``label_smoothing`` is the fraction of the
    target that is spread evenly over all classes.

    Raises `DtypeError` for labels that are not integers (NaN among them), `IndexRangeError` for a label outside
    0 to C - 1, `ShapeError` if the shapes do not fit.

    >>> import tinygrad_edu as tg
    >>> scores = tg.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
    >>> cross_entropy(scores, tg.tensor([0, 2]), reduction="none")
    tensor([0.4076, 0.0134])
    """
    scores, target = offered("cross_entropy", (as_tensor(input), as_tensor(target)))
    if label_smoothing and not 0 < label_smoothing <= 1:
        why, mend = "it is a fraction of the target", "use a number from 0 to 1; 0.1 is usual"
        raise ArgumentError(f"cross_entropy(label_smoothing={label_smoothing!r})", why, mend)
    if scores.shape == target.shape and scores.ndim and is_float(target.dtype):
        return _against_probabilities(scores, target, weight, ignore_index, reduction, label_smoothing)
    return _against_labels("cross_entropy", scores, target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(
    input: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the log-probability of the true class: `cross_entropy` of scores that went through `log_softmax` already.

    Shapes, ``weight``, ``ignore_index`` and errors are those of `cross_entropy` with class indices.
    """
    return _against_labels("nll_loss", as_tensor(input), as_tensor(target), weight, ignore_index, reduction, 0.0)


def _against_labels(
    name: str, scores: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    """The loss of scores, or of log-probabilities, against class indices."""
    some_ignored = _check_labels(name, scores, target, ignore_index)
    scores = scores if is_float(scores.dtype) else scores.float()
    kept = weights = None
    if some_ignored:
        kept = target != ignore_index
        target = where(kept, target, 0)  # any class, so that there is something to read
    if weight is not None:
        weight = _class_weight(name, scores, weight)
        weights = weight[target]
    if name == "cross_entropy" and weight is None and kept is None and not smoothing:
        _check_reduction(reduction)
        result: Tensor = ls.softmax_cross_entropy(scores, target, reduction=reduction)  # the usual case: one node
        return result
    if smoothing:
        losses = _smoothed(scores, target, smoothing, weight, weights)
    else:
        losses = (ls.softmax_cross_entropy if name == "cross_entropy" else ls.nll_loss_op)(scores, target)
        losses = losses if weight is None else losses * weights
    if kept is not None:
        losses = where(kept, losses, 0.0)
        weights = kept.to(losses.dtype) if weights is None else where(kept, weights, 0.0)
    if weights is not None and reduction == "mean":
        return ls.weighted_mean(losses, weights)
    return reduced(losses, reduction)


def _smoothed(scores: Tensor, target: Tensor, smoothing: float, weight: Any, weights: Any) -> Tensor:
    """Cross-entropy with a fraction of the target spread over all classes; each class's term includes its weight."""
    axis = ls.class_axis(scores.shape)
    logs = scores.log_softmax(axis)
    picked, spread = ls.nll_loss_op(logs, target), logs
    if weight is not None:
        picked, spread = picked * weights, spread * _along_classes(weight, scores)
    return picked * (1 - smoothing) - spread.sum(axis) * (smoothing / (scores.shape[axis] or 1))


def _against_probabilities(
    scores: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    """The loss of scores against class probabilities. Its mean is over the samples, whatever the weights."""
    if ignore_index >= 0:
        why = f"ignore_index={ignore_index} names a label, but the target holds probabilities"
        mend = "leave it out: a sample whose probabilities are all 0 adds nothing"
        raise ShapeError(_tried("cross_entropy", scores, target), why, mend)
    scores = scores if is_float(scores.dtype) else scores.float()
    axis = ls.class_axis(scores.shape)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / (scores.shape[axis] or 1)
    if weight is not None:
        target = target * _along_classes(_class_weight("cross_entropy", scores, weight), scores)
    return reduced(-(scores.log_softmax(axis) * target).sum(axis), reduction)


def _along_classes(weight: Tensor, scores: Tensor) -> Tensor:
    """One weight for each class, in a shape that broadcasts to the scores."""
    return weight if scores.ndim < 3 else weight.reshape((-1,) + (1,) * (scores.ndim - 2))


def _tried(name: str, scores: Tensor, target: Tensor) -> str:
    return f"{name}(scores {tuple(scores.shape)}, target {tuple(target.shape)} {target.dtype})"


def _check_labels(name: str, scores: Tensor, target: Tensor, ignore_index: int) -> bool:
    """Refuse impossible labels. Returns whether some may have to be ignored."""
    shape = scores.shape
    if not shape or target.shape != (shape[:1] + shape[2:] if len(shape) > 1 else ()):
        if is_float(target.dtype) and not is_float(scores.dtype):
            why, mend = (
                "the first holds integers, like labels, and the second fractions",
                "swap them: scores come first",
            )
            raise DtypeError(_tried(name, scores, target), why, mend)
        shapes = "(N, C) and (N,)" if scores.ndim < 3 else "(N, C, d1, …) and (N, d1, …)"
        raise ShapeError(
            _tried(name, scores, target), f"it takes one row of scores and one class index per sample: {shapes}",
            "flatten to these shapes; one-hot rows become indices by target.argmax(1)"
        )  # fmt: skip
    if target.dtype.kind not in "iu":
        nan = (
            ", but some of these are NaN"
            if is_float(target.dtype) and np.isnan(np.asarray(target.tolist())).any()
            else ""
        )
        why, mend = f"class labels must be integers{nan}", "find out where they come from, then target.long()"
        raise DtypeError(_tried(name, scores, target), why, mend)
    classes = shape[ls.class_axis(shape)]
    if ignore_index < 0 and _all_below(classes, target.array):
        return False
    found = extremes(target)
    if found is None:
        return bool(target.numel())  # during tracing no value may be read, so it is ready for them
    low, high = found
    if low >= 0 and high < classes:
        return low <= ignore_index <= high
    labels = np.asarray(backends.of(target.array).peek(target.array))
    labels = labels[labels != ignore_index]
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise IndexRangeError(
            _tried(name, scores, target),
            f"labels run from {labels.min()} to {labels.max()}, but there are {classes} classes: 0 to {classes - 1}",
            "count the classes from 0, or give the last layer more outputs"
        )  # fmt: skip
    return True


def _all_below(classes: int, labels: Any) -> bool:
    """A quick check with one pass: as unsigned numbers, the negative labels are the largest."""
    if type(labels) is not np.ndarray or labels.dtype != np.int64 or not labels.size:
        return False
    unsigned = labels.view(np.uint64)
    return bool(unsigned.item(unsigned.argmax()) < classes)


def _class_weight(name: str, scores: Tensor, weight: Any) -> Tensor:
    """One weight for each class, in the dtype of the scores."""
    weight, classes = as_tensor(weight), scores.shape[ls.class_axis(scores.shape)]
    if tuple(weight.shape) != (classes,):
        raise ShapeError(
            f"{name}(scores {tuple(scores.shape)}, weight {tuple(weight.shape)})",
            f"there are {classes} classes, and each needs one weight",
            f"give it weights of shape ({classes},)"
        )  # fmt: skip
    return weight.to(scores.dtype)


# Yes or no ----------------------------------------------------------------------------------------------------------


def binary_cross_entropy(input: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Tensor:
    """How surprised the probabilities ``input`` are by ``target``, from 0 to 1 and of the same shape.

    Each loss is at most 100: a logarithm below -100 counts as -100. ``weight`` is broadcast. Raises `ShapeError`
    if shapes differ, `ArgumentError` for numbers outside 0 to 1, including NaN.
    """
    x, target = alike("binary_cross_entropy", input, target)
    _check_share("probabilities", x, "end the model with sigmoid(), or use binary_cross_entropy_with_logits")
    _check_share("targets", target, "divide by the largest, or find out where they come from")
    losses = ls.binary_cross_entropy_op(x, target)
    return reduced(losses if weight is None else losses * _factor("weight", weight, losses), reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Tensor:
    """`binary_cross_entropy` of ``input.sigmoid()``, stable for large scores.

    ``weight`` weights the losses, ``pos_weight`` the targets that are 1; both are broadcast. Raises `ShapeError` if
    shapes differ.
    """
    x, target = alike("binary_cross_entropy_with_logits", input, target)
    pos_weight = None if pos_weight is None else _factor("pos_weight", pos_weight, x)
    losses = ls.binary_cross_entropy_with_logits_op(x, target, pos_weight)
    return reduced(losses if weight is None else losses * _factor("weight", weight, losses), reduction)


def _check_share(what: str, x: Tensor, mend: str) -> None:
    found = extremes(x)
    if found is not None and not (found[0] >= 0 and found[1] <= 1):
        why = f"the {what} run from {found[0]:.4g} to {found[1]:.4g}, but must be between 0 and 1"
        raise ArgumentError(f"binary_cross_entropy({tuple(x.shape)})", why, mend)


def _factor(what: str, weight: Any, losses: Tensor) -> Tensor:
    """A weight that can be broadcast to the losses without broadcasting them."""
    weight = as_tensor(weight)
    own, shape = tuple(weight.shape), tuple(losses.shape)
    sizes = shape[len(shape) - len(own) :]
    if len(own) > len(shape) or any(m not in (1, n) for m, n in zip(own, sizes, strict=True)):
        why = "a weight is broadcast to the losses, not they to it"
        raise ShapeError(f"{what} {own} for losses {shape}", why, f"give it the shape {shape}")
    return weight


# Distances ----------------------------------------------------------------------------------------------------------


def mse_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The squared distance of ``input`` from ``target``. Raises `ShapeError` unless the shapes are equal.

    Broadcasting is refused here: (N, 1) against (N,) would silently compare every sample with every other.
    ``weight``, of the same shape, weights the elements; the mean is then over the weights.
    """
    x, target = alike("mse_loss", input, target)
    difference = x - target
    return _reduce_weighted("mse_loss", difference * difference, weight, reduction)


def l1_loss(input: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The absolute distance of ``input`` from ``target``. Raises `ShapeError` unless the shapes are equal.

    ``weight``, of the same shape, weights the elements; the mean is then over the weights.
    """
    x, target = alike("l1_loss", input, target)
    return _reduce_weighted("l1_loss", (x - target).abs(), weight, reduction)


def smooth_l1_loss(input: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """`l1_loss` less ``beta / 2``, and a parabola where the distance is below ``beta``: no kink at 0.

    ``beta=0`` is `l1_loss`. Raises `ArgumentError` for a negative ``beta``, `ShapeError` unless the shapes are equal.
    """
    x, target = alike("smooth_l1_loss", input, target)
    if beta < 0:
        why = "it is the distance at which the parabola ends"
        raise ArgumentError(f"smooth_l1_loss(beta={beta!r})", why, "use a number from 0 up")
    distance = (x - target).abs()
    return reduced(_bend(distance, beta) / beta if beta else distance, reduction)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, *, weight: Any = None) -> Tensor:
    """``delta`` times `smooth_l1_loss` with ``beta=delta``: half the square up to ``delta``, and straight beyond.

    Raises `ArgumentError` unless ``delta`` is positive, `ShapeError` unless the shapes are equal.
    """
    x, target = alike("huber_loss", input, target)
    if delta <= 0:
        why = "it is the distance at which the parabola ends"
        raise ArgumentError(f"huber_loss(delta={delta!r})", why, "use a number above 0")
    losses = _bend((x - target).abs(), delta)
    return reduced(losses if weight is None else losses * of_one_shape("huber_loss", weight, losses), reduction)


def _bend(distance: Tensor, end: float) -> Tensor:
    """Half the square up to ``end``, then on in a straight line."""
    near = distance.clamp(max=end)
    return near * (distance - near * 0.5)


def kl_div(input: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """How far the distribution ``input``, given as logarithms, is from ``target``: ``target * (log(target) - input)``.

    ``target`` holds probabilities, or their logarithms with ``log_target``. ``reduction="batchmean"`` divides the sum
    by the number of samples, as in the mathematical definition; "mean" divides by the number of elements.
    Raises `ShapeError` unless the shapes are equal.
    """
    x, target = alike("kl_div", input, target)
    _check_reduction(reduction, "batchmean")
    # 0 * log(0) is 0
    share, logarithm = (target.exp(), target) if log_target else (target, where(target == 0, 1.0, target).log())
    losses = share * (logarithm - x)
    if reduction != "batchmean":
        return reduced(losses, reduction)
    return losses.sum() / (x.shape[0] or float("nan")) if x.ndim else losses


# Counts and spreads ---------------------------------------------------------------------------------------------------


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
) -> Tensor:
    """How surprised a Poisson distribution of rate ``exp(input)`` is by the counts ``target``.

    Without ``log_input``, ``input`` is the rate itself, and ``eps`` keeps its logarithm finite. ``full`` adds the terms
    without ``input``, by Stirling's formula. Raises `ShapeError` unless the shapes are equal.
    """
    x, target = alike("poisson_nll_loss", input, target)
    losses = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        many = where(target > 1, target, 1.0)
        losses = losses + where(target > 1, many * many.log() - many + (many * (2 * math.pi)).log() * 0.5, 0.0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """How surprised normal distributions of mean ``input`` and variance ``var`` are by ``target``.

    ``var`` is a number, or has the shape of ``input``, with a last axis that may be missing, or one axis of length 1.
    A smaller one counts as ``eps``, but its gradient ignores that. ``full`` adds half of ``log(2 * pi)``.

    Raises `ShapeError` if the shapes do not fit, `ArgumentError` for a negative variance.
    """
    x, target = alike("gaussian_nll_loss", input, target)
    var = _variance(x, var)
    found = extremes(var)
    if found is not None and found[0] < 0:
        tried, why = f"gaussian_nll_loss(var {tuple(var.shape)})", f"the smallest variance is {found[0]:.4g}"
        raise ArgumentError(tried, f"{why}, but none may be below 0", "let the model give its logarithm: s.exp()")
    held = var.clone()
    with no_grad():
        held.clamp_(min=eps)
    difference = x - target
    losses = (held.log() + difference * difference / held) * 0.5
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def _variance(x: Tensor, var: Any) -> Tensor:
    """One variance for each element of ``x``, or one for all elements along an axis."""
    if isinstance(var, (int, float)):
        return x.new_full((), var)
    var = as_tensor(var)
    own, shape = tuple(var.shape), tuple(x.shape)
    if own == shape[:-1] and own != shape:
        return var.unsqueeze(-1)
    if len(own) != len(shape) or [m for m, n in zip(own, shape, strict=True) if m != n] not in ([], [1]):
        why = "each element needs a variance, its own or one shared along an axis"
        mend = f"give it the shape {shape}, or {(*shape[:-1], 1)}"
        raise ShapeError(f"gaussian_nll_loss(input {shape}, var {own})", why, mend)
    return var


# Checks of shapes and numbers -----------------------------------------------------------------------------------------


def alike(name: str, input: Any, target: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors of the same shape. Those who watch may put others in their place: see `Interceptor.given`."""
    x, target = offered(name, (as_tensor(input), as_tensor(target)))
    return x, of_one_shape(name, target, x)


def of_one_shape(name: str, other: Any, x: Tensor) -> Tensor:
    """``other`` as a tensor, if it has the shape of ``x``."""
    other = as_tensor(other)
    if tuple(x.shape) != tuple(other.shape):
        raise ShapeError(
            f"{name}({tuple(x.shape)}, {tuple(other.shape)})",
            "broadcasting would compare elements that do not belong together",
            "reshape one to the other's shape: target.reshape(x.shape)",
        )
    return other


# Reductions ---------------------------------------------------------------------------------------------------------


def _check_reduction(reduction: str, *more: str) -> None:
    if reduction not in ("mean", "sum", "none", *more):
        known = ", ".join(repr(name) for name in ("mean", "sum", *more))
        raise ArgumentError(f"reduction={reduction!r}", "there is no such reduction", f"use {known} or 'none'")


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The losses as one number, or as they are. Raises `ArgumentError` for a reduction that does not exist."""
    _check_reduction(reduction)
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def _reduce_weighted(name: str, losses: Tensor, weight: Any, reduction: str) -> Tensor:
    """A mean is over the weights, not over the number of elements."""
    if weight is None:
        return reduced(losses, reduction)
    weight = of_one_shape(name, weight, losses)
    losses = losses * weight
    return ls.weighted_mean(losses, weight) if reduction == "mean" else reduced(losses, reduction)


explain_all(globals(), "alike", "of_one_shape", "reduced")
