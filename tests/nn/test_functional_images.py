"""The stateless forms for images, sequences, bags and volumes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, IndexRangeError, ShapeError

F = tg.nn.functional


# Images and sequences ------------------------------------------------------------------------------------------------


def test_adaptive_pool_of_sequences() -> None:
    x = np.arange(7.0)
    found = F.adaptive_avg_pool1d(tg.tensor(x[None]), 3)
    np.testing.assert_allclose(found.array, [[x[0:3].mean(), x[2:5].mean(), x[4:7].mean()]])
    tried = "adaptive_avg_pool1d of a tensor (7,) to 3"
    with teaches(ShapeError, tried, "it takes (N, C, L) or (C, L), and one size", "add the missing axes", line="adapt"):
        F.adaptive_avg_pool1d(tg.tensor(x), 3)


RESIZED: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "nearest": ((1, 2, 3, 2), {"size": (5, 4)}),
    "twice": ((1, 2, 3, 2), {"scale_factor": 2}),
    "linear": ((2, 2, 4), {"size": 7, "mode": "linear"}),
    "bilinear": ((1, 2, 3, 2), {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    "aligned": ((1, 2, 3, 2), {"size": (5, 1), "mode": "bilinear", "align_corners": True}),
}


@pytest.mark.parametrize("name", RESIZED)
def test_resizing_keeps_what_is_level_and_has_a_gradient(name: str) -> None:
    """Each result is a mean of inputs, so that the slopes of all results add up to how many there are."""
    shape, how = RESIZED[name]
    x = tg.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)
    np.testing.assert_allclose(F.interpolate(x * 0 + 3.0, **how).detach().array, 3.0, rtol=1e-12)
    assert tg.autograd.gradcheck(lambda x: F.interpolate(x, **how), (x,))
    y = F.interpolate(x, **how)
    (slopes,) = tg.autograd.grad(y.sum(), x)
    assert slopes.sum().item() == pytest.approx(y.numel())


@pytest.mark.parametrize(
    ("kind", "how", "why", "mend"),
    [
        (ArgumentError, {"size": 2, "mode": "bicubic"}, "there is no such mode here", "use 'nearest' or 'bilinear'"),
        (ArgumentError, {}, "the size of the result comes from either size or scale_factor", "give one of them"),
        (
            ArgumentError, {"size": 2, "scale_factor": 2},
            "the size of the result comes from either size or scale_factor", "give one of them",
        ),
        (
            ShapeError, {"size": 3, "mode": "linear"},
            "it takes sequences (N, C, L), or images (N, C, H, W), and a size for each axis after the channels",
            "add the missing axes; 'linear' is for sequences, 'bilinear' for images",
        ),
        (ShapeError, {"scale_factor": 0.2}, "axis 2 has 3 places, and would have 0", "leave at least 1"),
    ],
)  # fmt: skip
def test_sizes_that_cannot_be(kind: Any, how: dict[str, Any], why: str, mend: str) -> None:
    given = {"size": None, "scale_factor": None, "mode": "nearest", **how}
    tried = ", ".join(f"{key}={value!r}" for key, value in given.items())
    with teaches(kind, f"interpolate((1, 2, 3, 2), {tried})", why, mend, line="interpolate"):
        F.interpolate(tg.zeros(1, 2, 3, 2), **how)


def test_instance_norm_needs_places() -> None:
    tried, mend = "instance_norm of a tensor (2, 3)", "add the missing axes: x.unsqueeze(0)"
    with teaches(ShapeError, tried, "it takes (N, C, L) or (N, C, H, W)", mend, line="instance_norm"):
        F.instance_norm(tg.zeros(2, 3))
    why = "each channel has a single place, which is its own mean: the result would be 0 for any input"
    mean = tg.zeros(3)
    mend = "use batch_norm, or normalise before the images are this small"
    with teaches(ShapeError, "instance_norm of a tensor (2, 3, 1)", why, mend, line="instance_norm"):
        F.instance_norm(tg.ones(2, 3, 1), mean)
    assert mean.tolist() == [0.0, 0.0, 0.0]


def test_relu_in_place() -> None:
    x = tg.tensor([-1.0, 2.0])
    assert F.relu_(x) is x
    assert x.tolist() == [0.0, 2.0]


def test_gumbel_softmax_draws_classes() -> None:
    scores = tg.tensor([[0.0, math.log(3.0)]]).expand(4000, 2)
    soft, hard = F.gumbel_softmax(scores, tau=0.5), F.gumbel_softmax(scores, hard=True)
    np.testing.assert_allclose(soft.sum(1).array, 1, rtol=1e-6)
    assert 0 < soft.min().item() < soft.max().item() < 1.0001
    np.testing.assert_allclose(hard.sort(1).values.mean(0).array, [0.0, 1.0], atol=1e-6)
    assert abs(hard[:, 1].mean().item() - 0.75) < 0.03
    along = F.gumbel_softmax(tg.zeros(3, 5), hard=True, dim=0)
    np.testing.assert_allclose(along.sum(0).array, 1, rtol=1e-6)


def test_a_hard_draw_has_the_soft_ones_gradient() -> None:
    grads = []
    for hard in (False, True):
        tg.manual_seed(3)
        x = tg.tensor([0.5, -1.0, 2.0], requires_grad=True)
        (F.gumbel_softmax(x, hard=hard) * tg.tensor([1.0, 10.0, 100.0])).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == pytest.approx(grads[1])
    with teaches(
        ArgumentError, "gumbel_softmax with tau=0", "scores are divided by this temperature",
        "use a number above 0; 1 is usual",
    ):  # fmt: skip
        F.gumbel_softmax(tg.zeros(2), tau=0)


@pytest.mark.parametrize("single", [False, True])
def test_unfold_makes_a_convolution_a_product(single: bool) -> None:
    rng = np.random.default_rng(0)
    x, weight = tg.tensor(rng.normal(size=(2, 3, 7, 6))), tg.tensor(rng.normal(size=(4, 3, 3, 2)))
    x = x[0] if single else x
    how = {"dilation": (2, 1), "padding": (1, 0), "stride": 2}
    expected = F.conv2d(x, weight, **how)
    columns = F.unfold(x, (3, 2), **how)
    assert columns.shape == (*x.shape[:-3], 18, expected.shape[-1] * expected.shape[-2])
    np.testing.assert_allclose((weight.reshape(4, -1) @ columns).array, expected.flatten(-2).array, rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "how", "why", "mend"),
    [
        ((5, 5), {}, "images come as (N, C, H, W) or (C, H, W), but this has 2 axes",
         "add the missing axes: x.unsqueeze(0)"),
        ((1, 2, 5), {}, "the window does not fit", "add padding, or use a smaller window"),
        ((1, 5, 5), {"stride": 0}, "the stride is (0, 0)", "use stride=1"),
        ((1, 5, 5), {"padding": -1}, "the padding is (-1, -1)", "use padding=1"),
    ],
)  # fmt: skip
def test_windows_that_cannot_be(shape: tuple[int, ...], how: dict[str, Any], why: str, mend: str) -> None:
    with teaches(ShapeError, f"unfold of a tensor {shape} into windows (3, 3)", why, mend):
        F.unfold(tg.ones(*shape), 3, **how)


# Images and bags ------------------------------------------------------------------------------------------------------


def test_fold_adds_up_what_overlaps() -> None:
    x = tg.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    times = F.fold(F.unfold(tg.ones(1, 1, 3, 3), 2), 3, 2)
    assert times.tolist() == [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]
    assert F.fold(F.unfold(x, 2), 3, 2).tolist() == (x * times).tolist()


def test_shuffled_pixels_come_back_and_are_copies() -> None:
    x = tg.arange(16.0).reshape(4, 2, 2)
    assert F.pixel_shuffle(x, 2).tolist() == [[[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]]
    assert F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).tolist() == x.tolist()
    for copied in (F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1)):
        copied.zero_()
    assert x.tolist() == np.arange(16.0).reshape(4, 2, 2).tolist()


def test_rows_named_more_often_in_bags_get_less() -> None:
    """By how often they are named in all bags together: PyTorch counts others than those that it divides."""
    table = tg.ones(4, 1, requires_grad=True)
    F.embedding_bag(tg.tensor([[0, 1], [1, 1]]), table, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert table.grad.tolist() == [[1], [1], [0], [0]]


def test_the_last_offset_ends_the_last_bag() -> None:
    """As PyTorch's words have it. Its sums and means go on to the last index; its largest elements do not."""
    for mode in ("sum", "max"):
        out = bags(tg.tensor([0, 1, 2]), tg.tensor([0, 1]), mode=mode, include_last_offset=True)
        assert out.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("call", "kind", "why", "mend"),
    [
        (lambda: F.fold(tg.ones(4), 3, 2), ShapeError, "columns are", "into one"),
        (lambda: F.fold(tg.ones(3, 4), 3, 2), ShapeError, "a column has 3 elements", "kernel_size"),
        (lambda: F.fold(tg.ones(4, 5), 3, 2), ShapeError, "there are 5 windows", "H and W"),
        (lambda: F.fold(tg.ones(4, 5), 3, 4), ShapeError, "does not fit", "smaller window"),
        (lambda: F.pixel_shuffle(tg.ones(3, 2, 2), 2), ShapeError, "3 channels do not make squares", "multiple of 4"),
        (lambda: F.pixel_shuffle(tg.ones(2, 2), 1), ShapeError, "images are", "unsqueeze"),
        (lambda: F.pixel_shuffle(tg.ones(2, 2, 2), 0), ArgumentError, "side of a square", "upscale_factor=2"),
        (lambda: F.pixel_unshuffle(tg.ones(1, 4, 3), 2), ShapeError, "4 x 3 pixels", "multiples of 2"),
        (lambda: F.adaptive_max_pool1d(tg.ones(3), 2), ShapeError, "(N, C, L) or (C, L)", "unsqueeze"),
        (lambda: F.adaptive_max_pool2d(tg.ones(1, 3, 3), (2,)), ShapeError, "2 axes to divide, but 1", "one size"),
        (lambda: F.adaptive_max_pool2d(tg.ones(1, 3, 3), 0), ArgumentError, "result would be empty", "1 or more"),
        (lambda: F.local_response_norm(tg.ones(2, 3), 2), ShapeError, "(N, C, …)", "add the missing axes"),
        (lambda: F.local_response_norm(tg.ones(2, 3, 1), 0), ArgumentError, "number of channels", "size=1"),
        (lambda: bags(tg.tensor([0, 1])), ShapeError, "with the offsets", "pass offsets"),
        (lambda: bags(tg.tensor([[0, 1]]), tg.tensor([0])), ShapeError, "with the offsets", "pass offsets"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([1])), IndexRangeError, "rise from 0", "start with 0"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([0, 3])), IndexRangeError, "to at most 2 indices", "start with 0"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([0.0])), DtypeError, "offsets must be integers", "begins"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([[0]])), ShapeError, "offsets must be integers", "begins"),
        (lambda: bags(tg.tensor([[0, 1]]), mode="last"), ArgumentError, "no such mode", "'sum'"),
        (lambda: bags(tg.tensor([[0, 1]]), sparse=True), ArgumentError, "are dense", "sparse out"),
        (lambda: bags(tg.tensor([[0, 5]])), IndexRangeError, "the table has 3 rows", "larger"),
        (
            lambda: bags(tg.tensor([[0, 1]]), mode="max", scale_grad_by_freq=True),
            ArgumentError, "goes to one row", "mode='sum'",
        ),
        (
            lambda: bags(tg.tensor([[0, 1]]), per_sample_weights=tg.ones(1, 2)),
            ArgumentError, "the rows of a sum", "mode='sum'",
        ),
        (
            lambda: bags(tg.tensor([[0, 1]]), mode="sum", per_sample_weights=tg.ones(2)),
            ShapeError, "do not fit indices", "one weight for each",
        ),
        (
            lambda: bags(tg.tensor([[0, 1]]), mode="sum", per_sample_weights=tg.ones(1, 2, dtype="float64")),
            DtypeError, "the table is float32", "weight.dtype",
        ),
    ],
)  # fmt: skip
def test_images_and_bags_that_cannot_be(call: Any, kind: type[EduError], why: str, mend: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert why in caught.value.why
    assert mend in caught.value.mend


def bags(x: Any, offsets: Any = None, **how: Any) -> Any:
    return F.embedding_bag(x, tg.ones(3, 2), offsets, **how)


# Volumes --------------------------------------------------------------------------------------------------------------


def test_a_kernel_of_one_plane_sees_planes() -> None:
    """And of one row in depth, what a convolution of sequences sees."""
    rng = np.random.default_rng(0)
    x, plane = tg.tensor(rng.normal(size=(2, 3, 4, 5, 6))), tg.tensor(rng.normal(size=(2, 3, 2, 3)))
    found = F.conv3d(x, plane.unsqueeze(2))
    for d in range(4):
        np.testing.assert_allclose(found[:, :, d].numpy(), F.conv2d(x[:, :, d], plane).numpy())
    deep = F.conv3d(x, plane[:, :, 0].reshape(2, 3, 3, 1, 1), stride=(1, 5, 6))
    along = F.conv1d(x[:, :, :, 0, 0], plane[:, :, 0])
    np.testing.assert_allclose(deep.flatten(2).numpy(), along.numpy())


@pytest.mark.parametrize("how", [{}, {"stride": 2, "padding": 1}, {"groups": 2, "dilation": (2, 1, 1)}], ids=str)
def test_a_transpose_of_volumes_is_the_adjoint(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    weight = tg.tensor(rng.normal(size=(4, 4 // how.get("groups", 1), 2, 2, 2)))
    x = tg.tensor(rng.normal(size=(1, 4, 4, 4, 4)), requires_grad=True)
    out = F.conv3d(x, weight, **how)
    g = tg.tensor(rng.normal(size=out.shape))
    (out * g).sum().backward()
    np.testing.assert_allclose(F.conv_transpose3d(g, weight, **how).numpy(), x.grad.numpy())


def test_slopes_of_volumes() -> None:
    rng = np.random.default_rng(2)
    x = tg.tensor(rng.permutation(24).astype(float).reshape(1, 2, 3, 2, 2), requires_grad=True)
    weight = tg.tensor(rng.normal(size=(2, 2, 2, 1, 2)), requires_grad=True)
    for call in (F.conv3d, F.conv_transpose3d):
        assert tg.autograd.gradcheck(lambda x, w, call=call: call(x, w, None, 1, (1, 0, 0)), (x, weight))
        assert tg.autograd.gradgradcheck(lambda x, w, call=call: call(x, w, None, 1, (1, 0, 0)), (x, weight))
    for pool in (F.max_pool3d, F.avg_pool3d):
        assert tg.autograd.gradcheck(lambda x, pool=pool: pool(x, (2, 1, 2), 1), x)
    for adaptive in (F.adaptive_max_pool3d, F.adaptive_avg_pool3d):
        assert tg.autograd.gradcheck(lambda x, adaptive=adaptive: adaptive(x, (2, 1, 2)), x)


SOLID = (1, 2, 3, 3, 3)


@pytest.mark.parametrize(
    ("call", "kind", "why", "mend"),
    [
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2)), ShapeError, "kernels are (F, C, kd, kh, kw)", "reshape"),
        (lambda x: F.conv3d(x[0, 0], tg.ones(2, 2, 2, 2, 2)), ShapeError, "volumes are", "unsqueeze"),
        (lambda x: F.conv3d(x, tg.ones(2, 3, 2, 2, 2)), ShapeError, "reads 3 channels, but the volume has 2", "for 2"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 4, 2, 2)), ShapeError, "(4, 2, 2) does not fit", "smaller kernel"),
        (lambda x: F.conv3d(x, tg.ones(3, 1, 2, 2, 2), groups=2), ArgumentError, "among 2 groups", "divides"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), tg.ones(3)), ShapeError, "the bias is (3,)", "bias (2,)"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2).double()), DtypeError, "are float32, but", "x.to(weight.dtype)"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), stride=0), ShapeError, "stride must be at least 1", "stride=1"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), padding=-1), ShapeError, "at least 0", "padding=0"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), None, 2, "same"), ArgumentError, "smaller", "as a number"),
        (lambda x: F.conv_transpose3d(x, tg.ones(3, 2, 2, 2, 2)), ShapeError, "the volume has 2", "for 2 channels"),
        (
            lambda x: F.conv_transpose3d(x, tg.ones(2, 2, 2, 2, 2), output_padding=1),
            ShapeError, "not below stride", "less output_padding",
        ),
        (lambda x: F.conv_transpose3d(x, tg.ones(2, 2, 1, 1, 1), padding=2), ShapeError, "cuts off", "less padding"),
        (lambda x: F.max_pool3d(x[0, 0], 2), ShapeError, "(N, C, D, H, W) or (C, D, H, W)", "unsqueeze"),
        (lambda x: F.max_pool3d(x, 4), ShapeError, "a window of 4 does not fit into 3", "smaller window"),
        (lambda x: F.max_pool3d(x, 2, 0), ShapeError, "the stride is (0, 0, 0)", "stride=1"),
        (lambda x: F.max_pool3d(x, 2, 1, 2), ShapeError, "more than half", "less padding"),
        (lambda x: F.max_pool3d(x, 2, 1, 2, 4), ShapeError, "nothing but padding", "less padding"),
        (lambda x: F.avg_pool3d(x, 2, divisor_override=0), ArgumentError, "divided by 0", "leave it out"),
        (lambda x: F.adaptive_avg_pool3d(x, 0), ArgumentError, "result would be empty", "1 or more"),
        (lambda x: F.dropout3d(x[0, 0]), ShapeError, "channels of volumes", "dropout2d"),
    ],
)  # fmt: skip
def test_volumes_that_cannot_be(call: Any, kind: type[EduError], why: str, mend: str) -> None:
    with pytest.raises(kind) as caught:
        call(tg.ones(SOLID))
    assert type(caught.value) is kind
    assert why in caught.value.why
    assert mend in caught.value.mend
