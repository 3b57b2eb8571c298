"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.cases.base import Make, away, bools, case, distinct, normal

DIMS = {"all": None, "first": 0, "last": -1, "two": (0, 2)}
for _op in ("sum", "mean", "amax", "amin"):
    for _note, _dim in DIMS.items():
        for _keep in (False, True):
            _axes = tuple(range(3)) if _dim is None else _dim
            case(
                _op, f"{_note}{'-keep' * _keep}", distinct(2, 3, 2), dim=_dim, keepdim=_keep,
                torch=lambda torch, x, name=_op, dim=_axes, keep=_keep: getattr(torch, name)(x, dim=dim, keepdim=keep),
                expands=_op not in ("amax", "amin"),
            )  # fmt: skip
for _op in ("sum", "mean", "amax", "prod"):
    case(_op, "0-d", normal(), dim=None)
case("sum", "empty", normal(0, 3), dim=0, torch=lambda torch, x: torch.sum(x, 0))
case("mean", "empty-rest", normal(2, 0), dim=0, torch=lambda torch, x: torch.mean(x, 0))


def with_zeros(*shape: int, at: Any) -> Make:
    """Numbers of either sign, and zeros at the flat positions ``at``."""
    return lambda rng: np.where(np.isin(np.arange(np.prod(shape)), at).reshape(shape), 0.0, rng.normal(size=shape))


for _dim in (0, 1):
    for _keep in (False, True):
        case(
            "prod", f"dim{_dim}{'-keep' * _keep}", normal(3, 4), dim=_dim, keepdim=_keep,
            torch=lambda torch, x, d=_dim, k=_keep: torch.prod(x, d, k),
        )  # fmt: skip
case("prod", "all", normal(2, 3), torch=lambda torch, x: torch.prod(x))
case(
    "prod", "two-keep", normal(2, 3, 2), dim=(0, 2), keepdim=True,
    torch=lambda torch, x: torch.prod(torch.prod(x, 2, True), 0, True),
)  # fmt: skip
case("prod", "empty", normal(0, 3), dim=0, torch=lambda torch, x: torch.prod(x, 0))
for _note, _at in (("one-zero", (2,)), ("zeros", (1, 3, 4))):
    case("prod", _note, with_zeros(2, 3, at=_at), dim=1, torch=lambda torch, x: torch.prod(x, 1), expands=False)
    case("prod", f"{_note}-all", with_zeros(2, 2, at=_at), torch=lambda torch, x: torch.prod(x), expands=False)

for _op in ("var", "std"):
    for _note, _dim in DIMS.items():
        for _correction in (1, 0.5):
            _keep = _correction == 1
            case(
                _op, f"{_note}-less-{_correction}", normal(3, 3, 2),
                dim=_dim, correction=_correction, keepdim=_keep,
                torch=lambda torch, x, name=_op, dim=_dim, less=_correction, keep=_keep: getattr(torch, name)(
                    x, dim, correction=less, keepdim=keep
                ),
                expands=_op == "var",
            )  # fmt: skip
case("var", "0-d", normal(), correction=0, torch=lambda torch, x: torch.var(x, correction=0))

for _p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0, float("inf"), float("-inf")):
    for _note, _dim in DIMS.items():
        _keep = _note == "two"
        case(
            "norm", f"{_p}-{_note}", away(2, 3, 2), p=_p, dim=_dim, keepdim=_keep,
            # For p = 0 PyTorch answers with no gradient in place of zeros.
            torch=lambda torch, x, p=_p, dim=_dim, keep=_keep: torch.norm(x, p, dim, keep) + 0 * x.sum(),
            expands=_p not in (float("inf"), float("-inf")),
        )  # fmt: skip

for _op in ("argmax", "argmin"):
    case(_op, "all", distinct(3, 4), torch=lambda torch, x, n=_op: getattr(torch, n)(x), dim=None)
    case(
        _op, "keep", distinct(3, 4), torch=lambda torch, x, n=_op: getattr(torch, n)(x, 1, keepdim=True),
        dim=1, keepdim=True,
    )  # fmt: skip
for _op in ("any", "all"):
    case(_op, "all", bools(3, 4), torch=lambda torch, x, n=_op: getattr(torch, n)(x))
    case(_op, "dim", bools(3, 4), dim=1, torch=lambda torch, x, n=_op: getattr(torch, n)(x, 1))
