"""HIPS autograd: NumPy, wrapped."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contenders.base import Running
from benchmarks.contenders.words import words
from benchmarks.workloads import LEARNING_RATE, Workload


def vocabulary() -> Any:
    """Its own functions. The convolution is that of its examples: it turns the kernel round, so this turns it back."""
    import autograd.numpy as anp
    from autograd.scipy.signal import convolve

    def conv(x: Any, weight: Any, bias: Any) -> Any:
        wide = anp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), "constant")
        turned = weight[:, :, ::-1, ::-1]
        images = convolve(wide, turned, axes=([2, 3], [2, 3]), dot_axes=([1], [1]), mode="valid")
        return images + bias[:, None, None]

    return words(anp, conv=conv)


def make(workload: Workload) -> Running:
    """The workload in autograd."""
    from autograd import value_and_grad

    p, inputs = workload.fresh()
    f = vocabulary()
    slopes = value_and_grad(lambda p: workload.formula(f, p, *inputs))
    gradients: dict[str, Any] = {}

    def value() -> Any:
        return workload.formula(f, p, *inputs)

    def gradient() -> Any:
        nonlocal gradients
        gradients = {}
        loss, gradients = slopes(p)
        return loss

    def train() -> Any:
        loss, gradients = slopes(p)
        for name, slope in gradients.items():
            p[name] -= LEARNING_RATE * slope
        return loss

    step = {"value": value, "gradient": gradient, "train": train}[workload.kind]
    return Running(step, np.array, lambda: gradients if workload.kind == "gradient" else p)
