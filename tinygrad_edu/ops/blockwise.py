"""Attention block by block, as in FlashAttention: the matrix of scores is never there as a whole.

A row of the result is a mean of rows of value, with weights ``exp(score) / total``, where ``total`` is the sum of all
``exp(score)``. Sum and mean can be taken over some keys first and over others later: for each row its largest score,
its sum and its mean so far are enough. So one block of scores is there at a time, and memory grows with the length, not
with its square. Forward keeps one number for each row, the logarithm of its total. With it, backward computes the
weights of a block again, and needs nothing else of the matrix.
"""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.graph import unbroadcast
from ..core.op import Op
from .attention import Attention, turned

# mypy: disable-error-code="override"

ALL = slice(None)
NOTHING = -float("inf")


class BlockwiseAttention(Op, name="blockwise_attention"):
    """`Attention` without dropout, in blocks of ``block`` rows by as many keys.

    With ``causal``, and with a ``window``, row i looks at no key behind i; with a window only at the last ``window`` of
    those. Blocks at which nobody may look are left out.
    """

    dtypes = "each"
    saves = ("query", "key", "value", "mask", "out", "cache", "scale", "causal", "window", "block")
    caches = "recomputed"

    @staticmethod
    def forward(
        xp: Any, query: Any, key: Any, value: Any, mask: Any = None, *, scale: float, causal: bool = False,
        window: int = 0, block: int = 128,
    ) -> Any:  # fmt: skip
        return _forward(xp, query, key, value, mask, scale, causal, window, block)

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, query: Any, key: Any, value: Any, mask: Any, out: Any, logs: Any, scale: float,
        causal: bool, window: int, block: int,
    ) -> Any:  # fmt: skip
        if logs is None:
            logs = _forward(xp, query, key, value, mask, scale, causal, window, block)[1]
        pulls = xp.sum(g * out, -1, True)
        starts = range(0, key.shape[-2], block)
        gq, gm = [], []
        gk, gv = [None for _ in starts], [None for _ in starts]
        for rows, seen in plan(query.shape[-2], key.shape[-2], causal, window, block):
            here = (..., rows, ALL)
            q, up, strip = query[here] * scale, g[here], [None for _ in starts]
            own: Any = None
            for keys, hides in seen:
                there, j = (..., keys, ALL), keys.start // block
                weights = xp.exp(_scores(xp, q, key[there], mask, rows, keys, hides, window) - logs[here])
                if needs[2]:
                    gv[j] = _added(gv[j], xp.matmul(turned(xp, weights), up))
                if needs[0] or needs[1] or needs[3]:
                    strip[j] = weights * (xp.matmul(up, turned(xp, value[there])) - pulls[here])
                if needs[0]:
                    own = _added(own, xp.matmul(strip[j], key[there]))
                if needs[1]:
                    gk[j] = _added(gk[j], xp.matmul(turned(xp, strip[j]), q))
                if not needs[3]:
                    strip[j] = None
            if needs[0]:
                gq.append(own * scale)
            if needs[3]:
                gm.append(_joined(xp, strip, g, (_length(rows), key.shape[-2]), -1, block))
        return (
            unbroadcast(xp, xp.concatenate(gq, -2), query.shape) if needs[0] else None,
            unbroadcast(xp, _joined(xp, gk, g, key.shape[-2:], -2, block), key.shape) if needs[1] else None,
            unbroadcast(xp, _joined(xp, gv, g, value.shape[-2:], -2, block), value.shape) if needs[2] else None,
            unbroadcast(xp, xp.concatenate(gm, -2), mask.shape) if needs[3] else None,
        )

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return Attention.hint(shapes, params)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        query, key, value = shapes[:3]
        blocks = plan(query[-2], key[-2], params["causal"], params["window"], params["block"])
        scores = sum(_length(rows) * _length(keys) for rows, seen in blocks for keys, _ in seen)
        return how_many(out[:-2]) * scores * (2 * query[-1] + 2 * value[-1] + 8)


Seen = list[tuple[slice, bool]]


