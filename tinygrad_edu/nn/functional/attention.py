"""Scaled dot-product attention: with the whole matrix of scores, or block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from enum import Enum
from typing import Any

from numpy import broadcast_shapes

from ... import backends
from ...backends.layout import how_many
from ...common.blocks import block
from ...common.wording import shown
from ...dtypes import is_float
from ...errors import ArgumentError, DtypeError, ShapeError
from ...inputs.arguments import as_tensor, whole
from ...inputs.kinds import explain_all, kind_of
from ...ops.attention import scaled_dot_product_attention_op
from ...ops.blockwise import blockwise_attention_op
from ...tensor import Tensor
from .dropping import kept, share

MANY = 1 << 22  # scores: from here on the whole matrix takes longer than its blocks, in one thread
MANY_CAUSAL = 1 << 20  # half of the blocks are left out
FEW_MATRICES = 16  # up to here, blocks of this size are in the cache with what is made of them:
LARGE, SMALL, LEAST = 256, 128, 32


class SDPBackend(Enum):
    """A way to compute attention, for `sdpa_kernel`.

    ``MATH``
        with the whole matrix of scores, which is kept for backward. Memory grows with the square of the length.
    ``FLASH_ATTENTION``, ``EFFICIENT_ATTENTION``
        block by block. Memory grows with the length; backward computes the scores again. These are two programs in
        PyTorch, and one here. It has no dropout.
    """

    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2


BLOCKS = {SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION}
_allowed: ContextVar[frozenset[SDPBackend]] = ContextVar("ways of attention", default=frozenset(SDPBackend))


@block
def sdpa_kernel(backends: Any) -> Iterator[None]:
    """In this block, `scaled_dot_product_attention` may only work in these ways: a `SDPBackend`, or a list of them.

    With several, it takes the one that is faster for the length, so there is no order to set. It holds for calls in
    this thread, not for what a checkpoint computes again later. Raises `ArgumentError` for anything else.
    """
    given = list(backends) if isinstance(backends, Iterable) else [backends]
    if not given or not all(isinstance(one, SDPBackend) for one in given):
        why = f"it takes a SDPBackend or a list of them, but this is {kind_of(backends)}"
        raise ArgumentError(f"sdpa_kernel({shown(backends)})", why, "use sdpa_kernel(SDPBackend.FLASH_ATTENTION)")
    token = _allowed.set(frozenset(given))
    try:
        yield
    finally:
        _allowed.reset(token)


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Attention: each row of ``query`` (…, L, E) takes a weighted mean of the rows of ``value`` (…, S, V).

    The weights are ``softmax(query @ key.mT * scale)``, for ``key`` (…, S, E); ``scale`` is 1 / √E by default. Where
    a bool ``attn_mask`` (…, L, S) is false, a row is ignored; a float one is added. ``is_causal`` lets row i attend to
    rows 0 to i. A row that may attend to nothing gives zeros. A fraction ``dropout_p`` of the weights is dropped: pass
    0 outside training. With ``enable_gqa`` several heads (axis -3) of query share one of key and value.

    From 4 million scores on, or 1 million if ``is_causal``, it works block by block, in memory that grows with L and
    not with L * S: but not with dropout, nor with a mask that wants a gradient, nor while it is recorded for `compile`.
    `nn.attention.sdpa_kernel` chooses otherwise. Raises `ShapeError` if shapes do not fit, `DtypeError` if dtypes
    differ or are not floats, `ArgumentError` for dropout where only blocks are allowed.
    """
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    tried = _tried(query, key, value)
    _check_dtypes(tried, query, key, value)
    share(tried, dropout_p)
    if attn_mask is not None:
        attn_mask = as_tensor(attn_mask)
        if attn_mask.dtype.kind != "b" and not is_float(attn_mask.dtype):
            why = f"the mask is {attn_mask.dtype}: a mask is bool (what to attend to) or float (added to the scores)"
            raise DtypeError(tried, why, "make it bool: mask.bool()")
        if attn_mask.dtype.kind != "b":
            attn_mask = attn_mask.to(query.dtype)
    if enable_gqa and min(query.ndim, key.ndim, value.ndim) > 2:
        key, value = _shared(query, key, tried), _shared(query, value, tried)
    matrices = _matrices(query, key, value, attn_mask)
    scale = (query.shape[-1] or 1) ** -0.5 if query.ndim and scale is None else scale
    if matrices and _in_blocks(tried, query, key, attn_mask, dropout_p, is_causal, matrices):
        size = LARGE if matrices <= FEW_MATRICES else SMALL
        out: Tensor = blockwise_attention_op(query, key, value, attn_mask, scale=scale, causal=is_causal, block=size)
        return out
    keep = None
    if dropout_p and matrices is not None:
        leads = [t.shape[:-2] for t in (query, key, attn_mask) if t is not None]
        keep = kept((*broadcast_shapes(*leads), query.shape[-2], key.shape[-2]), dropout_p, query)
    out = scaled_dot_product_attention_op(
        query, key, value, attn_mask, keep, causal=is_causal, dropout_p=dropout_p, scale=scale
    )
    return out


def local_attention(
    query: Any, key: Any, value: Any, window: int, scale: float | None = None, enable_gqa: bool = False
) -> Tensor:
    """Attention in which row i looks only at the last ``window`` rows, from row i - window + 1 to row i itself.

    It works in blocks about as long as the window, so both time and memory grow with the length, not with its square.
    The other arguments are those of `scaled_dot_product_attention`, and so are the errors. PyTorch has the same as
    `flex_attention` with a mask; a bool mask gives the same numbers everywhere, at the cost of the whole matrix.

    >>> import tinygrad_edu as tg
    >>> x = tg.zeros(4, 1)
    >>> tg.nn.attention.local_attention(x, x, tg.tensor([[1.0], [3.0], [5.0], [7.0]]), window=2).tolist()
    [[1.0], [2.0], [4.0], [6.0]]
    """
    query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
    tried = f"local {_tried(query, key, value)}"
    _check_dtypes(tried, query, key, value)
    if whole("local_attention", "window", window) < 1:
        raise ArgumentError(f"{tried} with window={window}", "a row looks at itself at least", "use 1 or more")
    if enable_gqa and min(query.ndim, key.ndim, value.ndim) > 2:
        key, value = _shared(query, key, tried), _shared(query, value, tried)
    matrices = _matrices(query, key, value) or 1
    size = LARGE if matrices <= FEW_MATRICES else SMALL
    near = min(max(LEAST, 1 << (window - 1).bit_length()), size)
    scale = (query.shape[-1] or 1) ** -0.5 if query.ndim and scale is None else scale
    out: Tensor = blockwise_attention_op(query, key, value, scale=scale, causal=True, window=window, block=near)
    return out


def _tried(query: Tensor, key: Tensor, value: Tensor) -> str:
    return f"attention of query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)}"


def _check_dtypes(tried: str, query: Tensor, key: Tensor, value: Tensor) -> None:
    dtypes = {t.dtype for t in (query, key, value)}
    if len(dtypes) > 1 or not is_float(query.dtype):
        names = " and ".join(sorted(str(dtype) for dtype in dtypes))
        why = f"they are {names}, but attention takes three tensors of one float dtype"
        raise DtypeError(tried, why, "convert them first: key.to(query.dtype)")


def _shared(query: Tensor, x: Tensor, tried: str) -> Tensor:
    """Each head of key or value, repeated for the heads of query that share it."""
    heads, own = query.shape[-3], x.shape[-3]
    if not own or heads % own:
        why = f"{heads} heads of query cannot be divided among {own} of key or value"
        raise ShapeError(tried, why, "use a number of heads that divides query's")
    if own == heads:
        return x
    times = (*x.shape[:-2], heads // own, *x.shape[-2:])
    result: Tensor = x.unsqueeze(-3).expand(times).flatten(-4, -3)
    return result


def _matrices(*given: Tensor | None) -> int | None:
    """How many matrices of scores there are; None if shapes do not fit, which the operation itself explains."""
    shapes = [t.array.shape for t in given if t is not None]
    if min(map(len, shapes[:3])) < 2:
        return None
    leads = {shape[:-2] for shape in shapes}
    with suppress(ValueError):
        return how_many(leads.pop() if len(leads) == 1 else broadcast_shapes(*leads))
    return None


def _in_blocks(
    tried: str, query: Tensor, key: Tensor, mask: Tensor | None, dropout_p: float, causal: bool, matrices: int
) -> bool:
    """Whether to work block by block."""
    allowed, (rows, keys) = _allowed.get(), (query.array.shape[-2], key.array.shape[-2])
    if SDPBackend.MATH in allowed and matrices * rows * keys < MANY_CAUSAL:
        return False
    if allowed.isdisjoint(BLOCKS) or not rows or not keys:
        return False
    if SDPBackend.MATH not in allowed:
        if dropout_p:
            why = "sdpa_kernel allows blocks only, and they have no dropout: it draws a number for each score"
            raise ArgumentError(f"{tried} with dropout_p={dropout_p}", why, "allow SDPBackend.MATH too")
        return True
    recorded = not backends.of(query.array).readable
    if dropout_p or recorded or (mask is not None and mask.requires_grad):
        return False
    return bool(matrices * rows * keys >= (MANY_CAUSAL if causal else MANY))


explain_all(globals(), "sdpa_kernel")
