"""Operations for sequences: attention, the lookup of embeddings, and dropout."""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.graph import unbroadcast
from ..core.op import Op
from ..errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from ..inputs.arguments import as_tensor, extremes
from ..inputs.kinds import explain_all
from ..settings import no_grad
from .choice import where
from .reduce import norm

# mypy: disable-error-code="override"


class Attention(Op, name="scaled_dot_product_attention"):
    """For each row of ``query`` (…, L, E): the mean of the rows of ``value`` (…, S, V), weighted by how well ``key``
    (…, S, E) fits: ``softmax(query @ key.mT * scale + mask) @ value``.

    Where a bool ``mask`` is false, a row must not look; with ``causal`` row i looks only at rows 0 to i. A row that may
    look at nothing gives zeros. ``keep`` marks the weights that dropout leaves; those are divided by ``1 - dropout_p``.
    """

    dtypes = "each"
    saves = ("query", "key", "value", "mask if not cache", "keep", "out", "cache", "scale", "causal", "dropout_p")
    caches = "recomputed"

    @staticmethod
    def forward(
        xp: Any, query: Any, key: Any, value: Any, mask: Any = None, keep: Any = None, *, scale: float,
        causal: bool = False, dropout_p: float = 0.0,
    ) -> Any:  # fmt: skip
        weights = _weights(xp, query, key, mask, scale, causal)
        out = xp.matmul(weights if keep is None else weights * keep * _growth(dropout_p), value)
        return out if out.ndim < 4 else xp.contiguous(out), weights

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, query: Any, key: Any, value: Any, mask: Any, keep: Any, out: Any, weights: Any,
        scale: float, causal: bool, dropout_p: float,
    ) -> Any:  # fmt: skip
        if weights is None:
            weights = _weights(xp, query, key, mask, scale, causal)
        gq = gk = gv = gm = None
        if needs[2]:
            used = weights if keep is None else weights * keep * _growth(dropout_p)
            gv = unbroadcast(xp, xp.matmul(turned(xp, used), g), value.shape)
        if needs[0] or needs[1] or needs[3]:
            pull = xp.matmul(g, turned(xp, value))
            if keep is not None:
                pull = pull * keep * _growth(dropout_p)
            scores = weights * (pull - xp.sum(g * out, -1, True))
            if needs[0]:
                gq = unbroadcast(xp, xp.matmul(scores, key) * scale, query.shape)
            if needs[1]:
                gk = unbroadcast(xp, xp.matmul(turned(xp, scores), query) * scale, key.shape)
            if needs[3]:
                gm = unbroadcast(xp, scores, mask.shape)
        return gq, gk, gv, gm, None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        query, key, value, *rest = shapes
        if min(map(len, (query, key, value))) < 2:
            return "query, key and value come as (…, rows, features)", "add the missing axes: x.unsqueeze(0)"
        if query[-1] != key[-1]:
            why = f"query has {query[-1]} features and key {key[-1]}, but they are compared one by one"
            return why, "project both to the same number of features"
        if key[-2] != value[-2]:
            return f"key has {key[-2]} rows, but value has {value[-2]}", "give one row of value for each row of key"
        if 0 in (query[-2], key[-2]):
            why = f"query has {query[-2]} rows and key {key[-2]}, and there is no mean of nothing"
            return why, "leave the call out where there is nothing to look at"
        why = f"the leading axes of {query}, {key} and {value} cannot be stretched to one shape"
        if rest:
            why = f"a mask {rest[0]} cannot be stretched to the weights (…, {query[-2]}, {key[-2]}), or: {why}"
        return why, "check which axis counts the heads; with enable_gqa=True heads of query share those of key"

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        query, key, value = shapes[:3]
        scores = how_many(out[:-1]) * key[-2]
        return scores * (2 * query[-1] + 2 * value[-1] + 8)  # both products, and scale, mask and softmax


def turned(xp: Any, x: Any) -> Any:
    """The last two axes swapped."""
    axes = tuple(range(x.ndim))
    return xp.permute(x, (*axes[:-2], axes[-1], axes[-2]))


def _weights(xp: Any, query: Any, key: Any, mask: Any, scale: float, causal: bool) -> Any:
    """How much each row of query takes of each row of key; they add to 1, or to 0 where it may look at nothing."""
    scores = xp.matmul(query * scale, turned(xp, key))
    nothing = -float("inf")
    if causal:
        rows, columns = scores.shape[-2:]
        scores = xp.where(xp.reshape(xp.arange(rows), (rows, 1)) >= xp.arange(columns), scores, nothing)
    if mask is not None:
        scores = xp.where(mask, scores, nothing) if mask.dtype.kind == "b" else scores + mask
    top = xp.amax(scores, -1, True)
    if mask is not None:
        top = xp.where(top == nothing, 0.0, top)
    powers = xp.exp(scores - top)
    total = xp.sum(powers, -1, True)
    if mask is not None:
        total = xp.where(total == 0, 1.0, total)
    return powers / total


