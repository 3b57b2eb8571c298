"""Losses as modules."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, as_tensor
from . import functional as F
from .module import Module


class CrossEntropyLoss(Module):
    """`functional.cross_entropy` of scores (N, C) and class indices (N,), or class probabilities (N, C).

    ``weight`` is a buffer: it moves with the module, and is no parameter.
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Any = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        if weight is None:
            self.weight = None
        else:
            self.register_buffer("weight", as_tensor(weight))
        self.ignore_index, self.reduction, self.label_smoothing = ignore_index, reduction, label_smoothing

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class MSELoss(Module):
    """`functional.mse_loss`: the mean squared difference."""

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, reduction=self.reduction)
