"""Optimisers by their formulas, and steps of them on some gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import optim
from tinygrad_edu.optim import stepping

Formula = Callable[..., Iterator[Any]]


def sgd(p: Any, grads: Any, lr: float, momentum: float = 0, nesterov: bool = False, dampening: float = 0) -> Any:
    v = None
    for g in grads:
        v = g if v is None else momentum * v + (1 - dampening) * g
        p = p - lr * (g + momentum * v if nesterov else v if momentum else g)
        yield p


def adam(p: Any, grads: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    m = v = largest = np.zeros_like(p)
    decay, decoupled = more.get("weight_decay", 0), more.get("decoupled_weight_decay")
    for t, g in enumerate(grads, 1):
        g = -g if more.get("maximize") else g
        if decoupled:
            p = p - lr * decay * p
        else:
            g = g + decay * p
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
        largest = np.maximum(largest, v)
        corrected = (largest if more.get("amsgrad") else v) / (1 - betas[1] ** t)
        p = p - lr * m / (1 - betas[0] ** t) / (np.sqrt(corrected) + eps)
        yield p


def adamw(p: Any, grads: Any, **settings: Any) -> Any:
    return adam(p, grads, decoupled_weight_decay=True, **{"weight_decay": 0.01, **settings})


def rmsprop(p: Any, grads: Any, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8, **more: Any) -> Any:
    v = mean = collected = np.zeros_like(p)
    for g in grads:
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        v, mean = alpha * v + (1 - alpha) * g**2, alpha * mean + (1 - alpha) * g
        step = g / (np.sqrt(v - mean**2 if more.get("centered") else v) + eps)
        collected = more.get("momentum", 0) * collected + step
        p = p - lr * collected
        yield p


def adagrad(p: Any, grads: Any, lr: float = 0.01, lr_decay: float = 0, eps: float = 1e-10, **more: Any) -> Any:
    s = np.full_like(p, more.get("initial_accumulator_value", 0))
    for t, g in enumerate(grads):
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        s = s + g**2
        p = p - lr / (1 + t * lr_decay) * g / (np.sqrt(s) + eps)
        yield p


def adadelta(p: Any, grads: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, **more: Any) -> Any:
    v = u = np.zeros_like(p)
    for g in grads:
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        v = rho * v + (1 - rho) * g**2
        step = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * step**2
        p = p - lr * step
        yield p


def adamax(p: Any, grads: Any, lr: float = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    m = u = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        m, u = betas[0] * m + (1 - betas[0]) * g, np.maximum(betas[1] * u, np.abs(g) + eps)
        p = p - lr / (1 - betas[0] ** t) * m / u
        yield p


def means(p: Any, grads: Any, betas: Any, lr: float, **more: Any) -> Any:
    """What NAdam and RAdam share: the step's number, the parameter (decayed), the gradient and the two means."""
    m = v = np.zeros_like(p)
    decay, decoupled = more.get("weight_decay", 0), more.get("decoupled_weight_decay")
    for t, g in enumerate(grads, 1):
        g = (-g if more.get("maximize") else g) + (0 if decoupled else decay * p)
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
        p = yield t, (p - lr * decay * p if decoupled else p), g, m, v / (1 - betas[1] ** t)


