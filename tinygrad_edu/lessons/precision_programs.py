"""The programs of the lesson on precision: a reader of digits, gradients that are small, a layer to quantise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..amp import GradScaler, autocast
from ..data import digits
from ..nn import Linear, ReLU, Sequential
from ..nn import functional as F
from ..ops.logic import isfinite
from ..optim import SGD, Adam
from ..quantise import quantise_tensor, to_float8
from ..settings import no_grad
from ..tensor import Tensor
from ..tensor.creation import ones, zeros
from ..tensor.random import randn, seeded

ROWS, STEPS, RATE = 512, 300, 1e-4
PIXELS = 8192  # rows of the task on loss scaling: the loss is a mean over 64 times as many numbers


def images() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Digits to learn from (512, 64) and their labels, digits to test with and theirs."""
    x, y, x_test, y_test = digits().split()
    return x[:ROWS], y[:ROWS], x_test, y_test


def reader() -> Sequential:
    """A network of two layers that reads digits; the same one each time."""
    with seeded(0):
        return Sequential(Linear(64, 64), ReLU(), Linear(64, 10))


def accuracy(model: Sequential) -> float:
    """The share of test digits that are read right."""
    _, _, x, y = images()
    with no_grad():
        return float((model(x.to(model[0].weight.dtype)).argmax(1) == y).float().mean().item())


def after_one_step(dtype: str) -> tuple[float, float]:
    """In the first step of the opening program: the share of gradients that are 0, and that of weights that change.

    Pixels that are white in all images have gradients of 0 in any dtype.
    """
    x, y, _, _ = images()
    model = reader().to(dtype)
    optimizer = Adam(model.parameters(), lr=RATE)
    before = [p.detach().clone() for p in model.parameters()]
    F.cross_entropy(model(x.to(dtype)), y).backward()
    zeros = [np.asarray((p.grad == 0).numpy()).ravel() for p in model.parameters()]
    optimizer.step()
    changed = [np.asarray((p.detach() != b).numpy()).ravel() for p, b in zip(model.parameters(), before, strict=True)]
    return float(np.concatenate(zeros).mean()), float(np.concatenate(changed).mean())


def patches() -> tuple[Tensor, Tensor]:
    """Patches of pictures (8192, 64), and what a filter makes of them, which is small; invented."""
    with seeded(3):
        x, true = randn(PIXELS, 64), randn(64, 64)
    return x, x @ (true * 1e-4)


def quietly(program: Callable[..., Any], *given: Any) -> Any:
    """Run a program; what overflows or underflows in NumPy gives no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return program(*given)


def first_step(x: Tensor, y: Tensor, scale: float) -> str:
    """What a scaler that begins with this scale does in the first step of the program of task 2."""
    w = zeros(64, 64, requires_grad=True)
    optimizer, scaler = SGD([w], lr=8.0), GradScaler("cpu", init_scale=scale)
    with autocast("cpu", dtype="float16"):
        loss = F.mse_loss(x @ w, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if not isfinite(w).all():
        return "the weights become inf or nan"
    return "the step is skipped" if (w == 0).all() else "the step is made"


def weights(largest: float = 10.0) -> Tensor:
    """The weights of a layer (64, 256), one of which is far away; invented."""
    with seeded(5):
        found = 0.05 * randn(64, 256)
    found[3, 7] = largest
    return found


def errors_in_8_bits(largest: float) -> tuple[float, float]:
    """The median error of all weights but the largest, with one scale for all: in int8, and in float8 (e4m3)."""
    w = weights(largest)
    others = ones(64, 256, dtype="bool")
    others[3, 7] = False
    int8, float8 = (
        (kept.dequantise() - w).abs()[others].median().item() for kept in (quantise_tensor(w), to_float8(w))
    )
    return int8, float8
