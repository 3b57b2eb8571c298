"""Running sums and products."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.base import case, normal

for _op in ("cumsum", "cumprod"):
    for _dim in (0, 1):
        case(_op, f"dim{_dim}", normal(3, 4), dim=_dim, torch=lambda torch, x, n=_op, d=_dim: getattr(torch, n)(x, d))
    case(_op, "empty", normal(0, 3), dim=0, torch=lambda torch, x, n=_op: getattr(torch, n)(x, 0))
case(
    "cumprod", "zeros", lambda rng: rng.normal(size=5) * np.array([1.0, 0.0, 1.0, 0.0, 1.0]), dim=0,
    torch=lambda torch, x: torch.cumprod(x, 0), expands=False,
)  # fmt: skip
