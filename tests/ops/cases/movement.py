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
case("cat", "passed-over", normal(0), normal(2, 3), torch=lambda torch, *xs: torch.cat(xs))
case("stack", "first", normal(2, 3), normal(2, 3), torch=lambda torch, *xs: torch.stack(xs))
case("stack", "last", normal(2, 3), normal(2, 3), dim=2, torch=lambda torch, *xs: torch.stack(xs, -1))
case("stack", "0-d", normal(), normal(), normal(), torch=lambda torch, *xs: torch.stack(xs))
case("expand", "to-nothing", normal(1, 2), shape=(0, 2), torch=lambda torch, x: x.expand(0, 2))
