"""Losses: values by hand and by NumPy, and what they say to labels that cannot be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import DeviceError, DtypeError, EduError, IndexRangeError, ShapeError

F = nn.functional
SCORES = [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


def test_cross_entropy_by_hand() -> None:
    """Minus the logarithm of the softmax at the label: log(e² + e + 1) - 2, and log 3 where all scores are equal."""
    losses = F.cross_entropy(tg.tensor(SCORES, dtype="float64"), tg.tensor([0, 2]), reduction="none")
    expected = [math.log(math.e**2 + math.e + 1) - 2, math.log(3)]
    np.testing.assert_allclose(losses.array, expected, rtol=1e-14)
    assert F.cross_entropy(tg.tensor(SCORES), [0, 2]).item() == pytest.approx(sum(expected) / 2)
    assert F.cross_entropy(tg.tensor(SCORES), np.array([0, 2], "u1"), reduction="sum").item() == pytest.approx(
        sum(expected)
    )
    assert nn.CrossEntropyLoss("sum")(tg.tensor(SCORES), tg.tensor([0, 2])).item() == pytest.approx(sum(expected))


def test_the_gradient_of_cross_entropy_is_softmax_minus_one_hot() -> None:
    rng = np.random.default_rng(1)
    raw, labels = rng.normal(size=(5, 4)) * 3, rng.integers(0, 4, 5)
    scores = tg.tensor(raw, requires_grad=True)
    F.cross_entropy(scores, tg.tensor(labels)).backward()
    powers = np.exp(raw - raw.max(1, keepdims=True))
    expected = (powers / powers.sum(1, keepdims=True) - np.eye(4)[labels]) / 5
    np.testing.assert_allclose(scores.grad.array, expected, rtol=1e-12, atol=1e-15)


def test_cross_entropy_does_not_overflow() -> None:
    scores = tg.tensor([[1e4, 0.0], [0.0, -1e4]], requires_grad=True)
    losses = F.cross_entropy(scores, tg.tensor([1, 0]), reduction="none")
    assert losses.tolist() == [1e4, 0.0]
    losses.sum().backward()
    assert scores.grad.tolist() == [[1.0, -1.0], [0.0, 0.0]]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 4e-3), ("bfloat16", 3e-2), ("float32", 2e-5)])
def test_large_scores_in_narrow_dtypes(dtype: str, tolerance: float) -> None:
    """The gradient does not lose its digits to the size of the scores."""
    rng = np.random.default_rng(0)
    raw, labels = tg.tensor(rng.normal(size=(64, 10)) * 50, dtype=dtype), rng.integers(0, 10, 64)
    found = []
    for scores in (raw.clone().requires_grad_(), raw.double().requires_grad_()):
        F.cross_entropy(scores, tg.tensor(labels), "sum").backward()
        found.append(scores.grad.array.astype("f8"))
    np.testing.assert_allclose(found[0], found[1], atol=tolerance)


def test_whole_numbers_are_scores_too() -> None:
    assert F.cross_entropy([[0, 0]], [1]).item() == pytest.approx(math.log(2))


def test_labels_cannot_change_before_backward() -> None:
    """They are needed for the gradient: an array is locked, and a write to a tensor is found out."""
    scores, labels = tg.zeros(2, 3, requires_grad=True), np.array([0, 1])
    loss = F.cross_entropy(scores, labels)
    with pytest.raises(ValueError, match="read-only"):
        labels[0] = 2
    loss.backward()
    labels[0] = 2
    owned = tg.tensor([0, 1])
    loss = F.cross_entropy(scores, owned)
    owned[0] = 2
    with pytest.raises(EduError, match=r"backward through softmax_cross_entropy, which saved its target \(2,\)"):
        loss.backward()


SHAPES = ("it takes one row of scores and one class index per sample: (N, C) and (N,)",
          "flatten to these shapes; one-hot rows become indices by target.argmax(1)")  # fmt: skip
INTEGERS = "find out where they come from, then target.long()"
COUNT = "count the classes from 0, or give the last layer more outputs"
WRONG: dict[str, tuple[Any, type[EduError], str, str, str]] = {
    "nan": (
        [0.0, math.nan], DtypeError, "target (2,) float32",
        "class labels are integers, and some of these are NaN", INTEGERS,
    ),
    "floats": ([0.0, 1.0], DtypeError, "target (2,) float32", "class labels are integers", INTEGERS),
    "bools": ([True, False], DtypeError, "target (2,) bool", "class labels are integers", INTEGERS),
    "too-large": (
        [0, 3], IndexRangeError, "target (2,) int64",
        "labels run from 0 to 3, and there are 3 classes: 0 to 2", COUNT,
    ),
    "negative": (
        [-1, 2], IndexRangeError, "target (2,) int64",
        "labels run from -1 to 2, and there are 3 classes: 0 to 2", COUNT,
    ),
    "one-hot": ([[1, 0, 0], [0, 1, 0]], ShapeError, "target (2, 3) int64", *SHAPES),
    "too-few": ([0], ShapeError, "target (1,) int64", *SHAPES),
    "one-number": (0, ShapeError, "target () int64", *SHAPES),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_labels_that_cannot_be(name: str) -> None:
    target, kind, shown, why, mend = WRONG[name]
    with pytest.raises(kind) as caught:
        F.cross_entropy(tg.tensor(SCORES), tg.tensor(target))
    error = caught.value
    assert (error.tried, error.why, error.mend) == (f"cross_entropy(scores (2, 3), {shown})", why, mend)
    assert error.line.startswith("test_losses.py, line ")


def test_scores_that_cannot_be() -> None:
    with pytest.raises(ShapeError, match=r"^cross_entropy\(scores \(3,\), target \(1,\) int64\)"):
        F.cross_entropy(tg.ones(3), tg.tensor([0]))


def test_labels_elsewhere() -> None:
    with pytest.raises(DeviceError, match="the operands live on different devices"):
        F.cross_entropy(tg.ones(2, 3, device="far"), tg.tensor([0, 1]))


def test_losses_on_another_device() -> None:
    scores, labels = tg.tensor(SCORES, device="far", requires_grad=True), tg.tensor([0, 2], device="far")
    loss = F.cross_entropy(scores, labels)
    loss.backward()
    assert (loss.device, scores.grad.device) == ("far", "far")
    assert loss.cpu().item() == pytest.approx(F.cross_entropy(tg.tensor(SCORES), [0, 2]).item())
    with pytest.raises(IndexRangeError, match="labels run from 0 to 3"):
        F.cross_entropy(scores, tg.tensor([0, 3], device="far"))


def test_the_check_of_labels_is_no_step_of_the_model() -> None:
    """Whoever watches sees the loss and its mean, and nothing else."""
    seen: list[str] = []

    class Watch(Interceptor):
        def forward(self, call: Any, proceed: Any) -> Any:
            seen.append(call.op.name)
            return proceed()

    with Watch():
        F.cross_entropy(tg.tensor(SCORES), tg.tensor([0, 2]))
    assert seen == ["softmax_cross_entropy", "mean"]


def test_cross_entropy_of_nothing_is_nan() -> None:
    assert math.isnan(F.cross_entropy(tg.zeros(0, 3), tg.zeros(0, dtype="int64")).item())


def test_mse_by_hand() -> None:
    x = tg.tensor([1.0, 2.0, 4.0], requires_grad=True)
    loss = F.mse_loss(x, tg.tensor([1.0, 0.0, 1.0]))
    assert loss.item() == pytest.approx((0 + 4 + 9) / 3)
    loss.backward()
    np.testing.assert_allclose(x.grad.array, [0.0, 4 / 3, 2.0], rtol=1e-6)
    assert nn.MSELoss("none")(x, [1, 0, 1]).tolist() == [0.0, 4.0, 9.0]


def test_mse_refuses_to_broadcast() -> None:
    with pytest.raises(ShapeError) as caught:
        F.mse_loss(tg.ones(4, 1), tg.ones(4))
    assert caught.value.tried == "mse_loss((4, 1), (4,))"
    assert caught.value.why == "broadcasting would compare elements that do not belong together"
    assert caught.value.mend == "reshape one to the other's shape: target.reshape(x.shape)"


@pytest.mark.parametrize(
    "loss", [lambda r: F.mse_loss(tg.ones(1), tg.ones(1), r), lambda r: F.cross_entropy([[0.0]], [0], r)]
)
def test_unknown_reductions(loss: Any) -> None:
    with pytest.raises(
        ShapeError, match="reduction='average'\n  why:  there is no such reduction\n  mend: use 'mean', 'sum' or 'none'"
    ):
        loss("average")
