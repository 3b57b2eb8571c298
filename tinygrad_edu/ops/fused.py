"""A product, the bias and an activation as one operation.

The product's own memory takes the sum and then the result, so nothing between them is written anywhere else. Of relu,
tanh and sigmoid the result tells the slope; gelu and silu have the same result at two places, so for their slopes the
sum is kept. Hence two classes for each operation: one saves ``out``, the other, ``…_of_sum``, what leads to the sum.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..backends.bends import pull_from_result, pull_from_sum, shifted
from ..backends.layout import broadcast_shape, how_many
from ..backends.strips import in_strips
from ..common.wording import shown
from ..core.base import TensorBase
from ..core.dispatch import caller
from ..core.inplace import inplace
from ..core.op import Op
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all, kind_of
from .activation import Relu, relu
from .arithmetic import Add, add
from .conv import Conv2d, as_result, conv1d_op, conv2d_op, convolve, gradients_of_conv, images_of_conv
from .linalg import Linear, gradients_of_linear, linear
from .unary import Tanh, tanh

# mypy: disable-error-code="override"

FROM_RESULT, FROM_SUM = ("relu", "tanh", "sigmoid"), ("gelu", "silu")
ACTIVATIONS = (*FROM_RESULT, *FROM_SUM, "identity")
BEND = 4  # operations for each element: what a sigmoid counts


class FastActivation(Op, name="fast_activation"):
    """The quickest form of sigmoid: from tanh, which is vector code. The result tells the slope."""

    dtypes = "floating"
    into = ("fast_activation",)
    saves = ("out", "activation")
    per_element = 4

    @staticmethod
    def forward(xp: Any, x: Any, *, activation: str) -> Any:
        return shifted(xp, x, None, activation)

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, out: Any, activation: str) -> Any:
        return pull_from_result(xp, g, out, activation)


class FastActivationOfInput(FastActivation, name="fast_activation_of_input"):
    """The quickest forms of gelu and silu, whose slopes need the input."""

    saves = ("x", "activation")
    per_element = 8

    @staticmethod
    @in_strips
    def backward(xp: Any, g: Any, needs: Any, x: Any, activation: str) -> Any:
        return pull_from_sum(xp, g, x, activation)


class BiasActivation(Op, name="bias_activation"):
    """``activation(x + bias)``, in one pass. The bias is stretched to the shape of x. The result tells the slope."""

    dtypes = "floating"
    broadcasts = True
    into = ("bias_activation",)
    saves: ClassVar[tuple[str, ...]] = ("out", "activation")
    per_element = 1 + BEND

    @staticmethod
    def forward(xp: Any, x: Any, bias: Any, *, activation: str) -> Any:
        out = shifted(xp, x, bias, activation)
        if out.shape != x.shape:
            raise ValueError("shape")
        return out

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, out: Any, activation: str) -> Any:
        g = _pulled(xp, g, out, activation)
        return g if needs[0] else None, g if needs[1] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str]:
        x, bias = shapes
        why = f"a bias {bias} cannot be stretched to the shape {x} of the input"
        return why, "give it one number for each feature, along the input's last axis"


class BiasActivationOfSum(BiasActivation, name="bias_activation_of_sum"):
    """The same for gelu and silu: the sum is not kept, because an addition is cheap to repeat."""

    saves = ("x", "bias", "activation")

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, bias: Any, activation: str) -> Any:
        g = _pulled_at(xp, g, x + bias, activation)
        return g if needs[0] else None, g if needs[1] else None


class DenseBiasActivation(Linear, name="fused_dense_bias_activation"):
    """``activation(x @ weight.T + bias)`` in the memory of the product. The result tells the slope."""

    saves = ("x if weight", "weight if x", "x.shape", "out", "activation")

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any, bias: Any = None, *, activation: str) -> Any:
        out = _product(xp, x, weight, bias)
        return shifted(xp, out, bias, activation, out)

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, shape: Any, out: Any, activation: str
    ) -> Any:  # fmt: skip
        return gradients_of_linear(xp, _pulled(xp, g, out, activation), needs, x, weight, shape)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return super().flops(shapes, out, params) + BEND * how_many(out)


class DenseBiasActivationOfSum(DenseBiasActivation, name="fused_dense_bias_activation_of_sum"):
    """The same for gelu and silu. The sum stays as it is, and the result goes elsewhere."""

    saves = ("x", "weight", "bias if not cache", "cache", "activation")
    caches = "recomputed"

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any, bias: Any = None, *, activation: str) -> Any:
        out = _product(xp, x, weight, bias)
        if bias is not None:
            out += bias
        return shifted(xp, out, None, activation), out

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, bias: Any, total: Any, activation: str
    ) -> Any:  # fmt: skip
        if total is None:
            total = _product(xp, x, weight, bias)
            if bias is not None:
                total = total + bias
        return gradients_of_linear(xp, _pulled_at(xp, g, total, activation), needs, x, weight, x.shape)


class ConvBiasActivation(Conv2d, name="fused_conv_bias_activation"):
    """``activation(conv2d(x, weight) + bias)``, or of `conv1d`, in the memory of the convolution. The result tells the
    slope."""

    saves = (*Conv2d.saves, "out", "activation")

    @staticmethod
    def forward(
        xp: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any, groups: int = 1,
        size: Any = None, activation: str,
    ) -> Any:  # fmt: skip
        out, bias = images_of_conv(xp, x, weight, bias, stride, padding, dilation, groups, size)
        return as_result(xp, shifted(xp, out, bias, activation, out), x, weight)

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, xs: Any, ws: Any, stride: Any, padding: Any, dilation: Any,
        groups: int, out: Any, activation: str,
    ) -> Any:  # fmt: skip
        g = _pulled(xp, g, out, activation)
        return gradients_of_conv(xp, g, needs, x, weight, xs, ws, stride, padding, dilation, groups)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return super().flops(shapes, out, params) + BEND * how_many(out)


class ConvBiasActivationOfSum(ConvBiasActivation, name="fused_conv_bias_activation_of_sum"):
    """The same for gelu and silu. The sum stays as it is, and the result goes elsewhere."""

    saves = (
        "x", "weight", "bias if not cache", "cache", "stride", "padding", "dilation", "groups", "size", "activation"
    )  # fmt: skip
    caches = "recomputed"

    @staticmethod
    def forward(
        xp: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any, groups: int = 1,
        size: Any = None, activation: str,
    ) -> Any:  # fmt: skip
        out, bias = images_of_conv(xp, x, weight, bias, stride, padding, dilation, groups, size)
        if bias is not None:
            out += bias
        return as_result(xp, shifted(xp, out, None, activation), x, weight), out

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, x: Any, weight: Any, bias: Any, total: Any, stride: Any, padding: Any,
        dilation: Any, groups: int, size: Any, activation: str,
    ) -> Any:  # fmt: skip
        if total is None:
            total, bias = images_of_conv(xp, x, weight, bias, stride, padding, dilation, groups, size)
            if bias is not None:
                total = total + bias
        pulled = _pulled_at(xp, xp.reshape(g, total.shape), total, activation)
        g = xp.reshape(pulled, g.shape)
        return gradients_of_conv(xp, g, needs, x, weight, x.shape, weight.shape, stride, padding, dilation, groups)


def _product(xp: Any, x: Any, weight: Any, bias: Any) -> Any:
    """``x @ weight.T``, if a bias of this shape can be added to it."""
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError("shape")
    out = xp.matmul(x, xp.permute(weight, (1, 0)))
    return out if out.ndim < 4 else xp.contiguous(out)


@in_strips
def _pulled(xp: Any, g: Any, out: Any, activation: str) -> Any:
    return pull_from_result(xp, g, out, activation)


@in_strips
def _pulled_at(xp: Any, g: Any, total: Any, activation: str) -> Any:
    return pull_from_sum(xp, g, total, activation)


fast_activation_op, fast_activation_of_input = caller(FastActivation), caller(FastActivationOfInput)
bias_activation_op, bias_activation_of_sum = caller(BiasActivation), caller(BiasActivationOfSum)
fused_dense_bias_activation_op = caller(DenseBiasActivation)
fused_dense_bias_activation_of_sum = caller(DenseBiasActivationOfSum)
fused_conv_bias_activation_op = caller(ConvBiasActivation)
fused_conv_bias_activation_of_sum = caller(ConvBiasActivationOfSum)


def _check(name: str, activation: Any) -> None:
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        tried, why = f"{name} with activation={shown(activation)}", "there is no such activation"
        raise ArgumentError(tried, why, f"use one of {', '.join(map(repr, ACTIVATIONS))}")


def fused_dense_bias_activation(input: Any, weight: Any, bias: Any, activation: str) -> Any:
    """``activation(input @ weight.T + bias)`` as one operation: (…, I) by ``weight`` (O, I) to (…, O).

    ``bias`` has shape (O,), or is None. The activations are "relu", "tanh", "sigmoid", "gelu", "silu" and "identity".
    The result is made in the memory of the product, but for gelu and silu, whose slopes need the sum.
    Raises `ShapeError` where the shapes do not fit, `ArgumentError` for another activation.

    >>> import tinygrad_edu as tg
    >>> F = tg.nn.functional
    >>> F.fused_dense_bias_activation(tg.ones(1, 2), tg.tensor([[1.0, 2.0], [1.0, -4.0]]), tg.ones(2), "relu")
    tensor([[4., 0.]])
    """
    _check("fused_dense_bias_activation", activation)
    given = (as_tensor(input), as_tensor(weight), None if bias is None else as_tensor(bias))
    if activation == "identity":
        return linear(*given)
    if activation in FROM_RESULT:
        return fused_dense_bias_activation_op(*given, activation=activation)
    return fused_dense_bias_activation_of_sum(*given, activation=activation)


def fused_conv_bias_activation(
    input: Any, weight: Any, bias: Any, activation: str, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    """``activation(conv(input, weight) + bias)`` as one operation, for images or, by a weight of three axes, sequences.

    The other arguments and errors are those of `conv2d` and `conv1d`, the activations and what is kept those of
    `fused_dense_bias_activation`.

    >>> import tinygrad_edu as tg
    >>> image = tg.arange(4.0).reshape(1, 1, 2, 2)
    >>> F = tg.nn.functional
    >>> F.fused_conv_bias_activation(image, tg.ones(1, 1, 1, 1), tg.tensor([-1.5]), "relu").tolist()
    [[[[0.0, 0.0], [0.5, 1.5]]]]
    """
    _check("fused_conv_bias_activation", activation)
    given = (as_tensor(input), as_tensor(weight), None if bias is None else as_tensor(bias))
    axes = 1 if given[1].ndim == 3 else 2
    how = (stride, padding, dilation, groups)
    if activation == "identity":
        return convolve(conv1d_op if axes == 1 else conv2d_op, axes, *given, *how)
    op = fused_conv_bias_activation_op if activation in FROM_RESULT else fused_conv_bias_activation_of_sum
    return convolve(op, axes, *given, *how, activation=activation)


def bias_activation(input: Any, bias: Any, activation: str) -> Any:
    """``activation(input + bias)`` in one pass over memory. The bias is stretched to the shape of the input.

    For the channels of images, give it as (C, 1, 1). The activations are those of `fused_dense_bias_activation`.
    Raises `ShapeError` where the bias cannot be stretched, `ArgumentError` for another activation, `DtypeError` for
    integers.

    >>> import tinygrad_edu as tg
    >>> tg.nn.functional.bias_activation(tg.tensor([[-1.0, 2.0]]), tg.tensor([0.5, 0.5]), "relu")
    tensor([[0.0000, 2.5000]])
    """
    _check("bias_activation", activation)
    x, bias = as_tensor(input), as_tensor(bias)
    if activation == "identity":
        if broadcast_shape([tuple(x.shape), tuple(bias.shape)]) != tuple(x.shape):
            tried = f"bias_activation({tuple(x.shape)}, {tuple(bias.shape)})"
            raise ShapeError(tried, *BiasActivation.hint([tuple(x.shape), tuple(bias.shape)], {}))
        return add(x, bias)
    op = bias_activation_op if activation in FROM_RESULT else bias_activation_of_sum
    return op(x, bias, activation=activation)


def bias_activation_(input: Any, bias: Any, activation: str) -> Any:
    """`bias_activation` in place: the result overwrites the input, which is returned.

    Raises as that, and `InplaceError` for a leaf that requires grad.
    """
    _check("bias_activation_", activation)
    _check_target("bias_activation_", input)
    bias = as_tensor(bias)
    if activation == "identity":
        return inplace(Add, input, (bias,), {}, "bias_activation_")
    op = BiasActivation if activation in FROM_RESULT else BiasActivationOfSum
    return inplace(op, input, (bias,), {"activation": activation}, "bias_activation_")


def fast_activation(input: Any, activation: str) -> Any:
    """The activation of each element, in the form that is quickest here.

    "relu", "tanh" and "identity" are computed as ever. "sigmoid" is made from tanh and differs by less than 1e-7 in
    float32, "silu" by less than 2e-7 times the input, and "gelu", with tanh in place of erf, by less than 0.0005. Far
    to the left the sigmoid is exactly 0. Raises `ArgumentError` for another activation, `DtypeError` for integers.

    >>> import tinygrad_edu as tg
    >>> tg.nn.functional.fast_activation(tg.tensor([-1.0, 0.0, 1.0]), "sigmoid")
    tensor([0.2689, 0.5000, 0.7311])
    """
    _check("fast_activation", activation)
    x = as_tensor(input)
    if activation in PLAIN:
        return PLAIN[activation][1](x)
    op = fast_activation_op if activation in FROM_RESULT else fast_activation_of_input
    return op(x, activation=f"fast_{activation}")


def fast_activation_(input: Any, activation: str) -> Any:
    """`fast_activation` in place: the result overwrites the input, which is returned.

    Raises as that, and `InplaceError` for a leaf that requires grad.
    """
    _check("fast_activation_", activation)
    _check_target("fast_activation_", input)
    if activation == "identity":
        return input
    if activation in PLAIN:
        return inplace(PLAIN[activation][0], input, (), {}, "fast_activation_")
    op = FastActivation if activation in FROM_RESULT else FastActivationOfInput
    return inplace(op, input, (), {"activation": f"fast_{activation}"}, "fast_activation_")


PLAIN: dict[str, tuple[Any, Any]] = {"relu": (Relu, relu), "tanh": (Tanh, tanh), "identity": (None, lambda x: x)}


def _check_target(name: str, input: Any) -> None:
    if not isinstance(input, TensorBase):
        why = f"input takes a tensor, but this is {kind_of(input)}"
        raise DtypeError(f"{name} with input={shown(input)}", why, "it writes to a tensor: make it one first")


explain_all(globals())
