"""tinygrad, with the whole step captured by TinyJit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.contenders.base import Running
from benchmarks.workloads import LEARNING_RATE, Workload


def vocabulary() -> Any:
    """tinygrad's own functions."""
    from tinygrad import Tensor

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        return x.layernorm() * weight + bias

    return SimpleNamespace(
        tanh=Tensor.tanh,
        exp=Tensor.exp,
        sum=Tensor.sum,
        relu=Tensor.relu,
        softmax=Tensor.softmax,
        permute=Tensor.permute,
        cross_entropy=Tensor.sparse_categorical_crossentropy,
        mse_loss=lambda out, target: (out - target).square().mean(),
        layer_norm=layer_norm,
        conv=lambda x, weight, bias: x.conv2d(weight, bias, padding=1),
        pool=Tensor.max_pool2d,
    )


def make(workload: Workload) -> Running:
    """The workload in tinygrad. What a captured step returns lies in the same buffers each time."""
    from tinygrad import Context, Device, Tensor, TinyJit
    from tinygrad.nn.optim import SGD

    arrays, others = workload.fresh()
    p = {name: Tensor(np.atleast_1d(array)).realize() for name, array in arrays.items()}
    inputs = [Tensor(np.atleast_1d(array)).realize() for array in others]  # a 0-d one would be a constant, folded away
    f = vocabulary()
    slopes: list[Any] = []

    def value() -> Any:
        return (workload.formula(f, p, *inputs).realize(),)

    def gradient() -> Any:
        loss = workload.formula(f, p, *inputs)
        gradients = loss.gradient(*p.values())
        Tensor.realize(loss, *gradients)
        return loss, *gradients

    optimiser = SGD(list(p.values()), lr=LEARNING_RATE)

    def train() -> Any:
        with Context(TRAINING=1):
            optimiser.zero_grad()
            loss = workload.formula(f, p, *inputs)
            loss.backward()
            Tensor.realize(loss, *optimiser.schedule_step())
        return (loss,)

    captured = TinyJit({"value": value, "gradient": gradient, "train": train}[workload.kind])

    def step() -> Any:
        loss, *slopes[:] = captured()
        Device[Device.DEFAULT].synchronize()
        return loss

    def state() -> dict[str, Any]:
        return dict(zip(p, slopes, strict=True)) if workload.kind == "gradient" else p

    return Running(step, lambda tensor: np.array(tensor.numpy()), state)
