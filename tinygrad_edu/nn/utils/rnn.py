"""Sequences of several lengths in one tensor."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError, DtypeError, ShapeError
from ...inputs.kinds import explain_all, kind_of
from ...ops.gathering import index_copy, index_select
from ...ops.out import stack
from ...ops.pad import pad
from ...tensor import Tensor, as_tensor, from_numpy
from ...tensor.creation import full


def pad_sequence(
    sequences: Iterable[Any], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (length, …) side by side, (longest, N, …), the shorter ones padded at the end.

    With ``batch_first`` they are rows: (N, longest, …). ``padding_side="left"`` pads at the beginning.
    Gradients pass through. Raises `ShapeError` if more than their lengths differ, `ArgumentError` for none.

    >>> import tinygrad_edu as tg
    >>> pad_sequence([tg.tensor([1, 2, 3]), tg.tensor([4])], batch_first=True, padding_value=-1)
    tensor([[ 1,  2,  3],
            [ 4, -1, -1]])
    """
    if padding_side not in ("left", "right"):
        why, mend = "there is no such side", "use 'right' or 'left'"
        raise ArgumentError(f"pad_sequence(padding_side={padding_side!r})", why, mend)
    tensors = _alike("pad_sequence", sequences)
    longest = max(one.shape[0] for one in tensors)
    for i, one in enumerate(tensors):
        missing = longest - one.shape[0]
        if missing:
            ends = (0, missing) if padding_side == "right" else (missing, 0)
            tensors[i] = pad(one, (0, 0) * (one.ndim - 1) + ends, value=padding_value)
    result: Tensor = stack(tensors, 0 if batch_first else 1)
    return result


def _alike(name: str, sequences: Iterable[Any]) -> list[Tensor]:
    """The sequences as tensors that differ only in length."""
    tensors = [as_tensor(one) for one in sequences]
    tried = f"{name} of {len(tensors)}"
    if not tensors:
        raise ArgumentError(tried, "there is nothing to put together", "pass a list of one sequence or more")
    for i, one in enumerate(tensors):
        if not one.ndim or one.shape[1:] != tensors[0].shape[1:]:
            why = f"number {i} is {tuple(one.shape)}, the first {tuple(tensors[0].shape)}: only lengths may differ"
            raise ShapeError(tried, why, "make them alike in all axes but the first")
    return tensors


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences that `pad_sequence` put together, as views, from their lengths (N,).

    Raises `ShapeError` if there are more or fewer lengths than sequences, or one is too large.
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    ends = as_tensor(lengths).tolist()
    if len(ends) != len(rows) or not all(0 <= end <= rows.shape[1] for end in ends):
        tried = f"unpad_sequence of a tensor {tuple(padded_sequences.shape)} to lengths {ends}"
        why = f"it holds {len(rows)} sequences of up to {rows.shape[1]}"
        raise ShapeError(tried, why, "give the length of each; batch_first says which axis counts them")
    return [row[:end] for row, end in zip(rows, ends, strict=True)]


# Packed: only the elements that exist ------------------------------------------------------------------------------


