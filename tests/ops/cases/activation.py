"""Functions that bend; `relu` and `sigmoid` are among those of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ops.cases.base import away, case

BENDS: tuple[tuple[str, str, Callable[..., Any], dict[str, Any]], ...] = (
    ("leaky_relu", "plain", lambda F, x: F.leaky_relu(x), {}),
    ("leaky_relu", "rising", lambda F, x: F.leaky_relu(x, -1.5), {"negative_slope": -1.5}),
    ("elu", "plain", lambda F, x: F.elu(x), {}),
    ("elu", "alpha", lambda F, x: F.elu(x, 0.3), {"alpha": 0.3}),
    ("hardtanh", "plain", lambda F, x: F.hardtanh(x), {}),
    ("hardtanh", "limits", lambda F, x: F.hardtanh(x, 0.0, 6.0), {"low": 0.0, "high": 6.0}),
    ("silu", "plain", lambda F, x: F.silu(x), {}),
    ("softplus", "plain", lambda F, x: F.softplus(x), {}),
    ("softplus", "beta", lambda F, x: F.softplus(x, 3, 0.3), {"beta": 3, "threshold": 0.3}),
    ("gelu", "plain", lambda F, x: F.gelu(x), {}),
    ("gelu_tanh", "plain", lambda F, x: F.gelu(x, approximate="tanh"), {}),
)
for _op, _note, _torch, _params in BENDS:
    for _at, _shape in (("matrix", (3, 4)), ("0-d", ()), ("empty", (0, 3))):
        case(
            _op, f"{_note}-{_at}", away(*_shape),
            torch=lambda torch, x, call=_torch: call(torch.nn.functional, x), **_params,
        )  # fmt: skip
for _op in ("silu", "softplus", "gelu", "gelu_tanh"):
    case(_op, "around-0", lambda rng: rng.normal(size=(4,)) * 0.1)
