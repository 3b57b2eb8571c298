"""Views of parts of a tensor."""

from __future__ import annotations

from tests.ops.cases.base import case, normal

case("diagonal", "square", normal(3, 3), torch=lambda torch, x: torch.diagonal(x))
case(
    "diagonal", "batch", normal(2, 3, 4), offset=1, dim1=1, dim2=2,
    torch=lambda torch, x: torch.diagonal(x, 1, 1, 2),
)  # fmt: skip
case(
    "diagonal", "apart", normal(3, 2, 4), offset=-1, dim1=2, dim2=0,
    torch=lambda torch, x: torch.diagonal(x, -1, 2, 0),
)  # fmt: skip
case("unfold", "overlap", normal(2, 5, 3), dim=1, size=3, step=1, torch=lambda torch, x: x.unfold(1, 3, 1))
case("unfold", "step", normal(5, 3), dim=0, size=2, step=2, torch=lambda torch, x: x.unfold(0, 2, 2))
case(
    "as_strided", "windows", normal(3, 4), size=(2, 3), stride=(2, 1), offset=1,
    torch=lambda torch, x: torch.as_strided(x, (2, 3), (2, 1), 1),
)  # fmt: skip
case(
    "as_strided", "apart", normal(3, 4), size=(2, 2), stride=(6, 2), offset=1,
    torch=lambda torch, x: torch.as_strided(x, (2, 2), (6, 2), 1),
)  # fmt: skip
case("as_strided", "0-d", normal(3), size=(), stride=(), offset=2, torch=lambda torch, x: x.as_strided((), (), 2))
case("as_strided", "again", normal(2), size=(3, 2), stride=(0, 1), torch=lambda torch, x: x.as_strided((3, 2), (0, 1)))
case("as_strided", "empty", normal(2), size=(0, 2), stride=(5, 1), torch=lambda torch, x: x.as_strided((0, 2), (5, 1)))
case("unfold", "whole", normal(2, 3), dim=1, size=3, step=4, torch=lambda torch, x: x.unfold(1, 3, 4))
case("unfold", "no-elements", normal(3), dim=0, size=0, step=1, torch=lambda torch, x: x.unfold(0, 0, 1))
case(
    "diagonal", "beyond", normal(2, 3), offset=5, torch=lambda torch, x: torch.diagonal(x, 5),
)  # fmt: skip
