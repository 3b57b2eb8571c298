"""Pictures in folders, one for each class; and a folder of pictures that are drawn, to practise with."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, MissingPackageError, StateFileError
from ..inputs.kinds import explain_all
from .datasets import Dataset

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
MOST, WIDEST = 10_000, 2048
SHAPES = ("disc", "square", "triangle")


class ImageFolder(Dataset):
    """The pictures under ``root``, which has a folder for each class: sample i is ``(picture, class)``.

    A picture is an array ``(height, width, 3)`` of uint8, or what ``transform`` makes of it; classes are numbered in
    the order of their names. A picture is read and decoded when it is asked for, by Pillow, which lets go of Python's
    lock meanwhile. ``classes``, ``class_to_idx`` and ``samples`` are those of torchvision's class of this name.

    Raises `ArgumentError` for a folder without pictures, `StateFileError` for a file that is no picture, and
    `MissingPackageError` without Pillow.
    """

    def __init__(self, root: str | os.PathLike[str], transform: Callable[[Any], Any] | None = None) -> None:
        self.root, self.transform = os.fspath(root), transform
        folders = [one for one in Path(root).iterdir() if one.is_dir()] if Path(root).is_dir() else []
        self.classes = sorted(one.name for one in folders)
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.samples = [
            (str(file), number)
            for name, number in self.class_to_idx.items()
            for file in sorted(Path(root, name).rglob("*"))
            if file.suffix.lower() in ENDINGS
        ]
        if not self.samples:
            why = "it has no folder with pictures in it" if folders else "it has no folders, one for each class"
            mend = f"give a folder whose folders hold {', '.join(ENDINGS)}"
            raise ArgumentError(f"ImageFolder({self.root!r})", why, mend)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        file, number = self.samples[index]
        picture = _decoded(file)
        return (picture if self.transform is None else self.transform(picture)), number


def draw_images(root: str | os.PathLike[str], count: int = 60, size: int = 64, seed: int = 0) -> ImageFolder:
    """Draw ``count`` PNG pictures of discs, squares and triangles, ``size`` pixels wide, under ``root``, and open them.

    They are noisy, so that decoding takes time as with photographs. Equal arguments draw equal pictures.
    """
    image = _pillow("draw_images")
    if not (len(SHAPES) <= count <= MOST and 8 <= size <= WIDEST):
        why = f"there are {len(SHAPES)} classes, a shape needs 8 pixels, and all this takes time"
        mend = f"draw {len(SHAPES)} to {MOST:,} pictures of 8 to {WIDEST:,} pixels"
        raise ArgumentError(f"draw_images(count={count}, size={size})", why, mend)
    rng = np.random.default_rng(seed)
    for number in range(count):
        name = SHAPES[number % len(SHAPES)]
        folder = Path(root, name)
        folder.mkdir(parents=True, exist_ok=True)
        image.fromarray(_drawn(name, size, rng)).save(folder / f"{number:04d}.png")
    return ImageFolder(root)


def _drawn(name: str, size: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """A shape somewhere on a noisy ground, in two colours."""
    y, x = np.mgrid[:size, :size] / size
    (row, column), half = rng.uniform(0.35, 0.65, 2), rng.uniform(0.15, 0.3)
    right, down = x - column, y - row
    inside = {
        "disc": right**2 + down**2 < half**2,
        "square": np.maximum(abs(right), abs(down)) < half,
        "triangle": (abs(right) < (down + half) / 2) & (down < half),
    }[name]
    ground, colour = rng.integers(0, 110, 3), rng.integers(140, 250, 3)
    picture = np.where(inside[..., None], colour, ground) + rng.normal(0, 12, (size, size, 3))
    return picture.clip(0, 255).astype(np.uint8)


def _decoded(file: str) -> np.ndarray[Any, Any]:
    image = _pillow(f"reading {file}")
    try:
        with image.open(file) as found:
            return np.asarray(found.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:  # Pillow says SyntaxError for a broken PNG
        raise StateFileError(
            f"reading {file}", f"it is no whole picture: {error}", "remove it, or get it again"
        ) from error


def _pillow(tried: str) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingPackageError(tried, "pictures are read by Pillow", "install it: pip install pillow") from None
    return Image


explain_all(globals())
