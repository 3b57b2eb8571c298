"""Losses that are worth one node of their own."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op

# mypy: disable-error-code="override"


class CrossEntropy(Op, name="softmax_cross_entropy"):
    """Minus the log-probability of each row's label, for ``scores`` (N, C) and ``target`` (N,): shape (N,).

    Softmax, logarithm and the pick in one stable node. Its gradient is ``softmax(scores) - one_hot(target)``.
    """

    dtypes = "each"
    saves = ("scores", "target")

    @staticmethod
    def forward(xp: Any, scores: Any, target: Any) -> Any:
        shifted = scores - xp.amax(scores, 1, True)
        rows = xp.arange(shifted.shape[0])
        return xp.log(xp.sum(xp.exp(shifted), 1, False)) - shifted[rows, target]

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, scores: Any, target: Any) -> Any:
        rows = xp.arange(scores.shape[0])
        powers = xp.exp(scores - xp.amax(scores, 1, True))
        softmax = powers / xp.sum(powers, 1, True)
        return softmax * xp.reshape(g, (-1, 1)) + xp.scatter_add(scores.shape, (rows, target), -g), None


softmax_cross_entropy = caller(CrossEntropy)
