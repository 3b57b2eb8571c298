"""Sequences of several lengths in one tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...errors import ArgumentError, ShapeError
from ...inputs.kinds import explain_all
from ...ops.out import stack
from ...ops.pad import pad
from ...tensor import Tensor, as_tensor


def pad_sequence(
    sequences: Iterable[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (length, …) side by side, (longest, N, …), the shorter ones filled up at their ends.

    With ``batch_first`` they stand in rows: (N, longest, …). ``padding_side="left"`` fills up at the beginnings.
    Gradients go through. Raises `ShapeError` where they differ in more than their length, `ArgumentError` for none.

    >>> import tinygrad_edu as tg
    >>> pad_sequence([tg.tensor([1, 2, 3]), tg.tensor([4])], batch_first=True, padding_value=-1)
    tensor([[ 1,  2,  3],
            [ 4, -1, -1]])
    """
    tensors = [as_tensor(one) for one in sequences]
    tried = f"pad_sequence of {len(tensors)}"
    if not tensors:
        raise ArgumentError(tried, "there is nothing to put together", "pass a list of one sequence or more")
    if padding_side not in ("left", "right"):
        why, mend = "there is no such side", "use 'right' or 'left'"
        raise ArgumentError(f"pad_sequence(padding_side={padding_side!r})", why, mend)
    for i, one in enumerate(tensors):
        if not one.ndim or one.shape[1:] != tensors[0].shape[1:]:
            why = f"number {i} is {tuple(one.shape)} and the first {tuple(tensors[0].shape)}: only lengths may differ"
            raise ShapeError(tried, why, "make them alike in all axes but the first")
    longest = max(one.shape[0] for one in tensors)
    for i, one in enumerate(tensors):
        missing = longest - one.shape[0]
        if missing:
            ends = (0, missing) if padding_side == "right" else (missing, 0)
            tensors[i] = pad(one, (0, 0) * (one.ndim - 1) + ends, value=padding_value)
    result: Tensor = stack(tensors, 0 if batch_first else 1)
    return result


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences that `pad_sequence` put together, as views, from their lengths (N,).

    Raises `ShapeError` where there are more or fewer lengths than sequences, or one is too large.
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    ends = as_tensor(lengths).tolist()
    if len(ends) != len(rows) or not all(0 <= end <= rows.shape[1] for end in ends):
        tried = f"unpad_sequence of a tensor {tuple(padded_sequences.shape)} to lengths {ends}"
        why = f"it holds {len(rows)} sequences of up to {rows.shape[1]}"
        raise ShapeError(tried, why, "give the length of each; batch_first says which axis counts them")
    return [row[:end] for row, end in zip(rows, ends, strict=True)]


explain_all(globals())
