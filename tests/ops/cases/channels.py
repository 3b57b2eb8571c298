"""Normalisation over a batch, or over groups of channels."""

from __future__ import annotations

from typing import Any

from tests.ops.cases.base import case, normal, positive
from tests.ops.cases.normalise import functional


def with_running(torch: Any, x: Any, mean: Any, var: Any, weight: Any = 1.0, bias: Any = 0.0) -> Any:
    """`batch_norm` outside of training, in operations through which PyTorch brings gradients to the moments too."""
    columns = x.movedim(1, -1)
    return ((columns - mean) / torch.sqrt(var + 0.1) * weight + bias).movedim(-1, 1)


for _note, _x in (("columns", (4, 3)), ("sequences", (3, 2, 4)), ("images", (2, 3, 2, 2))):
    _c = _x[1]
    case(
        "batch_norm", _note, normal(*_x), normal(_c), normal(_c), eps=0.1,
        torch=functional("batch_norm", None, None, training=True, eps=0.1), halves=2.0,
    )  # fmt: skip
    case(
        "batch_norm_eval", _note, normal(*_x), normal(_c), positive(_c), normal(_c), normal(_c), eps=0.1,
        torch=with_running, halves=2.0,
    )  # fmt: skip
case(
    "batch_norm", "plain", normal(4, 2, 2), eps=0.1, halves=2.0,
    torch=lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True, eps=0.1),
)  # fmt: skip
case(
    "batch_norm_eval", "plain", normal(4, 2, 2), normal(2), positive(2), eps=0.1, torch=with_running, halves=2.0
)  # fmt: skip
for _note, _x, _groups in (("images", (2, 4, 2, 2), 2), ("each", (2, 3, 4), 3), ("one", (3, 4), 1)):
    case(
        "group_norm", _note, normal(*_x), normal(_x[1]), normal(_x[1]), groups=_groups, eps=0.1,
        torch=lambda torch, x, w, b, groups=_groups: torch.nn.functional.group_norm(x, groups, w, b, eps=0.1),
        halves=2.0,
    )  # fmt: skip
case(
    "group_norm", "plain", normal(2, 4, 3), groups=2, eps=0.1, halves=2.0,
    torch=lambda torch, x: torch.nn.functional.group_norm(x, 2, eps=0.1),
)  # fmt: skip
