"""Convolution: against loops, in corner cases, and what it says when it cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, InplaceError, ShapeError

F = tg.nn.functional
Array = np.ndarray[Any, Any]


def by_loops(x: Array, w: Array, b: Array, stride: Any, edges: Any, dilation: Any, groups: int) -> Array:
    """Each number of the result by itself. ``edges`` are top, bottom, left and right."""
    x = np.pad(x, ((0, 0), (0, 0), edges[:2], edges[2:]))
    (n, _, height, width), (f, own, kh, kw) = x.shape, w.shape
    oh = (height - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    ow = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, f, oh, ow))
    for k in range(f):
        first = k // (f // groups) * own
        for i in range(oh):
            for j in range(ow):
                top, left = i * stride[0], j * stride[1]
                seen = x[:, first : first + own, top : top + dilation[0] * kh : dilation[0]]
                seen = seen[..., left : left + dilation[1] * kw : dilation[1]][:, :, :kh, :kw]
                out[:, k, i, j] = (seen * w[k]).sum((1, 2, 3)) + b[k]
    return out


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    ("stride", "padding", "dilation"),
    [((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 2), (1, 1)), ((1, 3), (3, 1), (2, 1)), ((2, 2), (0, 4), (1, 3))],
)
def test_against_loops(groups: int, stride: Any, padding: Any, dilation: Any) -> None:
    rng = np.random.default_rng(3)
    x, w, b = rng.normal(size=(2, 4, 7, 8)), rng.normal(size=(8, 4 // groups, 2, 3)), rng.normal(size=8)
    expected = by_loops(x, w, b, stride, (padding[0],) * 2 + (padding[1],) * 2, dilation, groups)
    tensors = (tg.tensor(x), tg.tensor(w), tg.tensor(b))
    found = F.conv2d(*tensors, stride=stride, padding=padding, dilation=dilation, groups=groups)
    np.testing.assert_allclose(found.array, expected, rtol=1e-12, atol=1e-12)
    one = F.conv2d(tensors[0][0], *tensors[1:], stride=stride, padding=padding, dilation=dilation, groups=groups)
    np.testing.assert_array_equal(one.array, found.array[0])
    assert one.origin is None, "a view of a batch that nobody has"


def test_same_puts_the_larger_part_below_and_to_the_right() -> None:
    rng = np.random.default_rng(4)
    x, w, b = rng.normal(size=(1, 2, 5, 6)), rng.normal(size=(3, 2, 2, 4)), np.zeros(3)
    found = F.conv2d(tg.tensor(x), tg.tensor(w), padding="same", dilation=(3, 1))
    np.testing.assert_allclose(found.array, by_loops(x, w, b, (1, 1), (1, 2, 1, 2), (3, 1), 1), rtol=1e-12, atol=1e-12)
    assert F.conv2d(tg.tensor(x), tg.tensor(w), padding="valid").shape == (1, 3, 4, 3)


def test_a_sequence_is_an_image_of_height_one() -> None:
    rng = np.random.default_rng(5)
    x, w, b = (tg.tensor(rng.normal(size=size), requires_grad=True) for size in ((2, 4, 9), (6, 2, 3), (6,)))
    how = {"stride": 2, "padding": 3, "dilation": 2}
    found = F.conv1d(x, w, b, groups=2, **how)
    wide = {key: (1 if key != "padding" else 0, value) for key, value in how.items()}
    expected = F.conv2d(x.unsqueeze(2), w.unsqueeze(2), b, groups=2, **wide).squeeze(2)
    np.testing.assert_array_equal(found.detach().array, expected.detach().array)
    mine = tg.autograd.grad((found * found).sum(), (x, w, b))
    theirs = tg.autograd.grad((expected * expected).sum(), (x, w, b))
    for ours, value in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(ours.array, value.array, rtol=1e-12)
    assert F.conv1d(x[0], w, groups=2).shape == (6, 7)


def test_integers_stay_integers() -> None:
    x = tg.arange(9).reshape(1, 1, 3, 3)
    found = F.conv2d(x, tg.ones(1, 1, 2, 2, dtype="int64"), tg.tensor([-8]))
    assert (found.tolist(), found.dtype) == ([[[[0, 4], [12, 16]]]], np.int64)


def test_an_empty_batch_has_gradients_too() -> None:
    x, w = tg.zeros(0, 2, 4, 4, requires_grad=True), tg.ones(3, 2, 2, 2, requires_grad=True)
    out = F.conv2d(x, w)
    assert out.shape == (0, 3, 3, 3)
    out.sum().backward()
    assert (x.grad.shape, w.grad.abs().sum().item()) == ((0, 2, 4, 4), 0.0)


def test_no_windows_are_kept_but_the_operands_themselves() -> None:
    """Each for the gradient of the other; a write to one of them is noticed."""
    x, w = tg.ones(1, 1, 3, 3), tg.ones(1, 1, 2, 2)
    assert F.conv2d(x.clone().requires_grad_(), w).grad_fn.saved[:2] == (None, w.array)
    out = F.conv2d(x, w.clone().requires_grad_())
    saved = out.grad_fn.saved
    assert saved[0] is x.array
    assert saved[1] is None
    x.add_(1)
    with pytest.raises(InplaceError, match="backward through conv2d, which saved its x"):
        out.sum().backward()


def test_the_result_of_a_pointwise_convolution_is_no_view() -> None:
    x = tg.ones(1, 2, 3, 3)
    assert not np.shares_memory(F.conv2d(x, tg.ones(4, 2, 1, 1)).array, x.array)


@pytest.mark.parametrize("how", [{"stride": 0}, {"dilation": 0}, {"padding": (0, -1)}, {"groups": 0}, {"groups": -1}])
def test_a_kernel_of_one_pixel_is_no_excuse(how: dict[str, Any]) -> None:
    with pytest.raises(ShapeError):
        F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(1, 1, 1, 1), **how)
    with pytest.raises(ShapeError, match="a 0x1 kernel does not fit into 4x4 pixels"):
        F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(1, 1, 0, 1))


@pytest.mark.parametrize("form", [2, (2,), [2, 2], np.int64(2)])
def test_forms_of_an_argument(form: Any) -> None:
    x, w = tg.ones(1, 1, 4, 4), tg.ones(1, 1, 2, 2)
    assert F.conv2d(x, w, stride=form).shape == (1, 1, 2, 2)


HOW = "stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1"
WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: F.conv2d(tg.ones(8, 8), tg.ones(4, 1, 3, 3)),
        ShapeError,
        f"conv2d((8, 8) float32, (4, 1, 3, 3) float32, {HOW}) on cpu",
        "images come as (N, C, H, W) or (C, H, W), but this has 2 axes",
        "add the missing axes: x.unsqueeze(0)",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 1, 8, 8), tg.ones(4, 1, 3, 3)),
        ShapeError,
        f"conv2d((1, 1, 1, 8, 8) float32, (4, 1, 3, 3) float32, {HOW}) on cpu",
        "images come as (N, C, H, W) or (C, H, W), but this has 5 axes",
        "flatten the extra axes into the first",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 8, 8), tg.ones(4, 3, 3)),
        ShapeError,
        f"conv2d((1, 1, 8, 8) float32, (4, 3, 3) float32, {HOW}) on cpu",
        "kernels are (F, C, kh, kw), but these have 3 axes",
        "reshape the kernels",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 3, 8, 8), tg.ones(4, 1, 3, 3)),
        ShapeError,
        f"conv2d((1, 3, 8, 8) float32, (4, 1, 3, 3) float32, {HOW}) on cpu",
        "the kernel reads 1 channel, but the image has 3",
        "make it Conv2d(3, 4, …)",
    ),
    (
        lambda: F.conv2d(tg.ones(2, 8, 9, 3), tg.ones(4, 3, 3, 3)),
        ShapeError,
        f"conv2d((2, 8, 9, 3) float32, (4, 3, 3, 3) float32, {HOW}) on cpu",
        "the kernel reads 3 channels, but the image has 8",
        "channels come before the places: x.permute(0, 3, 1, 2)",
    ),
    (
        lambda: F.conv2d(tg.ones(8, 9, 3), tg.ones(4, 3, 3, 3)),
        ShapeError,
        f"conv2d((8, 9, 3) float32, (4, 3, 3, 3) float32, {HOW}) on cpu",
        "the kernel reads 3 channels, but the image has 8",
        "channels come before the places: x.permute(2, 0, 1)",
    ),
    (
        lambda: F.conv2d(tg.ones(0, 3, 8, 8), tg.ones(4, 2, 3, 3), groups=2),
        ShapeError,
        f"conv2d((0, 3, 8, 8) float32, (4, 2, 3, 3) float32, {HOW[:-1]}2) on cpu",
        "the kernel reads 2 channels of each of 2 groups, but the image has 3",
        "make it Conv2d(3, 4, …)",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 4, 8, 8), tg.ones(3, 2, 3, 3), groups=2),
        ShapeError,
        f"conv2d((1, 4, 8, 8) float32, (3, 2, 3, 3) float32, {HOW[:-1]}2) on cpu",
        "3 kernels cannot be divided evenly among 2 groups",
        "use a number of groups that divides both the channels and the kernels",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 2, 2), tg.ones(4, 1, 3, 3)),
        ShapeError,
        f"conv2d((1, 1, 2, 2) float32, (4, 1, 3, 3) float32, {HOW}) on cpu",
        "a 3x3 kernel does not fit into 2x2 pixels",
        "add padding, or use a smaller kernel",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(4, 1, 3, 3), tg.ones(3)),
        ShapeError,
        f"conv2d((1, 1, 4, 4) float32, (4, 1, 3, 3) float32, (3,) float32, {HOW}) on cpu",
        "there are 4 kernels, but the bias has shape (3,)",
        "make the bias (4,)",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(4, 1, 3, 3), stride=0),
        ShapeError,
        f"conv2d((1, 1, 4, 4) float32, (4, 1, 3, 3) float32, {HOW.replace('(1, 1)', '(0, 0)', 1)}) on cpu",
        "the stride is (0, 0), but windows move by at least 1",
        "use stride=1 or more",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(4, 1, 3, 3), padding=-1),
        ShapeError,
        f"conv2d((1, 1, 4, 4) float32, (4, 1, 3, 3) float32, {HOW.replace('(0, 0)', '(-1, -1)')}) on cpu",
        "the padding is (-1, -1), but it must be at least 0",
        "use padding=0 or more",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(4, 1, 3, 3), padding="some"),
        ArgumentError,
        "conv2d with padding='some'",
        "there is no such padding",
        "use a number, 'same' or 'valid'",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(4, 1, 3, 3), padding="same", stride=2),
        ArgumentError,
        "conv2d with padding='same' and stride=(2, 2)",
        "a convolution that moves by more than 1 makes the image smaller, whatever the padding",
        "give the padding as a number",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(4, 1, 3, 3), stride=(1, 1, 1)),
        ShapeError,
        "stride=(1, 1, 1)",
        "it has 3 parts, but windows move along 2 axes",
        "use one number: stride=1",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(4, 1, 3, 3), dilation=1.5),
        DtypeError,
        "dilation=1.5",
        "places are counted in integers",
        "use dilation=1, or a pair of integers",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4), tg.ones(1, 1, 2, 2, dtype="float64")),
        DtypeError,
        f"conv2d((1, 1, 4, 4) float32, (1, 1, 2, 2) float64, {HOW}) on cpu",
        "the operands are float32 and float64, and a matrix product does not mix dtypes",
        "convert one of them first: x.to('float64')",
    ),
    (
        lambda: F.conv2d(tg.ones(1, 1, 4, 4).bool(), tg.ones(1, 1, 2, 2).bool()),
        DtypeError,
        "conv2d((1, 1, 4, 4) bool)",
        "bools cannot be added up",
        "convert it: x.float()",
    ),
    (
        lambda: F.conv1d(tg.ones(5), tg.ones(2, 1, 3)),
        ShapeError,
        "conv1d((5,) float32, (2, 1, 3) float32, stride=(1,), padding=(0,), dilation=(1,), groups=1) on cpu",
        "sequences come as (N, C, L) or (C, L), but this has 1 axis",
        "add the missing axes: x.unsqueeze(0)",
    ),
    (
        lambda: F.conv1d(tg.ones(1, 1, 2), tg.ones(2, 1, 3)),
        ShapeError,
        "conv1d((1, 1, 2) float32, (2, 1, 3) float32, stride=(1,), padding=(0,), dilation=(1,), groups=1) on cpu",
        "a kernel of 3 does not fit into 2 places",
        "add padding, or use a smaller kernel",
    ),
]


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[3][:40] for w in WRONG])
def test_text(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend, "lambda: F.conv"):
        call()
