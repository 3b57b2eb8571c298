"""Metrics against sums written out, and what they say of input that has no answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import metrics
from tinygrad_edu.errors import ArgumentError, DtypeError, IndexRangeError, ShapeError
from tinygrad_edu.metrics import (
    Mean,
    accuracy,
    confusion_matrix,
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    perplexity,
    precision,
    r2_score,
    recall,
)

LABELS = st.integers(1, 12).flatmap(lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2))


@settings(max_examples=60, deadline=None)
@given(LABELS)
def test_classes_by_counting(both: tuple[list[int], list[int]]) -> None:
    found, wanted = both
    pairs = list(zip(found, wanted, strict=True))
    matrix = confusion_matrix(found, wanted, num_classes=4)
    assert matrix.tolist() == [[pairs.count((column, row)) for column in range(4)] for row in range(4)]
    assert matrix.dtype == np.int64
    assert accuracy(found, wanted) == sum(a == b for a, b in pairs) / len(pairs)
    shares: dict[str, list[float]] = {"p": [], "r": [], "f": []}
    for c in range(4):
        right, said, there = pairs.count((c, c)), found.count(c), wanted.count(c)
        p, r = right / said if said else 0.0, right / there if there else 0.0
        for key, value in (("p", p), ("r", r), ("f", 2 * p * r / (p + r) if p + r else 0.0)):
            shares[key].append(value)
    occurring = sorted(set(found) | set(wanted))
    for metric, key in ((precision, "p"), (recall, "r"), (f1_score, "f")):
        each = metric(found, wanted, average=None, num_classes=4)
        np.testing.assert_allclose(each.array, shares[key], rtol=1e-14)
        assert metric(found, wanted) == pytest.approx(np.mean([shares[key][c] for c in occurring]), rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 1000), st.data())
def test_accuracy_of_scores_by_sorting(classes: int, count: int, seed: int, data: st.DataObject) -> None:
    """Few different scores, so that there are ties: among those the lower class goes first."""
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 3, (count, classes)).astype(float), rng.integers(0, classes, count)
    k = data.draw(st.integers(1, classes))
    right = [
        label in sorted(range(classes), key=lambda c: (-row[c], c))[:k]
        for row, label in zip(scores, labels, strict=True)
    ]
    assert accuracy(tg.tensor(scores), tg.tensor(labels), k=k) == np.mean(right)
    if k == 1:
        assert accuracy(scores, labels) == np.mean(scores.argmax(1) == labels)
        assert accuracy(tg.tensor(scores).argmax(1), labels) == np.mean(right)


def test_further_axes_lie_behind_the_classes() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(2, 5, 3, 4)), rng.integers(0, 5, (2, 3, 4))
    flat, flat_labels = np.moveaxis(scores, 1, -1).reshape(-1, 5), labels.reshape(-1)
    for metric in (accuracy, perplexity, precision, recall, f1_score):
        assert metric(scores, labels) == pytest.approx(metric(flat, flat_labels), rel=1e-13)
    assert accuracy(scores, labels, k=2) == accuracy(flat, flat_labels, k=2)
    assert confusion_matrix(scores, labels).tolist() == confusion_matrix(flat, flat_labels).tolist()
    assert confusion_matrix(scores, labels).shape == (5, 5)


def test_perplexity() -> None:
    rng = np.random.default_rng(1)
    logits, labels = tg.tensor(rng.normal(size=(6, 4)) * 5), tg.tensor(rng.integers(0, 4, 6))
    assert perplexity(logits, labels) == pytest.approx(math.exp(tg.nn.functional.cross_entropy(logits, labels).item()))
    assert perplexity(tg.zeros(3, 7), [0, 1, 2]) == pytest.approx(7)
    assert perplexity([[1000.0, 0.0]], [0]) == 1.0
    assert perplexity([[1000.0, 0.0]], [1]) == math.inf
    assert perplexity([[0.0, -math.inf]], [0]) == 1.0


def test_numbers() -> None:
    rng = np.random.default_rng(2)
    found, wanted = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    assert mean_absolute_error(found, tg.tensor(wanted)) == pytest.approx(np.mean(np.abs(found - wanted)))
    assert mean_squared_error(found, wanted) == pytest.approx(np.mean((found - wanted) ** 2))
    assert r2_score(found, wanted) == pytest.approx(1 - np.mean((found - wanted) ** 2) / np.var(wanted))
    assert r2_score(wanted, wanted) == 1.0
    assert r2_score(np.full((4, 3), wanted.mean()), wanted) == pytest.approx(0, abs=1e-15)
    assert mean_absolute_error(np.array([200], np.uint8), np.array([201], np.uint8)) == 1.0
    with pytest.raises(ShapeError, match="all targets are equal, so there is no variance"):
        r2_score([1.0, 2.0], [3.0, 3.0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_16_bit_scores_are_measured_in_full(dtype: str) -> None:
    scores, labels = tg.randn(300, 4, dtype=dtype), tg.randint(4, (300,))
    exact = tg.tensor(scores.double().tolist(), dtype="float64")
    assert accuracy(scores, labels) == accuracy(exact, labels)
    assert perplexity(scores, labels) == perplexity(exact, labels)
    assert mean_squared_error(scores, scores * 0) == mean_squared_error(exact, exact * 0)


def test_tensors_with_a_graph_and_of_other_devices() -> None:
    scores = tg.tensor([[0.1, 0.9], [0.8, 0.2]], requires_grad=True)
    assert accuracy(scores * 2, [1, 1]) == 0.5
    assert accuracy(scores.detach().to("far"), tg.tensor([1, 1]).to("far")) == 0.5


def test_yes_or_no() -> None:
    assert accuracy(tg.tensor([0.2, 0.7]) > 0.5, tg.tensor([1, 1])) == 0.5
    assert recall([True, False, True], [True, True, True], average=None).tolist() == [0.0, 2 / 3]


def test_a_running_mean() -> None:
    mean = Mean()
    assert math.isnan(mean.compute())
    assert mean.update(1.0, 2).update(tg.tensor(4.0)).compute() == 2.0
    assert mean.update(np.float32(100), 0).compute() == 2.0
    assert mean.reset().update(3).compute() == 3.0
    with teaches(ArgumentError, "Mean.update with weight=-1", "a weight is not negative", "use a count", "mean.update"):
        mean.update(1.0, -1)
    assert mean.compute() == 3.0


# What has no answer -----------------------------------------------------------------------------------------------

CLASSES = (accuracy, confusion_matrix, precision, recall, f1_score, perplexity)
SAME = "each number is compared with its own target"
AXES = "the input has the target's shape, or one axis of classes more, at place 1"
RESHAPE = "reshape one of them, such as y.squeeze(1)"


@pytest.mark.parametrize("metric", CLASSES)
@pytest.mark.parametrize(("x", "y"), [((4, 3), (4, 1)), ((4, 3), (3,)), ((4,), (5,)), ((4, 3, 2), (4, 3)), ((), (2,))])
def test_shapes_that_do_not_fit(metric: Any, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    with teaches(ShapeError, f"{metric.__name__} of input {x} and target {y}", AXES, RESHAPE, "metric("):
        metric(tg.ones(x), tg.zeros(y, dtype="int64"))


@pytest.mark.parametrize("metric", [mean_absolute_error, mean_squared_error, r2_score])
def test_numbers_that_do_not_fit(metric: Any) -> None:
    """A column against a row would be stretched to a square, and the result be nonsense."""
    with teaches(ShapeError, f"{metric.__name__} of input (4, 1) and target (4,)", SAME, RESHAPE, "metric("):
        metric(tg.ones(4, 1), tg.ones(4))


@pytest.mark.parametrize("metric", [*CLASSES, mean_absolute_error, mean_squared_error, r2_score])
def test_nothing_has_no_mean(metric: Any) -> None:
    with pytest.raises(ShapeError, match="there is nothing to take a mean of"):
        metric(tg.zeros(0, dtype="int64"), tg.zeros(0, dtype="int64"))


@pytest.mark.parametrize("metric", [*CLASSES, mean_absolute_error])
def test_nan_is_no_score(metric: Any) -> None:
    """Compared with anything it is False, so every label would count as the best."""
    target = tg.zeros(1, 2) if metric is mean_absolute_error else [0]
    with pytest.raises(ArgumentError, match="one of them holds nan"):
        metric([[math.nan, 1.0]], target)


def test_labels_that_are_none() -> None:
    with pytest.raises(DtypeError, match="the target holds float64, but labels are integers"):
        accuracy([[0.1, 0.9]], [1.0])
    with pytest.raises(DtypeError, match=r"the input holds float64, but labels are integers\n.*\n.*for yes or no"):
        accuracy([0.1, 0.9], [1, 1])
    for label in (-1, 2):
        with pytest.raises(IndexRangeError, match=f"accuracy with label {label}\n  why:  there are 2 classes"):
            accuracy([[0.1, 0.9]], [label])
    for found, wanted, wrong in (([3], [0], 3), ([0], [-1], -1), ([-2], [0], -2)):
        with pytest.raises(IndexRangeError, match=f"confusion_matrix with label {wrong}"):
            confusion_matrix(found, wanted, num_classes=3)


def test_ranks_that_cannot_be() -> None:
    for k in (0, 3):
        with teaches(
            ArgumentError, f"accuracy with k={k}", "there are 2 classes", "use a k from 1 to that", "accuracy("
        ):
            accuracy([[0.1, 0.9]], [1], k=k)
    with pytest.raises(ShapeError, match="the input holds one label for each target, but no scores"):
        accuracy([1], [1], k=2)
    with pytest.raises(ShapeError, match="labels leave no choice"):
        perplexity([1], [1])
    with pytest.raises(ArgumentError, match="precision with average='micro'"):
        precision([1], [1], average="micro")


def test_every_metric_is_tested_here() -> None:
    own = {name for name, value in vars(metrics).items() if getattr(value, "__module__", "") == metrics.__name__}
    assert {name for name in own if not name.startswith("_")} <= set(globals())
