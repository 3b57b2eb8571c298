"""The digits: what they are, where they come from, how they are split."""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.data import digits


def test_images_and_labels() -> None:
    found = digits()
    images, labels = found.images.array, found.labels.array
    assert (images.shape, images.dtype) == ((1797, 8, 8), np.float32)
    assert (labels.shape, labels.dtype) == ((1797,), np.int64)
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert set(np.unique(images * 16)) == set(range(17))
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert labels[:10].tolist() == list(range(10))


def test_a_zero_has_a_hole_and_a_one_has_not() -> None:
    """The pictures are the right way up: the middle of a mean zero is paper, that of a mean one is ink."""
    found = digits()
    middle = {d: found.images.array[found.labels.array == d].mean(0)[3:5, 3:5].mean() for d in (0, 1)}
    assert middle[0] < 0.2 < 0.6 < middle[1]


def test_source_and_licence() -> None:
    assert "10.24432/C50P49" in digits().source
    assert "CC BY 4.0" in digits().source


def test_no_network_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    digits()


def test_each_call_gives_memory_of_its_own() -> None:
    first = digits()
    first.images.zero_()
    assert digits().images.array.max() == 1.0


def _rows(images: Any) -> list[bytes]:
    return [row.tobytes() for row in images.array]


def test_the_random_split_is_stratified_disjoint_and_complete() -> None:
    found = digits()
    train, train_labels, test, test_labels = found.split(test=0.2, seed=0)
    assert train.shape == (len(train_labels), 64)
    assert test.shape == (len(test_labels), 64)
    assert len(train) + len(test) == 1797
    assert sorted(_rows(train) + _rows(test)) == sorted(row.tobytes() for row in found.images.array.reshape(-1, 64))
    everywhere = np.bincount(found.labels.array)
    assert np.abs(np.bincount(test_labels.array) - 0.2 * everywhere).max() <= 0.5
    assert train.dtype == np.float32
    assert test_labels.dtype == np.int64


def test_the_split_follows_its_seed() -> None:
    found = digits()
    assert _rows(found.split(seed=1)[2]) == _rows(found.split(seed=1)[2])
    assert _rows(found.split(seed=1)[2]) != _rows(found.split(seed=2)[2])


def test_the_ordered_split_holds_out_the_last_rows() -> None:
    found = digits()
    train, train_labels, test, test_labels = found.split(test=0.2, seed=None)
    assert (len(train), len(test)) == (1438, 359)
    np.testing.assert_array_equal(test.array, found.images.array.reshape(-1, 64)[1438:])
    np.testing.assert_array_equal(train_labels.array, found.labels.array[:1438])
    np.testing.assert_array_equal(test_labels.array, found.labels.array[1438:])


@pytest.mark.parametrize("share", [0.0, 1.0, 1.5, -0.1])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(ValueError, match=f"test={share}: it is the fraction of the images that is held out"):
        digits().split(test=share)


def test_parts_share_no_memory() -> None:
    found = digits()
    train, *_ = found.split()
    train.zero_()
    assert found.images.array.max() == 1.0
    assert isinstance(train, tg.Tensor)
