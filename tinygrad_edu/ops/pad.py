"""Tensors made longer at their edges, or shorter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends import room
from ..core.dispatch import caller
from ..core.op import Op
from ..errors import ArgumentError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all

# mypy: disable-error-code="override"


class Pad(Op):
    """``x`` with ``value`` around it: so much before and after, by ``edges``, for each axis. Less than 0 cuts off."""

    computes = False
    dtypes = "each"
    saves = ("x.shape", "edges")

    @staticmethod
    def forward(xp: Any, x: Any, *, edges: Any, value: float = 0.0) -> Any:
        read, written, shape = _regions(x.shape, edges)
        if max([n for pair in edges for n in pair], default=0) <= 0:  # only cut
            return xp.copy(x[read])
        if value:
            return xp.contiguous(xp.put(xp.full(shape, value, x.dtype), written, x[read]), x)
        return xp.contiguous(xp.scatter_add(shape, written, x[read]), x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, edges: Any) -> Any:
        read, written, _ = _regions(shape, edges)
        return xp.scatter_add(shape, read, g[written])

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return f"it would cut off more than {shapes[0]} has", "cut off less: negative numbers shorten an axis"


def _regions(shape: tuple[int, ...], edges: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """The part of x that stays, where it lies in the result, and the shape of that."""
    read, written, result = [], [], []
    for size, (before, after) in zip(shape, edges, strict=True):
        start, stop = max(-before, 0), size - max(-after, 0)
        if stop < start:
            raise ValueError("edges")
        read.append(slice(start, stop))
        written.append(slice(max(before, 0), max(before, 0) + stop - start))
        result.append(size + before + after)
    return tuple(read), tuple(written), tuple(result)


class PadWithin(Op, name="pad_within"):
    """``x`` extended with its own elements: for each axis, ``runs`` of places (first, step, count), one after the
    other; None for an axis that stays as it is."""

    computes = False
    dtypes = "each"
    saves = ("x.shape", "runs")

    @staticmethod
    def forward(xp: Any, x: Any, *, runs: Any) -> Any:
        out = x
        for axis, parts in enumerate(runs):
            if parts is not None:
                out = xp.concatenate([_read(xp, out, axis, *run) for run in parts], axis)
        return xp.contiguous(out, x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, runs: Any) -> Any:
        for axis in range(len(shape) - 1, -1, -1):
            if runs[axis] is not None:
                total, before, begin = None, (slice(None),) * axis, 0
                for first, step, count in runs[axis]:
                    part = g[(*before, slice(begin, begin + count))]
                    begin += count
                    if not step:
                        part = xp.sum(part, axis, True)
                    there = (*g.shape[:axis], shape[axis], *g.shape[axis + 1 :])
                    part = xp.scatter_add(there, (*before, _run(first, step, count)), part)
                    total = part if total is None else total + part
                g = total
        return g


def _run(first: int, step: int, count: int) -> slice:
    """The slice that reads a run of places; for a repeated place, just that place."""
    if not step:
        return slice(first, first + 1)
    stop = first + step * count
    return slice(first, stop if stop >= 0 else None, step)


def _read(xp: Any, x: Any, axis: int, first: int, step: int, count: int) -> Any:
    part = x[(*(slice(None),) * axis, _run(first, step, count))]
    if step:
        return part
    return xp.broadcast_to(part, (*part.shape[:axis], count, *part.shape[axis + 1 :]))


pad_op, pad_within = caller(Pad), caller(PadWithin)


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """``input`` with its edges moved outwards, or inwards if a number is negative.

    ``pad`` begins with the last axis: ``(left, right, top, bottom)`` for images. Modes: ``"constant"`` fills with
    ``value``, by default 0; ``"reflect"`` mirrors at the edge, which is not repeated; ``"replicate"`` repeats the
    edge; ``"circular"`` continues at the other end. Raises `ShapeError` if an axis is too short for that.

    >>> import tinygrad_edu as tg
    >>> tg.nn.functional.pad(tg.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect").tolist()
    [[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]]
    """
    x, parts = as_tensor(input), tuple(pad)
    tried = f"pad({tuple(x.shape)}, {parts}, mode={mode!r})"
    if len(parts) % 2 or len(parts) > 2 * x.ndim or not all(isinstance(part, (int, np.integer)) for part in parts):
        why = f"it takes two integers for each axis, from the last one on, and x has {x.ndim} axes"
        raise ShapeError(tried, why, "give (before, after) of the last axis, then of the one before it")
    edges = tuple(zip(parts[::2], parts[1::2], strict=True))[::-1]
    kept = x.ndim - len(edges)
    longer = [size + sum(edge) for size, edge in zip(x.shape[kept:], edges, strict=True)]
    room.check(tried, (*x.shape[:kept], *(max(size, 0) for size in longer)), 4 if mode == "constant" else 40)
    if mode == "constant":
        return pad_op(x, edges=((0, 0),) * kept + edges, value=0.0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        mend = "use 'constant', 'reflect', 'replicate' or 'circular'"
        raise ArgumentError(tried, "there is no such mode", mend)
    if value is not None:
        raise ArgumentError(tried, f"mode {mode!r} takes its values from x", "leave value out")
    if kept < 1:
        why = "only the constant mode pads all axes; the others leave those in front as they are"
        raise ShapeError(tried, why, "add a first axis: x.unsqueeze(0)")
    for axis, (before, after) in enumerate(edges, kept):
        size = x.shape[axis]
        most = {"reflect": max(size - 1, 0), "circular": size}.get(mode, float("inf") if size else 0)
        if max(before, after) > most:
            why = f"axis {axis} has {size} elements, too few to give {max(before, after)} more"
            raise ShapeError(tried, why, "pad less, or in several steps")
        short = size + before + after
        if short < 0 or (mode == "circular" and short and size + min(before, 0) + min(after, 0) < 1):
            why = f"axis {axis} has {size} elements, and with {before} and {after} more none are left"
            raise ShapeError(tried, why, "cut off less: negative numbers shorten an axis")
    runs = [_runs(_places(x.shape[axis], before, after, mode)) for axis, (before, after) in enumerate(edges, kept)]
    return pad_within(x, runs=(*(None,) * kept, *runs))


def _places(size: int, before: int, after: int, mode: str) -> list[int]:
    """Which element of the axis is at each place of the longer one."""
    if mode == "circular":
        kept = range(max(-before, 0), size - max(-after, 0))
        return [kept[i % len(kept)] for i in range(-max(before, 0), len(kept) + max(after, 0))] if kept else []
    places = range(-before, size + after)
    if mode == "replicate":
        return [min(max(i, 0), size - 1) for i in places]
    return [abs(i) if i < size else 2 * (size - 1) - i for i in places]


def _runs(places: list[int]) -> tuple[tuple[int, int, int], ...]:
    """The places as runs (first, step, count) of steps of 1, -1 or 0."""
    runs: list[tuple[int, int, int]] = []
    for place in places:
        if runs:
            first, step, count = runs[-1]
            ahead = place - first
            if count == 1 and abs(ahead) <= 1:
                runs[-1] = first, ahead, 2
                continue
            if count > 1 and ahead == step * count:
                runs[-1] = first, step, count + 1
                continue
        runs.append((place, 1, 1))
    return tuple(runs) or ((0, 1, 0),)


explain_all(globals())
