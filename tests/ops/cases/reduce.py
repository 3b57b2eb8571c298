"""Reductions and softmax."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.base import bools, case, distinct, normal

DIMS = {"all": None, "first": 0, "last": -1, "two": (0, 2)}
for _op in ("sum", "mean", "logsumexp", "amax", "amin"):
    for _note, _dim in DIMS.items():
        for _keep in (False, True):
            _axes = tuple(range(3)) if _dim is None else _dim
            case(
                _op, f"{_note}{'-keep' * _keep}", distinct(2, 3, 2),
                dim=_axes if _op == "logsumexp" else _dim, keepdim=_keep,
                torch=lambda torch, x, name=_op, dim=_axes, keep=_keep: getattr(torch, name)(x, dim=dim, keepdim=keep),
                expands=_op not in ("amax", "amin"),
            )  # fmt: skip
for _op in ("sum", "mean", "amax", "logsumexp"):
    case(_op, "0-d", normal(), dim=() if _op == "logsumexp" else None)
case("sum", "empty", normal(0, 3), dim=0, torch=lambda torch, x: torch.sum(x, 0))
case("mean", "empty-rest", normal(2, 0), dim=0, torch=lambda torch, x: torch.mean(x, 0))
case("argmax", "all", distinct(3, 4), torch=lambda torch, x: torch.argmax(x), dim=None)
case("argmax", "keep", distinct(3, 4), torch=lambda torch, x: torch.argmax(x, 1, keepdim=True), dim=1, keepdim=True)
for _op in ("softmax", "log_softmax"):
    for _dim in (0, -1):
        case(_op, f"dim{_dim}", normal(3, 4), dim=_dim, torch=lambda torch, x, n=_op, d=_dim: getattr(torch, n)(x, d))

for _dim in (0, 1):
    for _keep in (False, True):
        case(
            "prod", f"dim{_dim}{'-keep' * _keep}", normal(3, 4), dim=_dim, keepdim=_keep,
            torch=lambda torch, x, d=_dim, k=_keep: torch.prod(x, d, k),
        )  # fmt: skip
case(
    "prod", "zeros", lambda rng: rng.normal(size=(2, 3)) * np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), dim=1,
    torch=lambda torch, x: torch.prod(x, 1), expands=False,
)  # fmt: skip
case("argmin", "keep", distinct(3, 4), torch=lambda torch, x: torch.argmin(x, 1, keepdim=True), dim=1, keepdim=True)
for _op in ("any", "all"):
    case(_op, "all", bools(3, 4), torch=lambda torch, x, n=_op: getattr(torch, n)(x))
    case(_op, "dim", bools(3, 4), dim=1, torch=lambda torch, x, n=_op: getattr(torch, n)(x, 1))
