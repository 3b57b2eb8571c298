"""The graph as it is walked by hand: from a result's node to the leaves."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import tinygrad_edu as tg


def test_from_a_result_to_its_leaves() -> None:
    x, y = tg.ones(2, requires_grad=True), tg.ones(2)
    z = (x * y).exp()
    (product, place), *rest = z.grad_fn.next_functions
    assert (z.grad_fn.name(), product.name(), place, rest) == ("exp", "mul", 0, [])
    (leaf, _), (nothing, _) = product.next_functions
    assert (leaf.name(), leaf.next_functions, nothing) == ("AccumulateGrad", (), None)
    assert leaf.variable is x
    del x
    gc.collect()
    assert leaf.variable is None


def shape(node: Any) -> Any:
    """The nodes below, nested, without their names."""
    if node is None:
        return None
    assert isinstance(node.name(), str)
    if "AccumulateGrad" in node.name():
        return tuple(node.variable.shape)
    return [shape(below) for below, number in node.next_functions if number == 0]


@pytest.mark.peers
def test_the_same_graph_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    found = []
    for m in (tg, torch):
        x, y = m.ones(2, 3, requires_grad=True), m.ones(3, requires_grad=True)
        z = (x * y).exp() + x.detach() - (y * y).sum()
        found.append(shape(m.cat([z, x]).relu().sum().grad_fn))
    assert found[0] == found[1]
    assert str(found[0]).count("(3,)") == 3