class _Packed(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None


class PackedSequence(_Packed):
    """Sequences of several lengths without padding: all first steps, then all second steps, and so on.

    ``data`` is (total steps, …). ``batch_sizes`` says how many sequences have a first, a second … step: the longest
    stands first. If they had to be sorted for that, ``sorted_indices`` gives the order, and ``unsorted_indices`` undoes
    it. Made by `pack_padded_sequence` and `pack_sequence`; `RNN`, `LSTM` and `GRU` take and give it.
    """

    __slots__ = ()

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if batch_sizes is None:
            raise ArgumentError(
                f"PackedSequence({kind_of(data)})", "it needs the number of sequences at each step",
                "let pack_sequence or pack_padded_sequence make it",
            )  # fmt: skip
        if unsorted_indices is None and sorted_indices is not None:
            unsorted_indices = as_tensor(sorted_indices).argsort()
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *target: Any, **options: Any) -> PackedSequence:
        """With ``data`` as `Tensor.to` converts it, and the indices on its device; itself if nothing changes."""
        data = self.data.to(*target, **options)
        if data is self.data:
            return self
        places = (None if places is None else places.to(device=data.device) for places in self[2:])
        return type(self)(data, self.batch_sizes, *places)

    def cpu(self) -> PackedSequence:
        """In main memory."""
        return self.to("cpu")

    def float(self) -> PackedSequence:
        """With ``data`` as float32."""
        return self.to("float32")

    def double(self) -> PackedSequence:
        """With ``data`` as float64."""
        return self.to("float64")

    def runs(self) -> list[tuple[int, int]]:
        """Consecutive steps with the same number of sequences: how many steps, and how many sequences."""
        return [(len(list(run)), count) for count, run in groupby(self.batch_sizes.tolist())]


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Padded sequences (longest, N, …), or (N, longest, …) with ``batch_first``, without their padding.

    ``lengths`` are their lengths. The longest comes first, unless ``enforce_sorted=False``: then they are sorted
    here. Gradients pass through. Raises `ShapeError` for lengths that do not fit, `ArgumentError` for unsorted ones.

    >>> import tinygrad_edu as tg
    >>> packed = pack_padded_sequence(tg.tensor([[1, 2, 3], [4, 0, 0]]), [3, 1], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    x, ends = as_tensor(input), np.array(as_tensor(lengths).tolist())
    tried = f"pack_padded_sequence of a tensor {tuple(x.shape)} to lengths {ends.tolist()}"
    if x.ndim < 2 or ends.ndim != 1 or ends.dtype.kind not in "iu":
        kind = DtypeError if x.ndim > 1 and ends.ndim == 1 and ends.size else ShapeError
        why = "it takes padded sequences, with two axes or more, and an integer for each"
        raise kind(tried, why, "put them together with pad_sequence, or use pack_sequence")
    longest, count = x.shape[:2][::-1] if batch_first else x.shape[:2]
    if len(ends) != count or not count or ends.min() < 1 or ends.max() > longest:
        why = f"it holds {count} sequences of up to {longest}, and each needs at least one step"
        raise ShapeError(tried, why, "give the length of each; batch_first says which axis counts them")
    order = None
    if not enforce_sorted:
        places = np.argsort(-ends, kind="stable")
        ends, order = ends[places], from_numpy(places).to(x.device)
        x = index_select(x, 0 if batch_first else 1, order)
    elif np.any(np.diff(ends) > 0):
        why = "the longest must come first, so that the elements of each step are side by side"
        raise ArgumentError(tried, why, "use enforce_sorted=False to sort them")
    sizes = (ends > np.arange(ends[0])[:, None]).sum(1)
    rows = (x.transpose(0, 1) if batch_first else x)[: len(sizes)]
    data = index_select(rows.flatten(0, 1), 0, _places(sizes, count, x))
    return PackedSequence(data, from_numpy(sizes), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Packed sequences padded again, (longest, N, …) or (N, longest, …), and their lengths (N,).

    With ``total_length`` they are padded to that length. They come in their original order, before they were sorted
    for packing. Raises `ShapeError` if the longest one is longer.
    """
    data, sizes = sequence.data, np.array(sequence.batch_sizes.tolist())
    steps, count = total_length or len(sizes), sizes[0].item()
    if steps < len(sizes):
        why, mend = f"the longest sequence has {len(sizes)} steps", "leave total_length out, or raise it"
        raise ShapeError(f"pad_packed_sequence with total_length={total_length}", why, mend)
    room = full((steps * count, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = index_copy(room, 0, _places(sizes, count, data), data).unflatten(0, (steps, count))
    lengths = from_numpy((sizes[:, None] > np.arange(count)).sum(0))
    if sequence.unsorted_indices is not None:
        padded = index_select(padded, 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pack_sequence(sequences: Iterable[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (length, …) packed, the longest first, or in any order with ``enforce_sorted=False``.

    Raises as `pad_sequence` and `pack_padded_sequence` do.

    >>> import tinygrad_edu as tg
    >>> pack_sequence([tg.tensor([1, 2, 3]), tg.tensor([4])]).data
    tensor([1, 4, 2, 3])
    """
    tensors = _alike("pack_sequence", sequences)
    return pack_padded_sequence(pad_sequence(tensors), [len(one) for one in tensors], enforce_sorted=enforce_sorted)


def _places(sizes: Any, count: int, like: Tensor) -> Tensor:
    """The positions of each step's elements, with ``count`` places per step."""
    steps = np.repeat(np.arange(len(sizes)), sizes)
    return from_numpy(np.flatnonzero(sizes[:, None] > np.arange(count)) if len(steps) else steps).to(like.device)


explain_all(globals())
