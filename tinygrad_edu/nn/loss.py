"""Losses as modules. Each is its function in `functional`, with the same formula, shapes and errors.

``reduction`` is "mean", "sum", or "none" for one loss per sample or element. PyTorch's older ``size_average`` and
``reduce`` are left out, and the arguments after them are keywords.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, ShapeError
from ..tensor import Tensor, as_tensor
from . import functional as F
from .distance import PairwiseDistance
from .functional.distance import no_margin
from .module import Module


class _Loss(Module):
    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a ``weight``, a buffer: it moves with the module, and is not a parameter."""

    weight: Tensor | None

    def __init__(self, weight: Any = None, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.register_buffer("weight", None if weight is None else as_tensor(weight))


# Classes --------------------------------------------------------------------------------------------------------------


class CrossEntropyLoss(_WeightedLoss):
    """`functional.cross_entropy` of scores (N, C) and class indices (N,), or class probabilities (N, C)."""

    def __init__(
        self, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.cross_entropy(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class NLLLoss(_WeightedLoss):
    """`functional.nll_loss` of log-probabilities (N, C) and class indices (N,)."""

    def __init__(self, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight, reduction=reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """`functional.binary_cross_entropy` of probabilities and targets from 0 to 1."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_WeightedLoss):
    """`functional.binary_cross_entropy_with_logits` of scores and targets from 0 to 1.

    ``pos_weight``, a buffer too, weights the targets that are 1.
    """

    pos_weight: Tensor | None

    def __init__(self, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None) -> None:
        super().__init__(weight, reduction=reduction)
        self.register_buffer("pos_weight", None if pos_weight is None else as_tensor(pos_weight))

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class MultiMarginLoss(_WeightedLoss):
    """`functional.multi_margin_loss` of scores (N, C) and class indices (N,).

    Raises `ArgumentError` unless ``p`` is 1 or 2, `ShapeError` for a ``weight`` that is not (C,).
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean") -> None:
        super().__init__(weight, reduction=reduction)
        if p not in (1, 2):
            why = "it is the power of each excess"
            raise ArgumentError(f"MultiMarginLoss(p={p!r})", why, "use p=1 or p=2")
        if self.weight is not None and self.weight.ndim != 1:
            why = "each class has one weight"
            raise ShapeError(f"MultiMarginLoss(weight {tuple(self.weight.shape)})", why, "give it the shape (C,)")
        self.p, self.margin = p, margin

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """`functional.multilabel_margin_loss` of scores (N, C) and lists of class indices (N, C) that end before a -1."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """`functional.multilabel_soft_margin_loss` of scores (N, C) and targets (N, C) from 0 to 1."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class CTCLoss(_Loss):
    """`functional.ctc_loss` of log-probabilities (T, N, C) and labels (N, S), with how many of each count."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Tensor:
        """The loss."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


# Distances ------------------------------------------------------------------------------------------------------------


class MSELoss(_Loss):
    """`functional.mse_loss`: the squared difference."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """`functional.l1_loss`: the absolute difference."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """`functional.smooth_l1_loss`: the absolute difference, with a parabola where it is below ``beta``."""

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.beta = beta

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """`functional.huber_loss`: half the square up to ``delta``, and straight beyond."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.huber_loss(input, target, self.reduction, self.delta)


# Distributions --------------------------------------------------------------------------------------------------------


class KLDivLoss(_Loss):
    """`functional.kl_div` of log-probabilities and probabilities; "batchmean" is a reduction too."""

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.log_target = log_target

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """`functional.poisson_nll_loss` of logarithms of rates, and counts."""

    def __init__(
        self, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction=reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.poisson_nll_loss(log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """`functional.gaussian_nll_loss` of means, targets and variances."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Any, target: Any, var: Any) -> Tensor:
        """The loss."""
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


# Pairs ----------------------------------------------------------------------------------------------------------------


class _MarginLoss(_Loss):
    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.margin = margin


class CosineEmbeddingLoss(_MarginLoss):
    """`functional.cosine_embedding_loss` of pairs (N, D), and 1 or -1 for each."""

    def forward(self, input1: Any, input2: Any, target: Any) -> Tensor:
        """The loss."""
        return F.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """`functional.margin_ranking_loss` of pairs of scores, and 1 or -1 for each."""

    def forward(self, input1: Any, input2: Any, target: Any) -> Tensor:
        """The loss."""
        return F.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """`functional.hinge_embedding_loss` of distances, and 1 or -1 for each."""

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(margin, reduction=reduction)

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """`functional.soft_margin_loss` of scores, and 1 or -1 for each."""

    def forward(self, input: Any, target: Any) -> Tensor:
        """The loss."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """`functional.triplet_margin_loss` of anchors, things that should be near, and things that should not."""

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, *, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction=reduction)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Tensor:
        """The loss."""
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any ``distance_function`` of two tensors; by default `PairwiseDistance`.

    Raises `ArgumentError` unless ``margin`` is positive.
    """

    def __init__(
        self, *, distance_function: Callable[[Any, Any], Any] | None = None, margin: float = 1.0, swap: bool = False,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(reduction=reduction)
        if not margin > 0:
            raise no_margin(type(self).__name__, margin)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Any, positive: Any, negative: Any) -> Tensor:
        """The loss."""
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip
