"""Multi-head attention, as a layer; and, as in ``torch.nn.attention``, the choice of how attention is computed."""

from __future__ import annotations

from typing import Any

from ..dtypes import is_float
from ..errors import ArgumentError, DtypeError, ShapeError
from ..ops.movement import cat
from ..tensor import Tensor, as_tensor
from ..tensor.creation import empty, zeros
from . import functional as F
from .functional.attention import SDPBackend, local_attention, sdpa_kernel
from .init import constant_, xavier_normal_, xavier_uniform_
from .linear import Linear
from .module import Module, Parameter

__all__ = ["MultiheadAttention", "SDPBackend", "local_attention", "sdpa_kernel"]

NOTHING = -float("inf")


class MultiheadAttention(Module):
    """Rows of ``query`` attend to rows of ``key`` and take a weighted mean of rows of ``value``, in several heads.

    Each head has its own space of ``embed_dim / num_heads`` features, into which all three are projected;
    ``out_proj`` combines their results. ``kdim`` and ``vdim`` are the features of key and value, if not ``embed_dim``.
    In training a fraction ``dropout`` of the weights is dropped. ``add_bias_kv`` adds a learnt row to key and
    value, ``add_zero_attn`` one of zeros. With ``batch_first`` inputs are (N, L, E), else (L, N, E).

    >>> import tinygrad_edu as tg
    >>> attention, x = tg.nn.MultiheadAttention(8, num_heads=2, batch_first=True), tg.zeros(5, 3, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    ((5, 3, 8), (5, 3, 3))
    """

    in_proj_weight: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            tried = f"MultiheadAttention with embed_dim={embed_dim} and num_heads={num_heads}"
            why, mend = "each head gets the same number of features", "use a number of heads that divides embed_dim"
            raise ArgumentError(tried, why, mend)
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn

        def parameter(*shape: int) -> Any:
            return Parameter(empty(shape, device=device, dtype=dtype))

        packed = self.kdim == self.vdim == embed_dim
        self.register_parameter("in_proj_weight", parameter(3 * embed_dim, embed_dim) if packed else None)
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", None if packed else parameter(embed_dim, size))
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, parameter(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                constant_(bias, 0.0)
        for row in (self.bias_k, self.bias_v):
            if row is not None:
                xavier_normal_(row)

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
        attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The result for each row of ``query`` (L, N, E), of its shape, and the weights (N, L, S), or None.

        ``key`` is (S, N, kdim) and ``value`` (S, N, vdim); (N, L, E) and so on with ``batch_first``; N may be missing
        everywhere. Where ``attn_mask`` (L, S) or (N * heads, L, S), or ``key_padding_mask`` (N, S), is **true**,
        a row is ignored: the opposite of `functional.scaled_dot_product_attention`. Floats are added to the scores.
        A row that may attend to nothing gets zeros. ``is_causal`` says that ``attn_mask`` is causal, but the mask is
        still needed: ``nn.Transformer.generate_square_subsequent_mask(L)``. Without ``need_weights`` it is
        faster; else weights are the mean over heads, or (N, heads, L, S) if not ``average_attn_weights``. Raises
        `ShapeError`, `DtypeError` and `ArgumentError` for inputs that do not fit.
        """
        itself = query is key and key is value
        query, key, value = as_tensor(query), as_tensor(key), as_tensor(value)
        tried = f"MultiheadAttention of query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
        self._check(query, key, value, tried)
        if is_causal and attn_mask is None:
            why = "is_causal only says that the mask is causal, but attn_mask is missing"
            mend = "pass attn_mask=nn.Transformer.generate_square_subsequent_mask(L)"
            raise ArgumentError(tried, why, mend)
        batched = query.ndim == 3
        if not batched:
            axis = 0 if self.batch_first else 1
            query, key, value = (x.unsqueeze(axis) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else as_tensor(key_padding_mask).unsqueeze(0)
        q, k, v = (self._heads(x) for x in self._projected(query, key, value, itself))
        mask = self._mask(attn_mask, key_padding_mask, (q.shape[0], q.shape[2], k.shape[2]), q, tried)
        k, v, mask = self._more_rows(k, v, mask)
        drop, weights = self.dropout if self.training else 0.0, None
        if need_weights:
            weights = F.dropout(_weights(q, k, mask), drop)
            found = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            found = F.scaled_dot_product_attention(q, k, v, mask, drop)
        found = found.permute((0, 2, 1, 3) if self.batch_first else (2, 0, 1, 3)).reshape(tuple(query.shape))
        output = self.out_proj(found)
        if batched:
            return output, weights
        return output.squeeze(axis), None if weights is None else weights.squeeze(0)

    def _check(self, query: Tensor, key: Tensor, value: Tensor, tried: str) -> None:
        """Refuse shapes that do not fit the layer or each other."""
        if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
            order = "(N, L, features)" if self.batch_first else "(L, N, features)"
            why = f"all three must have axes {order}, or all (L, features) without a batch"
            raise ShapeError(tried, why, "add or join axes: unsqueeze, flatten")
        sizes = {"query": self.embed_dim, "key": self.kdim, "value": self.vdim}
        for (name, size), x in zip(sizes.items(), (query, key, value), strict=True):
            if x.shape[-1] != size:
                why = f"{name} has {x.shape[-1]} features, but the layer was made for {size}"
                raise ShapeError(tried, why, "check the axes, or make the layer with other embed_dim, kdim or vdim")
        if key.shape[:-1] != value.shape[:-1]:
            raise ShapeError(tried, "key and value differ in length", "give one row of value per row of key")
        batch = 0 if self.batch_first else 1
        if query.ndim == 3 and query.shape[batch] != key.shape[batch]:
            why = f"query is a batch of {query.shape[batch]}, but key and value of {key.shape[batch]}"
            raise ShapeError(tried, why, f"check batch_first, which is {self.batch_first}")

    def _projected(self, query: Tensor, key: Tensor, value: Tensor, itself: bool) -> Any:
        """Queries, keys and values of all heads together, (…, E) each."""
        if self.in_proj_weight is not None:
            if itself:
                return F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _heads(self, x: Tensor) -> Tensor:
        """The features divided among the heads: (N, heads, L, E / heads)."""
        return x.unflatten(-1, (self.num_heads, self.head_dim)).permute(
            (0, 2, 1, 3) if self.batch_first else (1, 2, 0, 3)
        )

    def _mask(self, attn_mask: Any, padding: Any, sizes: tuple[int, int, int], like: Tensor, tried: str) -> Any:
        """Both masks as one that stretches to (N, heads, L, S): true where a row may attend, or a number to add."""
        batch, rows, columns = sizes
        wide = (batch * self.num_heads, rows, columns)
        masks = []
        for name, mask, fits, shape in (
            ("attn_mask", attn_mask, ((rows, columns), wide), (-1, self.num_heads, rows, columns)),
            ("key_padding_mask", padding, ((batch, columns),), (batch, 1, 1, columns)),
        ):
            if mask is None:
                continue
            mask = as_tensor(mask)
            if tuple(mask.shape) not in fits:
                why = f"{name} is {tuple(mask.shape)}, but it must be {' or '.join(map(str, fits))}"
                raise ShapeError(tried, why, "its rows are queries, its columns keys")
            if mask.dtype.kind != "b" and not is_float(mask.dtype):
                why = f"{name} is {mask.dtype}: a mask is bool (what to ignore) or float (added to the scores)"
                raise DtypeError(tried, why, "make it bool: mask.bool()")
            masks.append(mask if name == "attn_mask" and mask.ndim == 2 else mask.reshape(shape))
        if not masks:
            return None
        if all(mask.dtype.kind == "b" for mask in masks):
            return ~(masks[0] if len(masks) == 1 else masks[0] | masks[1])
        added = [
            zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(mask, NOTHING)
            if mask.dtype.kind == "b" else mask.to(like.dtype)
            for mask in masks
        ]  # fmt: skip
        return added[0] if len(added) == 1 else added[0] + added[1]

    def _more_rows(self, key: Tensor, value: Tensor, mask: Any) -> tuple[Tensor, Tensor, Any]:
        """Keys and values with the rows of ``add_bias_kv`` and ``add_zero_attn``, to which every query may attend."""
        batch, heads, _, size = key.shape
        more = []
        if self.bias_k is not None:
            shape = (1, heads, 1, size)
            more.append([bias.reshape(shape).expand(batch, -1, -1, -1) for bias in (self.bias_k, self.bias_v)])
        if self.add_zero_attn:
            more.append([zeros((batch, heads, 1, size), dtype=key.dtype, device=key.device)] * 2)
        if more:
            key, value = (cat([x, *rows], -2) for x, rows in zip((key, value), zip(*more, strict=True), strict=True))
            if mask is not None:
                mask = F.pad(mask, (0, len(more)), value=1.0 if mask.dtype.kind == "b" else 0.0)
        return key, value, mask


def _weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """The weight of each row of key for each row of query; zeros where it may attend to nothing."""
    scores = query * query.shape[-1] ** -0.5 @ key.mT
    if mask is None:
        return F.softmax(scores, -1)
    scores = scores.masked_fill(~mask, NOTHING) if mask.dtype.kind == "b" else scores + mask
    blind = (scores == NOTHING).all(-1, keepdim=True)
    return F.softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0)
