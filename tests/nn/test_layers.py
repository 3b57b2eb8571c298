"""Layers: values by hand, what training changes and what evaluation does not, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import trace
from tinygrad_edu.errors import ArgumentError, IndexRangeError, ShapeError

F = nn.functional
Array = np.ndarray[Any, Any]

# One of each, with the shape of an input. Those of the first list have parameters.
LEARNING: list[tuple[Callable[..., nn.Module], tuple[int, ...]]] = [
    (lambda **how: nn.Linear(4, 3, **how), (5, 4)),
    (lambda **how: nn.Conv1d(4, 3, 2, **how), (2, 4, 5)),
    (lambda **how: nn.Conv2d(4, 2, 2, groups=2, padding=1, padding_mode="circular", **how), (2, 4, 3, 3)),
    (lambda **how: nn.ConvTranspose1d(4, 3, 2, stride=2, **how), (2, 4, 3)),
    (lambda **how: nn.ConvTranspose2d(4, 3, 2, output_padding=1, stride=2, **how), (2, 4, 2, 2)),
    (lambda **how: nn.Conv3d(4, 2, 2, groups=2, padding=1, **how), (2, 4, 2, 3, 2)),
    (lambda **how: nn.ConvTranspose3d(4, 3, 2, stride=2, **how), (2, 4, 2, 1, 2)),
    (lambda **how: nn.BatchNorm1d(4, **how), (5, 4)),
    (lambda **how: nn.BatchNorm2d(4, **how), (2, 4, 3, 2)),
    (lambda **how: nn.InstanceNorm2d(4, affine=True, track_running_stats=True, **how), (2, 4, 3, 2)),
    (lambda **how: nn.GroupNorm(2, 4, **how), (2, 4, 3)),
    (lambda **how: nn.LayerNorm((3, 4), **how), (2, 3, 4)),
    (lambda **how: nn.RMSNorm(4, **how), (2, 3, 4)),
    (lambda **how: nn.PReLU(4, **how), (2, 4, 3)),
]
PLAIN: list[tuple[nn.Module, tuple[int, ...]]] = [
    (nn.Identity(), (2, 3)), (nn.Flatten(), (2, 3, 4)), (nn.Unflatten(1, (2, 2)), (3, 4)), (nn.MaxPool1d(2), (2, 3, 4)),
    (nn.MaxPool2d(2), (2, 3, 4, 4)), (nn.AvgPool1d(2), (2, 3, 4)), (nn.AvgPool2d(2), (2, 3, 4, 4)),
    (nn.AdaptiveAvgPool1d(2), (2, 3, 5)), (nn.AdaptiveAvgPool2d(2), (2, 3, 5, 4)), (nn.Dropout(), (4, 5)),
    (nn.Dropout1d(), (4, 5, 2)), (nn.Dropout2d(), (4, 5, 2, 2)), (nn.Dropout3d(), (4, 5, 2, 2, 2)),
    (nn.MaxPool3d(2), (2, 3, 4, 4, 3)), (nn.AvgPool3d(2), (2, 3, 4, 4, 3)), (nn.AdaptiveMaxPool2d(2), (2, 3, 5, 4)),
    (nn.AdaptiveAvgPool3d(2), (2, 3, 5, 4, 3)), (nn.PixelShuffle(2), (2, 4, 3, 3)), (nn.Unfold(2), (2, 3, 3, 4)),
    (nn.Fold(3, 2), (2, 4, 4)), (nn.LocalResponseNorm(2), (2, 3, 4)), (nn.ReflectionPad3d(1), (2, 2, 2, 3)),
    (nn.ZeroPad1d(2), (3, 4)),
    (nn.ConstantPad2d((1, 0, -1, 2), 3.0), (2, 3, 3)), (nn.ReflectionPad1d(1), (2, 3, 4)),
    (nn.ReplicationPad2d(1), (2, 2, 3, 3)), (nn.CircularPad1d(2), (2, 3, 4)),
    (nn.Upsample(scale_factor=2), (1, 2, 3, 3)), (nn.Upsample((4, 5), mode="bilinear"), (1, 2, 3, 3)),
    (nn.Upsample(5), (1, 2, 3)),
    *((make(), (3, 4)) for make in (
        nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Hardtanh, nn.Softplus,
        nn.Softsign, nn.Sigmoid, nn.Hardsigmoid, nn.Hardswish, nn.LogSigmoid, nn.Tanh, nn.Tanhshrink, nn.Hardshrink,
        nn.Softshrink, nn.GLU,
    )),
    (nn.Threshold(0.1, 2.0), (3, 4)), (nn.Softmax(1), (3, 4)), (nn.Softmin(0), (3, 4)), (nn.LogSoftmax(-1), (3, 4)),
    (nn.Softmax2d(), (2, 3, 2)),
]  # fmt: skip


def drawn(shape: tuple[int, ...], seed: int = 0, **how: Any) -> Any:
    return tg.tensor(np.random.default_rng(seed).normal(size=shape), **{"dtype": "float32", **how})


def raw(tensor: Any) -> Array:
    array: Array = tensor.detach().cpu().array
    return array


# All of them ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize(("make", "shape"), LEARNING)
def test_dtypes_of_parameters(make: Any, shape: tuple[int, ...], dtype: str) -> None:
    layer = make(dtype=dtype)
    assert {str(t.dtype) for t in layer.state_dict().values()} - {"int64"} == {dtype}
    out = layer(drawn(shape, dtype=dtype))
    assert str(out.dtype) == dtype
    out.sum().backward()
    assert all(str(p.grad.dtype) == dtype for p in layer.parameters())


@pytest.mark.parametrize(("make", "shape"), LEARNING)
def test_devices_of_parameters(make: Any, shape: tuple[int, ...]) -> None:
    """Made there, and moved there: the same results as here."""
    here, there = make(), make(device="far")
    assert {t.device for t in there.state_dict().values()} == {"far"}
    there.load_state_dict({name: t.to("far") for name, t in here.state_dict().items()})
    x = drawn(shape)
    near, far = here(x), there(x.to("far"))
    assert far.device == "far"
    np.testing.assert_allclose(raw(far), raw(near), rtol=1e-6, atol=1e-7)
    for mine, its in zip(here.state_dict().values(), there.state_dict().values(), strict=True):
        np.testing.assert_allclose(raw(its), raw(mine), rtol=1e-6)


@pytest.mark.parametrize(("layer", "shape"), PLAIN, ids=lambda v: repr(v) if isinstance(v, nn.Module) else None)
def test_layers_without_parameters(layer: nn.Module, shape: tuple[int, ...]) -> None:
    """Nothing to save; float64 and other devices pass through, and a gradient comes back."""
    assert layer.state_dict() == {}
    x = drawn(shape, dtype="float64", requires_grad=True)
    tg.manual_seed(0)
    near = layer(x)
    tg.manual_seed(0)
    far = layer(x.detach().to("far"))
    assert (str(near.dtype), far.device) == ("float64", "far")
    np.testing.assert_allclose(raw(far), raw(near), rtol=1e-12, atol=1e-12)
    near.sum().backward()
    assert x.grad.shape == x.shape


INPLACE = [
    nn.ReLU(True), nn.ReLU6(True), nn.LeakyReLU(0.1, True), nn.ELU(0.5, True), nn.SELU(True), nn.CELU(0.5, True),
    nn.SiLU(True), nn.Mish(True), nn.Hardtanh(-1, 2, True), nn.Hardsigmoid(True), nn.Hardswish(True),
    nn.Threshold(0.1, 2.0, True), nn.Dropout(0.5, True), nn.Dropout1d(0.5, True),
]  # fmt: skip


@pytest.mark.parametrize("layer", INPLACE, ids=repr)
def test_in_place(layer: Any) -> None:
    """The input holds the result, and the gradient is that of the other form."""
    x = drawn((3, 4), requires_grad=True)
    tg.manual_seed(1)
    layer.inplace = False
    apart = layer(x)
    (expected,) = tg.autograd.grad(apart.sum(), x)
    tg.manual_seed(1)
    layer.inplace = True
    y = x * 1.0
    assert layer(y) is y
    np.testing.assert_array_equal(raw(y), raw(apart))
    (found,) = tg.autograd.grad(y.sum(), x)
    np.testing.assert_array_equal(raw(found), raw(expected))


# Initial values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "fan_in"),
    [
        (nn.Linear(100, 300), 100),
        (nn.Bilinear(40, 30, 50), 40),
        (nn.Conv1d(40, 80, 5, groups=2), 20 * 5),
        (nn.Conv2d(20, 60, 3), 20 * 9),
        (nn.ConvTranspose1d(80, 40, 5, groups=2), 20 * 5),  # of the transpose, what a channel writes: as PyTorch has it
        (nn.ConvTranspose2d(60, 20, 3), 20 * 9),
    ],
    ids=repr,
)
def test_drawn_evenly_between_bounds(layer: Any, fan_in: int) -> None:
    bound = 1 / math.sqrt(fan_in)
    weight, bias = raw(layer.weight), raw(layer.bias)
    assert 0.99 * bound < abs(weight).max() <= bound
    assert 0.5 * bound < abs(bias).max() <= bound
    assert weight.var() == pytest.approx(bound**2 / 3, rel=0.1)
    assert abs(weight.mean()) < 5 * bound / math.sqrt(3 * weight.size)
    before = weight.copy()
    layer.reset_parameters()
    assert (raw(layer.weight) == before).mean() < 0.001, "all are drawn anew; a few may be equal by chance"


def test_a_layer_that_reads_nothing() -> None:
    layer = nn.Linear(0, 3)
    assert layer(tg.zeros(2, 0)).tolist() == [[0.0, 0.0, 0.0]] * 2


def test_the_seed_decides() -> None:
    tg.manual_seed(4)
    first = raw(nn.Linear(3, 2).weight).copy()
    tg.manual_seed(4)
    np.testing.assert_array_equal(raw(nn.Linear(3, 2).weight), first)


# Linear ---------------------------------------------------------------------------------------------------------------


def test_identity_is_what_comes_in() -> None:
    x = tg.ones(2)
    assert nn.Identity(54, anything=True)(x) is x


def test_bilinear_by_hand() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(5, 3))
    layer = nn.Bilinear(2, 3, 4, dtype="float64")
    w, b = raw(layer.weight), raw(layer.bias)
    expected = [[x[n] @ w[o] @ y[n] + b[o] for o in range(4)] for n in range(5)]
    np.testing.assert_allclose(raw(layer(tg.tensor(x), tg.tensor(y))), expected, rtol=1e-12)
    why = "it takes (…, I) and (…, J), equal but for the last axis, and a weight (O, I, J)"
    mend = "make the layer for these features: Bilinear(I, J, O)"
    with teaches(ShapeError, "bilinear((5, 3), (5, 3), weight (4, 2, 3))", why, mend, line="layer("):
        layer(tg.tensor(y), tg.tensor(y))
    why, mend = "without a first feature all outputs are 0", "use in1_features=1 or more"
    with teaches(ArgumentError, "Bilinear(0, …)", why, mend, line="nn.Bilinear"):
        nn.Bilinear(0, 3, 4)


# Convolutions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "numpy"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize("padding", [(1, 2), "same"])
def test_padding_modes(mode: str, numpy: Any, padding: Any) -> None:
    """As if the image had come with its edges. Of an odd number, "same" puts the larger part below and to the right."""
    layer = nn.Conv2d(2, 3, (2, 3), padding=padding, padding_mode=mode, dilation=(3, 1), dtype="float64")
    x = np.random.default_rng(0).normal(size=(1, 2, 5, 6))
    edges = ((1, 2), (1, 1)) if padding == "same" else ((1, 1), (2, 2))
    wider = np.pad(x, ((0, 0), (0, 0), *edges), numpy)
    expected = F.conv2d(tg.tensor(wider), layer.weight, layer.bias, dilation=(3, 1))
    np.testing.assert_allclose(raw(layer(tg.tensor(x))), raw(expected), rtol=1e-12)


def test_valid_padding_is_none() -> None:
    layer = nn.Conv1d(2, 3, 3, padding="valid", padding_mode="reflect")
    assert layer(tg.zeros(2, 2, 7)).shape == (2, 3, 5)


@given(st.integers(1, 2), st.integers(1, 3), st.integers(0, 2), st.integers(1, 2), st.integers(0, 2), st.integers(1, 2))
def test_a_transpose_is_the_adjoint(k: int, stride: int, padding: int, dilation: int, extra: int, groups: int) -> None:
    """<conv(x), y> is <x, transpose(y)>, with the same kernels."""
    padding, extra = min(padding, dilation * (k - 1) // 2), min(extra, max(stride, dilation) - 1)
    down = nn.Conv2d(2, 4, k, stride, padding, dilation, groups, bias=False, dtype="float64")
    up = nn.ConvTranspose2d(4, 2, k, stride, padding, extra, groups, False, dilation, dtype="float64")
    with tg.no_grad():
        up.weight.copy_(down.weight)
    y = drawn((1, 4, 3, 2), dtype="float64")
    large = up(y)
    x = drawn(tuple(large.shape), 1, dtype="float64")
    small = down(x)[:, :, :3, :2]
    assert small.shape == y.shape
    assert (small * y).sum().item() == pytest.approx((x * large).sum().item(), rel=1e-10, abs=1e-10)


def test_the_size_of_a_transpose_may_be_chosen() -> None:
    layer = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1)
    x = tg.zeros(2, 4, 8, 8)
    assert layer(x).shape == (2, 6, 15, 15)
    for wanted in ((15, 16), [16, 15], (2, 6, 16, 16)):
        assert layer(x, output_size=wanted).shape[2:] == tuple(wanted)[-2:]
    why, mend = (
        "for this input the sizes are from (15, 15) to (16, 16)",
        "choose one of them, or use another stride",
    )
    for wrong in ((15, 17), (14, 15), (15,), (6, 15, 15)):
        tried = f"ConvTranspose2d of a tensor (2, 4, 8, 8) with output_size={wrong}"
        with teaches(ShapeError, tried, why, mend, line="layer(x"):
            layer(x, output_size=wrong)


SHARE, MODE = "use a number that divides both", "there is no such mode"
UNMADE: list[tuple[Callable[[], Any], str, str, str]] = [
    (
        lambda: nn.Conv2d(4, 6, 3, groups=3), "Conv2d(4, 6, (3, 3), groups=3)",
        "4 and 6 channels cannot both be divided into 3 groups", SHARE,
    ),
    (
        lambda: nn.Conv1d(4, 6, 3, groups=0), "Conv1d(4, 6, (3,), groups=0)",
        "4 and 6 channels cannot both be divided into 0 groups", SHARE,
    ),
    (
        lambda: nn.Conv2d(4, 6, 3, padding="full"), "Conv2d with padding='full'", "there is no such padding",
        "use a number, 'same' or 'valid'",
    ),
    (
        lambda: nn.Conv2d(4, 6, 3, (1, 2), "same"), "Conv2d with padding='same' and stride=(1, 2)",
        "a convolution that moves by more than 1 makes the image smaller, whatever the padding",
        "give the padding as a number",
    ),
    (
        lambda: nn.Conv2d(4, 6, 3, padding_mode="mirror"), "Conv2d(4, 6, (3, 3), padding_mode='mirror')", MODE,
        "use 'zeros' or 'reflect' or 'replicate' or 'circular'",
    ),
    (
        lambda: nn.ConvTranspose2d(4, 6, 3, padding_mode="reflect"),
        "ConvTranspose2d(4, 6, (3, 3), padding_mode='reflect')", MODE, "use 'zeros'",
    ),
    (
        lambda: nn.ConvTranspose1d(4, 6, 3, padding="same"), "ConvTranspose1d with padding='same'",
        "here padding is cut off the result", "give the padding as a number",
    ),
    (
        lambda: nn.GroupNorm(2, 3), "GroupNorm(2, 3)", "the groups cannot have equally many channels",
        "use a number of groups that divides the number of channels",
    ),
    (
        lambda: nn.Hardtanh(1.0, 1.0), "Hardtanh(min_val=1.0, max_val=1.0)", "min_val must be below max_val",
        "give the smaller one first",
    ),
    (lambda: nn.Dropout2d(1.5), "Dropout2d with p=1.5", "a fraction lies between 0 and 1", "use p=0.5, for example"),
    (
        lambda: nn.Embedding(4, 2, sparse=True), "Embedding(4, 2, sparse=True)",
        "a sparse gradient would hold only the named rows, but gradients here are dense", "leave sparse out",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "tried", "why", "mend"), UNMADE, ids=[row[1] for row in UNMADE])
def test_layers_that_cannot_be(make: Callable[[], Any], tried: str, why: str, mend: str) -> None:
    with teaches(ArgumentError, tried, why, mend, line=""):
        make()


# Normalisation --------------------------------------------------------------------------------------------------------


def batches(count: int, *shape: int) -> list[Array]:
    return [np.random.default_rng(i).normal(size=shape) * (i + 1) + i for i in range(count)]


@pytest.mark.parametrize("momentum", [0.1, 0.7, None])
@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 3)])
def test_running_statistics(shape: tuple[int, ...], momentum: float | None) -> None:
    """Written out: a moving average of means and unbiased variances, or the plain average with ``momentum=None``."""
    layer = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(3, momentum=momentum, dtype="float64")
    axes = (0, *range(2, len(shape)))
    mean, var = np.zeros(3), np.ones(3)
    for n, x in enumerate(batches(4, *shape), 1):
        share = 1 / n if momentum is None else momentum
        out = raw(layer(tg.tensor(x)))
        np.testing.assert_allclose(out.mean(axes), 0, atol=1e-12)
        np.testing.assert_allclose(out.var(axes), 1, rtol=1e-4)
        mean, var = mean + share * (x.mean(axes) - mean), var + share * (x.var(axes, ddof=1) - var)
        np.testing.assert_allclose(raw(layer.running_mean), mean, rtol=1e-12)
        np.testing.assert_allclose(raw(layer.running_var), var, rtol=1e-12)
        assert layer.num_batches_tracked.item() == n
    layer.eval()
    held = {name: raw(t).copy() for name, t in layer.state_dict().items()}
    x = batches(1, *shape)[0]
    along = (3,) + (1,) * (len(shape) - 2)
    expected = (x - mean.reshape(along)) / np.sqrt(var.reshape(along) + 1e-5)
    np.testing.assert_allclose(raw(layer(tg.tensor(x))), expected, rtol=1e-10, atol=1e-12)
    for name, t in layer.state_dict().items():
        np.testing.assert_array_equal(raw(t), held[name])
    layer.reset_running_stats()
    assert (layer.running_mean.tolist(), layer.running_var.tolist()) == ([0.0] * 3, [1.0] * 3)
    assert layer.num_batches_tracked.item() == 0


def test_statistics_are_no_part_of_the_graph() -> None:
    layer = nn.BatchNorm1d(3)
    layer(drawn((5, 3), requires_grad=True))
    assert not layer.running_mean.requires_grad
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert list(layer.state_dict()) == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]


def test_without_running_statistics_each_batch_is_its_own() -> None:
    layer = nn.BatchNorm1d(3, track_running_stats=False)
    assert list(layer.state_dict()) == ["weight", "bias"]
    assert layer.running_mean is None
    x = drawn((5, 3))
    trained = raw(layer(x))
    np.testing.assert_array_equal(raw(layer.eval()(x)), trained)


def test_statistics_that_are_no_longer_tracked_stay() -> None:
    layer = nn.BatchNorm1d(3)
    layer.track_running_stats = False
    layer(drawn((5, 3)))
    assert layer.running_mean.tolist() == [0.0, 0.0, 0.0]
    assert layer.num_batches_tracked.item() == 0


def test_a_refused_batch_changes_nothing() -> None:
    layer = nn.BatchNorm1d(3)
    with pytest.raises(ShapeError, match="each channel has a single value"):
        layer(tg.zeros(1, 3))
    assert layer.num_batches_tracked.item() == 0
    assert layer.running_var.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("momentum", [0.1, None])
def test_a_trace_would_count_no_batches(momentum: float | None) -> None:
    layer = nn.BatchNorm1d(3, momentum=momentum)
    why = "num_batches_tracked, of cpu, is increased in place"
    mend = "pass it to the traced function as an input, or move the module to where the input is"
    with teaches(ShapeError, "BatchNorm of a tensor (5, 3) of trace", why, mend, line="trace(layer"):
        trace(layer, drawn((5, 3)))
    assert layer.num_batches_tracked.item() == 0
    trace(layer.eval(), drawn((5, 3)))


FORM = "reshape it, or use the layer for such inputs"
REFUSED: list[tuple[nn.Module, tuple[int, ...], str, str]] = [
    (nn.BatchNorm2d(3), (2, 3, 4), "it takes (N, C, H, W), but this has 3 axes", FORM),
    (nn.BatchNorm1d(3), (3,), "it takes (N, C) or (N, C, L), but this has 1 axis", FORM),
    (nn.BatchNorm2d(3), (2, 4, 3, 3), "its C is 4, but the layer was made for 3", "make it BatchNorm2d(4)"),
    (nn.InstanceNorm1d(3), (2, 4), "its C is 2, but the layer was made for 3", "make it InstanceNorm1d(2)"),
    (nn.InstanceNorm2d(3), (2, 3), "it takes (C, H, W) or (N, C, H, W), but this has 2 axes", FORM),
    (nn.Softmax2d(), (3, 3), "it takes images (N, C, H, W) or (C, H, W)", "use Softmax(dim=1) for other inputs"),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "shape", "why", "mend"), REFUSED, ids=lambda v: repr(v)[:40])
def test_inputs_that_do_not_fit(layer: nn.Module, shape: tuple[int, ...], why: str, mend: str) -> None:
    with teaches(ShapeError, f"{type(layer).__name__} of a tensor {shape}", why, mend, line="layer("):
        layer(tg.zeros(*shape))


def test_a_group_norm_for_other_channels() -> None:
    layer = nn.GroupNorm(2, 4, affine=False)
    tried = "GroupNorm(2, 4, eps=1e-05, affine=False, bias=False) of a tensor (2, 6)"
    with teaches(ShapeError, tried, "it has 6 channels", "make it GroupNorm(2, 6)", line="layer("):
        layer(tg.zeros(2, 6))


def test_instance_norm_by_hand() -> None:
    layer = nn.InstanceNorm1d(3, affine=True, track_running_stats=True, momentum=0.25, dtype="float64")
    assert (layer.weight.tolist(), layer.bias.tolist()) == ([1.0] * 3, [0.0] * 3)
    x = batches(2, 4, 3, 6)[1]
    expected = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(raw(layer(tg.tensor(x))), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(raw(layer.running_mean), 0.25 * x.mean((0, 2)), rtol=1e-12)
    np.testing.assert_allclose(raw(layer.running_var), 0.75 + 0.25 * x.var(2, ddof=1).mean(0), rtol=1e-12)
    one = layer.eval()(tg.tensor(x[0]))
    np.testing.assert_array_equal(raw(one), raw(layer(tg.tensor(x)))[0])


def test_what_is_learnt_of_a_normalisation() -> None:
    cases: list[tuple[nn.Module, list[str]]] = [
        (nn.LayerNorm(4), ["weight", "bias"]), (nn.LayerNorm(4, bias=False), ["weight"]),
        (nn.LayerNorm(4, elementwise_affine=False), []), (nn.RMSNorm(4), ["weight"]),
        (nn.RMSNorm(4, elementwise_affine=False), []), (nn.GroupNorm(2, 4, bias=False), ["weight"]),
        (nn.BatchNorm1d(4, affine=False, track_running_stats=False), []),
        (nn.InstanceNorm2d(4), []),
    ]  # fmt: skip
    for layer, names in cases:
        assert list(layer.state_dict()) == names, layer
        values = {name: set(raw(p).ravel().tolist()) for name, p in layer.named_parameters()}
        assert values == {name: {1.0 if name == "weight" else 0.0} for name in names}


# Dropout --------------------------------------------------------------------------------------------------------------


def test_dropout_in_training_and_in_evaluation() -> None:
    tg.manual_seed(0)
    layer, x = nn.Dropout(0.25), tg.ones(100, 100)
    out = raw(layer(x))
    assert set(np.unique(out).tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert (out == 0).mean() == pytest.approx(0.25, abs=0.02)
    assert layer.eval()(x) is x
    assert (raw(layer.train()(x)) == 0).any()


@pytest.mark.parametrize(("layer", "shape"), [(nn.Dropout1d(0.5), (20, 30, 4)), (nn.Dropout2d(0.5), (20, 30, 2, 3))])
def test_whole_channels_are_dropped(layer: nn.Module, shape: tuple[int, ...]) -> None:
    tg.manual_seed(0)
    channels = raw(layer(tg.ones(*shape))).reshape(20, 30, -1)
    assert ((channels == 0).all(2) | (channels == 2).all(2)).all()
    assert (channels[:, :, 0] == 0).mean() == pytest.approx(0.5, abs=0.1)


# Embedding ------------------------------------------------------------------------------------------------------------


def test_the_padding_row_is_zero_and_stays() -> None:
    layer = nn.Embedding(5, 3, padding_idx=-2)
    assert layer.padding_idx == 3
    assert layer.weight[3].tolist() == [0.0, 0.0, 0.0]
    assert (raw(layer.weight)[[0, 1, 2, 4]] != 0).all()
    layer(tg.tensor([[3, 1], [3, 1]])).sum().backward()
    assert raw(layer.weight.grad).tolist() == [[0.0] * 3, [2.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3]


def test_an_embedding_from_a_table() -> None:
    table = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    frozen = nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad
    assert (frozen.num_embeddings, frozen.embedding_dim) == (2, 2)
    table.fill_(7.0)  # the same memory
    assert frozen(tg.tensor(1)).tolist() == [7.0, 7.0]
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    tried, why = "Embedding.from_pretrained(a tensor (2,))", "a table must have rows and columns"
    with teaches(ShapeError, tried, why, "give it the shape (V, E)", line="from_pretrained"):
        nn.Embedding.from_pretrained(table[0])


def test_embeddings_that_do_not_fit() -> None:
    why, mend = "the table has 4 rows", "use 0 to 3"
    with teaches(IndexRangeError, "Embedding(4, 2, padding_idx=4)", why, mend, line="nn.Embedding"):
        nn.Embedding(4, 2, padding_idx=4)
    mend = "give its sizes, or use Embedding.from_pretrained(table)"
    with teaches(ShapeError, "Embedding(4, 2)", "the given table has shape (3, 2)", mend, line="nn.Embedding"):
        nn.Embedding(4, 2, _weight=tg.zeros(3, 2))


def test_long_rows_are_shortened_where_they_lie() -> None:
    layer = nn.Embedding(3, 2, max_norm=1.0, _weight=tg.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]))
    np.testing.assert_allclose(raw(layer(tg.tensor([0, 1]))), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(raw(layer.weight), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], rtol=1e-5)


# Shapes ---------------------------------------------------------------------------------------------------------------


def test_flatten_and_back() -> None:
    x = drawn((2, 3, 4, 5))
    flat = nn.Flatten()(x)
    assert flat.shape == (2, 60)
    assert nn.Flatten(0, 2)(x).shape == (24, 5)
    back = nn.Unflatten(1, (3, -1, 5))(flat)
    np.testing.assert_array_equal(raw(back), raw(x))


@pytest.mark.parametrize(
    ("wrong", "form"), [(nn.ZeroPad2d, "(left, right, top, bottom)"), (nn.ReflectionPad1d, "(left, right)")]
)
def test_edges_that_are_not_all_named(wrong: Any, form: str) -> None:
    edges = 4 if wrong is nn.ZeroPad2d else 2
    tried, mend = f"{wrong.__name__}((1, 2, 3))", f"give one number for all, or {form}"
    with teaches(ShapeError, tried, f"there are {edges} edges", mend, line="wrong("):
        wrong((1, 2, 3))


def test_upsampling_by_hand() -> None:
    x = tg.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert nn.Upsample(scale_factor=2)(x)[0, 0].tolist() == [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]
    assert nn.Upsample((1, 3))(x)[0, 0].tolist() == [[1, 1, 2]]
    between = nn.Upsample((2, 3), mode="bilinear", align_corners=True)(x)
    np.testing.assert_allclose(raw(between)[0, 0], [[1, 1.5, 2], [3, 3.5, 4]])
    middles = nn.Upsample((2, 4), mode="bilinear")(x)
    np.testing.assert_allclose(raw(middles)[0, 0], [[1, 1.25, 1.75, 2], [3, 3.25, 3.75, 4]])


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda: nn.BatchNorm1d(3), (0, 3)), (lambda: nn.BatchNorm1d(3, momentum=None), (2, 3, 0)),
        (lambda: nn.BatchNorm1d(3, track_running_stats=False), (0, 3)),
        (lambda: nn.BatchNorm2d(3), (0, 3, 2, 2)), (lambda: nn.InstanceNorm1d(3, track_running_stats=True), (0, 3, 4)),
        (lambda: nn.GroupNorm(3, 3), (2, 3, 0)), (lambda: nn.LayerNorm(3), (0, 3)),
        (lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 0, 2)),
    ],
)  # fmt: skip
def test_a_batch_of_nothing_leaves_everything_finite(layer: Any, shape: tuple[int, ...]) -> None:
    made, x = layer(), tg.ones(*shape, requires_grad=True)
    before = {name: value.tolist() for name, value in made.state_dict().items() if name.startswith("running")}
    out = made(x)
    out.sum().backward()
    assert (out.shape, x.grad.shape) == (shape, shape)
    assert {name: value.tolist() for name, value in made.state_dict().items() if name.startswith("running")} == before
    assert all(p.grad.tolist() == [0.0] * 3 for p in made.parameters())


def test_dropout_of_nothing_is_the_input() -> None:
    x = tg.ones(3)
    for p, of in ((0.0, x), (0, x), (0.5, tg.ones(0, 3))):
        assert nn.functional.dropout(of, p, True) is of
        assert nn.functional.dropout(of, p, True, inplace=True) is of
    tg.manual_seed(0)
    first = tg.rand(1).item()
    tg.manual_seed(0)
    nn.functional.dropout(x, 0.0)
    assert tg.rand(1).item() == first, "nothing is drawn"
