"""Leaves between forward and backward. What PyTorch makes of the same is compared in `tests/peers/test_leaves.py`."""

from __future__ import annotations

import gc

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.autograd import leaves
from tinygrad_edu.core.storage import _STORAGES
from tinygrad_edu.errors import AutogradError, InplaceError


def test_no_gradient_arrives_at_a_leaf_that_is_switched_off() -> None:
    x, w = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    x.requires_grad_(False)
    y.sum().backward()
    assert x.grad is None
    assert w.grad.tolist() == [1.0, 2.0]


def test_a_leaf_that_an_operation_has_written_to() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    x.requires_grad_(False)
    x.mul_(tg.ones(1, requires_grad=True))
    why = "<mul> has written to it since, so it is no longer a leaf"
    with teaches(AutogradError, "a gradient for a leaf (2,)", why, "write to a clone, or call backward() first"):
        y.sum().backward()


def test_an_operand_with_other_memory() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    x.data = tg.tensor([10.0, 20.0])
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20.0, 40.0]
    with tg.no_grad():
        x.add_(1)
    with pytest.raises(InplaceError, match="add_ has overwritten it since"):
        y.sum().backward()


def test_nothing_is_noted_where_nobody_has_saved_the_memory() -> None:
    """As in a loop of training: it would be looked at by every backward."""
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
        w.data = w.data - 0.1 * w.grad
    assert id(w) not in leaves._MOVES


def test_nothing_is_left_behind() -> None:
    """No cycle, and no entry for memory that is gone."""
    gc.collect()
    gc.disable()
    try:
        before = len(_STORAGES), len(leaves._MOVES), len(leaves._ASLEEP)
        for _ in range(5):
            x = tg.tensor([1.0, 2.0], requires_grad=True)
            y, old = x * x, x.data
            x.data = tg.tensor([5.0, 6.0])
            z = x * x
            x.data = old
            total = (y * z).sum()
            square = total * total
            total.data = tg.tensor(3.0)
            x.requires_grad_(False)
        del x, y, z, old, total, square
        assert (len(_STORAGES), len(leaves._MOVES), len(leaves._ASLEEP)) == before
    finally:
        gc.enable()
