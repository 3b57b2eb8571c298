"""Losses as modules."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import functional as F
from .module import Module


class CrossEntropyLoss(Module):
    """`functional.cross_entropy` of scores (N, C) and class indices (N,)."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, scores: Any, target: Any) -> Tensor:
        """The loss."""
        return F.cross_entropy(scores, target, self.reduction)


class MSELoss(Module):
    """`functional.mse_loss`: the mean squared difference."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, x: Any, target: Any) -> Tensor:
        """The loss."""
        return F.mse_loss(x, target, self.reduction)
