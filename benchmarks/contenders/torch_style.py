"""Our engine and PyTorch, eager and compiled. They share a style, so the same lines run in both."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.contenders.base import Running
from benchmarks.harness import Scope
from benchmarks.workloads import HEADS, LARGE, LEARNING_RATE, SMALL, WIDTH, Workload

Loss = Callable[..., Any]


def perceptron(nn: Any, sizes: tuple[int, ...]) -> Any:
    layers: list[Any] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def convolutional(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(784, 10),
    )  # fmt: skip


def transformer_block(nn: Any) -> Any:
    return nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)


# What has layers; the others are formulas of plain tensors.
MODELS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "mlp": (lambda nn: perceptron(nn, SMALL), "CrossEntropyLoss"),
    "mlp-large": (lambda nn: perceptron(nn, LARGE), "CrossEntropyLoss"),
    "cnn": (convolutional, "CrossEntropyLoss"),
    "block": (transformer_block, "MSELoss"),
    "inference": (lambda nn: perceptron(nn, SMALL), ""),
}


def program(lib: Any, workload: Workload, exposed: bool) -> tuple[dict[str, Any], Callable[[], Any], Any]:
    """The parameters, what is computed of them and the inputs, and what must live on."""
    arrays = workload.fresh()
    tensor = lib.from_numpy if exposed else lib.tensor  # the latter copies
    parameters = {name: tensor(array).requires_grad_() for name, array in arrays[0].items()}
    inputs = [tensor(array) for array in arrays[1]]
    if workload.name not in MODELS:
        words = SimpleNamespace(tanh=lib.tanh, exp=lib.exp, sum=lib.sum, mse_loss=lib.nn.functional.mse_loss)
        return parameters, lambda: workload.formula(words, parameters, *inputs), arrays
    build, loss = MODELS[workload.name]
    model = build(lib.nn)
    for name, parameter in parameters.items():
        *path, last = name.split(".")
        setattr(reduce(getattr, path, model), last, lib.nn.Parameter(parameter.detach()))
    parameters = dict(model.named_parameters())
    if not loss:
        return parameters, lambda: model(inputs[0]), arrays
    criterion, (x, target) = getattr(lib.nn, loss)(), inputs
    return parameters, lambda: criterion(model(x), target), arrays


def running(lib: Any, workload: Workload, exposed: bool = False, scope: Scope = nullcontext) -> Running:
    """The workload in one of the libraries. ``exposed``: all its arrays come from NumPy, and are held there."""
    parameters, formula, arrays = program(lib, workload, exposed)

    def value() -> Any:
        with lib.no_grad():
            return formula()

    def gradient() -> Any:
        for p in parameters.values():
            p.grad = None
        loss = formula()
        loss.backward()
        return loss

    optimiser = lib.optim.SGD(list(parameters.values()), lr=LEARNING_RATE)

    def train() -> Any:
        optimiser.zero_grad()
        loss = formula()
        loss.backward()
        optimiser.step()
        return loss

    def state() -> dict[str, Any]:
        return {name: p.grad if workload.kind == "gradient" else p for name, p in parameters.items()}

    step = {"value": value, "gradient": gradient, "train": train}[workload.kind]
    return Running(step, read, state, scope, arrays)


def read(tensor: Any) -> np.ndarray:
    """The tensor's values. Of a copy: what ``numpy()`` hands out is exposed."""
    return np.array(tensor.detach().clone().numpy())


def ours(workload: Workload, exposed: bool = False, guarded: bool = True) -> Running:
    """Our engine."""
    import tinygrad_edu as tg

    return running(tg, workload, exposed, nullcontext if guarded else tg.guard.off)


def ours_compiled(workload: Workload) -> Running:
    """Our engine, by a program: made in the first call, which is not timed."""
    import tinygrad_edu as tg

    made = running(tg, workload)
    return replace(made, step=tg.compile(made.step, fullgraph=True))


def pytorch(workload: Workload) -> Running:
    """PyTorch, operation by operation."""
    import torch

    torch.set_num_threads(1)
    return running(torch, workload)


def ours_by_numba(workload: Workload) -> Running:
    """The same as machine code: whole programs over small arrays, and kernels over large ones."""
    import numba  # noqa: F401  (one that is missing is reported)

    import tinygrad_edu as tg

    made = running(tg, workload)
    return replace(made, step=tg.compile(made.step, fullgraph=True, backend="numba"))


def pytorch_compiled(workload: Workload) -> Running:
    """PyTorch with the whole step compiled."""
    import torch

    torch.set_num_threads(1)
    eager = running(torch, workload)
    return Running(torch.compile(eager.step), eager.read, eager.state)
