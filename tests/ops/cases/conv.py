"""Convolution of images and of sequences."""

from __future__ import annotations

import warnings
from typing import Any

from tests.ops.cases.base import case, normal


def functional(name: str, **how: Any) -> Any:
    """The same in PyTorch."""

    def call(torch: Any, *xs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns of the copy that "same" makes for a kernel of even length
            return getattr(torch.nn.functional, name)(*xs, **how)

    return call


ONCE = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
IMAGES: dict[str, dict[str, Any]] = {
    "plain": ONCE,
    "padded": {**ONCE, "padding": (1, 1)},
    "stride": {**ONCE, "stride": (2, 1), "padding": (0, 1)},
    "leftover": {**ONCE, "stride": (3, 3)},  # the last columns are read by no window
    "dilated": {**ONCE, "dilation": (2, 1), "padding": (1, 0)},
}
for _note, _how in IMAGES.items():
    case("im2col", _note, normal(2, 2, 5, 4), kernel=(2, 3), **_how)
    case(
        "conv2d", _note, normal(2, 2, 5, 4), normal(3, 2, 2, 3), normal(3), **_how,
        torch=functional("conv2d", **_how), halves=2.0,
    )  # fmt: skip
case(
    "conv2d", "same", normal(2, 2, 5, 4), normal(3, 2, 2, 2), normal(3), stride=(1, 1), padding=(0, 1), dilation=(1, 2),
    size=(5, 4), torch=functional("conv2d", padding="same", dilation=(1, 2)), halves=2.0,
)  # fmt: skip
for _note, _how in {**IMAGES, "groups": {**ONCE, "groups": 2}, "over": {**ONCE, "padding": (3, 2)}}.items():
    _how = {"groups": 1, **_how}
    _size = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip((5, 4), (2, 3), _how["stride"], _how["padding"], _how["dilation"], strict=True)
    )
    _kernels = (4, 2 // _how["groups"], 2, 3)
    case("conv_input", _note, normal(2, 4, *_size), normal(*_kernels), size=(5, 4), **_how)
    case("conv_kernel", _note, normal(2, 2, 5, 4), normal(2, 4, *_size), kernel=(2, 3), **_how)
for _note, _x, _weight, _groups in (
    ("groups", (2, 4, 3, 3), (6, 2, 2, 2), 2), ("depthwise", (2, 3, 3, 3), (3, 1, 2, 2), 3),
    ("two-each", (2, 2, 3, 3), (4, 1, 2, 2), 2), ("pointwise", (2, 3, 2, 2), (4, 3, 1, 1), 1),
    ("pointwise-groups", (2, 4, 2, 2), (4, 2, 1, 1), 2), ("one-image", (2, 4, 4), (3, 2, 2, 2), 1),
):  # fmt: skip
    case(
        "conv2d", _note, normal(*_x), normal(*_weight), normal(_weight[0]), groups=_groups, **ONCE,
        torch=functional("conv2d", groups=_groups), halves=2.0,
    )  # fmt: skip
case("conv2d", "no-bias", normal(1, 1, 3, 3), normal(1, 1, 2, 2), **ONCE, torch=functional("conv2d"))

SEQUENCES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 2, 5), {"stride": (1,), "padding": (0,), "dilation": (1,)}),
    "all": ((2, 2, 7), {"stride": (2,), "padding": (2,), "dilation": (2,)}),
    "one": ((2, 5), {"stride": (1,), "padding": (1,), "dilation": (1,)}),
}
for _note, (_shape, _how) in SEQUENCES.items():
    case(
        "conv1d", _note, normal(*_shape), normal(3, 2, 2), normal(3), **_how,
        torch=functional("conv1d", **_how), halves=2.0,
    )  # fmt: skip

case(
    "conv1d", "same", normal(2, 2, 5), normal(3, 2, 2), normal(3), stride=(1,), padding=(0,), dilation=(1,), size=(5,),
    torch=functional("conv1d", padding="same"), halves=2.0,
)  # fmt: skip

case("im2col", "size", normal(1, 2, 4, 3), kernel=(2, 2), stride=(2, 2), padding=(1, 0), size=(4, 2))
case("col2im", "overlap", normal(1, 2, 2, 2, 3, 2), shape=(1, 2, 4, 3), stride=(1, 1), padding=(0, 0))
case("col2im", "padded", normal(1, 1, 2, 2, 2, 2), shape=(1, 1, 2, 2), stride=(2, 2), padding=(1, 1))
case("col2im", "beyond", normal(1, 1, 2, 2, 3, 2), shape=(1, 1, 3, 5), stride=(2, 3), padding=(1, 0), dilation=(1, 2))

TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 2, 3, 2), (2, 3, 2, 3), {}),
    "padded": ((2, 2, 3, 2), (2, 1, 3, 3), {"padding": (2, 1)}),
    "stride": ((1, 2, 3, 2), (2, 2, 2, 3), {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}),
    "dilated": ((2, 1, 2, 3), (1, 2, 2, 2), {"dilation": (2, 3), "output_padding": (1, 2), "padding": (0, 1)}),
    "groups": ((2, 4, 2, 2), (4, 3, 2, 2), {"groups": 2, "stride": (2, 1)}),
    "depthwise": ((1, 3, 2, 2), (3, 1, 2, 2), {"groups": 3}),
    "one-image": ((2, 2, 3), (2, 1, 1, 1), {}),
}
for _note, (_shape, _weight, _how) in TRANSPOSED.items():
    _fan = _weight[1] * _how.get("groups", 1)
    case(
        "conv_transpose2d", _note, normal(*_shape), normal(*_weight), normal(_fan),
        **{"stride": (1, 1), "padding": (0, 0), "output_padding": (0, 0), "dilation": (1, 1), **_how},
        torch=functional("conv_transpose2d", **_how), halves=2.0,
    )  # fmt: skip
case(
    "conv_transpose2d", "no-bias", normal(1, 1, 2, 2), normal(1, 1, 2, 2),
    stride=(1, 1), padding=(0, 0), output_padding=(0, 0), dilation=(1, 1), torch=functional("conv_transpose2d"),
)  # fmt: skip
for _note, _shape, _how in (
    ("plain", (2, 2, 4), {"stride": (1,), "padding": (0,), "output_padding": (0,), "dilation": (1,)}),
    ("all", (2, 2, 3), {"stride": (3,), "padding": (1,), "output_padding": (2,), "dilation": (2,)}),
    ("one", (2, 3), {"stride": (2,), "padding": (0,), "output_padding": (1,), "dilation": (1,)}),
):
    case(
        "conv_transpose1d", _note, normal(*_shape), normal(2, 3, 2), normal(3), **_how,
        torch=functional("conv_transpose1d", **_how), halves=2.0,
    )  # fmt: skip
