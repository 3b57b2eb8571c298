"""Real handwritten digits, small enough to travel with the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from ..inputs.kinds import explain_all
from ..tensor import Tensor, tensor

SOURCE = (
    "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, "
    "doi:10.24432/C50P49. Licence: CC BY 4.0. This is its test part: 1,797 digits by 13 writers."
)


@dataclass(frozen=True)
class Digits:
    """1,797 images (N, 8, 8), float32 from 0 (paper) to 1 (ink), and their labels (N,), int64 from 0 to 9."""

    images: Tensor
    labels: Tensor
    source: str = SOURCE

    def split(self, *, test: float = 0.2, seed: int | None = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Training images and labels, then test images and labels. Images come as rows (N, 64).

        With a ``seed`` the split is random and stratified: each digit is as frequent in both parts, and the same
        writers may be in both. With ``seed=None`` the last rows are the test part: mostly other writers, and harder.
        """
        if not 0 < test < 1:
            raise ValueError(f"test={test}: it is the fraction of the images that is held out, between 0 and 1")
        labels = self.labels.array
        if seed is None:
            count = round(len(labels) * (1 - test))
            train, held_out = np.arange(count), np.arange(count, len(labels))
        else:
            rng = np.random.default_rng(seed)
            rows = [rng.permutation(np.flatnonzero(labels == digit)) for digit in range(10)]
            cuts = [round(len(r) * test) for r in rows]
            held_out = np.sort(np.concatenate([r[:cut] for r, cut in zip(rows, cuts, strict=True)]))
            train = np.sort(np.concatenate([r[cut:] for r, cut in zip(rows, cuts, strict=True)]))
        flat = self.images.array.reshape(-1, 64)
        return tuple(tensor(part) for part in (flat[train], labels[train], flat[held_out], labels[held_out]))  # type: ignore[return-value]


def digits() -> Digits:
    """The UCI handwritten digits. Read from a file in the package: no network is used.

    >>> digits().images.shape
    (1797, 8, 8)
    """
    with files(__package__).joinpath("digits.npz").open("rb") as file, np.load(file) as archive:
        pixels: Any = archive["images"]
        return Digits(tensor(pixels.astype(np.float32) / 16), tensor(archive["labels"].astype(np.int64)))


explain_all(globals())
