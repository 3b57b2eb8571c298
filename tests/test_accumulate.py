"""Gradients of a batch from micro-batches, and `fit` that uses them and checkpoints: the same, with less in memory."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import data, nn, optim
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.metrics import accuracy
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.training import accumulate, fit

F = nn.functional


def model_and_batch(rows: int = 7) -> tuple[nn.Sequential, Any, Any]:
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2), nn.Tanh())
    return model, tg.randn(rows, 3), tg.randint(0, 2, (rows,))


def gradients(model: nn.Module) -> list[Any]:
    return [p.grad.numpy().copy() for p in model.parameters()]


@given(st.integers(1, 9), st.integers(1, 12))
def test_it_is_the_gradient_of_the_whole_batch(rows: int, size: int) -> None:
    model, x, y = model_and_batch(rows)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    whole = gradients(model)
    model.zero_grad()
    assert accumulate(lambda x, y: F.cross_entropy(model(x), y), x, y, size=size) == pytest.approx(loss.item(), 1e-5)
    for a, b in zip(whole, gradients(model), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_mean_of_means_would_be_another_number() -> None:
    """What the helper is for: the usual loop divides by the number of micro-batches."""
    model, x, y = model_and_batch(7)
    F.cross_entropy(model(x), y).backward()
    whole = gradients(model)
    model.zero_grad()
    for start in (0, 3, 6):
        (F.cross_entropy(model(x[start : start + 3]), y[start : start + 3]) / 3).backward()
    assert not all(np.allclose(a, b, rtol=1e-3) for a, b in zip(whole, gradients(model), strict=True))


def test_a_mean_over_what_is_not_padding() -> None:
    model, x, _ = model_and_batch(6)
    y = tg.tensor([0, -100, -100, -100, 1, 1])

    def loss(x: Any, y: Any) -> Any:
        return F.cross_entropy(model(x), y)  # leaves out the labels -100

    loss(x, y).backward()
    whole = gradients(model)
    model.zero_grad()
    accumulate(loss, x, y, size=2, weight=lambda x, y: (y != -100).sum().item())  # the second one has nothing
    for a, b in zip(whole, gradients(model), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_gradients_are_added_to_those_that_are_there() -> None:
    w = tg.ones(2, requires_grad=True)
    w.grad = tg.ones(2)
    accumulate(lambda rows: (rows @ w).mean(), tg.ones(4, 2), size=3)
    assert w.grad.tolist() == [2.0, 2.0]


def test_the_graph_holds_one_micro_batch() -> None:
    model, x, y = model_and_batch(512)
    accumulate(lambda x, y: F.cross_entropy(model(x), y), x, y, size=512)
    peaks = []
    for size in (512, 64):
        with Counters() as counted:
            accumulate(lambda x, y: F.cross_entropy(model(x), y), x, y, size=size)
        peaks.append(counted.peak)
    assert peaks[1] < 0.3 * peaks[0]


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "2"])
def test_sizes_that_cannot_be(size: Any) -> None:
    why, mend = "it is the most samples that are computed at once", "use a whole number from 1 on"
    with teaches(ArgumentError, f"micro-batches of {size!r}", why, mend, "accumulate("):
        accumulate(lambda x: x.mean(), tg.ones(2), size=size)


def test_batches_that_do_not_fit() -> None:
    why, mend = "each sample is one row of every tensor, and the first one has 2", "give one row for each"
    with teaches(ArgumentError, "a batch with a tensor of 3 rows", why, mend, "accumulate("):
        accumulate(lambda x, y: x.mean(), tg.ones(2), tg.ones(3), size=1)
    why = "each sample is one row of every tensor, and this has no rows"
    with teaches(ArgumentError, "a batch with [1, 2]", why, mend, "accumulate("):
        accumulate(lambda x, y: x.mean(), tg.ones(2), [1, 2], size=1)
    why, mend = "they add up to 0, and a mean over nothing is none", "leave out batches that have nothing to learn from"
    with teaches(ArgumentError, "accumulate with these weights", why, mend, "accumulate("):
        accumulate(lambda x: x.mean(), tg.ones(2), size=1, weight=lambda x: 0)


# In the loop of the lessons -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"micro_batch": 2}, {"micro_batch": 3}, {"checkpoints": 2}, {"checkpoints": 4},
                                     {"micro_batch": 2, "checkpoints": 3, "clip_grad_norm": 0.1}])  # fmt: skip
def test_fit_learns_the_same(options: dict[str, Any]) -> None:
    model, x, y = model_and_batch(10)
    found = []
    for chosen in ({k: v for k, v in options.items() if k == "clip_grad_norm"}, options):
        own = copy.deepcopy(model)
        loader = data.DataLoader(data.TensorDataset(x, y), 4)  # the last batch has two
        history = fit(own, loader, F.cross_entropy, optim.SGD(own.parameters(), lr=0.5), 3,
                      metrics=[accuracy], progress=False, **chosen)  # fmt: skip
        found.append((history.epochs, [p.detach().numpy().copy() for p in own.parameters()]))
    for one, other in zip(found[0][0], found[1][0], strict=True):
        assert one == pytest.approx(other, 1e-4)
    for a, b in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_only_a_sequential_is_cut_into_parts() -> None:
    model = nn.Linear(3, 2)
    with teaches(
        ArgumentError, "fit with checkpoints and Linear", "only an nn.Sequential has parts in a row",
        "call utils.checkpoint.checkpoint in the model's forward", "fit(",
    ):  # fmt: skip
        fit(model, [], F.cross_entropy, optim.SGD(model.parameters(), lr=0.1), checkpoints=2)
