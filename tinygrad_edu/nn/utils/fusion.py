"""A batch norm folded into the layer before it: in evaluation both are linear, so one layer does the work of two."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from ...errors import ArgumentError
from ...inputs.kinds import explain_all
from ...tensor import Tensor
from ..conv import _Conv
from ..linear import Linear
from ..module import Module
from ..parameter import Parameter

M = TypeVar("M", bound=Module)


def fuse_conv_bn_eval(conv: M, bn: Any, transpose: bool = False) -> M:
    """A new convolution that does what ``conv`` and then the batch norm ``bn`` do in evaluation.

    Both must be in evaluation mode, and ``bn`` must have running statistics: with ``transpose`` the convolution is a
    transposed one. Raises `ArgumentError` otherwise, and for layers that do not fit together.

    >>> import tinygrad_edu as tg
    >>> conv, bn = tg.nn.Conv2d(3, 4, 3).eval(), tg.nn.BatchNorm2d(4).eval()
    >>> x = tg.ones(1, 3, 8, 8)
    >>> fuse_conv_bn_eval(conv, bn)(x).allclose(bn(conv(x)), atol=1e-6)
    True
    """
    if not isinstance(conv, _Conv):
        why, mend = "it is no convolution", "give a Conv2d, say; fuse_linear_bn_eval takes a Linear"
        raise ArgumentError(f"fuse_conv_bn_eval of a {type(conv).__name__}", why, mend)
    if conv.transposed is not bool(transpose):
        kind = "a transposed" if conv.transposed else "an ordinary"
        why, mend = f"{type(conv).__name__} is {kind} convolution", f"write transpose={conv.transposed}"
        raise ArgumentError(f"fuse_conv_bn_eval with transpose={transpose}", why, mend)
    if conv.transposed and conv.groups > 1:
        why = "the weight of a transposed convolution lists the outputs of one group only"
        raise ArgumentError(f"fuse_conv_bn_eval with groups={conv.groups}", why, "keep the batch norm")
    return _fused("fuse_conv_bn_eval", conv, bn, conv.out_channels, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: M, bn: Any) -> M:
    """A new `Linear` that does what ``linear`` and then the batch norm ``bn`` do in evaluation, over ``(N, features)``.

    Conditions are those of `fuse_conv_bn_eval`.
    """
    if not isinstance(linear, Linear):
        why = "it is no Linear"
        raise ArgumentError(f"fuse_linear_bn_eval of a {type(linear).__name__}", why, "give a Linear")
    return _fused("fuse_linear_bn_eval", linear, bn, linear.out_features, fuse_linear_bn_weights)


def _fused(tried: str, layer: Any, bn: Any, outputs: int, weights: Any, *more: Any) -> Any:
    mean, variance = getattr(bn, "running_mean", None), getattr(bn, "running_var", None)
    if mean is None or variance is None:
        why = f"{type(bn).__name__} has no running statistics, so it depends on the batch in evaluation, too"
        raise ArgumentError(tried, why, "give a BatchNorm that tracks its statistics, after training")
    if layer.training or bn.training:
        why = "in training a batch norm depends on the batch, and no fixed layer does"
        raise ArgumentError(tried, why, "call model.eval() first")
    if len(mean) not in (outputs, 1):
        why = f"the layer gives {outputs} channels, and the batch norm takes {len(mean)}"
        raise ArgumentError(tried, why, "give two layers of which the second follows the first")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = weights(layer.weight, layer.bias, mean, variance, bn.eps, bn.weight, bn.bias, *more)
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and the bias of `fuse_conv_bn_eval`, from those of the convolution and of the batch norm.

    Each output channel is scaled by ``bn_w / sqrt(bn_rv + bn_eps)``, and so is what the bias differs from the mean.
    """
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and the bias of `fuse_linear_bn_eval`."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _folded(
    w: Tensor, b: Tensor | None, mean: Tensor, variance: Tensor, eps: float, scale: Tensor | None, shift: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:  # fmt: skip
    factor = (variance.detach() + eps).rsqrt()
    if scale is not None:
        factor = factor * scale.detach()
    bias = (-mean.detach() if b is None else b.detach() - mean.detach()) * factor
    if shift is not None:
        bias = bias + shift.detach()
    wanted = w.requires_grad, w.requires_grad if b is None else b.requires_grad
    weight = (w.detach() * factor.reshape(shape)).to(w.dtype)
    return Parameter(weight, wanted[0]), Parameter(bias.to(w.dtype if b is None else b.dtype), wanted[1])


explain_all(globals())
