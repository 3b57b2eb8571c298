"""Tensors that change their own shape, or leave the graph themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler.trace import trace
from tinygrad_edu.errors import AutogradError, InplaceError, ShapeError

CHANGES: dict[str, Callable[[tg.Tensor], tg.Tensor]] = {
    "unsqueeze_": lambda x: x.unsqueeze_(1), "squeeze_": lambda x: x.squeeze_(),
    "squeeze_ one": lambda x: x.squeeze_(-1), "transpose_": lambda x: x.transpose_(0, 2),
    "t_": lambda x: x.squeeze_(2).t_(),
}  # fmt: skip
VALUES = np.arange(6.0).reshape(2, 3, 1)


def plain(name: str, x: tg.Tensor) -> tg.Tensor:
    return {
        "unsqueeze_": lambda: x.unsqueeze(1), "squeeze_": x.squeeze, "squeeze_ one": lambda: x.squeeze(-1),
        "transpose_": lambda: x.transpose(0, 2), "t_": lambda: x.squeeze(2).t(),
    }[name]()  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_the_tensor_itself_changes_and_its_memory_stays(name: str) -> None:
    x = tg.tensor(VALUES)
    view, memory, expected = x[1], x.array, plain(name, x)
    assert CHANGES[name](x) is x
    assert (x.shape, x.stride(), x.tolist()) == (expected.shape, expected.stride(), expected.tolist())
    assert np.shares_memory(x.array, memory)
    x.fill_(7.0)
    assert view.tolist() == [[7.0]] * 3


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("writes_to", ["itself", "view", "neither", "itself before", "view before"])
def test_gradients(name: str, writes_to: str) -> None:
    """Views from before the change go on to show what they have shown, in history too."""
    grads = []
    for change in (CHANGES[name], lambda x: plain(name, x)):
        leaf = tg.tensor(VALUES, requires_grad=True)
        x = leaf * 2
        view = x[1]
        if writes_to == "itself before":
            x *= 3
        elif writes_to == "view before":
            view *= 3
        y = change(x)
        if writes_to == "itself":
            y *= tg.tensor(np.sin(np.arange(6.0))).reshape(*y.shape)
        elif writes_to == "view":
            view *= 5
        weights = tg.tensor(np.cos(np.arange(6.0))).reshape(*y.shape)
        ((y * weights).sum() + (view * view).sum()).backward()
        assert leaf.grad is not None
        grads.append(leaf.grad.tolist())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-14)


def test_a_view_changes_alone() -> None:
    x = tg.tensor(VALUES, requires_grad=True) * 1
    view = x[0]
    view.t_()
    assert (view.shape, x.shape) == ((1, 3), (2, 3, 1))
    view *= 2
    assert x[0].tolist() == [[0.0], [2.0], [4.0]]
    assert x.requires_grad


def test_a_graph_stays_whole_inside_no_grad() -> None:
    """PyTorch's does not: there backward fails afterwards."""
    leaf = tg.tensor(VALUES, requires_grad=True)
    x = leaf * 3
    with tg.no_grad():
        x.squeeze_().t_()
    (x * tg.tensor(np.arange(6.0).reshape(3, 2))).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.squeeze().tolist() == (np.arange(6.0).reshape(3, 2).T * 3).tolist()


def test_a_leaf_changes_inside_no_grad_only() -> None:
    w = tg.tensor(VALUES, requires_grad=True)
    with teaches(
        InplaceError, "squeeze_ on a tensor (2, 3, 1) float64",
        "it is a leaf that requires grad, and gradients arrive there in its present shape",
        "use squeeze, which gives a view",
    ):  # fmt: skip
        w.squeeze_()
    with tg.no_grad():
        w *= 1.0
        w.squeeze_()
    (w * 2).sum().backward()
    assert w.is_leaf
    assert w.grad is not None and w.grad.tolist() == [[2.0] * 3] * 2


def test_what_cannot_be_changes_nothing() -> None:
    x = tg.ones(2, 3, 1)
    with pytest.raises(ShapeError):
        x.t_()
    with pytest.raises(ShapeError):
        x.unsqueeze_(5)
    assert x.shape == (2, 3, 1)
    number = tg.tensor(1.0).sum()
    assert number.unsqueeze_(0).tolist() == [1.0]


def test_kept_gradients_follow() -> None:
    x = tg.tensor(VALUES, requires_grad=True) * 1
    x.retain_grad()
    x.squeeze_()
    (x * 2).sum().backward()
    assert x.grad is not None and x.grad.shape == (2, 3)


def test_detach_leaves_the_graph() -> None:
    leaf = tg.ones(2, requires_grad=True)
    x = leaf * 2
    assert x.detach_() is x
    assert x.is_leaf and not x.requires_grad
    x += 1
    assert leaf.detach_() is leaf
    assert not leaf.requires_grad
    why, mend = "it is a view, and the next write to its base would tie it to the graph again", "use detach()"
    with teaches(AutogradError, "detach_ of a tensor (1,)", why, mend):
        x[1:].detach_()


@pytest.mark.parametrize("written", ["base", "view"])
def test_views_keep_their_place_when_the_base_leaves_the_graph(written: str) -> None:
    leaf = tg.ones(2, requires_grad=True)
    x = leaf * 2
    view = x[1:]
    (x if written == "base" else view).mul_(3)
    x.detach_()
    assert view.requires_grad and not x.requires_grad
    view.sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [0.0, 6.0]


def test_a_recording_repeats_it() -> None:
    program = trace(lambda x: (x * 2).unsqueeze_(0).sum(0), tg.tensor(VALUES))
    assert [equation.name for equation in program.equations] == ["mul", "reshape", "sum"]


def test_tensors_without_elements() -> None:
    x = tg.zeros(0, 3)
    view = x[:, 1:]
    assert x.t_().shape == (3, 0)
    assert view.unsqueeze_(0).shape == (1, 0, 2)
