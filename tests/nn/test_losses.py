"""Losses: values by hand and by NumPy, and what they say to labels that cannot be."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import interpret, trace
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import ArgumentError, DeviceError, DtypeError, EduError, IndexRangeError, ShapeError

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
    assert nn.CrossEntropyLoss(reduction="sum")(tg.tensor(SCORES), tg.tensor([0, 2])).item() == pytest.approx(
        sum(expected)
    )


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
        F.cross_entropy(scores, tg.tensor(labels), reduction="sum").backward()
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
PLACES = "(N, C, d1, …) and (N, d1, …)"
INTEGERS = "find out where they come from, then target.long()"
COUNT = "count the classes from 0, or give the last layer more outputs"
WRONG: dict[str, tuple[Any, type[EduError], str, str, str]] = {
    "nan": (
        [0.0, math.nan], DtypeError, "target (2,) float32",
        "class labels must be integers, but some of these are NaN", INTEGERS,
    ),
    "floats": ([0.0, 1.0], DtypeError, "target (2,) float32", "class labels must be integers", INTEGERS),
    "bools": ([True, False], DtypeError, "target (2,) bool", "class labels must be integers", INTEGERS),
    "too-large": (
        [0, 3], IndexRangeError, "target (2,) int64",
        "labels run from 0 to 3, but there are 3 classes: 0 to 2", COUNT,
    ),
    "negative": (
        [-1, 2], IndexRangeError, "target (2,) int64",
        "labels run from -1 to 2, but there are 3 classes: 0 to 2", COUNT,
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
    with pytest.raises(ShapeError, match=r"^cross_entropy\(scores \(\), target \(\) int64\)"):
        F.cross_entropy(tg.ones(()), tg.tensor(0))
    tried, why = "nll_loss(scores (2, 3, 4), target (2, 3) int64)", SHAPES[0].replace("(N, C) and (N,)", PLACES)
    with teaches(ShapeError, tried, why, SHAPES[1], line="nll_loss"):
        F.nll_loss(tg.ones(2, 3, 4), tg.ones(2, 3, dtype="int64"))


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_arguments_the_wrong_way_round(name: str) -> None:
    with teaches(
        DtypeError, f"{name}(scores (2,), target (2, 3) float32)",
        "the first holds integers, like labels, and the second fractions", "swap them: scores come first",
    ):  # fmt: skip
        getattr(F, name)(tg.tensor([0, 1]), tg.ones(2, 3))


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
    """Whoever watches sees the loss, and nothing else."""
    seen: list[str] = []

    class Watch(Interceptor):
        def forward(self, call: Any, proceed: Any) -> Any:
            seen.append(call.op.name)
            return proceed()

    with Watch():
        F.cross_entropy(tg.tensor(SCORES), tg.tensor([0, 2]))
    assert seen == ["softmax_cross_entropy"]


def test_cross_entropy_of_nothing_is_nan() -> None:
    assert math.isnan(F.cross_entropy(tg.zeros(0, 3), tg.zeros(0, dtype="int64")).item())


def log_softmax(scores: Any, axis: int) -> Any:
    """In NumPy."""
    shifted = scores - scores.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def random_scores(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape) * 2


WEIGHTS = np.array([0.5, 2.0, 1.0, 3.0])


def test_one_sample_without_an_axis_of_samples() -> None:
    scores = random_scores(4)
    loss = F.cross_entropy(tg.tensor(scores), tg.tensor(2), reduction="none")
    assert loss.shape == ()
    assert loss.item() == pytest.approx(-log_softmax(scores, 0)[2])
    assert F.nll_loss(tg.tensor(scores), 2).item() == -scores[2]


def test_a_class_at_each_place() -> None:
    """(N, C, d1, d2): each place is a sample of its own."""
    scores, labels = random_scores(2, 4, 3, 2), np.random.default_rng(0).integers(0, 4, (2, 3, 2))
    rows = np.moveaxis(scores, 1, -1).reshape(-1, 4)
    for function in (F.cross_entropy, F.nll_loss):
        losses = function(tg.tensor(scores), tg.tensor(labels), WEIGHTS, reduction="none")
        flat = function(tg.tensor(rows), tg.tensor(labels.reshape(-1)), WEIGHTS, reduction="none")
        assert losses.shape == (2, 3, 2)
        np.testing.assert_allclose(losses.array.reshape(-1), flat.array, rtol=1e-13)


def test_nll_loss_takes_what_cross_entropy_makes_itself() -> None:
    scores, labels = tg.tensor(random_scores(5, 4)), tg.tensor([0, 3, 3, 1, 2])
    for reduction in ("mean", "sum", "none"):
        found = F.nll_loss(scores.log_softmax(1), labels, WEIGHTS, ignore_index=3, reduction=reduction)
        expected = F.cross_entropy(scores, labels, WEIGHTS, ignore_index=3, reduction=reduction)
        np.testing.assert_allclose(found.array, expected.array, rtol=1e-13)


def test_weights_of_classes() -> None:
    """Each loss has the weight of its label, and the mean is over the weights."""
    scores, labels = random_scores(5, 4), np.array([0, 3, 3, 1, 2])
    losses = -log_softmax(scores, 1)[range(5), labels] * WEIGHTS[labels]
    found = {r: F.cross_entropy(tg.tensor(scores), labels, WEIGHTS, reduction=r) for r in ("mean", "sum", "none")}
    np.testing.assert_allclose(found["none"].array, losses, rtol=1e-13)
    assert found["sum"].item() == pytest.approx(losses.sum(), rel=1e-13)
    assert found["mean"].item() == pytest.approx(losses.sum() / WEIGHTS[labels].sum(), rel=1e-13)
    module = nn.CrossEntropyLoss(WEIGHTS)
    assert module(tg.tensor(scores), labels).item() == found["mean"].item()
    assert list(module.state_dict()) == ["weight"]


def test_weights_take_the_dtype_of_the_scores() -> None:
    scores = tg.tensor(random_scores(2, 4), dtype="float32")
    assert F.cross_entropy(scores, [0, 1], WEIGHTS).dtype == tg.float32


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss], ids=lambda f: f.__name__)
def test_weights_that_cannot_be(loss: Any) -> None:
    tried, why = f"{loss.__name__}(scores (2, 3), weight (2,))", "there are 3 classes, and each needs one weight"
    with teaches(ShapeError, tried, why, "give it weights of shape (3,)", line="loss(tg"):
        loss(tg.ones(2, 3), tg.tensor([0, 1]), tg.ones(2))


@pytest.mark.parametrize("ignore_index", [-100, 2, -1, 9])
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
def test_ignored_samples_count_for_nothing(ignore_index: int, weight: Any) -> None:
    """The value and the gradient are those without them, whatever their scores are."""
    scores, labels = random_scores(4, 4), np.array([0, ignore_index, 3, ignore_index])
    scores[1, 0] = np.nan
    x = tg.tensor(scores, requires_grad=True)
    found = F.cross_entropy(x, labels, weight, ignore_index=ignore_index)
    expected = F.cross_entropy(tg.tensor(scores[[0, 2]]), labels[[0, 2]], weight)
    assert found.item() == pytest.approx(expected.item(), rel=1e-14)
    each = F.cross_entropy(x, labels, weight, ignore_index=ignore_index, reduction="none")
    assert each.tolist()[1::2] == [0.0, 0.0]
    assert F.cross_entropy(x, labels, weight, ignore_index=ignore_index, reduction="sum").item() == pytest.approx(
        sum(each.tolist())
    )
    y = tg.tensor(random_scores(4, 4), requires_grad=True)
    F.cross_entropy(y, labels, weight, ignore_index=ignore_index).backward()
    assert (y.grad.array[1::2] == 0).all()
    assert (y.grad.array[::2] != 0).all()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_mean_over_no_sample_is_nan_and_moves_nothing(weight: Any, smoothing: float) -> None:
    scores = tg.tensor(random_scores(2, 4), requires_grad=True)
    loss = F.cross_entropy(scores, [-100, -100], weight, label_smoothing=smoothing)
    assert math.isnan(loss.item())
    loss.backward()
    assert not scores.grad.array.any()


def test_labels_are_checked_beside_ignored_ones() -> None:
    with pytest.raises(IndexRangeError, match="labels run from 0 to 3, but there are 3 classes: 0 to 2"):
        F.cross_entropy(tg.zeros(3, 3), tg.tensor([3, -100, 0]))
    with pytest.raises(IndexRangeError, match="labels run from -100 to 0"):
        F.cross_entropy(tg.zeros(3, 3), tg.tensor([-1, -100, 0]), ignore_index=-1)


def test_label_smoothing_spreads_a_share_of_the_target() -> None:
    scores, labels = random_scores(5, 4), np.array([0, 3, 3, 1, 2])
    target = np.eye(4)[labels] * 0.8 + 0.05
    for weight in (None, WEIGHTS):
        losses = -(log_softmax(scores, 1) * target * (1 if weight is None else weight)).sum(1)
        one_hot = tg.tensor(np.eye(4)[labels])
        for given in (labels, one_hot):
            found = F.cross_entropy(tg.tensor(scores), given, weight, label_smoothing=0.2, reduction="none")
            np.testing.assert_allclose(found.array, losses, rtol=1e-13)
        total = 5 if weight is None else weight[labels].sum()
        mean = F.cross_entropy(tg.tensor(scores), labels, weight, label_smoothing=0.2)
        assert mean.item() == pytest.approx(losses.sum() / total, rel=1e-13)
        # Over probabilities the mean counts samples: they name no one class whose weight could count.
        mean = F.cross_entropy(tg.tensor(scores), one_hot, weight, label_smoothing=0.2)
        assert mean.item() == pytest.approx(losses.mean(), rel=1e-13)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_smoothing_that_is_no_share(share: float) -> None:
    tried, mend = f"cross_entropy(label_smoothing={share})", "use a number from 0 to 1; 0.1 is usual"
    with teaches(ArgumentError, tried, "it is a fraction of the target", mend, line="cross_entropy"):
        F.cross_entropy(tg.zeros(1, 2), [0], label_smoothing=share)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 4, 3)], ids=str)
def test_class_probabilities(shape: tuple[int, ...]) -> None:
    axis = min(1, len(shape) - 1)
    scores, target = random_scores(*shape), np.random.default_rng(0).uniform(size=shape)
    target /= target.sum(axis, keepdims=True)
    x, t = tg.tensor(scores, requires_grad=True), tg.tensor(target, requires_grad=True)
    weight = WEIGHTS.reshape((4, 1) if len(shape) == 3 else 4)
    losses = -(log_softmax(scores, axis) * target * weight).sum(axis)
    found = F.cross_entropy(x, t, WEIGHTS, reduction="none")
    np.testing.assert_allclose(found.array, losses, rtol=1e-13)
    F.cross_entropy(x, t, WEIGHTS, reduction="sum").backward()
    np.testing.assert_allclose(t.grad.array, -log_softmax(scores, axis) * weight, rtol=1e-13)
    mass = (target * weight).sum(axis, keepdims=True)
    np.testing.assert_allclose(x.grad.array, np.exp(log_softmax(scores, axis)) * mass - target * weight, atol=1e-14)


def test_probabilities_know_no_ignored_label() -> None:
    tried = "cross_entropy(scores (1, 2), target (1, 2) float32)"
    why = "ignore_index=1 names a label, but the target holds probabilities"
    mend = "leave it out: a sample whose probabilities are all 0 adds nothing"
    with teaches(ShapeError, tried, why, mend, line="cross_entropy"):
        F.cross_entropy(tg.zeros(1, 2), tg.ones(1, 2), ignore_index=1)


def test_a_mean_over_weights_does_not_overflow_in_half_precision() -> None:
    """The sum of the losses is beyond float16, and so is the number of samples."""
    scores = tg.zeros(70_000, 4, dtype="float16")
    labels = tg.zeros(70_000, dtype="int64")
    labels[:5] = -100
    assert F.cross_entropy(scores, labels).item() == pytest.approx(math.log(4), rel=1e-3)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_replay_ignores_labels_that_the_trace_did_not_see(smoothing: float) -> None:
    def loss(scores: tg.Tensor, labels: tg.Tensor) -> tuple[tg.Tensor, ...]:
        value = F.cross_entropy(scores, labels, label_smoothing=smoothing)
        value.backward()
        assert scores.grad is not None
        return value, scores.grad

    raw = random_scores(3, 4)
    program = trace(loss, tg.tensor(raw, requires_grad=True), tg.tensor([0, 1, 2]))
    for labels in ([0, 1, 2], [3, -100, 2], [-100, -100, -100]):
        expected = loss(tg.tensor(raw, requires_grad=True), tg.tensor(labels))
        for found, value in zip(interpret(program, raw, np.array(labels)), expected, strict=True):
            np.testing.assert_array_equal(found, value.array)


def test_labels_that_are_ignored_on_another_device() -> None:
    scores, labels = tg.tensor(random_scores(3, 4)), tg.tensor([0, -100, 3])
    weight = tg.tensor(WEIGHTS)
    for smoothing in (0.0, 0.1):
        far = F.cross_entropy(scores.to("far"), labels.to("far"), weight.to("far"), label_smoothing=smoothing)
        near = F.cross_entropy(scores, labels, weight, label_smoothing=smoothing)
        assert (far.device, far.cpu().item()) == ("far", near.item())


# Paths through labels -------------------------------------------------------------------------------------------------


def read(path: tuple[int, ...], blank: int) -> list[int]:
    """The labels of a path: of several in a row one, and no blanks."""
    return [label for i, label in enumerate(path) if label != blank and (not i or label != path[i - 1])]


@pytest.mark.parametrize("target", [[], [1], [0, 2], [1, 1], [2, 1, 2], [2, 2, 2]], ids=str)
@pytest.mark.parametrize("blank", [0, 3])
def test_ctc_is_the_sum_over_all_paths(target: list[int], blank: int) -> None:
    if blank == 0:
        target = [label + 1 for label in target]
    logs = tg.tensor(np.random.default_rng(0).normal(size=(4, 4))).log_softmax(1)
    paths = [path for path in itertools.product(range(4), repeat=4) if read(path, blank) == target]
    likely = sum(math.exp(sum(logs[t, label].item() for t, label in enumerate(path))) for path in paths)
    found = F.ctc_loss(logs, tg.tensor(target, dtype="int64"), 4, len(target), blank, "none")
    assert found.item() == pytest.approx(-math.log(likely) if paths else math.inf)


def test_ctc_slopes_are_those_of_what_went_into_the_softmax() -> None:
    x = tg.tensor(np.random.default_rng(1).normal(size=(5, 2, 3)), requires_grad=True)
    how = (tg.tensor([[1, 2], [2, 2]]), (5, 4), (2, 2))
    assert tg.autograd.gradcheck(lambda x: F.ctc_loss(x.log_softmax(2), *how, reduction="sum"), x)


def test_ctc_of_classes_that_cannot_be_said() -> None:
    """Of a logarithm of 0 the slope is a number, where another path is left."""
    logs = tg.tensor([[[0.0, -math.inf]], [[-math.inf, 0.0]]], requires_grad=True)
    loss = F.ctc_loss(logs, tg.tensor([[1]]), [2], [1])
    loss.backward()
    assert loss.item() == 0
    assert logs.grad.isfinite().all()


def test_a_distance_of_ones_own() -> None:
    x, near, far = (tg.tensor([[value, 0.0]]) for value in (0.0, 1.0, 3.0))
    loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().amax(1), margin=2.5)
    assert loss(x, near, far).item() == 0.5


@pytest.mark.parametrize(
    ("call", "kind", "why", "mend"),
    [
        (lambda: ctc(tg.ones(3, 2, 4, dtype="float16")), DtypeError, "float32 or float64", "log_probs.float()"),
        (lambda: ctc(tg.ones(4)), ShapeError, "(T, N, C) or (T, C)", "missing axes"),
        (lambda: ctc(blank=4), IndexRangeError, "there are 4 classes", "use 0 to 3"),
        (lambda: ctc(steps=(3, 4)), IndexRangeError, "run from 3 to 4, but there are 3", "lengths from 0"),
        (lambda: ctc(steps=(3,)), ShapeError, "there are 2 sequences, but input_lengths (1,)", "one length for each"),
        (lambda: ctc(steps=(3.0, 3.0)), DtypeError, "input_lengths are integers", "lengths.long()"),
        (lambda: ctc(lengths=(-1, 2)), IndexRangeError, "target_lengths run from -1 to 2", "lengths from 0"),
        (lambda: ctc(lengths=(3, 2)), ShapeError, "have up to 3 labels, 5 in all", "check target_lengths"),
        (lambda: ctc(labels=[[1, 4], [1, 2]]), IndexRangeError, "labels run from 1 to 4", "the blank among them"),
        (lambda: ctc(labels=[[1.0, 2.0], [1.0, 2.0]]), DtypeError, "labels are integers", "come from"),
        (lambda: ctc(labels=[[1, 2], [0, 1]]), IndexRangeError, "a label is 0", "count the labels from 1"),
        (lambda: ctc(reduction="average"), ArgumentError, "no such reduction", "'mean'"),
        (lambda: F.multi_margin_loss(tg.ones(2, 3), tg.tensor([0, 3])), IndexRangeError, "from 0 to 3", "from 0"),
        (lambda: F.multi_margin_loss(tg.ones(2, 3), tg.ones(2)), DtypeError, "must be integers", "target.long()"),
        (lambda: F.multi_margin_loss(tg.ones(2, 3), tg.tensor([0])), ShapeError, "(N, C) and (N,)", "flatten"),
        (lambda: F.multi_margin_loss(tg.ones(3), tg.tensor(0), 3), ArgumentError, "the power", "p=1 or p=2"),
        (lambda: nn.MultiMarginLoss(3), ArgumentError, "the power", "p=1 or p=2"),
        (lambda: nn.MultiMarginLoss(weight=tg.ones(1, 3)), ShapeError, "each class has one", "the shape (C,)"),
        (
            lambda: F.multi_margin_loss(tg.ones(2, 3), tg.tensor([0, 1]), weight=tg.ones(2)),
            ShapeError, "there are 3 classes", "of shape (3,)",
        ),
        (
            lambda: F.multilabel_margin_loss(tg.ones(3), tg.tensor([0, -2, -1])),
            IndexRangeError, "run from -2 to 0", "-1 ends the list",
        ),
        (lambda: F.multilabel_margin_loss(tg.ones(3), tg.tensor([0])), ShapeError, "broadcasting", "reshape"),
        (lambda: F.multilabel_margin_loss(tg.ones(1, 1, 1), tg.ones(1, 1, 1)), ShapeError, "(N, C), or", "flatten"),
        (lambda: F.multilabel_soft_margin_loss(tg.ones(2, 3), tg.ones(3)), ShapeError, "broadcasting", "reshape"),
        (lambda: F.multilabel_soft_margin_loss(tg.tensor(1.0), 1.0), ShapeError, "counts the classes", "unsqueeze"),
        (lambda: nn.TripletMarginWithDistanceLoss(margin=0), ArgumentError, "without a margin", "above 0"),
        (lambda: triplet(margin=-1.0), ArgumentError, "without a margin", "above 0"),
        (lambda: triplet(tg.ones(2, 3)), ShapeError, "the same number of axes", "reshape them"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be(call: Any, kind: type[EduError], why: str, mend: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert why in caught.value.why
    assert mend in caught.value.mend


def ctc(
    logs: Any = None, labels: Any = ((1, 2), (1, 2)), steps: Any = (3, 3), lengths: Any = (2, 2), **how: Any
) -> Any:
    return F.ctc_loss(tg.ones(3, 2, 4) if logs is None else logs, tg.tensor(labels), steps, lengths, **how)


def triplet(anchor: Any = None, **how: Any) -> Any:
    x = tg.ones(3)
    return F.triplet_margin_with_distance_loss(x if anchor is None else anchor, x, x, **how)
