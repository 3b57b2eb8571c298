"""Elements repeated, turned round, shifted or blanked out."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.base import case, normal

case("repeat", "both", normal(2, 3), repeats=(2, 3), torch=lambda torch, x: x.repeat(2, 3))
case("repeat", "new-axes", normal(3), repeats=(2, 1, 2), torch=lambda torch, x: x.repeat(2, 1, 2))
case("repeat", "once", normal(2, 3), repeats=(1, 1), torch=lambda torch, x: x.repeat(1, 1))
case("repeat", "never", normal(2, 3), repeats=(2, 0), torch=lambda torch, x: x.repeat(2, 0))
case("repeat", "0-d", normal(), repeats=(), torch=lambda torch, x: x.repeat(()))
case(
    "repeat_interleave", "columns", normal(2, 3), dim=1, index=np.array([0, 0, 2]),
    torch=lambda torch, x: x.repeat_interleave(torch.tensor([2, 0, 1]), 1),
)  # fmt: skip
case(
    "repeat_interleave", "rows", normal(2, 3), dim=0, index=np.array([0, 0, 1, 1]),
    torch=lambda torch, x: x.repeat_interleave(2, 0),
)  # fmt: skip
case("flip", "both", normal(2, 3), dims=(0, 1), torch=lambda torch, x: x.flip(0, 1))
case("flip", "one", normal(2, 3, 2), dims=(1,), torch=lambda torch, x: x.flip(1))
case("flip", "none", normal(2), dims=(), torch=lambda torch, x: x.flip(()))
case("flip", "0-d", normal(), dims=(0,), torch=lambda torch, x: x.flip(0))
case("roll", "row", normal(2, 3), shifts=(4,), torch=lambda torch, x: x.roll(4))
case("roll", "one", normal(2, 3), shifts=(-1,), dims=(1,), torch=lambda torch, x: x.roll(-1, 1))
case("roll", "both", normal(2, 3), shifts=(1, 2), dims=(0, 1), torch=lambda torch, x: x.roll((1, 2), (0, 1)))
case("roll", "twice", normal(4), shifts=(1, 2), dims=(0, 0), torch=lambda torch, x: x.roll((1, 2), (0, 0)))
case("roll", "not-at-all", normal(3), shifts=(3,), dims=(0,), torch=lambda torch, x: x.roll(3, 0))
case("roll", "empty", normal(2, 0), shifts=(1,), dims=(1,), torch=lambda torch, x: x.roll(1, 1))
case("tril", "square", normal(3, 3), torch=lambda torch, x: x.tril())
case("tril", "batch", normal(2, 2, 4), diagonal=1, torch=lambda torch, x: x.tril(1))
case("tril", "tall", normal(4, 2), diagonal=-2, torch=lambda torch, x: x.tril(-2))
case("triu", "square", normal(3, 3), torch=lambda torch, x: x.triu())
case("triu", "batch", normal(2, 2, 4), diagonal=1, torch=lambda torch, x: x.triu(1))
case("triu", "tall", normal(4, 2), diagonal=-2, torch=lambda torch, x: x.triu(-2))
case("diag", "main", normal(3), torch=lambda torch, x: x.diag())
case("diag", "right", normal(2), diagonal=2, torch=lambda torch, x: x.diag(2))
case("diag", "below", normal(3), diagonal=-1, torch=lambda torch, x: x.diag(-1))
case("diag", "empty", normal(0), torch=lambda torch, x: x.diag())
