"""Reading and writing by index, and writes through views."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.cases.base import case, integers, normal
from tinygrad_edu.ops import index, movement


def _torch_index(torch: Any, index: Any) -> Any:
    return tuple(torch.from_numpy(part) if isinstance(part, np.ndarray) else part for part in index)


_POINTS = np.array([2, 0, 2])  # twice the same place: its gradients add
for _note, _index in {
    "slice": (slice(1, 3),), "step": (slice(None), slice(3, None, -2)), "int": (1,), "ellipsis": (..., 0),
    "none": (None, slice(0, 2)), "element": (1, 2, ...), "repeated": (_POINTS,),
    "pairs": (_POINTS, np.array([1, 3, 1])), "mixed": (slice(None), _POINTS),
    "mask": (np.arange(12).reshape(3, 4) % 5 > 1,),
}.items():  # fmt: skip
    case(
        "getitem", _note, normal(3, 4), index=_index,
        torch=None if _note == "step" else lambda torch, x, i=_index: x[_torch_index(torch, i)],
    )  # fmt: skip
case("scatter_add_at", "repeated", normal(3, 4), shape=(5, 4), index=(np.array([0, 4, 0]),))
case("scatter_add_at", "slice", normal(2, 4), shape=(3, 4), index=(slice(1, 3),))
case("put", "slice", normal(3, 4), normal(2, 4), index=(slice(1, 3),))
case("put", "broadcast", normal(3, 4), normal(1, 1), index=(slice(0, 2),))
case("put", "points", normal(3, 4), normal(2), index=(np.array([0, 2]), np.array([1, 3])))
case(
    "take_along_dim", "columns", normal(3, 4), integers(4, 3, 2), dim=1,
    torch=lambda torch, x, i: torch.take_along_dim(x, i, 1),
)  # fmt: skip
case(
    "take_along_dim", "repeated", normal(3, 4), lambda rng: np.zeros((5, 4), "i8"), dim=0,
    torch=lambda torch, x, i: torch.take_along_dim(x, i, 0),
)  # fmt: skip
_CHAIN = ((movement.Permute, {"dims": (1, 0)}), (index.GetItem, {"index": (slice(1, 3),)}))


def _seen_after_write(x: Any) -> Any:
    base = x.clone()
    view = base.permute(1, 0)[1:3]
    base.mul_(2.0)
    return view


def _written_through_view(x: Any, value: Any) -> Any:
    base = x.clone()
    base.permute(1, 0)[1:3].mul_(value)
    return base


case("view", "chain", normal(3, 4), shape=(3, 4), chain=_CHAIN, call=_seen_after_write)
case("write_view", "chain", normal(3, 4), normal(2, 3), chain=_CHAIN, call=_written_through_view)
