"""What the tips on the graph say is so in PyTorch, too."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


def nodes(tensor: Any) -> int:
    """How many nodes the graph behind a tensor has, the leaves' own left out."""
    waiting, seen = [tensor.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen and "AccumulateGrad" not in node.name():
            seen.add(node)
            waiting += [parent for parent, _ in node.next_functions]
    return len(seen)


@pytest.mark.parametrize("learn", [False, True])
def test_a_sum_of_losses_keeps_every_graph(learn: bool) -> None:
    found = []
    for steps in (2, 4, 8):
        w, total = torch.ones(5, requires_grad=True), torch.zeros(())
        for _ in range(steps):
            loss = (w * torch.rand(5)).tanh().mean()
            if learn:
                loss.backward()
            total = total + loss
        found.append(nodes(total))
    assert found == [8, 16, 32]
    assert nodes(loss) == 3


def test_after_backward_a_kept_graph_has_no_numbers_left() -> None:
    w = torch.ones(5, requires_grad=True)
    loss = (w * 2).tanh().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_nothing_is_recorded_under_no_grad_and_everything_in_eval() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.Tanh()).eval()
    assert nodes(model(torch.ones(1, 3))) >= 2
    with torch.no_grad():
        assert model(torch.ones(1, 3)).grad_fn is None
