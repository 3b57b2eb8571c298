"""The FLOPs of a summary beside PyTorch's count, which knows products of matrices and convolutions, but no biases."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


def dense(library: Any, bias: bool) -> Any:
    layers = library.nn
    return layers.Sequential(layers.Linear(6, 8, bias), layers.Sequential(layers.Linear(8, 5, bias)))


def images(library: Any, bias: bool) -> Any:
    layers = library.nn
    return layers.Sequential(
        layers.Conv2d(4, 6, 3, stride=2, padding=1, bias=bias),
        layers.Conv2d(6, 8, (1, 2), groups=2, bias=bias),
        layers.ConvTranspose2d(8, 4, 3, stride=2, bias=False),
        layers.Flatten(2),
        layers.Conv1d(4, 4, 6, dilation=2, bias=bias),
        layers.Linear(35, 3, bias),
    )


def theirs(model: Any, shape: tuple[int, ...]) -> int:
    """What PyTorch counts in one forward."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(shape))
    return int(counter.get_total_flops())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("make", "shape"), [(dense, (6,)), (dense, (7, 6)), (dense, (2, 7, 6)), (images, (2, 4, 8, 6))]
)
def test_products_count_the_same_and_each_bias_one_for_a_result(make: Any, shape: tuple[int, ...], bias: bool) -> None:
    model = make(tg, bias)
    found = nn.summary(model, shape)
    added = sum(math.prod(row.output) for row in found.rows if f"{row.path}.bias" in model.state_dict())
    assert (added > 0) is bias
    assert found.flops - added == theirs(make(torch, bias), shape)
