"""Losses of elements: yes or no, and distances. Values by hand, shapes and numbers that cannot be, gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import interpret, trace
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError

F = nn.functional


def random_scores(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape) * 2


# Yes or no ------------------------------------------------------------------------------------------------------------


def test_binary_cross_entropy_by_hand() -> None:
    x, target = tg.tensor([0.25, 0.25, 0.5], requires_grad=True), [1, 0, 0.5]
    losses = F.binary_cross_entropy(x, target, reduction="none")
    np.testing.assert_allclose(losses.detach().array, [math.log(4), math.log(4 / 3), math.log(2)], rtol=1e-6)
    losses.sum().backward()
    np.testing.assert_allclose(x.grad.array, [-4.0, 4 / 3, 0.0], rtol=1e-6)
    weighted = F.binary_cross_entropy(x, target, weight=[1.0, 2.0, 0.0])
    assert weighted.item() == pytest.approx((math.log(4) + 2 * math.log(4 / 3)) / 3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_certainty_costs_at_most_a_hundred(dtype: str) -> None:
    x = tg.tensor([0.0, 1.0, 0.0, 1.0], dtype=dtype, requires_grad=dtype != "float16")  # in which 1e12 is infinite
    target = tg.tensor([1.0, 0.0, 0.0, 1.0], dtype=dtype, requires_grad=True)
    losses = F.binary_cross_entropy(x, target, reduction="none")
    assert losses.tolist() == [100.0, 100.0, 0.0, 0.0]
    losses.sum().backward()
    assert target.grad.tolist() == [100.0, -100.0, 100.0, -100.0]
    if x.grad is not None:
        np.testing.assert_allclose(x.grad.array.astype("f8"), [-1e12, 1e12, 0.0, 0.0], rtol=4e-3)


def test_a_tiny_probability_is_no_zero() -> None:
    assert F.binary_cross_entropy(tg.tensor([1e-40], dtype="float64"), [1.0]).item() == pytest.approx(92.1034, rel=1e-5)
    assert F.binary_cross_entropy(tg.tensor([1e-20], dtype="float64"), [0.0]).item() == pytest.approx(1e-20)


MODEL = "end the model with sigmoid(), or use binary_cross_entropy_with_logits"
ORIGIN = "divide by the largest, or find out where they come from"


@pytest.mark.parametrize(
    ("x", "target", "why", "mend"),
    [
        ([0.5, 1.5], [0.0, 1.0], "the probabilities run from 0.5 to 1.5, but must be between 0 and 1", MODEL),
        ([-0.5, 0.5], [0.0, 1.0], "the probabilities run from -0.5 to 0.5, but must be between 0 and 1", MODEL),
        ([math.nan, 0.5], [0.0, 1.0], "the probabilities run from nan to nan, but must be between 0 and 1", MODEL),
        ([0.5, 0.5], [0, 255], "the targets run from 0 to 255, but must be between 0 and 1", ORIGIN),
    ],
)
def test_numbers_that_are_no_probabilities(x: Any, target: Any, why: str, mend: str) -> None:
    with teaches(ArgumentError, "binary_cross_entropy((2,))", why, mend, line="binary_cross_entropy"):
        F.binary_cross_entropy(x, target)


def test_binary_cross_entropy_of_nothing_is_nan() -> None:
    assert math.isnan(F.binary_cross_entropy(tg.zeros(0), tg.zeros(0)).item())


def test_with_logits_is_binary_cross_entropy_of_the_sigmoid() -> None:
    scores, target = random_scores(3, 4), np.random.default_rng(0).uniform(size=(3, 4))
    for weight in (None, [1.0, 2.0, 3.0, 4.0]):
        found = F.binary_cross_entropy_with_logits(tg.tensor(scores), target, weight)
        expected = F.binary_cross_entropy(tg.tensor(scores).sigmoid(), target, weight)
        assert found.item() == pytest.approx(expected.item(), rel=1e-12)


def test_pos_weight_weighs_the_ones() -> None:
    """As if each sample with a 1 were there that often."""
    scores, target = random_scores(4, 1), np.array([[0.0], [1.0], [1.0], [0.0]])
    once = F.binary_cross_entropy_with_logits(tg.tensor(scores), target, reduction="none").array
    thrice = F.binary_cross_entropy_with_logits(tg.tensor(scores), target, reduction="none", pos_weight=[3.0]).array
    np.testing.assert_allclose(thrice, once * np.where(target, 3.0, 1.0), rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_scores_neither_overflow_nor_lose_their_digits(dtype: str) -> None:
    x = tg.tensor([1e4, -1e4, 1e4, -1e4, 60.0], dtype=dtype, requires_grad=True)
    target = tg.tensor([0.0, 1.0, 1.0, 0.0, 1.0], dtype=dtype)
    losses = F.binary_cross_entropy_with_logits(x, target, reduction="none")
    assert losses.tolist()[:4] == [1e4, 1e4, 0.0, 0.0]
    assert losses.tolist()[4] == pytest.approx(math.exp(-60))
    losses.sum().backward()
    assert x.grad.tolist()[:4] == [1.0, -1.0, 0.0, 0.0]


def test_with_logits_is_smooth_at_zero() -> None:
    """Its parts have a kink there. The curvature is that of the sigmoid, 1/4."""
    x, weight = tg.zeros(1, dtype="float64", requires_grad=True), tg.tensor([2.0])
    for pos_weight, slope, curvature in ((None, 0.0, 0.25), (weight, -0.25, 0.375)):
        loss = F.binary_cross_entropy_with_logits(x, [0.5], pos_weight=pos_weight)
        (first,) = tg.autograd.grad(loss, x, create_graph=True)
        (second,) = tg.autograd.grad(first, x)
        assert (first.item(), second.item()) == (slope, curvature)


def test_whole_numbers_are_no_scores_of_yes_or_no() -> None:
    with pytest.raises(DtypeError, match="int64 has no fractions, but the result needs them"):
        F.binary_cross_entropy_with_logits(tg.tensor([1]), tg.tensor([1]))
    assert F.binary_cross_entropy_with_logits(tg.tensor([0.0]), tg.tensor([1])).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("shape", [(2, 2, 3), (2,), (3, 1)], ids=str)
def test_weights_do_not_stretch_the_losses(shape: tuple[int, ...]) -> None:
    why, mend = "a weight is broadcast to the losses, not they to it", "give it the shape (2, 3)"
    half, weight = tg.full((2, 3), 0.5), tg.ones(*shape)
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        with teaches(ShapeError, f"weight {shape} for losses (2, 3)", why, mend, line="loss(half"):
            loss(half, half, weight)
    with teaches(ShapeError, f"pos_weight {shape} for losses (2, 3)", why, mend, line="pos_weight"):
        F.binary_cross_entropy_with_logits(half, half, pos_weight=weight)


def test_replays_look_at_no_probabilities() -> None:
    program = trace(lambda x: F.binary_cross_entropy(x, [1.0]), tg.tensor([0.5]))
    np.testing.assert_array_equal(interpret(program, np.array([0.25], "f4"))[0], np.float32(math.log(4)))


# Distances ------------------------------------------------------------------------------------------------------------


def test_mse_by_hand() -> None:
    x = tg.tensor([1.0, 2.0, 4.0], requires_grad=True)
    loss = F.mse_loss(x, tg.tensor([1.0, 0.0, 1.0]))
    assert loss.item() == pytest.approx((0 + 4 + 9) / 3)
    loss.backward()
    np.testing.assert_allclose(x.grad.array, [0.0, 4 / 3, 2.0], rtol=1e-6)
    assert nn.MSELoss(reduction="none")(x, [1, 0, 1]).tolist() == [0.0, 4.0, 9.0]


ELEMENTWISE = [
    F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div, F.binary_cross_entropy,
    F.binary_cross_entropy_with_logits,
]  # fmt: skip


@pytest.mark.parametrize("loss", ELEMENTWISE, ids=lambda f: f.__name__)
def test_elements_are_not_broadcast(loss: Any) -> None:
    tried, why = f"{loss.__name__}((4, 1), (4,))", "broadcasting would compare elements that do not belong together"
    mend = "reshape one to the other's shape: target.reshape(x.shape)"
    with teaches(ShapeError, tried, why, mend, line="loss(tg"):
        loss(tg.ones(4, 1), tg.ones(4))


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.huber_loss], ids=lambda f: f.__name__)
def test_weights_of_elements(loss: Any) -> None:
    x, target, weight = (np.random.default_rng(i).uniform(0.1, 2.0, (3, 4)) for i in range(3))
    plain = loss(tg.tensor(x), target, reduction="none").array
    losses = loss(tg.tensor(x), target, reduction="none", weight=weight)
    np.testing.assert_allclose(losses.array, plain * weight, rtol=1e-14)
    assert loss(tg.tensor(x), target, reduction="sum", weight=weight).item() == pytest.approx((plain * weight).sum())
    total = weight.sum() if loss is not F.huber_loss else weight.size  # PyTorch's own inconsistency
    assert loss(tg.tensor(x), target, weight=weight).item() == pytest.approx((plain * weight).sum() / total)
    with pytest.raises(ShapeError, match=rf"^{loss.__name__}\(\(3, 4\), \(4,\)\)"):
        loss(tg.tensor(x), target, weight=weight[0])


def test_distances_by_hand() -> None:
    x, target = tg.tensor([0.0, 0.5, 2.0, -4.0, 3.0], requires_grad=True), tg.tensor([0.0, 0.0, 0.0, 0.0, 1.0])
    for loss, options, values, slopes in (
        (F.l1_loss, {}, [0.0, 0.5, 2.0, 4.0, 2.0], [0.0, 1.0, 1.0, -1.0, 1.0]),
        (F.smooth_l1_loss, {}, [0.0, 0.125, 1.5, 3.5, 1.5], [0.0, 0.5, 1.0, -1.0, 1.0]),
        (F.smooth_l1_loss, {"beta": 2.0}, [0.0, 0.0625, 1.0, 3.0, 1.0], [0.0, 0.25, 1.0, -1.0, 1.0]),
        (F.smooth_l1_loss, {"beta": 0}, [0.0, 0.5, 2.0, 4.0, 2.0], [0.0, 1.0, 1.0, -1.0, 1.0]),
        (F.huber_loss, {"delta": 2.0}, [0.0, 0.125, 2.0, 6.0, 2.0], [0.0, 0.5, 2.0, -2.0, 2.0]),
    ):
        found = loss(x, target, reduction="none", **options)
        assert found.tolist() == values
        (slope,) = tg.autograd.grad(found.sum(), x)
        assert slope.tolist() == slopes


def test_distances_do_not_overflow_where_they_are_straight() -> None:
    x = tg.tensor([3e38, -3e38], requires_grad=True)
    loss = F.smooth_l1_loss(x, tg.zeros(2), reduction="none")
    assert loss.tolist() == [pytest.approx(3e38)] * 2
    loss.backward(tg.ones(2))
    assert x.grad.tolist() == [1.0, -1.0]


def test_where_a_parabola_cannot_end() -> None:
    why = "it is the distance at which the parabola ends"
    with teaches(ArgumentError, "smooth_l1_loss(beta=-1.0)", why, "use a number from 0 up", line="smooth_l1_loss"):
        F.smooth_l1_loss(tg.ones(1), tg.ones(1), beta=-1.0)
    with teaches(ArgumentError, "huber_loss(delta=0)", why, "use a number above 0", line="huber_loss"):
        F.huber_loss(tg.ones(1), tg.ones(1), delta=0)


def test_kl_div_by_hand() -> None:
    p, q = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]]), np.full((2, 3), 1 / 3)
    expected = np.array([[0.5 * math.log(1.5), 0.25 * math.log(0.75), 0.25 * math.log(0.75)], [math.log(3), 0, 0]])
    found = {r: F.kl_div(tg.tensor(np.log(q)), p, reduction=r) for r in ("none", "sum", "mean", "batchmean")}
    np.testing.assert_allclose(found["none"].array, expected, rtol=1e-14)
    assert found["sum"].item() == pytest.approx(expected.sum())
    assert found["mean"].item() == pytest.approx(expected.mean())
    assert found["batchmean"].item() == pytest.approx(expected.sum() / 2)
    logs = F.kl_div(tg.tensor(np.log(q[:1])), np.log(p[:1]), reduction="none", log_target=True)
    np.testing.assert_allclose(logs.array, expected[:1], rtol=1e-14)


def test_kl_div_of_one_number_and_of_nothing() -> None:
    assert F.kl_div(tg.tensor(0.0), tg.tensor(1.0), reduction="batchmean").item() == 0.0
    assert math.isnan(F.kl_div(tg.zeros(0, 3), tg.zeros(0, 3), reduction="batchmean").item())


SMOOTH: dict[str, Any] = {
    "smoothing": lambda x: F.cross_entropy(x, [0, 1, -100], [0.5, 2.0, 1.0, 3.0], label_smoothing=0.2),
    "mse": lambda x: F.mse_loss(x, x.detach() * 0 + 1, weight=tg.full((3, 4), 2.0)),
    "l1": lambda x: F.l1_loss(x, x.detach() * 0 + 9),
    "smooth-l1": lambda x: F.smooth_l1_loss(x, tg.zeros(3, 4), beta=2.5),
    "huber": lambda x: F.huber_loss(x, tg.zeros(3, 4), delta=1.5),
    "kl": lambda x: F.kl_div(x, tg.full((3, 4), 0.1), reduction="batchmean"),
    "kl-target": lambda x: F.kl_div(tg.zeros(3, 4), x * x, reduction="sum"),
    "kl-log-target": lambda x: F.kl_div(tg.zeros(3, 4), x, log_target=True),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_of_what_is_composed(name: str) -> None:
    raw, loss = random_scores(3, 4), SMOOTH[name]
    x = tg.tensor(raw, requires_grad=True)
    loss(x).backward()
    slopes = np.zeros_like(raw)
    for at in np.ndindex(raw.shape):
        above, below = raw.copy(), raw.copy()
        above[at] += 1e-6
        below[at] -= 1e-6
        slopes[at] = (loss(tg.tensor(above)).item() - loss(tg.tensor(below)).item()) / 2e-6
    assert slopes.any()
    np.testing.assert_allclose(x.grad.array, slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("loss", ELEMENTWISE, ids=lambda f: f.__name__)
def test_narrow_dtypes_stay(loss: Any, dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, target = (tg.tensor(rng.uniform(0.1, 0.9, (4, 5)), dtype=dtype) for _ in range(2))
    found, exact = loss(x.requires_grad_(), target), loss(x.double(), target.double())
    assert found.dtype == x.dtype
    assert float(found.item()) == pytest.approx(exact.item(), rel=2e-2, abs=1e-2)
    found.backward()
    assert x.grad.dtype == x.dtype


@pytest.mark.parametrize("loss", ELEMENTWISE, ids=lambda f: f.__name__)
def test_losses_of_elements_on_another_device(loss: Any) -> None:
    x, target = tg.full((2, 3), 0.25), tg.full((2, 3), 0.75)
    far = loss(x.to("far").requires_grad_(), target.to("far"))
    far.backward()
    assert far.device == "far"
    assert far.detach().cpu().item() == loss(x, target).item()


@pytest.mark.parametrize("loss", [F.mse_loss, F.cross_entropy, F.nll_loss, F.binary_cross_entropy, F.kl_div])
def test_unknown_reductions(loss: Any) -> None:
    labelled = loss in (F.cross_entropy, F.nll_loss)
    operands = ([[0.5]], [0]) if labelled else (tg.ones(1), tg.ones(1))
    known = "use 'mean', 'sum', 'batchmean' or 'none'" if loss is F.kl_div else "use 'mean', 'sum' or 'none'"
    with teaches(ArgumentError, "reduction='average'", "there is no such reduction", known, line="loss(*operands"):
        loss(*operands, reduction="average")
    if labelled:
        with pytest.raises(ArgumentError, match="there is no such reduction"):
            loss(*operands, weight=[1.0], reduction="average")
