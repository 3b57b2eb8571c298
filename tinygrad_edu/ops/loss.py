"""Losses that are worth a node of their own: one number per sample or element, before the reduction."""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.graph import unbroadcast
from ..core.op import Op

# mypy: disable-error-code="override"


class CrossEntropy(Op, name="softmax_cross_entropy"):
    """Minus the log-probability of each label, for ``scores`` (N, C) and ``target`` (N,): shape (N,), or reduced.

    Softmax, logarithm, pick and reduction in one stable node. Its gradient is ``softmax(scores) - one_hot(target)``.
    Scores may also be (C) with one label, or (N, C, d1, …) with labels (N, d1, …).
    """

    dtypes = "each"
    saves = ("cache", "scores if not cache", "target", "reduction")
    caches = "recomputed"
    per_input = 5

    @staticmethod
    def forward(xp: Any, scores: Any, target: Any, *, reduction: str = "none") -> Any:
        axis = class_axis(scores.shape)
        shifted = scores - xp.amax(scores, axis, True)
        powers = xp.exp(shifted)
        total = xp.sum(powers, axis, True)
        softmax = powers / total
        losses = xp.log(xp.reshape(total, target.shape)) - shifted[_entries(xp, scores.shape, target)]
        if reduction == "none":
            return losses, softmax
        return xp.sum(losses, None, False) / _terms(target.shape, reduction), softmax

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, softmax: Any, scores: Any, target: Any, reduction: str) -> Any:
        axis, labels = class_axis(scores.shape), _entries(xp, scores.shape, target)
        if softmax is None:
            powers = xp.exp(scores - xp.amax(scores, axis, True))
            softmax = powers / xp.sum(powers, axis, True)
        if reduction != "none":
            g = g / _terms(target.shape, reduction)
            gx = softmax * g
        else:
            gx = softmax * (g[:, None] if axis else g)
        return xp.put(gx, labels, gx[labels] - g), None


def _terms(shape: tuple[int, ...], reduction: str) -> float:
    """What the sum of the losses is divided by; nan for a mean of nothing."""
    return (how_many(shape) or float("nan")) if reduction == "mean" else 1


class NllLoss(Op, name="nll_loss"):
    """Minus the entry of each label, for log-probabilities ``x``; the shapes are those of `softmax_cross_entropy`."""

    computes = False
    dtypes = "each"
    saves = ("x.shape", "target")
    gathers = True

    @staticmethod
    def forward(xp: Any, x: Any, target: Any) -> Any:
        return -xp.contiguous(x[_entries(xp, x.shape, target)])

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, target: Any) -> Any:
        return xp.scatter_add(shape, _entries(xp, shape, target), -g), None


def class_axis(shape: tuple[int, ...]) -> int:
    """Which axis of scores counts the classes: 1, as samples come first; 0 for a single sample."""
    return 1 if len(shape) > 1 else 0


def _entries(xp: Any, shape: tuple[int, ...], target: Any) -> tuple[Any, ...]:
    """The index of each label's entry: the label along the classes, and a range along every other axis."""
    if len(shape) == 2:  # the usual case, kept short
        return xp.arange(shape[0]), target
    if len(shape) == 1:
        return (target,)
    first, *others = (
        xp.reshape(xp.arange(size), (size,) + (1,) * (target.ndim - 1 - i))
        for i, size in enumerate((shape[0], *shape[2:]))
    )
    return (first, target, *others)


class BinaryCrossEntropy(Op, name="binary_cross_entropy"):
    """``-(target * log(x) + (1 - target) * log(1 - x))``, for probabilities ``x`` and a target of the same shape.

    Logarithms are cut off at -100, so no loss is infinite; the gradient is bounded too, as in PyTorch.
    """

    dtypes = "floating"
    saves = ("x", "target")
    per_element = 14

    @staticmethod
    def forward(xp: Any, x: Any, target: Any) -> Any:
        yes, no = _logarithms(xp, x)
        return (target - 1) * no - target * yes

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, target: Any) -> Any:
        gx = g * ((x - target) / xp.maximum(x * (1 - x), 1e-12)) if needs[0] else None
        if not needs[1]:
            return gx, None
        yes, no = _logarithms(xp, x)
        return gx, g * (no - yes)


def _logarithms(xp: Any, x: Any) -> Any:
    """``log(x)`` and ``log(1 - x)``, at least -100. The logarithm of 0 is never taken, because NumPy would warn."""
    none, certain = x == 0, x == 1
    yes = xp.maximum(xp.log(xp.where(none, 1, x)), -100.0)
    no = xp.log1p(-xp.where(certain, 0, x))
    return xp.where(none, -100.0, yes), xp.where(certain, -100.0, no)


class BinaryCrossEntropyWithLogits(Op, name="binary_cross_entropy_with_logits"):
    """`binary_cross_entropy` of ``sigmoid(x)``, stable for large scores ``x``. ``pos_weight`` weights the 1s of target.

    Its gradient is ``sigmoid(x) - target`` where ``pos_weight`` is not given.
    """

    dtypes = "floating"
    saves = ("x", "target", "pos_weight")
    per_element = 13

    @staticmethod
    def forward(xp: Any, x: Any, target: Any, pos_weight: Any = None) -> Any:
        no, yes = _surprises(xp, x)
        return (1 - target) * no + target * (yes if pos_weight is None else yes * pos_weight)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, target: Any, pos_weight: Any) -> Any:
        gx = gt = gw = None
        if needs[0]:
            sigmoid = xp.tanh(x * 0.5) * 0.5 + 0.5  # as in `sigmoid`: it cannot overflow
            gx = sigmoid - target if pos_weight is None else sigmoid + target * (pos_weight * (sigmoid - 1) - sigmoid)
            gx = g * gx
        if needs[1] or needs[2]:
            no, yes = _surprises(xp, x)
            gt = g * ((yes if pos_weight is None else yes * pos_weight) - no) if needs[1] else None
            gw = unbroadcast(xp, g * (target * yes), pos_weight.shape) if needs[2] else None
        return gx, gt, gw


def _surprises(xp: Any, x: Any) -> Any:
    """``-log(1 - sigmoid(x))`` and ``-log(sigmoid(x))``: the softplus of x and of -x."""
    rest = xp.log1p(xp.exp(-xp.abs(x)))
    return xp.maximum(x, 0) + rest, xp.maximum(-x, 0) + rest


class WeightedMean(Op, name="weighted_mean"):
    """``sum(x) / sum(weights)``: the mean of losses ``x`` that are already weighted; nan where all weights are 0."""

    dtypes = "floating"
    saves = ("x.shape", "weights", "out if weights")
    per_input = 2

    @staticmethod
    def forward(xp: Any, x: Any, weights: Any) -> Any:
        return xp.sum(x, None, False) / _total(xp, weights)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, weights: Any, out: Any) -> Any:
        share = g / _total(xp, weights)
        gx = xp.broadcast_to(share, shape) if needs[0] else None
        return gx, xp.broadcast_to(-share * out, weights.shape) if needs[1] else None


def _total(xp: Any, weights: Any) -> Any:
    """The sum, or nan in place of 0: divided by it, it gives nan without a warning."""
    total = xp.sum(weights, None, False)
    return xp.where(total == 0, float("nan"), total)


softmax_cross_entropy, nll_loss_op, weighted_mean = caller(CrossEntropy), caller(NllLoss), caller(WeightedMean)
binary_cross_entropy_op = caller(BinaryCrossEntropy)
binary_cross_entropy_with_logits_op = caller(BinaryCrossEntropyWithLogits)