def plan(rows: int, keys: int, causal: bool, window: int, block: int) -> list[tuple[slice, Seen]]:
    """Each block of rows, with the blocks of keys at which it looks, and whether anything in such a block is hidden."""
    found = []
    for start in range(0, rows, block):
        stop = min(rows, start + block)
        last = min(keys, stop) if causal or window else keys
        first = min(max(0, start - window + 1), last - 1) if window else 0
        seen = []
        for begin in range(first // block * block, last, block):
            end = min(keys, begin + block)
            ahead = (causal or window > 0) and end > start + 1
            seen.append((slice(begin, end), ahead or 0 < window < stop - begin))
        found.append((slice(start, stop), seen))
    return found


def _forward(
    xp: Any, query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool, window: int, block: int
) -> tuple[Any, Any]:
    """The result, and for each row the logarithm of its total (…, L, 1); 0 for a row that may look at nothing."""
    _check(query.shape, key.shape, value.shape, None if mask is None else mask.shape)
    means, logs = [], []
    for rows, seen in plan(query.shape[-2], key.shape[-2], causal, window, block):
        q = query[(..., rows, ALL)] * scale
        top: Any = None
        total: Any = None
        mean: Any = None
        for keys, hides in seen:
            there = (..., keys, ALL)
            scores = _scores(xp, q, key[there], mask, rows, keys, hides, window)
            before, top = top, xp.amax(scores, -1, True)
            if before is not None:
                top = xp.maximum(before, top)
            level = xp.where(top == NOTHING, 0.0, top)
            powers = xp.exp(scores - level)
            shrink = None if before is None else xp.exp(before - level)  # what was added up below another level
            total = _added(total, xp.sum(powers, -1, True), shrink)
            mean = _added(mean, xp.matmul(powers, value[there]), shrink)
        total = xp.where(total == 0, 1.0, total)
        means.append(mean / total)
        logs.append(xp.log(total) + level)
    return xp.contiguous(xp.concatenate(means, -2)), xp.concatenate(logs, -2)


def _check(query: Any, key: Any, value: Any, mask: Any) -> None:
    """Refuse shapes of which slices would fit although the whole does not."""
    if min(len(query), len(key), len(value)) < 2 or key[-2] != value[-2] or 0 in (query[-2], key[-2]):
        raise ValueError("rows")
    sizes = (query[-2], key[-2])
    if mask is not None:
        for size, whole in zip(mask[-2:], sizes[-len(mask) :], strict=False):
            if size not in (1, whole):
                raise ValueError("mask")


def _scores(xp: Any, q: Any, key: Any, mask: Any, rows: slice, keys: slice, hides: bool, window: int) -> Any:
    """How well the keys of a block fit its rows: minus infinity where a row may not look."""
    scores = xp.matmul(q, turned(xp, key))
    if hides:
        count, many = scores.shape[-2:]
        behind = xp.reshape(xp.arange(count), (count, 1)) - xp.arange(many)  # by how many rows, from the first ones
        apart = keys.start - rows.start
        look = behind >= apart
        if window:
            look = look & (behind < apart + window)
        scores = xp.where(look, scores, NOTHING)
    if mask is not None:
        sizes, parts = mask.shape[-2:], (rows, keys)
        part = [ALL if n == 1 else one for n, one in zip(sizes, parts[2 - len(sizes) :], strict=True)]
        own = mask[(..., *part)]
        scores = xp.where(own, scores, NOTHING) if mask.dtype.kind == "b" else scores + own
    return scores


def _added(total: Any, part: Any, shrink: Any = None) -> Any:
    if total is None:
        return part
    return total + part if shrink is None else total * shrink + part


def _joined(xp: Any, parts: Any, g: Any, shape: Any, axis: int, block: int) -> Any:
    """Matrices of this shape, of one part for each block of keys along ``axis``; zeros where nobody looked."""
    found = []
    for j, part in enumerate(parts):
        if part is None:
            size = min(block, shape[axis] - j * block)
            part = xp.zeros((*g.shape[:-2], *((size, shape[1]) if axis == -2 else (shape[0], size))), g.dtype)
        found.append(part)
    return xp.concatenate(found, axis)


def _length(part: slice) -> int:
    return part.stop - part.start


blockwise_attention_op = caller(BlockwiseAttention)
