"""Products, biases and activations as one operation, and activations in their quickest form.

PyTorch computes the same by several operations.
"""

from __future__ import annotations

from typing import Any

from tests.ops.cases.base import Make, away, case, normal

FROM_RESULT, FROM_SUM = ("relu", "tanh", "sigmoid"), ("gelu", "silu")
ONCE = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}


def bent(torch: Any, x: Any, activation: str) -> Any:
    """The activation in PyTorch."""
    functions = torch.nn.functional
    if activation == "fast_gelu":
        return functions.gelu(x, approximate="tanh")
    return getattr(functions, activation.removeprefix("fast_"))(x)


def conv(torch: Any, axes: int, *xs: Any, **how: Any) -> Any:
    """A convolution in PyTorch."""
    return getattr(torch.nn.functional, f"conv{axes}d")(*xs, **how)


def beyond(low: float, *shape: int) -> Make:
    """Numbers from ``low`` on: so large a bias that no sum is near the corner of relu."""
    return lambda rng: rng.uniform(low, low + 2, shape) * rng.choice([-1.0, 1.0], shape)


for _activation in ("fast_sigmoid", "fast_silu", "fast_gelu"):
    _name = "fast_activation" if _activation == "fast_sigmoid" else "fast_activation_of_input"
    for _note, _shape in {"matrix": (3, 4), "0-d": (), "empty": (0, 3)}.items():
        case(
            _name, f"{_activation}-{_note}", away(*_shape), activation=_activation,
            torch=lambda torch, x, a=_activation: bent(torch, x, a),
        )  # fmt: skip

for _activation in (*FROM_RESULT, *FROM_SUM):
    _last = "" if _activation in FROM_RESULT else "_of_sum"
    _low = 8.0 if _activation == "relu" else 0.1
    for _note, (_x, _bias) in {
        "row": ((3, 4), (4,)), "channels": ((2, 3, 2, 2), (3, 1, 1)), "same": ((3, 2), (3, 2)), "empty": ((0, 3), (3,)),
        "0-d": ((), ()),
    }.items():  # fmt: skip
        case(
            f"bias_activation{_last}", f"{_activation}-{_note}", normal(*_x), beyond(_low, *_bias),
            activation=_activation, torch=lambda torch, x, b, a=_activation: bent(torch, x + b, a),
        )  # fmt: skip
    for _note, _x in {"rows": (4, 3), "vector": (3,), "batch": (2, 2, 3), "empty": (0, 3)}.items():
        case(
            f"fused_dense_bias_activation{_last}", f"{_activation}-{_note}", normal(*_x), normal(2, 3),
            beyond(_low, 2), activation=_activation,
            torch=lambda torch, x, w, b, a=_activation: bent(torch, torch.nn.functional.linear(x, w, b), a),
        )  # fmt: skip
    for _note, _how in {
        "plain": ONCE, "padded": {**ONCE, "padding": (1, 1), "stride": (2, 1)}, "groups": {**ONCE, "groups": 2},
    }.items():  # fmt: skip
        case(
            f"fused_conv_bias_activation{_last}", f"{_activation}-{_note}", normal(2, 2, 4, 3),
            normal(4, 2 // _how.get("groups", 1), 2, 2), beyond(3 * _low, 4), **_how, activation=_activation,
            torch=lambda torch, x, w, b, a=_activation, h=_how: bent(torch, conv(torch, 2, x, w, b, **h), a),
            halves=2.0,
        )  # fmt: skip
    case(
        f"fused_conv_bias_activation{_last}", f"sequence-{_activation}", normal(2, 2, 5), normal(3, 2, 2),
        beyond(3 * _low, 3), stride=(1,), padding=(1,), dilation=(2,), activation=_activation,
        torch=lambda torch, x, w, b, a=_activation: bent(torch, conv(torch, 1, x, w, b, padding=1, dilation=2), a),
        halves=2.0,
    )  # fmt: skip
for _last, _activation in (("", "tanh"), ("_of_sum", "gelu")):
    case(
        f"fused_dense_bias_activation{_last}", "no-bias", normal(4, 3), normal(2, 3), activation=_activation,
        torch=lambda torch, x, w, a=_activation: bent(torch, torch.nn.functional.linear(x, w), a),
    )  # fmt: skip
    case(
        f"fused_conv_bias_activation{_last}", "no-bias", normal(1, 1, 3, 3), normal(1, 1, 2, 2), **ONCE,
        activation=_activation,
        torch=lambda torch, x, w, a=_activation: bent(torch, conv(torch, 2, x, w), a),
    )  # fmt: skip
