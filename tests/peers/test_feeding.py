"""What lesson 9 says of PyTorch: generators that are copies, seeds of workers, and a loss of probabilities."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*", "ignore:This DataLoader will create:UserWarning"),
]


class Drawn:
    """Eight samples: what a generator of its own draws, and what those of three libraries draw in the worker."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[float, float, float, float]:
        import torch

        return self.generator.random(), np.random.random(), random.random(), float(torch.rand(()))


def drawn(torch: Any) -> list[set[float]]:
    torch.manual_seed(3)
    loader = torch.utils.data.DataLoader(Drawn(), batch_size=1, num_workers=4)
    return [{round(float(one), 9) for one in column} for column in zip(*loader, strict=True)]


def test_a_generator_of_its_own_is_copied_and_those_of_libraries_are_seeded() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    first = drawn(torch)
    assert [len(column) for column in first] == [2, 8, 8, 8]
    assert first == drawn(torch)


def test_a_loss_of_probabilities_does_not_reach_0() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    sure = torch.zeros(1, 10)
    sure[0, 3] = 1.0
    assert torch.nn.functional.cross_entropy(sure, torch.tensor([3])).item() == pytest.approx(1.46, abs=0.005)


def test_gradients_are_let_go_of_by_default() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    p = torch.ones(2, requires_grad=True)
    p.sum().backward()
    torch.optim.SGD([p], lr=0.1).zero_grad()
    assert p.grad is None
