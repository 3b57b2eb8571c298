"""Sums, means and largest elements of bags: groups of rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ...inputs.arguments import as_tensor
from ...inputs.kinds import explain_all
from ...ops.attention import embedding
from ...ops.choice import where
from ...tensor import Tensor

Table = np.ndarray[Any, Any]


def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The "sum", "mean" or "max" (``mode``: the largest elements) of each bag's rows of ``weight`` (V, E): (B, E).

    The integers ``input`` name the rows: (B, L) are bags of L rows each; (N,) is cut into bags that begin at
    ``offsets`` (B,). With ``include_last_offset`` these also hold the end of the last bag. A bag without rows gives
    zeros. ``per_sample_weights``, in the shape of ``input``, weight the rows of a sum. Rows ``padding_idx`` do not
    count. ``max_norm``, ``norm_type`` and ``scale_grad_by_freq`` are those of `embedding`.

    Raises `ShapeError` and `IndexRangeError` for impossible bags or indices, `DtypeError` for anything but integers,
    `ArgumentError` for another mode, weights of anything but a sum, and ``sparse``.
    """
    x, weight = as_tensor(input), as_tensor(weight)
    tried = f"embedding_bag({tuple(x.shape)}, {tuple(weight.shape)}, mode={mode!r})"
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError(tried, "there is no such mode", "use 'sum', 'mean' or 'max'")
    if mode == "max" and scale_grad_by_freq:
        why = "the gradient of a largest element goes to one row, however often it is named"
        raise ArgumentError(f"{tried} with scale_grad_by_freq", why, "use mode='sum' or 'mean'")
    if x.ndim not in (1, 2) or (x.ndim == 1) == (offsets is None):
        why = "it takes bags of one length (B, L), or indices (N,) with the offsets at which bags begin"
        raise ShapeError(tried, why, "pass offsets, and pass them with indices (N,) only")
    weights = None if per_sample_weights is None else _weights(tried, per_sample_weights, x, weight, mode)
    # Each index is looked up once, since its count may scale the gradient.
    rows = embedding(x, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    counted = x == x if padding_idx is None else x != padding_idx % len(weight)
    if offsets is not None:
        table, inside = _bags(tried, x, offsets, include_last_offset)
        places = as_tensor(table).to(x.device)
        rows, counted = rows[places], counted[places] & as_tensor(inside).to(x.device)
        weights = None if weights is None else weights[places]
    counted = counted.unsqueeze(-1)
    result: Tensor
    if mode == "max":
        result = where(counted, rows, -float("inf")).max(1).values if rows.shape[1] else rows.sum(1)
        return where(counted.any(1), result, 0.0)
    result = where(counted, rows if weights is None else rows * weights.unsqueeze(-1), 0.0).sum(1)
    return result / counted.sum(1).clamp(min=1).to(result.dtype) if mode == "mean" else result


def _weights(tried: str, given: Any, x: Tensor, weight: Tensor, mode: str) -> Tensor:
    weights = as_tensor(given)
    if mode != "sum":
        raise ArgumentError(f"{tried} with per_sample_weights", "they weight the rows of a sum", "use mode='sum'")
    if weights.shape != x.shape:
        why = f"per_sample_weights {tuple(weights.shape)} do not fit indices {tuple(x.shape)}"
        raise ShapeError(tried, why, "give one weight for each index")
    if weights.dtype != weight.dtype:
        why = f"per_sample_weights are {weights.dtype}, but the table is {weight.dtype}"
        raise DtypeError(tried, why, "convert them: per_sample_weights.to(weight.dtype)")
    return weights


def _bags(tried: str, x: Tensor, offsets: Any, include_last: bool) -> tuple[Table, Table]:
    """The places in each bag, (B, longest), and which of them are real: shorter bags are padded."""
    begin = as_tensor(offsets)
    if begin.ndim != 1 or begin.dtype.kind != "i":
        why = f"offsets must be integers (B,), but these are {tuple(begin.shape)} {begin.dtype}"
        raise (ShapeError if begin.ndim != 1 else DtypeError)(tried, why, "give the place where each bag begins")
    ends = np.array(begin.tolist(), int)
    if include_last and not len(ends):
        raise ShapeError(tried, "there are no offsets, not even the last one", "give at least [0]")
    if not include_last:
        ends = np.append(ends, x.shape[0])
    steps = np.diff(ends)
    if len(ends) > 1 and (ends[0] != 0 or ends[-1] > x.shape[0] or min(steps) < 0):
        why = f"the offsets {ends.tolist()} do not rise from 0 to at most {x.shape[0]} indices"
        raise IndexRangeError(tried, why, "start with 0, and sort them")
    within = np.arange(max(steps, default=0))
    inside = within < steps[:, None]
    return np.where(inside, ends[:-1, None] + within, 0), inside


explain_all(globals())