class Embedding(Op):
    """The rows of ``weight`` (V, E) that ``indices`` (…) name: (…, E). Row ``padding_idx`` gets no gradient.

    With ``scale_grad_by_freq`` each row's gradient is divided by how often it was named.
    """

    dtypes = "each"
    saves = ("weight.shape", "indices", "padding_idx", "scale_grad_by_freq")
    gathers = True
    per_element = 0

    @staticmethod
    def forward(
        xp: Any, weight: Any, indices: Any, *, padding_idx: int | None = None, scale_grad_by_freq: bool = False
    ) -> Any:
        return xp.contiguous(weight[indices])

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, shape: Any, indices: Any, padding_idx: int | None, scale_grad_by_freq: bool
    ) -> Any:
        (rows, width), index = shape, xp.reshape(indices, (-1, 1))
        if padding_idx is not None:
            g = g * xp.reshape(indices != padding_idx, (*indices.shape, 1))
        places = xp.reshape(index * width + xp.arange(width), (-1,))  # element by element: NumPy adds rows far slower
        grad = xp.reshape(xp.scatter_add((rows * width,), (places,), xp.reshape(g, (-1,))), shape)
        if scale_grad_by_freq:
            flat = xp.reshape(indices, (-1,))
            counts = xp.scatter_add((rows,), (flat,), xp.ones(flat.shape, g.dtype))
            grad = grad / xp.reshape(xp.maximum(counts, xp.ones(counts.shape, g.dtype)), (rows, 1))
        return grad, None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return f"indices point into a table (V, E), but the weight is {shapes[0]}", "pass the weight second: (V, E)"


class Dropout(Op):
    """``x`` where ``keep`` holds, divided by ``1 - p``, the fraction that is kept on average; elsewhere 0."""

    dtypes = "each"
    saves = ("keep", "p")
    per_element = 2

    @staticmethod
    def forward(xp: Any, x: Any, keep: Any, *, p: float) -> Any:
        out = x * _growth(p)
        out *= keep  # in place, so that the result is laid out in memory like x, not like keep
        return out

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, keep: Any, p: float) -> Any:
        return g * keep * _growth(p), None


def _growth(p: float) -> float:
    return 1 / (1 - p) if p < 1 else 0.0


scaled_dot_product_attention_op = caller(Attention)
embedding_op, dropout_op = caller(Embedding), caller(Dropout)


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of ``weight`` (V, E) that the integers ``input`` (…) name: (…, E).

    Row ``padding_idx`` gets no gradient. With ``max_norm``, named rows with a larger ``norm_type``-norm are first
    scaled down to it, in ``weight`` itself. With ``scale_grad_by_freq`` each row's gradient is divided by how often it
    is named. Raises `IndexRangeError` for an index outside 0 to V - 1, `DtypeError` for what is not an integer,
    `ArgumentError` for ``sparse``: gradients are dense here.
    """
    x, weight = as_tensor(input), as_tensor(weight)
    tried = f"embedding({tuple(x.shape)} {x.dtype}, {tuple(weight.shape)} {weight.dtype})"
    if sparse:
        why = "a sparse gradient would hold only the named rows, but gradients here are dense"
        raise ArgumentError(f"{tried} with sparse=True", why, "leave sparse out")
    if x.dtype.kind != "i":
        raise DtypeError(tried, "rows are named by integers", "convert the indices: x.long()")
    if weight.ndim != 2:
        why = f"the table has {weight.ndim} axes, but each row of (V, E) stands for one index"
        raise ShapeError(tried, why, "pass the indices first and a table (V, E) second")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            why = f"the table has {rows} rows, but padding_idx is {padding_idx}"
            raise IndexRangeError(tried, why, f"use 0 to {rows - 1}")
        padding_idx %= rows
    low, high = extremes(x) or (0, -1)
    if low < 0 or high >= rows:
        why = f"the indices run from {low} to {high}, but the table has {rows} rows: 0 to {rows - 1}"
        mend = "make the table larger, or find out where the indices come from"
        if low < 0:
            mend = "count from 0; for padding, set aside a row with padding_idx"
        raise IndexRangeError(tried, why, mend)
    if max_norm is not None and x.numel():
        _shorten(weight, x, max_norm, norm_type)
    return embedding_op(weight, x, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)


def _shorten(weight: Any, x: Any, max_norm: float, norm_type: float) -> None:
    """Scale the named rows that are longer than ``max_norm`` down to it, in place."""
    with no_grad():
        table = weight.detach()
        rows = table[x.reshape(-1)]
        length = norm(rows, norm_type, 1, True)
        table[x.reshape(-1)] = where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows)


explain_all(globals())
