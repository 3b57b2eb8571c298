"""Pooling of images and of sequences."""

from __future__ import annotations

from typing import Any

from tests.ops.cases.base import case, distinct, normal

WINDOWS: dict[str, dict[str, Any]] = {
    "plain": {"kernel": (2, 3), "stride": (1, 1), "padding": (0, 0)},
    "apart": {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0)},
    "single": {"kernel": (1, 1), "stride": (2, 1), "padding": (0, 0)},
    "stride": {"kernel": (2, 3), "stride": (2, 1), "padding": (0, 1)},
    "leftover": {"kernel": (2, 3), "stride": (3, 3), "padding": (0, 0)},
    "ceil": {"kernel": (2, 2), "stride": (2, 3), "padding": (1, 0), "ceil_mode": True},
}


def maximum(name: str, how: dict[str, Any]) -> Any:
    """The same in PyTorch."""
    kernel, *rest = (how[key] for key in ("kernel", "stride", "padding"))
    more = {"dilation": how["dilation"], "ceil_mode": how.get("ceil_mode", False)}
    if name == "argmax_pool":
        return lambda torch, x: torch.nn.functional.max_pool2d(x, kernel, *rest, **more, return_indices=True)[1]
    return lambda torch, x: getattr(torch.nn.functional, name)(x, kernel, *rest, **more)


def average(name: str, how: dict[str, Any]) -> Any:
    """The same in PyTorch."""
    more = {key: value for key, value in how.items() if key != "kernel"}
    return lambda torch, x: getattr(torch.nn.functional, name)(x, how["kernel"], **more)


for _note, _how in WINDOWS.items():
    _max = {**_how, "dilation": (1, 1)}
    case("max_pool2d", _note, distinct(2, 2, 5, 4), **_max, torch=maximum("max_pool2d", _max), expands=False)
    case("argmax_pool", _note, distinct(2, 2, 5, 4), **_max, torch=maximum("argmax_pool", _max))
    case("avg_pool2d", _note, normal(2, 2, 5, 4), **_how, torch=average("avg_pool2d", _how))
_max = {"kernel": (2, 2), "stride": (1, 2), "padding": (1, 1), "dilation": (2, 1)}
case("max_pool2d", "dilated", distinct(2, 5, 4), **_max, torch=maximum("max_pool2d", _max), expands=False)
case("argmax_pool", "dilated", distinct(2, 5, 4), **_max, torch=maximum("argmax_pool", _max))
for _note, _shape in (("batch", (2, 2, 7)), ("one", (2, 7))):
    _max = {"kernel": (3,), "stride": (2,), "padding": (1,), "dilation": (1,), "ceil_mode": True}
    case("max_pool1d", _note, distinct(*_shape), **_max, torch=maximum("max_pool1d", _max), expands=False)
    _how = {"kernel": (3,), "stride": (2,), "padding": (1,), "ceil_mode": True, "count_include_pad": False}
    case("avg_pool1d", _note, normal(*_shape), **_how, torch=average("avg_pool1d", _how))
_how = {"kernel": (3, 2), "stride": (2, 2), "padding": (1, 1), "count_include_pad": False}
case("avg_pool2d", "without-padding", normal(2, 5, 4), **_how, torch=average("avg_pool2d", _how))
_how = {"kernel": (3, 2), "stride": (2, 2), "padding": (1, 1), "divisor_override": 5}
case("avg_pool2d", "divisor", normal(2, 5, 4), **_how, torch=average("avg_pool2d", _how))
for _size in ((1, 1), (2, 2), (3, 4), (5, 3), (8, 8), (4, 12)):
    case(
        "adaptive_avg_pool2d", "x".join(map(str, _size)), normal(2, 4, 6), size=_size,
        torch=lambda torch, x, size=_size: torch.nn.functional.adaptive_avg_pool2d(x, size),
    )  # fmt: skip
