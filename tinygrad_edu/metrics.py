"""Metrics: how good predictions are, in numbers that people read. No gradient passes through them.

All take ``(input, target)``, the prediction first, as losses do; tensors of any device, arrays or lists. A prediction
of classes is either their labels, in the shape of ``target``, or scores with the classes along axis 1: (N, C) for
targets (N,), (N, C, d1, …) for targets (N, d1, …), as `cross_entropy` takes them.

Each raises `ShapeError` if the two do not fit or are empty, `DtypeError` for labels that are not integers, and
`ArgumentError` if a number is nan: the result would look like any other number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import backends
from .backends import room
from .core.base import TensorBase
from .errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from .inputs.kinds import explain_all
from .tensor import Tensor, wrap

Array = Any


class Mean:
    """A mean that is updated as values come in, each with a weight, such as batches with their number of samples.

    >>> loss = Mean()
    >>> loss.update(0.5, weight=64).update(0.25, weight=32).compute()
    0.4166666666666667
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> Mean:
        """Forget all values."""
        self.total, self.weight = 0.0, 0.0
        return self

    def update(self, value: Any, weight: float = 1.0) -> Mean:
        """Add one number, or a tensor of one element. Raises `ArgumentError` for a negative weight."""
        if not weight >= 0:
            raise ArgumentError(f"Mean.update with weight={weight}", "a weight is not negative", "use a count")
        self.total += float(value) * weight
        self.weight += weight
        return self

    def compute(self) -> float:
        """The mean so far; nan before the first value."""
        return self.total / self.weight if self.weight else math.nan


# Classes ----------------------------------------------------------------------------------------------------------


def accuracy(input: Any, target: Any, k: int = 1) -> float:
    """The fraction of predictions that are right; with ``k``, those with the target among the ``k`` highest scores.

    Among equal scores the lower class counts as the higher score, as in ``argmax``.

    >>> accuracy([[0.1, 0.9], [0.8, 0.2]], [1, 1])
    0.5
    """
    scores, labels = _pair("accuracy", input, target)
    if scores.ndim == labels.ndim:
        if k != 1:
            why = "the input holds one label for each target, but no scores to rank"
            raise ShapeError(f"accuracy with k={k}", why, "give it scores, of shape (N, C)")
        return float((scores == labels).mean())
    if not 1 <= k <= scores.shape[1]:
        why, mend = f"there are {scores.shape[1]} classes", "use a k from 1 to that"
        raise ArgumentError(f"accuracy with k={k}", why, mend)
    places = labels[:, None]
    own = np.take_along_axis(scores, places, 1)
    classes = np.arange(scores.shape[1]).reshape(-1, *[1] * (scores.ndim - 2))
    above = (scores > own) | ((scores == own) & (classes < places))
    return float((above.sum(1) < k).mean())


def confusion_matrix(input: Any, target: Any, num_classes: int | None = None) -> Tensor:
    """How often samples of the class of each row were predicted as the class of each column: (C, C), int64.

    Without ``num_classes`` there are as many as scores, or as labels that occur. Raises `IndexRangeError` for others.

    >>> confusion_matrix([0, 1, 1], [0, 0, 1])
    tensor([[1, 1],
            [0, 1]])
    """
    return wrap(_counts("confusion_matrix", input, target, num_classes))


def precision(input: Any, target: Any, average: str | None = "macro", num_classes: int | None = None) -> Any:
    """The fraction of the predictions of a class that are right. A class that was never predicted has 0.

    Returns the mean over the classes that occur in input or target (``"macro"``), or with ``average=None`` one number
    for each class, as a tensor. So do `recall` and `f1_score`.
    """
    counts = _counts("precision", input, target, num_classes)
    return _averaged("precision", _share(counts.diagonal(), counts.sum(0)), counts, average)


def recall(input: Any, target: Any, average: str | None = "macro", num_classes: int | None = None) -> Any:
    """The fraction of the samples of a class that were found. A class without samples has 0. See `precision`."""
    counts = _counts("recall", input, target, num_classes)
    return _averaged("recall", _share(counts.diagonal(), counts.sum(1)), counts, average)


def f1_score(input: Any, target: Any, average: str | None = "macro", num_classes: int | None = None) -> Any:
    """The harmonic mean of precision and recall of a class; 0 where both are 0. See `precision`."""
    counts = _counts("f1_score", input, target, num_classes)
    return _averaged("f1_score", _share(2 * counts.diagonal(), counts.sum(0) + counts.sum(1)), counts, average)