def nadam(p: Any, grads: Any, lr: float = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    product, walk, fade = 1.0, means(p, grads, betas, lr, **more), more.get("momentum_decay", 4e-3)
    given = next(walk)
    for _ in grads:
        t, p, g, m, v = given
        mu, ahead = (betas[0] * (1 - 0.5 * 0.96 ** (s * fade)) for s in (t, t + 1))
        product = float(np.float32(product) * np.float32(mu))  # kept as PyTorch keeps it
        p = p - lr * (g * (1 - mu) / (1 - product) + m * ahead / (1 - product * ahead)) / (np.sqrt(v) + eps)
        yield p
        given = walk.send(p) if t < len(grads) else None


def radam(p: Any, grads: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    walk, most = means(p, grads, betas, lr, **more), 2 / (1 - betas[1]) - 1
    given = next(walk)
    for _ in grads:
        t, p, _, m, v = given
        rho, left = most - 2 * t * betas[1] ** t / (1 - betas[1] ** t), 1 - betas[1] ** t
        step = m / (1 - betas[0] ** t)
        if rho > 5:
            factor = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
            step = step * factor / (np.sqrt(v) + eps / np.sqrt(left))
        p = p - lr * step
        yield p
        given = walk.send(p) if t < len(grads) else None


def rprop(
    p: Any, grads: Any, lr: float = 0.01, etas: Any = (0.5, 1.2), step_sizes: Any = (1e-6, 50), **more: Any
) -> Any:
    before, size = np.zeros_like(p), np.full_like(p, lr)
    for g in grads:
        g = -g if more.get("maximize") else g
        turn = np.sign(g * before)
        size = np.clip(size * np.select([turn > 0, turn < 0], etas[::-1], 1.0), *step_sizes)
        before = np.where(turn < 0, 0, g)
        p = p - np.sign(before) * size
        yield p


CASES: list[tuple[Any, Formula, dict[str, Any]]] = [
    (optim.SGD, sgd, {"lr": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.2}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.2}),
    (optim.Adam, adam, {"lr": 0.1, "amsgrad": True, "maximize": True}),
    (optim.AdamW, adamw, {"lr": 0.1}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True, "maximize": True}),
    (optim.RMSprop, rmsprop, {}),
    (optim.RMSprop, rmsprop, {"lr": 0.1, "alpha": 0.5, "momentum": 0.5, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"lr": 0.1, "centered": True, "eps": 0.1, "maximize": True}),
    (optim.Adagrad, adagrad, {}),
    (optim.Adagrad, adagrad, {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1, "initial_accumulator_value": 1.0}),
    (optim.Adadelta, adadelta, {}),
    (optim.Adadelta, adadelta, {"lr": 0.5, "rho": 0.5, "eps": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.Adamax, adamax, {}),
    (optim.Adamax, adamax, {"lr": 0.1, "betas": (0.5, 0.6), "eps": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.NAdam, nadam, {}),
    (optim.NAdam, nadam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.2, "momentum_decay": 0.5}),
    (optim.NAdam, nadam, {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True, "maximize": True}),
    (optim.RAdam, radam, {}),
    (optim.RAdam, radam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.2, "maximize": True}),
    (optim.RAdam, radam, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.2, "decoupled_weight_decay": True}),
    (optim.Rprop, rprop, {}),
    (optim.Rprop, rprop, {"lr": 0.1, "etas": (0.25, 3.0), "step_sizes": (0.05, 0.2), "maximize": True}),
]


EVERY = pytest.mark.parametrize(
    ("make", "formula", "settings"), CASES, ids=lambda value: getattr(value, "__name__", str(value))
)


SHAPES = ((), (3,), (2, 4), (stepping.SMALL + 1,))  # three that step together, and one alone


def leaves(dtype: str = "float64", device: str = "cpu", shapes: Any = SHAPES) -> list[Any]:
    rng = np.random.default_rng(0)
    return [tg.tensor(rng.normal(size=s), dtype=dtype, device=device, requires_grad=True) for s in shapes]


def gradients(steps: int, dtype: str = "float64", shapes: Any = SHAPES) -> list[list[Any]]:
    rng = np.random.default_rng(1)
    return [[np.asarray(rng.normal(size=s)).astype(dtype) for s in shapes] for _ in range(steps)]


def run(optimiser: Any, ps: list[Any], grads: list[list[Any]]) -> None:
    for row in grads:
        for p, g in zip(ps, row, strict=True):
            p.grad = None if g is None else tg.tensor(g, dtype=p.dtype, device=p.device)
        optimiser.step()


def unlike(what: str) -> Any:
    """A gradient that does not fit a parameter of two float32 elements."""
    return {"dtype": tg.ones(2, dtype=tg.float64), "device": tg.ones(2, device="far"), "shape": tg.ones(3)}[what]
