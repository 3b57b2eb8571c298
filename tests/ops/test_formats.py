"""Memory formats: the same shape and values, and other strides."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import DtypeError, ShapeError

LAST = tg.channels_last


def test_images_whose_channels_lie_side_by_side() -> None:
    x = tg.rand(2, 3, 4, 5)
    y = x.to(memory_format=LAST)
    assert (y.shape, y.stride(), x.stride()) == ((2, 3, 4, 5), (60, 1, 15, 3), (60, 20, 5, 1))
    assert y.tolist() == x.tolist()
    assert (y.is_contiguous(), y.is_contiguous(memory_format=LAST)) == (False, True)
    assert y.clone().stride() == y.double().stride() == (y + 1).stride() == y.stride()
    y.zero_()  # memory of its own
    assert x.all()


def test_what_lies_so_already_stays_itself() -> None:
    x = tg.rand(2, 3, 4, 5)
    y = x.contiguous(memory_format=LAST)
    assert y.contiguous(memory_format=LAST) is y.to(memory_format=LAST) is y
    assert x.contiguous() is x.to(memory_format=tg.contiguous_format) is x.to(memory_format=tg.preserve_format) is x
    for copied in (y.clone(memory_format=LAST), y.to(memory_format=LAST, copy=True)):
        copied.zero_()
        assert y.all()
        assert copied.stride() == y.stride()


def test_copies_of_one_channel_are_copies() -> None:
    """Its memory lies both ways at once."""
    x = tg.ones(2, 1, 4, 5)
    y = x.clone(memory_format=LAST)
    y.zero_()
    assert x.all()


def test_gradients_pass_through() -> None:
    x = tg.rand(2, 3, 2, 2).requires_grad_()
    weights = tg.rand(2, 3, 2, 2)
    (x.contiguous(memory_format=LAST) * weights).sum().backward()
    np.testing.assert_array_equal(x.grad.array, weights.array)
    leaf = x.detach().to(memory_format=LAST).requires_grad_()
    (leaf * weights).sum().backward()
    assert leaf.grad.stride() == leaf.stride()


def test_a_module_in_a_format() -> None:
    """What has four axes; the rest stays as it is."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Conv1d(2, 3, 2)).to(memory_format=LAST)
    assert [p.stride() for p in model.parameters()] == [(18, 1, 6, 2), (1,), (1,), (1,), (4, 2, 1), (1,)]


def test_formats_are_single_objects() -> None:
    assert [repr(f) for f in (tg.contiguous_format, LAST, tg.preserve_format)] == [
        "contiguous_format", "channels_last", "preserve_format",
    ]  # fmt: skip
    assert copy.deepcopy(LAST) is pickle.loads(pickle.dumps(LAST)) is LAST


def test_formats_that_do_not_fit() -> None:
    x = tg.ones(2, 3)
    why = "that is an order of images (N, C, H, W), but this has 2 axes"
    mend = "leave memory_format out, or convert tensors of four axes only"
    for name in ("clone", "contiguous", "to"):
        tried = f"{name} of a tensor (2, 3) with memory_format=channels_last"
        with teaches(ShapeError, tried, why, mend):
            getattr(x, name)(memory_format=LAST)
        why_not = "a memory format is one of three names, but this is a str"
        names = "use contiguous_format, channels_last or preserve_format"
        with teaches(DtypeError, f"{name} with memory_format='last'", why_not, names):
            getattr(x, name)(memory_format="last")
    with pytest.raises(ShapeError, match="with memory_format=channels_last"):
        tg.empty_like(x, memory_format=LAST)
    assert not x.is_contiguous(memory_format=LAST)
    with teaches(
        ShapeError, "contiguous with memory_format=preserve_format",
        "its elements are not in row-major order, and preserve_format keeps them so",
        "use clone(), or leave memory_format out",
    ):  # fmt: skip
        x.T.contiguous(memory_format=tg.preserve_format)
