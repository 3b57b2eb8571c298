"""A vector for each of many numbered things, or for each bag of them."""

from __future__ import annotations

from typing import Any, Self

from ..errors import ArgumentError, IndexRangeError, ShapeError
from ..settings import no_grad
from ..tensor import Tensor, as_tensor
from ..tensor.creation import empty
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _Table(Module):
    """What `Embedding` and `EmbeddingBag` share: a learnt table, and checks of its sizes."""

    weight: Tensor

    def _make(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, sparse: bool, given: Any, freeze: bool,
        device: str | None, dtype: Any,
    ) -> None:  # fmt: skip
        own = type(self).__name__
        tried = f"{own}({num_embeddings}, {embedding_dim}"
        if sparse:
            why = "a sparse gradient would hold only the named rows, but gradients here are dense"
            raise ArgumentError(f"{tried}, sparse=True)", why, "leave sparse out")
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                why, mend = f"the table has {num_embeddings} rows", f"use 0 to {num_embeddings - 1}"
                raise IndexRangeError(f"{tried}, padding_idx={padding_idx})", why, mend)
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        if given is None:
            table = empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not freeze)
            self.reset_parameters()
        else:
            if tuple(given.shape) != (num_embeddings, embedding_dim):
                why = f"the given table has shape {tuple(given.shape)}"
                raise ShapeError(f"{tried})", why, f"give its sizes, or use {own}.from_pretrained(table)")
            self.weight = Parameter(given, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the table again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def _given(cls, embeddings: Any) -> Tensor:
        """The given table."""
        table: Tensor = as_tensor(embeddings)
        if table.ndim != 2:
            tried = f"{cls.__name__}.from_pretrained(a tensor {tuple(table.shape)})"
            raise ShapeError(tried, "a table must have rows and columns", "give it the shape (V, E)")
        return table

    def _sizes(self, **usual: Any) -> str:
        """Sizes, and whatever differs from the defaults."""
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        parts += [f"{name}={getattr(self, name)!r}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join(parts)


class Embedding(_Table):
    """The rows of a learnt table that integers (…) name: (…, embedding_dim).

    ``weight`` is (num_embeddings, embedding_dim), normally distributed at first. Row ``padding_idx`` starts at 0 and
    gets no gradient. With ``max_norm``, named rows whose ``norm_type``-norm is larger are scaled down to
    it, in place. With ``scale_grad_by_freq`` each row's gradient is divided by how often it is named. Gradients are
    dense: ``sparse=True`` raises `ArgumentError`.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make(num_embeddings, embedding_dim, padding_idx, sparse, _weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The named rows. Raises `IndexRangeError` for an index that is not in the table."""
        result: Tensor = F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )
        return result

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Self:  # fmt: skip
        """A layer whose table is ``embeddings`` (V, E), sharing its memory; with ``freeze``, it is not trained.

        Raises `ShapeError` unless it is a matrix.
        """
        table = cls._given(embeddings)
        rows, width = table.shape
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, table, freeze)

    def extra_repr(self) -> str:
        """Sizes, and whatever differs from the defaults."""
        return self._sizes(padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False)


class EmbeddingBag(_Table):
    """The sum, mean or largest elements of a bag of rows of a learnt table: (B, L), or (N,) in bags, to (B, E).

    ``mode`` is "sum", "mean" or "max". Rows ``padding_idx`` do not count. All else is as for `Embedding`, and the input
    as `functional.embedding_bag` takes it.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._make(num_embeddings, embedding_dim, padding_idx, sparse, _weight, False, device, dtype)

    def forward(self, input: Tensor, offsets: Any = None, per_sample_weights: Any = None) -> Tensor:
        """A row for each bag. Raises `IndexRangeError` for an index that is not in the table."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:  # fmt: skip
        """A layer whose table is ``embeddings`` (V, E), sharing its memory; with ``freeze``, it is not trained.

        Raises `ShapeError` unless it is a matrix.
        """
        table = cls._given(embeddings)
        rows, width = table.shape
        layer = cls(
            rows, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse, table, include_last_offset, padding_idx
        )
        layer.weight.requires_grad = not freeze
        return layer

    def extra_repr(self) -> str:
        """Sizes, the mode, and whatever differs from the defaults."""
        return self._sizes(max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode=None, padding_idx=None)
