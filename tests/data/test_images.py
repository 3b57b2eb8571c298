"""Pictures in folders, drawn and read; and samples that cost as much as one says."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tinygrad_edu.data import Chores, DataLoader, ImageFolder, draw_images
from tinygrad_edu.data.practice import KINDS
from tinygrad_edu.errors import ArgumentError, StateFileError

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")


def test_drawn_pictures_are_read_by_class(tmp_path: Path) -> None:
    folder = draw_images(tmp_path / "shapes", 7, 16)
    assert (len(folder), folder.classes) == (7, ["disc", "square", "triangle"])
    assert folder.class_to_idx == {"disc": 0, "square": 1, "triangle": 2}
    assert [number for _, number in folder.samples] == [0, 0, 0, 1, 1, 2, 2]
    picture, number = folder[3]
    assert (picture.shape, picture.dtype, number) == ((16, 16, 3), np.uint8, 1)
    np.testing.assert_array_equal(picture, np.asarray(Image.open(folder.samples[3][0])))


def test_equal_arguments_draw_equal_pictures_and_other_seeds_others(tmp_path: Path) -> None:
    one, same, other = (draw_images(tmp_path / name, 3, 16, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    for number in range(3):
        np.testing.assert_array_equal(one[number][0], same[number][0])
        assert (one[number][0] != other[number][0]).any()


def test_the_classes_can_be_told_apart(tmp_path: Path) -> None:
    """A square covers more of its box than a disc, and a disc more than a triangle."""
    folder = draw_images(tmp_path, 60, 32)
    shares: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for picture, number in folder:
        light = picture.sum(2) > (int(picture.sum(2).min()) + int(picture.sum(2).max())) / 2
        rows, columns = np.nonzero(light)
        box = (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
        shares[number].append(light.sum() / box)
    disc, square, triangle = (np.median(shares[number]) for number in range(3))
    assert square > 0.95 > 0.85 > disc > 0.7 > 0.6 > triangle > 0.4


def test_a_transform_is_given_each_picture_and_a_loader_joins_what_it_makes(tmp_path: Path) -> None:
    draw_images(tmp_path, 6, 16)
    folder = ImageFolder(tmp_path, lambda picture: picture.mean((0, 1), dtype=np.float32))
    for more in ({}, {"num_workers": 2}):
        colours, numbers = next(iter(DataLoader(folder, 6, **more)))
        assert tuple(colours.shape) == (6, 3) and numbers.tolist() == [0, 0, 1, 1, 2, 2]


def test_grey_pictures_and_other_endings_come_in_three_colours(tmp_path: Path) -> None:
    (tmp_path / "grey" / "more").mkdir(parents=True)
    Image.fromarray(np.full((4, 5), 9, np.uint8)).save(tmp_path / "grey" / "more" / "a.BMP")
    (tmp_path / "grey" / "notes.txt").write_text("no picture")
    folder = ImageFolder(tmp_path)
    assert len(folder) == 1 and folder[0][0].tolist() == np.full((4, 5, 3), 9).tolist()


def test_what_is_no_folder_of_pictures(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="it has no folders, one for each class"):
        ImageFolder(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArgumentError, match="it has no folder with pictures in it"):
        ImageFolder(tmp_path)
    (tmp_path / "empty" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    with pytest.raises(StateFileError, match=r"(?s)broken\.png.*it is no whole picture"):
        ImageFolder(tmp_path)[0]
    for bad in ({"count": 2}, {"size": 7}, {"count": 10**6}, {"size": 10**4}):
        with pytest.raises(ArgumentError, match="draw 3 to 10,000 pictures of 8 to 2,048 pixels"):
            draw_images(tmp_path, **bad)


def test_without_pillow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw_images(tmp_path, 3, 8)
    folder = ImageFolder(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    for call in (lambda: folder[0], lambda: draw_images(tmp_path)):
        with pytest.raises(ImportError, match="pip install pillow"):
            call()


@pytest.mark.parametrize("kind", KINDS)
def test_chores_are_the_same_samples_whatever_they_cost(kind: str) -> None:
    chores = Chores(12, kind, 1)
    assert len(chores) == 12 and len(list(chores)) == 12
    for number, (values, label) in enumerate(chores):
        assert (values.tolist(), values.dtype, label) == ([number] * 16, np.float32, number % 10)
    assert chores[-1][0][0] == 11


def test_a_chore_that_waits_takes_its_milliseconds() -> None:
    start = time.perf_counter()
    Chores(1, "waits", 20)[0]
    assert 0.02 <= time.perf_counter() - start < 2


def test_an_unknown_kind_of_chore() -> None:
    with pytest.raises(ArgumentError, match="the kinds are waits, NumPy, Python"):
        Chores(kind="magic")
