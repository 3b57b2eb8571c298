"""Transposed convolution: against loops, and what it says when it cannot be done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DtypeError, ShapeError

F = tg.nn.functional
Array = np.ndarray[Any, Any]


def by_loops(x: Array, w: Array, b: Array, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any) -> Array:
    """Every pixel writes its kernel into a canvas, from which edges are then taken off."""
    (n, c, height, width), (_, own, kh, kw) = x.shape, w.shape
    tall = (height - 1) * stride[0] + dilation[0] * (kh - 1) + 1 + extra[0]
    wide = (width - 1) * stride[1] + dilation[1] * (kw - 1) + 1 + extra[1]
    canvas = np.zeros((n, own * groups, tall, wide))
    for k in range(c):
        group = k // (c // groups)
        for i, j, di, dj in np.ndindex(height, width, kh, kw):
            place = i * stride[0] + di * dilation[0], j * stride[1] + dj * dilation[1]
            canvas[:, group * own : (group + 1) * own, *place] += x[:, k, i, j, None] * w[k, :, di, dj]
    return canvas[:, :, padding[0] : tall - padding[0], padding[1] : wide - padding[1]] + b[:, None, None]


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    ("stride", "padding", "extra", "dilation"),
    [
        ((1, 1), (0, 0), (0, 0), (1, 1)),
        ((2, 1), (1, 2), (1, 0), (1, 1)),
        ((3, 2), (0, 1), (2, 1), (1, 2)),
        ((1, 1), (1, 0), (1, 2), (2, 3)),
    ],
)
def test_against_loops(groups: int, stride: Any, padding: Any, extra: Any, dilation: Any) -> None:
    rng = np.random.default_rng(3)
    x, w, b = rng.normal(size=(2, 4, 3, 4)), rng.normal(size=(4, 2, 2, 3)), rng.normal(size=2 * groups)
    expected = by_loops(x, w, b, stride, padding, extra, groups, dilation)
    tensors = (tg.tensor(x), tg.tensor(w), tg.tensor(b))
    found = F.conv_transpose2d(*tensors, stride, padding, extra, groups, dilation)
    np.testing.assert_allclose(found.array, expected, rtol=1e-12, atol=1e-12)
    one = F.conv_transpose2d(tensors[0][0], *tensors[1:], stride, padding, extra, groups, dilation)
    np.testing.assert_allclose(one.array, expected[0], rtol=1e-12, atol=1e-12)


def test_a_sequence_is_a_low_image() -> None:
    rng = np.random.default_rng(4)
    x, w, b = rng.normal(size=(2, 4, 5)), rng.normal(size=(4, 3, 2)), rng.normal(size=6)
    how = {"stride": 2, "padding": 1, "output_padding": 1, "groups": 2, "dilation": 3}
    found = F.conv_transpose1d(tg.tensor(x), tg.tensor(w), tg.tensor(b), **how)
    expected = by_loops(x[:, :, None], w[:, :, None], b, (1, 2), (0, 1), (0, 1), 2, (1, 3))[:, :, 0]
    np.testing.assert_allclose(found.array, expected, rtol=1e-12, atol=1e-12)


def test_what_a_convolution_does_backwards() -> None:
    rng = np.random.default_rng(5)
    x, w, g = rng.normal(size=(2, 4, 6, 5)), rng.normal(size=(6, 4, 3, 2)), rng.normal(size=(2, 6, 3, 3))
    image = tg.tensor(x, requires_grad=True)
    out = F.conv2d(image, tg.tensor(w), stride=2, padding=(1, 1))
    (expected,) = tg.autograd.grad(out, image, tg.tensor(g))
    found = F.conv_transpose2d(tg.tensor(g), tg.tensor(w), stride=2, padding=(1, 1), output_padding=(1, 1))
    np.testing.assert_allclose(found.array, expected.array, rtol=1e-12, atol=1e-12)


def test_no_images_give_none() -> None:
    weight = tg.ones(2, 3, 2, 2, requires_grad=True)
    out = F.conv_transpose2d(tg.zeros(0, 2, 3, 3), weight)
    assert out.shape == (0, 3, 4, 4)
    out.sum().backward()
    assert not weight.grad.array.any()


BOTH = (2, 3, 8, 8), (3, 6, 3, 3)
WRONG: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], str, str]] = [
    (
        (2, 3, 8, 8), (4, 6, 3, 3), {},
        "there are kernels for 4 channels, but the image has 3", "make it ConvTranspose2d(3, 6, …)",
    ),
    (
        (2, 9, 4), (4, 3, 3), {},
        "there are kernels for 4 channels, but the sequence has 9",
        "channels come before the places: x.permute(0, 2, 1)",
    ),
    (
        (2, 3, 8), (1, 6, 3), {},
        "there are kernels for 1 channel, but the sequence has 3", "make it ConvTranspose1d(3, 6, …)",
    ),
    ((2, 3, 8, 8), (3, 6, 3), {}, "kernels are (C, F, kh, kw), but these have 3 axes", "reshape the kernels"),
    ((3, 8), (3, 6, 3, 3), {"axes": 1}, "kernels are (C, F, k), but these have 4 axes", "reshape the kernels"),
    (
        (8, 8), (3, 6, 3, 3), {},
        "images come as (N, C, H, W) or (C, H, W), but this has 2 axes", "add the missing axes: x.unsqueeze(0)",
    ),
    (*BOTH, {"stride": 0}, "the stride is (0, 0), but it must be at least 1", "use stride=1 or more"),
    (*BOTH, {"padding": -1}, "the padding is (-1, -1), but it must be at least 0", "use padding=0 or more"),
    (*BOTH, {"groups": 2}, "3 channels cannot be divided evenly among 2 groups", "use a number that divides them"),
    (*BOTH, {"bias": (5,)}, "the result has 6 channels, but the bias has shape (5,)", "make the bias (6,)"),
    (
        (2, 3, 0, 8), (3, 6, 3, 3), {},
        "a tensor (2, 3, 0, 8) has no elements to write", "check how it came to be empty",
    ),
    (
        *BOTH, {"stride": 2, "output_padding": (2, 1)},
        "output_padding (2, 1) is not below stride or dilation: no window would reach it",
        "use less output_padding, or pad the result",
    ),
    ((2, 3, 1, 8), (3, 6, 3, 3), {"padding": 2}, "padding (2, 2) takes all of the result away", "use less padding"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "kernel", "how", "why", "mend"), WRONG, ids=[row[3][:40] for row in WRONG])
def test_what_does_not_fit(shape: Any, kernel: Any, how: dict[str, Any], why: str, mend: str) -> None:
    how = dict(how)
    bias = tg.zeros(*how.pop("bias")) if "bias" in how else None
    sequence = how.pop("axes", 0) == 1 or (len(kernel) == 3 and len(shape) == 3)
    call = F.conv_transpose1d if sequence else F.conv_transpose2d
    with pytest.raises(ShapeError) as caught:
        call(tg.zeros(*shape), tg.zeros(*kernel), bias, **how)
    assert (caught.value.why, caught.value.mend) == (why, mend)


def test_dtypes_that_do_not_go_together() -> None:
    mend = "convert it: x.float()"
    with teaches(DtypeError, "conv_transpose2d((1, 1, 2, 2) bool)", "bools cannot be added up", mend, line="conv_tr"):
        F.conv_transpose2d(tg.ones(1, 1, 2, 2).bool(), tg.ones(1, 1, 2, 2).bool())
    with pytest.raises(DtypeError):
        F.conv_transpose2d(tg.ones(1, 1, 2, 2), tg.ones(1, 1, 2, 2).double())
