"""Small models that several tests use."""

from __future__ import annotations

import tinygrad_edu as tg
from tinygrad_edu import nn


def convnet() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10, bias=False)
    )


class Block(nn.Module):
    """Two layers and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.gain = nn.Parameter(tg.ones(3))
        self.second = nn.Linear(5, 3)

    def forward(self, x: tg.Tensor, scale: float = 1.0) -> tg.Tensor:
        return x + self.second(self.first(x).tanh()) * self.gain * scale
