"""Normalisation over the last axes."""

from __future__ import annotations

from typing import Any

from tests.ops.cases.base import case, normal


def functional(name: str, *more: Any, **rest: Any) -> Any:
    """The same in PyTorch: ``name(x, *more, weight, bias, **rest)``."""
    return lambda torch, x, *parameters: getattr(torch.nn.functional, name)(x, *more, *parameters, **rest)


for _note, _x, _shape in (("rows", (3, 5), (5,)), ("two", (2, 3, 2), (3, 2)), ("all", (4,), (4,))):
    case(
        "layer_norm", _note, normal(*_x), normal(*_shape), normal(*_shape), shape=_shape, eps=0.1,
        torch=functional("layer_norm", _shape, eps=0.1), halves=2.0,
    )  # fmt: skip
    case(
        "rms_norm", _note, normal(*_x), normal(*_shape), shape=_shape, eps=0.1,
        torch=functional("rms_norm", _shape, eps=0.1), halves=2.0,
    )  # fmt: skip
case("layer_norm", "plain", normal(3, 4), shape=(4,), torch=functional("layer_norm", (4,)), halves=3.0, expands=False)
case(
    "layer_norm", "no-bias", normal(3, 4), normal(4), shape=(4,), eps=0.1, torch=functional("layer_norm", (4,), eps=0.1)
)
case("rms_norm", "plain", normal(3, 4), shape=(4,), eps=0.1, torch=lambda torch, x: torch.rms_norm(x, (4,), eps=0.1))
