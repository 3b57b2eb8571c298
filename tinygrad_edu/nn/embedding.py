"""A vector for each of many things that have a number."""

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


class Embedding(Module):
    """The rows of a learnt table that integers (…) name: (…, embedding_dim).

    ``weight`` is (num_embeddings, embedding_dim), normally distributed at first. Row ``padding_idx`` begins at 0 and
    gets no gradient. With ``max_norm``, rows that are named and whose ``norm_type``-norm is larger are scaled down to
    it, in place. With ``scale_grad_by_freq`` each row's gradient is divided by how often it is named. Gradients are
    dense: ``sparse=True`` raises `ArgumentError`.
    """

    weight: Tensor

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        tried = f"Embedding({num_embeddings}, {embedding_dim}"
        if sparse:
            why = "a sparse gradient would hold the named rows alone, and gradients here are dense"
            raise ArgumentError(f"{tried}, sparse=True)", why, "leave sparse out")
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                why, mend = f"the table has {num_embeddings} rows", f"use 0 to {num_embeddings - 1}"
                raise IndexRangeError(f"{tried}, padding_idx={padding_idx})", why, mend)
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            table = empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                why = f"the table that is given has shape {tuple(_weight.shape)}"
                raise ShapeError(f"{tried})", why, "say its sizes, or use Embedding.from_pretrained(table)")
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

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
        """A layer whose table is ``embeddings`` (V, E), sharing its memory; with ``freeze``, it is not learnt.

        Raises `ShapeError` for what is no matrix.
        """
        table = as_tensor(embeddings)
        if table.ndim != 2:
            tried = f"Embedding.from_pretrained(a tensor {tuple(table.shape)})"
            raise ShapeError(tried, "a table has rows and columns", "give it the shape (V, E)")
        rows, width = table.shape
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, table, freeze)

    def extra_repr(self) -> str:
        """Sizes, and what is not as usual."""
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False}
        return ", ".join(parts + [f"{n}={getattr(self, n)}" for n, value in usual.items() if getattr(self, n) != value])
