"""Sums of exponentials."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.base import case, distinct, normal
from tests.ops.cases.reduce import DIMS

for _note, _dim in DIMS.items():
    for _keep in (False, True):
        _axes = tuple(range(3)) if _dim is None else _dim
        case(
            "logsumexp", f"{_note}{'-keep' * _keep}", distinct(2, 3, 2), dim=_axes, keepdim=_keep,
            torch=lambda torch, x, dim=_axes, keep=_keep: torch.logsumexp(x, dim, keep),
        )  # fmt: skip
case("logsumexp", "0-d", normal(), dim=None, torch=lambda torch, x: torch.logsumexp(x, 0))
case(
    "logsumexp", "some-minus-inf", lambda rng: np.where([[True, False, True]] * 2, rng.normal(size=(2, 3)), -np.inf),
    dim=1, torch=lambda torch, x: torch.logsumexp(x, 1), expands=False,
)  # fmt: skip
for _op in ("softmax", "log_softmax"):
    for _dim in (0, -1):
        case(_op, f"dim{_dim}", normal(3, 4), dim=_dim, torch=lambda torch, x, n=_op, d=_dim: getattr(torch, n)(x, d))
    case(_op, "0-d", normal(), dim=None, torch=lambda torch, x, n=_op: getattr(torch, n)(x, 0))
    case(_op, "empty", normal(0, 3), dim=0, torch=lambda torch, x, n=_op: getattr(torch, n)(x, 0))
