"""Orderings, and elements picked by position."""

from __future__ import annotations

from tests.ops.cases.base import case, distinct, integers, normal

case("argsort", "columns", distinct(3, 4), dim=0, torch=lambda torch, x: torch.argsort(x, 0))
case(
    "argsort", "descending", distinct(3, 4), dim=1, descending=True,
    torch=lambda torch, x: torch.argsort(x, 1, descending=True),
)  # fmt: skip
for _dim, _shape in ((0, (4, 2)), (1, (3, 2)), (2, (3, 4))):
    case(
        "pick", f"dim{_dim}", normal(3, 4, 2), integers(2, *_shape), dim=_dim,
        torch=lambda torch, x, i, d=_dim: torch.gather(x, d, i.unsqueeze(d)).squeeze(d),
    )  # fmt: skip
