"""Dropout: in training, a random fraction of the input is set to 0, drawn again each time."""

from __future__ import annotations

from ..tensor import Tensor
from . import functional as F
from .functional.dropping import share
from .module import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        share(type(self).__name__, p)
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        """The fraction that is dropped."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """A fraction ``p`` of the elements set to 0, and the others divided by ``1 - p``; after ``eval()``, the input.

    Raises `ArgumentError` for a p outside 0 to 1.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, with holes."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """`Dropout` of whole channels of sequences (N, C, L), or of one (C, L)."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, with channels missing."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """`Dropout` of whole channels of images (N, C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, with channels missing. Raises `ShapeError` for three axes: PyTorch takes them for sequences."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """`Dropout` of whole channels of volumes (N, C, D, H, W), or of one (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """The input, with channels missing."""
        return F.dropout3d(input, self.p, self.training, self.inplace)
