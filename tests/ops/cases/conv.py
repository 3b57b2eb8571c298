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
    "same": {**ONCE, "padding": "same", "dilation": (1, 2)},  # more padding below than above
}
for _note, _how in IMAGES.items():
    if _how["padding"] != "same":
        case("im2col", _note, normal(2, 2, 5, 4), kernel=(2, 3), **_how)
    case(
        "conv2d", _note, normal(2, 2, 5, 4), normal(3, 2, 2, 2 if _note == "same" else 3), normal(3), **_how,
        torch=functional("conv2d", **_how), halves=2.0,
    )  # fmt: skip
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
    "same": ((2, 2, 5), {"stride": (1,), "padding": "same", "dilation": (1,)}),
    "one": ((2, 5), {"stride": (1,), "padding": (1,), "dilation": (1,)}),
}
for _note, (_shape, _how) in SEQUENCES.items():
    case(
        "conv1d", _note, normal(*_shape), normal(3, 2, 2), normal(3), **_how,
        torch=functional("conv1d", **_how), halves=2.0,
    )  # fmt: skip

case("im2col", "size", normal(1, 2, 4, 3), kernel=(2, 2), stride=(2, 2), padding=(1, 0), size=(4, 2))
case("col2im", "overlap", normal(1, 2, 2, 2, 3, 2), shape=(1, 2, 4, 3), stride=(1, 1), padding=(0, 0))
case("col2im", "padded", normal(1, 1, 2, 2, 2, 2), shape=(1, 1, 2, 2), stride=(2, 2), padding=(1, 1))
case("col2im", "beyond", normal(1, 1, 2, 2, 3, 2), shape=(1, 1, 3, 5), stride=(2, 3), padding=(1, 0), dilation=(1, 2))
