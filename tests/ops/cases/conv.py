"""Convolution and pooling."""

from __future__ import annotations

from tests.ops.cases.base import case, distinct, normal

IMAGES = {
    "plain": {"stride": (1, 1), "padding": (0, 0)},
    "padded": {"stride": (1, 1), "padding": (1, 1)},
    "stride": {"stride": (2, 1), "padding": (0, 1)},
    "leftover": {"stride": (3, 3), "padding": (0, 0)},  # the last columns are read by no window
}
for _note, _how in IMAGES.items():
    case("im2col", _note, normal(2, 2, 5, 4), kernel=(2, 3), **_how)
    case(
        "conv2d", _note, normal(2, 2, 5, 4), normal(3, 2, 2, 3), normal(3), **_how,
        torch=lambda torch, *xs, how=_how: torch.nn.functional.conv2d(*xs, **how), halves=2.0,
    )  # fmt: skip
    if _note != "padded":
        case(
            "max_pool2d", _note, distinct(2, 2, 5, 4), kernel=(2, 3), stride=_how["stride"], padding=_how["padding"],
            torch=lambda torch, x, how=_how: torch.nn.functional.max_pool2d(x, (2, 3), **how), expands=False,
        )  # fmt: skip
case(
    "conv2d", "no-bias", normal(1, 1, 3, 3), normal(1, 1, 2, 2),
    torch=lambda torch, *xs: torch.nn.functional.conv2d(*xs),
)  # fmt: skip
case("col2im", "overlap", normal(1, 2, 2, 2, 3, 2), shape=(1, 2, 4, 3), stride=(1, 1), padding=(0, 0))
case("col2im", "padded", normal(1, 1, 2, 2, 2, 2), shape=(1, 1, 2, 2), stride=(2, 2), padding=(1, 1))
