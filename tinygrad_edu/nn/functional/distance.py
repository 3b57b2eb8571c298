"""How far two vectors are apart, and losses that pull some pairs together and push others apart.

``reduction`` is "mean", "sum", or "none" for one loss per pair. A target that chooses between two cases
holds 1 and -1; other numbers, such as 0 and 1, would be silently wrong, and raise `ArgumentError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import backends
from ...core.slow import offered
from ...errors import ArgumentError, ShapeError
from ...inputs.arguments import as_tensor, extremes
from ...inputs.kinds import explain_all
from ...ops.activation import softplus
from ...ops.choice import minimum, where
from ...ops.reduce import norm
from ...ops.shapes import broadcast_tensors
from ...tensor import Tensor, wrap
from .loss import alike, of_one_shape, reduced


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between ``x1`` and ``x2`` along ``dim``; the other axes are broadcast.

    A vector shorter than ``eps`` counts as that long, so that zeros give 0. Raises `DtypeError` for integers.
    """
    x1, x2 = broadcast_tensors(*offered("cosine_similarity", (as_tensor(x1), as_tensor(x2))))
    units = [x / norm(x, 2.0, dim, True).clamp(min=eps) for x in (x1, x2)]
    return (units[0] * units[1]).sum(dim)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last axis: (N, D) and (N, D), or (D,), to (N,).

    ``eps`` keeps the slope finite where both are equal. Raises `ShapeError` if the sizes do not fit.
    """
    result: Tensor = norm(as_tensor(x1) - as_tensor(x2) + eps, p, -1, keepdim)
    return result


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """Pulls pairs (N, D) whose ``target`` (N,) is 1 together, and others, with -1, apart, by the cosine between them.

    The loss of a pair is 1 - cosine, or how far its cosine is above ``margin``. A single pair is (D,), with a target
    (). Raises `ShapeError` if the shapes do not fit.
    """
    x, y = alike("cosine_embedding_loss", input1, input2)
    target = as_tensor(target)
    if x.ndim not in (1, 2) or tuple(target.shape) != tuple(x.shape[:-1]):
        tried = f"cosine_embedding_loss({tuple(x.shape)}, {tuple(y.shape)}, target {tuple(target.shape)})"
        why = "it takes pairs of vectors (N, D) and one target for each (N,), or a single pair (D,) and ()"
        raise ShapeError(tried, why, "flatten to these shapes")
    _check_signs("cosine_embedding_loss", target)
    tiny = 1e-12
    cosine = (x * y).sum(-1) / (((x * x).sum(-1) + tiny) * ((y * y).sum(-1) + tiny)).sqrt()
    return reduced(where(target == 1, 1 - cosine, (cosine - margin).clamp(min=0)), reduction)


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """Makes ``input1`` larger than ``input2`` by ``margin`` where ``target`` is 1, and smaller where it is -1.

    All have one shape; the target may be one number for all. Raises `ShapeError` otherwise.
    """
    x, y = alike("margin_ranking_loss", input1, input2)
    target = as_tensor(target)
    if target.ndim:
        target = of_one_shape("margin_ranking_loss", target, x)
    _check_signs("margin_ranking_loss", target)
    return reduced((margin - target * (x - y)).clamp(min=0), reduction)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """The distances ``input`` themselves where ``target`` is 1, and how far they are below ``margin`` where it is -1.

    Raises `ShapeError` unless the shapes are equal.
    """
    x, target = alike("hinge_embedding_loss", input, target)
    _check_signs("hinge_embedding_loss", target)
    return reduced(where(target == 1, x, (margin - x).clamp(min=0)), reduction)


def soft_margin_loss(input: Any, target: Any, *, reduction: str = "mean") -> Tensor:
    """``log(1 + exp(-target * input))``: yes (1) or no (-1) from one score, in a form that does not overflow.

    Raises `ShapeError` unless the shapes are equal.
    """
    x, target = alike("soft_margin_loss", input, target)
    _check_signs("soft_margin_loss", target)
    return reduced(softplus(-target * x, threshold=math.inf), reduction)


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, *, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Makes each ``anchor`` (N, D) nearer to its ``positive`` than to its ``negative``, by ``margin``.

    Distances are those of `pairwise_distance`. With ``swap`` the negative's is the smaller of its distances to anchor
    and positive. Raises `ShapeError` unless the shapes are equal, `ArgumentError` unless ``margin`` is positive.
    """
    if not margin > 0:
        raise no_margin("triplet_margin_loss", margin)
    x, near = alike("triplet_margin_loss", anchor, positive)
    far = of_one_shape("triplet_margin_loss", negative, x)
    away = pairwise_distance(x, far, p, eps)
    if swap:
        away = minimum(away, pairwise_distance(near, far, p, eps))
    return reduced((margin + pairwise_distance(x, near, p, eps) - away).clamp(min=0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with any ``distance_function`` of two tensors; by default `pairwise_distance`.

    Raises `ShapeError` unless all three have the same number of axes, `ArgumentError` unless ``margin`` is positive.
    """
    if not margin > 0:
        raise no_margin("triplet_margin_with_distance_loss", margin)
    x, near, far = map(as_tensor, (anchor, positive, negative))
    if not x.ndim == near.ndim == far.ndim:
        tried = f"triplet_margin_with_distance_loss({tuple(x.shape)}, {tuple(near.shape)}, {tuple(far.shape)})"
        raise ShapeError(tried, "all three must have the same number of axes", "reshape them")
    distance = distance_function or pairwise_distance
    away = distance(x, far)
    if swap:
        away = minimum(away, distance(near, far))
    return reduced((margin + distance(x, near) - away).clamp(min=0), reduction)


def no_margin(name: str, margin: Any) -> ArgumentError:
    """The error for a margin that is not positive."""
    why = "without a margin, the loss is 0 when all distances are 0"
    return ArgumentError(f"{name}(margin={margin})", why, "use a number above 0")


def _check_signs(name: str, target: Tensor) -> None:
    array = target.array
    found = extremes(wrap(backends.of(array).xp.abs(array)))
    if found is not None and found != (1, 1):
        tried, why = f"{name}(target {tuple(target.shape)})", "the target has numbers other than 1 and -1"
        raise ArgumentError(tried, why, "turn 0 and 1 into them: target * 2 - 1")


explain_all(globals(), "no_margin")
