"""MyGrad, with its memory guard on and off."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders.base import Running
from benchmarks.contenders.words import words
from benchmarks.workloads import LEARNING_RATE, Workload


def vocabulary() -> Any:
    """MyGrad's own functions."""
    import mygrad as mg
    from mygrad.nnet.activations import relu, softmax
    from mygrad.nnet.layers import conv_nd, max_pool
    from mygrad.nnet.losses import softmax_crossentropy

    def conv(x: Any, weight: Any, bias: Any) -> Any:
        return conv_nd(x, weight, stride=1, padding=1) + bias.reshape(-1, 1, 1)

    def pool(x: Any) -> Any:
        return max_pool(x, (2, 2), 2)

    return words(mg, relu=relu, softmax=softmax, cross_entropy=softmax_crossentropy, conv=conv, pool=pool)


def make(workload: Workload, guarded: bool) -> Running:
    """The workload in MyGrad."""
    import mygrad as mg

    arrays, inputs = workload.fresh()
    p = {name: mg.tensor(array) for name, array in arrays.items()}
    inputs = tuple(x if x.dtype.kind == "i" else mg.tensor(x, constant=True) for x in inputs)
    f = vocabulary()

    def value() -> Any:
        with mg.no_autodiff:
            return workload.formula(f, p, *inputs)

    def gradient() -> Any:
        for parameter in p.values():
            parameter.null_grad()
        loss = workload.formula(f, p, *inputs)
        loss.backward()
        return loss

    def train() -> Any:
        loss = gradient()
        for parameter in p.values():
            parameter.data -= LEARNING_RATE * parameter.grad
        return loss

    def state() -> dict[str, Any]:
        return {name: t.grad if workload.kind == "gradient" else t.data for name, t in p.items()}

    step = {"value": value, "gradient": gradient, "train": train}[workload.kind]
    return Running(step, np.array, state, lambda: mg.mem_guard_on if guarded else mg.mem_guard_off)
