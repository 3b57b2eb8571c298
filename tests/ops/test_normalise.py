"""Normalisation: running statistics, corner cases, and what it says when it cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler import trace
from tinygrad_edu.compiler.interpret import interpret
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, InplaceError, ShapeError

F = tg.nn.functional


def numbers(*shape: int) -> Any:
    return np.random.default_rng(1).normal(2.0, 3.0, shape)


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (4, 3, 2, 3)])
def test_batch_norm_moves_the_running_statistics(shape: tuple[int, ...]) -> None:
    """Towards the batch's mean and its unbiased variance, while the result has the biased one."""
    x = numbers(*shape)
    axes = (0, *range(2, x.ndim))
    mean, var = tg.zeros(3, dtype="float64"), tg.ones(3, dtype="float64")
    out = F.batch_norm(tg.tensor(x), mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.array, 0.25 * x.mean(axes), rtol=1e-12)
    np.testing.assert_allclose(var.array, 0.75 + 0.25 * x.var(axes, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(out.array.mean(axes), 0, atol=1e-12)
    np.testing.assert_allclose(out.array.var(axes), 1, rtol=1e-4)
    assert F.batch_norm(tg.tensor(x), None, None, training=True).tolist() == out.tolist()
    column = (3, *(1,) * (x.ndim - 2))
    expected = (x - mean.array.reshape(column)) / np.sqrt(var.array.reshape(column) + 1e-5)
    np.testing.assert_allclose(F.batch_norm(tg.tensor(x), mean, var).array, expected, rtol=1e-12)


def test_either_statistic_may_be_left_out_in_training() -> None:
    x, mean, var = tg.tensor(numbers(6, 2)), tg.zeros(2), tg.ones(2)
    F.batch_norm(x, mean, None, training=True, momentum=1.0)
    F.batch_norm(x, None, var, training=True, momentum=1.0)
    np.testing.assert_allclose(mean.array, x.array.mean(0), rtol=1e-6)
    np.testing.assert_allclose(var.array, x.array.var(0, ddof=1), rtol=1e-6)
    assert mean.dtype == np.float32, "statistics keep their own dtype"


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("bad", [tg.ones(3), tg.ones(1), tg.ones(1, 2), tg.ones(2, device="far")], ids=repr)
def test_statistics_move_together_or_not_at_all(name: str, wrong: int, bad: Any) -> None:
    x, running = tg.tensor(numbers(4, 2, 3)), [tg.zeros(2), tg.ones(2)]
    running[wrong] = bad
    before = [tensor.tolist() for tensor in running]
    with pytest.raises(ShapeError, match=f"^{name} of a tensor .*\n.*a running statistic is .* updated in place"):
        getattr(F, name)(x, *running, **({"training": True} if name == "batch_norm" else {}))
    assert [tensor.tolist() for tensor in running] == before


def test_gradients_do_not_depend_on_running_statistics() -> None:
    x, w, g = tg.tensor(numbers(4, 3, 2), requires_grad=True), tg.ones(3, dtype="float64"), tg.tensor(numbers(4, 3, 2))
    with_them = F.batch_norm(x, tg.zeros(3), tg.ones(3), w, training=True)
    without = F.batch_norm(x, None, None, w, training=True)
    (mine,), (theirs,) = (tg.autograd.grad(out, x, g) for out in (with_them, without))
    np.testing.assert_array_equal(mine.array, theirs.array)


def test_a_batch_that_moves_the_statistics_of_an_earlier_one_is_noticed() -> None:
    """The graph made outside of training saved them."""
    x, mean, var = tg.ones(4, 2, requires_grad=True), tg.zeros(2), tg.ones(2)
    kept = F.batch_norm(x, mean, var)
    F.batch_norm(x, mean, var, training=True)
    with pytest.raises(InplaceError, match=r"batch_norm has overwritten it since, at test_normalise\.py"):
        kept.sum().backward()


def test_a_trace_takes_the_statistics_as_inputs() -> None:
    x, mean, var = tg.tensor(numbers(4, 2)), tg.zeros(2, dtype="float64"), tg.ones(2, dtype="float64")

    def step(x: Any, mean: Any, var: Any) -> Any:
        return F.batch_norm(x, mean, var, training=True), mean, var

    found = interpret(trace(step, x, mean, var), *(t.array.copy() for t in (x, mean, var)))
    for ours, expected in zip(found, step(x, tg.zeros(2).double(), tg.ones(2).double()), strict=True):
        np.testing.assert_array_equal(ours, expected.array)
    with pytest.raises(ShapeError, match="pass it to the traced function as an input, on cpu"):
        trace(lambda x: F.batch_norm(x, mean, var, training=True), x)


def test_statistics_of_16_bits_are_computed_in_32() -> None:
    x = tg.full((1000, 1), 3.0, dtype="bfloat16")
    x[0] = 1000.0
    mean = tg.zeros(1)
    out = F.batch_norm(x, mean, None, training=True, momentum=1.0)
    assert mean.item() == pytest.approx(4.0, abs=0.01)
    assert out.dtype == tg.bfloat16


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_among_parameters_of_32_stay_16_bits(dtype: str) -> None:
    """As under autocast. What is computed is what float32 gives, rounded."""
    x, w = tg.tensor(numbers(4, 6), dtype=dtype, requires_grad=True), tg.tensor(numbers(6), dtype="float32")
    stats = (tg.zeros(6), tg.ones(6))
    for norm in (
        lambda x: F.layer_norm(x, (6,), w), lambda x: F.rms_norm(x, (6,), w, 1e-3), lambda x: F.group_norm(x, 2, w),
        lambda x: F.batch_norm(x, None, None, w, training=True), lambda x: F.batch_norm(x, *stats, w),
    ):  # fmt: skip
        out = norm(x)
        assert out.dtype == x.dtype
        assert out.tolist() == norm(x.detach().float()).to(dtype).tolist()
        out.sum().backward()
        assert x.grad.dtype == x.dtype


def test_a_large_mean_takes_no_precision_away() -> None:
    """The mean is taken out before anything is squared."""
    x = tg.tensor([[10000.0, 10001.0, 10002.0]])
    expected = tg.tensor([[-1.2247, 0.0, 1.2247]])
    assert F.layer_norm(x, (3,)).allclose(expected, atol=1e-3)
    assert F.batch_norm(x.T, None, None, training=True).allclose(expected.T, atol=1e-3)
    assert F.group_norm(x, 1).allclose(expected, atol=1e-3)


def test_eps_of_rms_norm() -> None:
    """Left out, it is the step at 1 of the dtype that is computed in."""
    for dtype, eps in (("float64", 2.0**-52), ("float32", 2.0**-23), ("bfloat16", 2.0**-23)):
        x = tg.full((1, 4), 2.0**-12, dtype=dtype)
        found = F.rms_norm(x, (4,))[0, 0].item()
        assert found == pytest.approx(2.0**-12 / (2.0**-24 + eps) ** 0.5, rel=1e-2 if dtype == "bfloat16" else 1e-6)


def test_nothing_to_normalise() -> None:
    w = tg.ones(3, requires_grad=True)
    for out in (
        F.layer_norm(tg.zeros(0, 3), (3,), w),
        F.rms_norm(tg.zeros(0, 3), (3,), w),
        F.group_norm(tg.zeros(0, 3), 1, w),
    ):
        assert out.shape == (0, 3)
        assert tg.autograd.grad(out.sum(), w)[0].tolist() == [0.0, 0.0, 0.0]
    assert F.batch_norm(tg.zeros(0, 3), tg.zeros(3), tg.ones(3), w).shape == (0, 3)


def test_groups_at_the_ends() -> None:
    """One group is layer norm without the parameters of single pixels; a group per channel is instance norm."""
    x = tg.tensor(numbers(2, 4, 3))
    np.testing.assert_allclose(F.group_norm(x, 1).array, F.layer_norm(x, (4, 3)).array, rtol=1e-12)
    np.testing.assert_allclose(F.group_norm(x, 4).array, F.layer_norm(x, (3,)).array, rtol=1e-12)


WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: F.layer_norm(tg.ones(2, 4), (3,)),
        ShapeError,
        "layer_norm((2, 4) float32, shape=(3,), eps=1e-05) on cpu",
        "the last axes of the input are (4,), but the layer normalises (3,)",
        "make the layer for the input: normalized_shape=(4,)",
    ),
    (
        lambda: F.layer_norm(tg.ones(2, 4), 4, tg.ones(3)),
        ShapeError,
        "layer_norm((2, 4) float32, (3,) float32, shape=(4,), eps=1e-05) on cpu",
        "its parameters must have the normalised shape (4,)",
        "make them of shape (4,)",
    ),
    (
        lambda: F.rms_norm(tg.ones(2, 4), (), eps=0.5),
        ShapeError,
        "rms_norm((2, 4) float32, shape=(), eps=0.5) on cpu",
        "normalized_shape is empty, and a single element is its own mean",
        "give the sizes of the last axes",
    ),
    (
        lambda: F.layer_norm(tg.ones(2, 4, dtype="int64"), (4,)),
        DtypeError,
        "layer_norm((2, 4) int64, shape=(4,), eps=1e-05) on cpu",
        "int64 has no fractions, but the result needs them",
        "convert it first: x.float()",
    ),
    (
        lambda: F.group_norm(tg.ones(2, 4), 3),
        ShapeError,
        "group_norm((2, 4) float32, groups=3, eps=1e-05) on cpu",
        "4 channels cannot be divided among 3 groups",
        "use a number that divides the channels",
    ),
    (
        lambda: F.group_norm(tg.ones(1, 4), 4),
        ShapeError,
        "group_norm of a tensor (1, 4) in 4 groups",
        "each group has a single value, which is its own mean: the result would be 0 whatever the input",
        "use a larger batch, or normalise over more elements",
    ),
    (
        lambda: F.batch_norm(tg.ones(1, 4), None, None, training=True),
        ShapeError,
        "batch_norm of a tensor (1, 4)",
        "each channel has a single value, which is its own mean: the result would be 0 whatever the input",
        "use a larger batch, or normalise over more elements",
    ),
    (
        lambda: F.batch_norm(tg.ones(4), tg.ones(4), tg.ones(4), training=True),
        ShapeError,
        "batch_norm((4,) float32, eps=1e-05) on cpu",
        "inputs come as (N, C, …), but this has 1 axis",
        "add the missing axis: x.unsqueeze(0)",
    ),
    (
        lambda: F.batch_norm(tg.ones(2, 4), None, None, tg.ones(3), training=True),
        ShapeError,
        "batch_norm((2, 4) float32, (3,) float32, eps=1e-05) on cpu",
        "there are 4 channels, but a parameter has shape (3,)",
        "make it of shape (4,)",
    ),
    (
        lambda: F.batch_norm(tg.ones(2, 4), tg.ones(3), tg.ones(4)),
        ShapeError,
        "batch_norm_eval((2, 4) float32, (3,) float32, (4,) float32, eps=1e-05) on cpu",
        "there are 4 channels, but a parameter has shape (3,)",
        "make it of shape (4,)",
    ),
    (
        lambda: F.batch_norm(tg.ones(2, 4), tg.ones(4), tg.ones(3), training=True),
        ShapeError,
        "batch_norm of a tensor (2, 4) of cpu",
        "a running statistic is (3,) of cpu, and is updated in place",
        "make it (4,), on cpu",
    ),
    (
        lambda: F.batch_norm(tg.ones(2, 4), None, tg.ones(4)),
        ArgumentError,
        "batch_norm of a tensor (2, 4)",
        "outside training, it normalises with the running mean and variance",
        "pass both, or training=True",
    ),
    (
        lambda: F.batch_norm(tg.ones(2, 4), None, None, training=True, momentum=None),
        ArgumentError,
        "batch_norm of a tensor (2, 4) with momentum=None",
        "a function cannot count batches",
        "pass a number: 1 / (batches so far) for an average over all, as nn.BatchNorm does",
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "tried", "why", "mend"), WRONG, ids=[f"{w[2].split('(')[0]}-{i}" for i, w in enumerate(WRONG)]
)
def test_text(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend, "lambda: F."):
        call()
