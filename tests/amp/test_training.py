"""A digit reader that learns in 16 bits as it does in 32, and one that learns nothing unless its loss is scaled."""

from __future__ import annotations

from statistics import mean
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.nn import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")


def train(
    seed: int, device: str = "cpu", dtype: str = "", scaled: bool = True, weight: float = 1.0, epochs: int = 12
) -> float:
    """The share of test images that are read right. The loss counts by a ``weight``, for which the rate makes up."""
    tg.manual_seed(seed)
    x, y, x_test, y_test = (part.to(device) for part in tg.data.digits().split(seed=seed))
    net = nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10),
    ).to(device)  # fmt: skip
    optimizer = tg.optim.SGD(net.parameters(), lr=0.05 / weight, momentum=0.9)
    scaler = tg.amp.GradScaler(device, enabled=bool(dtype) and scaled)
    for _ in range(epochs):
        order: Any = tg.randperm(len(x)).to(device)
        for rows in order[: len(x) // 32 * 32].reshape(-1, 32):
            optimizer.zero_grad()
            with tg.autocast(device, dtype=dtype or None, enabled=bool(dtype)):
                loss = F.cross_entropy(net(x[rows]), y[rows]) * weight
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    with tg.no_grad():
        return float((net(x_test).argmax(1) == y_test).float().mean().item())


def test_a_loss_of_small_weight_teaches_nothing_in_float16_until_it_is_scaled() -> None:
    assert train(0, weight=1e-6, epochs=4) > 0.85
    assert train(0, dtype="float16", weight=1e-6, epochs=4) > 0.85
    assert train(0, dtype="float16", weight=1e-6, epochs=4, scaled=False) < 0.2
    assert train(0, dtype="bfloat16", weight=1e-6, epochs=4, scaled=False) > 0.85, "it has the range of float32"


@pytest.mark.slow
@pytest.mark.parametrize(("device", "dtype"), [("cpu", "float16"), ("cpu", "bfloat16"), ("sim", "float16")])
def test_accuracy_is_that_of_float32_over_five_seeds(device: str, dtype: str) -> None:
    plain, mixed = (mean(train(seed, device, one) for seed in range(5)) for one in ("", dtype))
    assert plain > 0.95 and abs(plain - mixed) < 0.005
