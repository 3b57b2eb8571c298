"""Operations that only rearrange."""

from __future__ import annotations

from tests.ops.cases.base import case, normal

case("reshape", "merge", normal(2, 3, 2), shape=(4, 3), torch=lambda torch, x: x.reshape(4, 3))
case("reshape", "guess", normal(2, 6), shape=(3, -1), torch=lambda torch, x: x.reshape(3, -1))
case("reshape", "from-0-d", normal(), shape=(1, 1), torch=lambda torch, x: x.reshape(1, 1))
case("reshape", "empty", normal(0, 3), shape=(3, 0), torch=lambda torch, x: x.reshape(3, 0))
case("permute", "rotate", normal(2, 3, 4), dims=(2, 0, 1), torch=lambda torch, x: x.permute(2, 0, 1))
case("permute", "negative", normal(2, 3, 4), dims=(-1, 1, 0), torch=lambda torch, x: x.permute(-1, 1, 0))
case("expand", "stretch", normal(3, 1), shape=(2, 3, 4), torch=lambda torch, x: x.expand(2, 3, 4))
case("expand", "same", normal(3, 2), shape=(3, 2), torch=lambda torch, x: x.expand(3, 2))
case("expand", "0-d", normal(), shape=(2, 2), torch=lambda torch, x: x.expand(2, 2))
case("cat", "rows", normal(2, 3), normal(1, 3), dim=0, torch=lambda torch, *xs: torch.cat(xs))
case("cat", "columns", normal(2, 3), normal(2, 1), normal(2, 0), dim=-1, torch=lambda torch, *xs: torch.cat(xs, -1))
case("transfer", "stay", normal(2, 3), home="cpu", device="cpu")
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
