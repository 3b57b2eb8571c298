"""The stateless forms of layers and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import backends
from ...backends import room
from ...common import late as _late
from ...common.wording import shown
from ...errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ...inputs.arguments import as_tensor, extremes, whole
from ...inputs.kinds import explain_all, kind_of
from ...ops.activation import elu, gelu, hardtanh, leaky_relu, sigmoid, silu, softplus
from ...ops.activation import relu as _relu
from ...ops.attention import embedding
from ...ops.channels import batch_norm, check_running, group_norm
from ...ops.conv import conv1d, conv2d
from ...ops.conv_transpose import conv_transpose1d, conv_transpose2d
from ...ops.fused import (
    bias_activation,
    bias_activation_,
    fast_activation,
    fast_activation_,
    fused_conv_bias_activation,
    fused_dense_bias_activation,
)
from ...ops.linalg import einsum, linear
from ...ops.normalise import layer_norm, rms_norm
from ...ops.pad import pad
from ...ops.pool import adaptive_avg_pool2d, avg_pool1d, avg_pool2d, max_pool1d, max_pool2d
from ...ops.reduce import norm
from ...ops.unary import tanh
from ...settings import no_grad
from ...tensor import Tensor, wrap
from ...tensor.creation import arange
from .activation import (
    celu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu6,
    selu,
    softmax,
    softmin,
    softshrink,
    softsign,
    tanhshrink,
    threshold,
)
from .attention import scaled_dot_product_attention
from .bags import embedding_bag
from .ctc import ctc_loss
from .distance import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    pairwise_distance,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .dropping import dropout, dropout1d, dropout2d, dropout3d
from .images import fold, pixel_shuffle, pixel_unshuffle, unfold
from .loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from .margin import multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss
from .pooling import (
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool3d,
    max_pool3d,
)
from .resize import interpolate
from .volumes import conv3d, conv_transpose3d

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "bias_activation",
    "bias_activation_", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "fast_activation", "fast_activation_", "fold", "fused_conv_bias_activation",
    "fused_dense_bias_activation", "gaussian_nll_loss", "gelu", "glu", "group_norm", "gumbel_softmax", "hardshrink",
    "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate",
    "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "local_response_norm", "log_softmax", "logsigmoid",
    "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "mish", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "relu_",
    "rms_norm", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
    "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
]  # fmt: skip


def relu(input: Any, inplace: bool = False) -> Tensor:
    """``max(x, 0)``. With ``inplace`` the result overwrites the input. Raises `DtypeError` for bools."""
    result: Tensor = input.relu_() if inplace else _relu(input)
    return result


def relu_(input: Any) -> Tensor:
    """`relu` in place: the result overwrites the input, which is returned."""
    if not isinstance(input, Tensor):
        why = f"input takes a tensor, but this is {kind_of(input)}"
        raise DtypeError(f"relu_ with input={shown(input)}", why, "it writes to a tensor: make it one first")
    return relu(input, inplace=True)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Tensor:
    """``x1 @ weight[o] @ x2 + bias[o]`` for each output o: (…, I) and (…, J), by ``weight`` (O, I, J), to (…, O).

    Raises `ShapeError` if the shapes do not fit.
    """
    x1, x2, weight = as_tensor(input1), as_tensor(input2), as_tensor(weight)
    sizes = (x1.shape[-1:], x2.shape[-1:])
    if weight.ndim != 3 or sizes != (weight.shape[1:2], weight.shape[2:]) or x1.shape[:-1] != x2.shape[:-1]:
        tried = f"bilinear({tuple(x1.shape)}, {tuple(x2.shape)}, weight {tuple(weight.shape)})"
        why = "it takes (…, I) and (…, J), equal but for the last axis, and a weight (O, I, J)"
        raise ShapeError(tried, why, "make the layer for these features: Bilinear(I, J, O)")
    result: Tensor = einsum("...i,oij,...j->...o", x1, weight, x2)
    return result if bias is None else result + bias


# Classes and vectors --------------------------------------------------------------------------------------------------


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """For each class index in ``tensor`` (…) a row of zeros with a 1 in its place: (…, classes), as int64.

    By default ``num_classes`` is the largest index plus 1. Raises `DtypeError` for anything but int64,
    `IndexRangeError` for an index outside the classes, `ShapeError` if there are no values to count classes from,
    as during tracing.
    """
    x = as_tensor(tensor)
    tried = f"one_hot({tuple(x.shape)} {x.dtype}, {num_classes})"
    if x.dtype != np.int64:
        raise DtypeError(tried, "class indices are int64", "convert them: x.long()")
    if num_classes < 1 and not (x.numel() and backends.of(x.array).readable):
        raise ShapeError(tried, "there are no values to count the classes from", "pass num_classes")
    low, high = extremes(x) or (0, -1)
    if num_classes < 0:
        num_classes = high + 1
    if low < 0 or high >= num_classes:
        why = f"the indices run from {low} to {high}, but there are {num_classes} classes, counted from 0"
        raise IndexRangeError(tried, why, "count the classes from 0, or pass a larger num_classes")
    room.check(tried, (*x.shape, num_classes), 8)
    return (x.contiguous().unsqueeze(-1) == arange(num_classes, device=x.device)).long()


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A draw from the classes along ``dim`` with gradients: `softmax` of ``logits`` plus noise, divided by ``tau``.

    The smaller ``tau``, the nearer one class is to 1. With ``hard`` the result is one-hot, and the gradient that of
    the soft one. ``eps`` has no effect, as in PyTorch. Raises `ArgumentError` unless ``tau`` is positive.
    """
    x = as_tensor(logits)
    if not tau > 0:
        why = "scores are divided by this temperature"
        raise ArgumentError(f"gumbel_softmax with tau={tau!r}", why, "use a number above 0; 1 is usual")
    noise = -wrap(x.array).new_empty(x.shape).exponential_().log()
    soft: Tensor = softmax((x + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.detach().argmax(dim, True)
    return soft - soft.detach() + soft.new_zeros(soft.shape).scatter(dim, chosen, 1.0)


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """``x`` divided by its ``p``-norm along ``dim``, or by ``eps`` if the norm is smaller."""
    x = as_tensor(input)
    result: Tensor = x / norm(x, p, dim, True).clamp(min=eps)
    return result


# Images and sequences -------------------------------------------------------------------------------------------------


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d` for sequences: (N, C, L) or (C, L) to ``output_size`` places."""
    x = as_tensor(input)
    size = output_size[0] if isinstance(output_size, (tuple, list)) and len(output_size) == 1 else output_size
    if x.ndim not in (2, 3) or isinstance(size, (tuple, list)):
        tried = f"adaptive_avg_pool1d of a tensor {tuple(x.shape)} to {output_size!r}"
        raise ShapeError(tried, "it takes (N, C, L) or (C, L), and one size", "add the missing axes")
    result: Tensor = adaptive_avg_pool2d(x.unsqueeze(-2), (1, size)).squeeze(-2)
    return result


def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 for each channel of each element of a batch (N, C, L) or (N, C, H, W).

    Then each channel times its ``weight``, plus its ``bias``. Running statistics, if given, move towards the batch's
    means of both; without ``use_input_stats`` they are used to normalise. Raises `ShapeError` if a channel has
    only one place, or a parameter does not have one element per channel.
    """
    x = as_tensor(input)
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    tried = f"instance_norm of a tensor {tuple(x.shape)}"
    if x.ndim < 3:
        raise ShapeError(tried, "it takes (N, C, L) or (N, C, H, W)", "add the missing axes: x.unsqueeze(0)")
    flat = x.detach().flatten(2)
    if flat.shape[2] == 1:
        why = "each channel has a single place, which is its own mean: the result would be 0 for any input"
        raise ShapeError(tried, why, "use batch_norm, or normalise before the images are this small")
    check_running("instance_norm", x, running_mean, running_var)
    out: Tensor = group_norm(x.contiguous(), x.shape[1], weight, bias, eps).to(x.dtype)
    if not x.numel():  # an empty batch has no mean: the running ones stay as they are
        return out
    with no_grad():
        if running_mean is not None:
            running_mean.lerp_(flat.mean((0, 2)).to(running_mean.dtype), momentum)
        if running_var is not None:
            running_var.lerp_(flat.var(2).mean(0).to(running_var.dtype), momentum)
    return out


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each element of (N, C, …) divided by ``(k + alpha * mean) ** beta``, from neighbouring channels.

    The mean is over the squares in ``size`` channels, with the element's own in the middle; beyond the last channel
    there are zeros. Raises `ShapeError` for fewer than three axes, `ArgumentError` for a ``size`` below 1.
    """
    x = as_tensor(input)
    tried = f"local_response_norm of a tensor {tuple(x.shape)}, size={size!r}"
    if x.ndim < 3:
        raise ShapeError(tried, "it takes (N, C, …), with at least one axis of places", "add the missing axes")
    if whole("local_response_norm", "size", size) < 1:
        raise ArgumentError(tried, "it is a number of channels", "use size=1 or more")
    if not x.numel():
        return x
    squares = pad((x * x).flatten(2).unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
    means = avg_pool2d(squares, (size, 1), 1).reshape(x.shape)
    result: Tensor = x / (means * alpha + k) ** beta
    return result


explain_all(globals(), "relu", "relu_")


if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    __getattr__ = _late.getattr_of(__name__)
