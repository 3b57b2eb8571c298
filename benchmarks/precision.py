"""What 16 bits and 8 bits cost on this processor: a training step in each dtype, and reading with an int8 model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tinygrad_edu as tg
from benchmarks import harness
from benchmarks.harness import Here, Step
from tinygrad_edu import nn
from tinygrad_edu.nn import functional as F
from tinygrad_edu.quantise import quantise

BASELINE = "float32"
Make = Callable[[], tuple[nn.Module, tg.Tensor]]


def mlp() -> tuple[nn.Module, tg.Tensor]:
    """Layers of 784, 512, 256 and 10, and a batch of 128."""
    layers = (nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
    return nn.Sequential(*layers), tg.randn(128, 784)


def small_mlp() -> tuple[nn.Module, tg.Tensor]:
    """Layers of 64, 32 and 10, and a batch of 32."""
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)), tg.randn(32, 64)


def cnn() -> tuple[nn.Module, tg.Tensor]:
    """Two convolutions, and a batch of 64 digits of 8 by 8."""
    convolutions = (nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU())
    return nn.Sequential(*convolutions, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10)), tg.randn(64, 1, 8, 8)


MODELS: dict[str, Make] = {
    "MLP 64-32-10, batch 32": small_mlp,
    "MLP 784-512-256-10, batch 128": mlp,
    "CNN of two convolutions, batch 64×8×8": cnn,
}


def training(make: Make, dtype: str = "float32", under: str = "") -> Step:
    """A training step of a model in a dtype, or under `autocast`."""
    tg.manual_seed(0)
    model, x = make()
    model, x = model.to(dtype), x.to(dtype)
    labels = tg.arange(len(x)) % 10
    optimizer = tg.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        with tg.autocast("cpu", dtype=under or None, enabled=bool(under)):
            loss = F.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()

    return step


def reading(make: Make, bits: int = 32) -> Step:
    """Reading a batch, with the weights in float32 or in int8."""
    tg.manual_seed(0)
    model, x = make()
    read: Any = model.eval() if bits == 32 else quantise(model.eval())

    def step() -> None:
        with tg.no_grad():
            read(x)

    return step


def contenders(make: Make) -> dict[str, dict[str, Step]]:
    """Steps to compare, each with `BASELINE`."""
    in_dtype, cast = partial(training, make), partial(training, make, "float32")
    return {
        "training step": {
            BASELINE: in_dtype(), "float64": in_dtype("float64"), "bfloat16": in_dtype("bfloat16"),
            "float16": in_dtype("float16"), "autocast to bfloat16": cast("bfloat16"),
            "autocast to float16": cast("float16"),
        },
        "reading a batch": {BASELINE: reading(make), "int8, quantised": reading(make, 8)},
    }  # fmt: skip


def run(turns: int = 15) -> str:
    """The times, as tables."""
    found = [harness.machine("numpy", "ml_dtypes")]
    for name, make in MODELS.items():
        for what, steps in contenders(make).items():
            ratios = harness.compare({one: Here(step) for one, step in steps.items()}, BASELINE, turns)
            found.append(harness.table(f"{name}: {what}", ratios, BASELINE))
    return "\n\n".join(found)