def perplexity(input: Any, target: Any) -> float:
    """The number of equally likely classes between which the scores leave the choice: exp of the mean cross-entropy.

    ``input`` holds logits. The perplexity of several batches is exp of their mean loss, not the mean of perplexities.
    """
    scores, labels = _pair("perplexity", input, target)
    if scores.ndim == labels.ndim:
        why, mend = "labels leave no choice", "give it logits, of shape (N, C)"
        raise ShapeError(f"perplexity of labels {scores.shape}", why, mend)
    shifted = scores - scores.max(1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    with np.errstate(over="ignore"):
        return float(np.exp(-np.take_along_axis(log_probabilities, labels[:, None], 1).mean()))


# Numbers ----------------------------------------------------------------------------------------------------------


def mean_absolute_error(input: Any, target: Any) -> float:
    """The mean distance between prediction and target."""
    predicted, wanted = _numbers("mean_absolute_error", input, target)
    return float(np.abs(predicted - wanted).mean())


def mean_squared_error(input: Any, target: Any) -> float:
    """The mean of the squared distances."""
    predicted, wanted = _numbers("mean_squared_error", input, target)
    return float(np.square(predicted - wanted).mean())


def r2_score(input: Any, target: Any) -> float:
    """The fraction of the target's variance that the prediction explains: 1 is all, 0 no more than its mean does.

    It is computed over all elements together. Raises `ShapeError` for targets that are all equal: there is nothing to
    explain.
    """
    predicted, wanted = _numbers("r2_score", input, target)
    spread = np.square(wanted - wanted.mean()).sum()
    if not spread:
        why, mend = "all targets are equal, so there is no variance to explain", "use mean_absolute_error"
        raise ShapeError(f"r2_score of {wanted.size} targets", why, mend)
    return float(1 - np.square(predicted - wanted).sum() / spread)


# What is given ----------------------------------------------------------------------------------------------------


def _array(x: Any) -> Array:
    return np.asarray(backends.of(x.array).to_numpy(x.array) if isinstance(x, TensorBase) else x)


def _numbers(name: str, input: Any, target: Any) -> tuple[Array, Array]:
    """Both as float64, in one shape."""
    predicted, wanted = _array(input).astype(np.float64), _array(target).astype(np.float64)
    _fits(name, predicted, wanted, predicted.shape == wanted.shape, "each number is compared with its own target")
    return predicted, wanted


def _pair(name: str, input: Any, target: Any) -> tuple[Array, Array]:
    """Labels, or scores as float64 with classes along axis 1; and the target's labels, checked against the classes."""
    found, labels = _array(input), _array(target)
    scored = found.ndim == labels.ndim + 1
    fits = (found.shape[:1] + found.shape[2:] if scored else found.shape) == labels.shape
    _fits(name, found, labels, fits, "the input has the target's shape, or one axis of classes more, at place 1")
    for what, x in (("target", labels), ("input", found))[: 1 if scored else 2]:
        if x.dtype.kind not in "biu":
            why = f"the {what} holds {x.dtype}, but labels are integers"
            mend = "use labels; for yes or no, (x > 0.5)" if what == "input" else "convert it: y.long()"
            raise DtypeError(f"{name} of {found.dtype} and {labels.dtype}", why, mend)
    labels = labels.astype(np.int64)
    if not scored:
        return found.astype(np.int64), labels
    if labels.min() < 0 or labels.max() >= found.shape[1]:
        wrong = labels[(labels < 0) | (labels >= found.shape[1])][0]
        why, mend = f"there are {found.shape[1]} classes", "count the classes from 0"
        raise IndexRangeError(f"{name} with label {wrong}", why, mend)
    return found.astype(np.float64), labels


def _fits(name: str, found: Array, wanted: Array, fits: bool, rule: str) -> None:
    tried = f"{name} of input {found.shape} and target {wanted.shape}"
    if not fits:
        raise ShapeError(tried, rule, "reshape one of them, such as y.squeeze(1)")
    if not wanted.size or not found.size:
        raise ShapeError(tried, "there is nothing to take a mean of", "give it at least one sample")
    if any(x.dtype.kind not in "biu" and np.isnan(x).any() for x in (found, wanted)):
        raise ArgumentError(tried, "one of them holds nan", "look at where it comes from: isnan(x).any()")


def _counts(name: str, input: Any, target: Any, num_classes: int | None) -> Array:
    """The confusion matrix."""
    found, labels = _pair(name, input, target)
    count = num_classes
    if found.ndim > labels.ndim:
        count, found = found.shape[1] if count is None else count, found.argmax(1)
    highest, lowest = int(max(found.max(), labels.max())), int(min(found.min(), labels.min()))
    count = highest + 1 if count is None else count
    if lowest < 0 or highest >= count:
        why, mend = f"there are {count} classes, counted from 0", "give num_classes, or look at the labels"
        raise IndexRangeError(f"{name} with label {lowest if lowest < 0 else highest}", why, mend)
    room.check(f"{name} of {count} classes", (count, count), 8)
    return np.bincount((labels * count + found).reshape(-1), minlength=count * count).reshape(count, count)


def _share(part: Array, whole: Array) -> Array:
    return part / np.maximum(whole, 1)


def _averaged(name: str, shares: Array, counts: Array, average: str | None) -> Any:
    if average is None:
        return wrap(shares)
    if average != "macro":
        why, mend = "it is 'macro', or None for one number for each class", "for 'micro', use accuracy: it is the same"
        raise ArgumentError(f"{name} with average={average!r}", why, mend)
    return float(shares[counts.sum(0) + counts.sum(1) > 0].mean())


explain_all(globals())
