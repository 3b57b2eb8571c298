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
    "pairs": (_POINTS, np.array([1, 3, 1])), "mixed": (slice(None), _POINTS), "grid": (_POINTS[:, None], _POINTS),
    "mask": (np.arange(12).reshape(3, 4) % 5 > 1,), "rows": (np.array([True, False, True]), slice(1, 3)),
    "mask and points": (np.array([True, False, True]), np.array([3, 3])), "bool": (True, slice(None), False),
    "apart": (_POINTS, None, np.array([1, 3, 1])), "nothing": (np.zeros((0, 2), "i8"),),
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
case("put", "repeated", normal(3, 4), normal(3, 4), index=(_POINTS,))
case("put", "repeated broadcast", normal(3, 4), normal(1, 4), index=(_POINTS,))
case("put", "mask", normal(3, 4), normal(2, 1), index=(np.array([True, False, True]),))
case("put", "long values", normal(3, 4), normal(1, 1, 2), index=(np.array([0, 2]), 1))
for _note, _index, _size in (
    ("repeated", (_POINTS,), (3, 4)), ("broadcast", (slice(None), _POINTS), (3,)), ("number", (_POINTS,), ()),
    ("mask", (np.array([True, False, True]),), (2, 1)), ("all", (...,), (3, 4)),
):  # fmt: skip
    case(
        "put_add", _note, normal(3, 4), normal(*_size), index=_index,
        torch=None if not isinstance(_index[0], np.ndarray)
        else lambda torch, x, v, i=_index: x.index_put(_torch_index(torch, i), v, accumulate=True),
    )  # fmt: skip
for _note, _shape, _dim, _index_shape in (
    ("columns", (3, 4), 1, (3, 2)), ("rows", (3, 4), 0, (5, 4)), ("corner", (3, 4), 0, (7, 2)),
    ("vector", (5,), 0, (3,)), ("last", (2, 3, 4), 2, (1, 3, 6)), ("0-d", (), 0, ()), ("0-d index", (3,), 0, ()),
):  # fmt: skip
    case(
        "gather", _note, normal(*_shape), integers((*_shape, 1)[_dim], *_index_shape), dim=_dim,
        torch=lambda torch, x, i, dim=_dim: torch.gather(x, dim, i),
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
