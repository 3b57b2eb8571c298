"""The ten workloads: their numbers, and their formulas in words that every library has.

A formula takes ``f``, the library's functions (``f.tanh``, ``f.relu``, …), the parameters by PyTorch's names, and the
inputs. Contenders that have layers of their own use those instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

Array = Any
Parameters = dict[str, Array]
Numbers = tuple[Parameters, tuple[Array, ...]]  # parameters, inputs

LEARNING_RATE = 0.05
A, B = 1.5, 0.5  # of the elementwise chain
BATCH, LENGTH, WIDTH, HEADS = 16, 32, 64, 4  # of the transformer block


@dataclass(frozen=True)
class Workload:
    """One step to be timed, and the numbers to start from.

    ``kind`` is what a step does: "train" is forward, loss, backward and an SGD update; "gradient" is forward and
    backward; "value" is forward alone, with no gradients recorded.
    """

    name: str
    title: str
    kind: Literal["train", "gradient", "value"]
    numbers: Callable[[np.random.Generator], Numbers]
    formula: Callable[..., Any]

    def fresh(self) -> Numbers:
        """Parameters and inputs, the same in each call and nobody else's."""
        return self.numbers(np.random.default_rng(0))


# Formulas ------------------------------------------------------------------------------------------------------


def chain(repeats: int) -> Callable[..., Any]:
    """``tanh(y * w + b) - c``, over and over: four tiny operations a time."""

    def formula(f: Any, p: Parameters, x: Any) -> Any:
        y, w, b, c = x, p["w"], p["b"], p["c"]
        for _ in range(repeats):
            y = f.tanh(y * w + b) - c
        return f.sum(y)

    return formula


def linear(x: Any, p: Parameters, name: str) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def scores(f: Any, p: Parameters, x: Any) -> Any:
    """An MLP: linear layers named 0, 2, 4, … as in a Sequential, with relu between them."""
    *hidden, last = (name.split(".")[0] for name in p if name.endswith("weight"))
    for name in hidden:
        x = f.relu(linear(x, p, name))
    return linear(x, p, last)


def mlp(f: Any, p: Parameters, x: Any, labels: Any) -> Any:
    return f.cross_entropy(scores(f, p, x), labels)


def rnn(f: Any, p: Parameters, x: Any, h: Any, target: Any) -> Any:
    """``h = tanh(x_t @ W + h @ U + b)`` through all steps of ``x`` (steps, batch, features); loss at the end."""
    for t in range(x.shape[0]):
        h = f.tanh(x[t] @ p["W"] + h @ p["U"] + p["b"])
    return f.mse_loss(h, target)


def cnn(f: Any, p: Parameters, x: Any, labels: Any) -> Any:
    x = f.pool(f.relu(f.conv(x, p["0.weight"], p["0.bias"])))
    x = f.pool(f.relu(f.conv(x, p["3.weight"], p["3.bias"])))
    return f.cross_entropy(linear(x.reshape(x.shape[0], -1), p, "7"), labels)


def block(f: Any, p: Parameters, x: Any, target: Any) -> Any:
    """A transformer block that normalises first, as ``nn.TransformerEncoderLayer(norm_first=True)``."""
    x = x + attention(f, p, f.layer_norm(x, p["norm1.weight"], p["norm1.bias"]))
    hidden = f.relu(linear(f.layer_norm(x, p["norm2.weight"], p["norm2.bias"]), p, "linear1"))
    return f.mse_loss(x + linear(hidden, p, "linear2"), target)


def attention(f: Any, p: Parameters, x: Any) -> Any:
    """Every position looks at every other, in four heads."""
    mixed = x @ p["self_attn.in_proj_weight"].T + p["self_attn.in_proj_bias"]
    parts = f.permute(mixed.reshape(BATCH, LENGTH, 3, HEADS, WIDTH // HEADS), (2, 0, 3, 1, 4))
    query, key, value = parts[0], parts[1], parts[2]
    weights = f.softmax(query @ f.permute(key, (0, 1, 3, 2)) * (WIDTH // HEADS) ** -0.5)
    joined = f.permute(weights @ value, (0, 2, 1, 3)).reshape(BATCH, LENGTH, WIDTH)
    return linear(joined, p, "self_attn.out_proj")


def elementwise(f: Any, p: Parameters) -> Any:
    """Eight operations on every element."""
    x = p["x"]
    return f.tanh(x * A + B) * x - f.exp(-x * x)


def elementwise_sum(f: Any, p: Parameters) -> Any:
    return f.sum(elementwise(f, p))


# Numbers -------------------------------------------------------------------------------------------------------


def chain_numbers(size: int | None) -> Callable[[np.random.Generator], Numbers]:
    def numbers(rng: np.random.Generator) -> Numbers:
        x, w, b, c = (np.asarray(rng.uniform(0.1, 0.9, size), "f4") for _ in range(4))
        return {"w": w, "b": b, "c": c}, (x,)

    return numbers


def spread(rng: np.random.Generator, *shape: int, fan_in: int) -> Array:
    """What PyTorch draws for layers: evenly over ±1/√fan_in."""
    return rng.uniform(-(fan_in**-0.5), fan_in**-0.5, shape).astype("f4")


def layer(rng: np.random.Generator, name: str, *shape: int) -> Parameters:
    fan_in = int(np.prod(shape[1:]))
    weight, bias = spread(rng, *shape, fan_in=fan_in), spread(rng, shape[0], fan_in=fan_in)
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def mlp_numbers(sizes: tuple[int, ...], batch: int, labels: bool = True) -> Callable[[np.random.Generator], Numbers]:
    def numbers(rng: np.random.Generator) -> Numbers:
        p: Parameters = {}
        for i, (before, after) in enumerate(pairwise(sizes)):
            p |= layer(rng, str(2 * i), after, before)
        x = rng.standard_normal((batch, sizes[0]), "f4")
        return p, (x, rng.integers(0, sizes[-1], batch)) if labels else (x,)

    return numbers


def rnn_numbers(rng: np.random.Generator) -> Numbers:
    steps, batch, features, hidden = 50, 32, 16, 32
    p = {"W": (features, hidden), "U": (hidden, hidden), "b": (hidden,)}
    x, h = rng.standard_normal((steps, batch, features), "f4"), np.zeros((batch, hidden), "f4")
    target = rng.uniform(-1, 1, (batch, hidden)).astype("f4")
    return {name: spread(rng, *shape, fan_in=hidden) for name, shape in p.items()}, (x, h, target)


def cnn_numbers(rng: np.random.Generator) -> Numbers:
    p = layer(rng, "0", 8, 1, 3, 3) | layer(rng, "3", 16, 8, 3, 3) | layer(rng, "7", 10, 784)
    return p, (rng.standard_normal((64, 1, 28, 28), "f4"), rng.integers(0, 10, 64))


def block_numbers(rng: np.random.Generator) -> Numbers:
    projection = layer(rng, "", 3 * WIDTH, WIDTH)
    p = {f"self_attn.in_proj_{name[1:]}": array for name, array in projection.items()}
    p |= layer(rng, "self_attn.out_proj", WIDTH, WIDTH)
    p |= layer(rng, "linear1", 4 * WIDTH, WIDTH) | layer(rng, "linear2", WIDTH, 4 * WIDTH)
    for norm in ("norm1", "norm2"):
        p |= {f"{norm}.weight": np.ones(WIDTH, "f4"), f"{norm}.bias": np.zeros(WIDTH, "f4")}
    x, target = rng.standard_normal((2, BATCH, LENGTH, WIDTH), "f4")
    return p, (x, target)


def elementwise_numbers(rng: np.random.Generator) -> Numbers:
    return {"x": rng.standard_normal(4_000_000, "f4")}, ()


# The list ------------------------------------------------------------------------------------------------------

SMALL, LARGE = (64, 32, 10), (784, 512, 256, 10)
TITLES = {
    "scalar": "200 operations on a scalar, forward and backward",
    "vector": "100 operations on 64 elements, forward and backward",
    "mlp": "MLP 64-32-10, batch 32",
    "mlp-large": "MLP 784-512-256-10, batch 128",
    "rnn": "hand-made RNN, 50 steps",
    "cnn": "CNN of two convolutions, batch 64×28×28",
    "block": "transformer block of width 64",
    "elementwise": "elementwise chain on 4M elements, forward",
    "elementwise-backward": "the same, forward and backward",
    "inference": "MLP 64-32-10, batch 32, inference",
}


def _workload(name: str, kind: Any, numbers: Any, formula: Any) -> Workload:
    return Workload(name, TITLES[name], kind, numbers, formula)


WORKLOADS = {
    workload.name: workload
    for workload in (
        _workload("scalar", "gradient", chain_numbers(None), chain(50)),
        _workload("vector", "gradient", chain_numbers(64), chain(25)),
        _workload("mlp", "train", mlp_numbers(SMALL, 32), mlp),
        _workload("mlp-large", "train", mlp_numbers(LARGE, 128), mlp),
        _workload("rnn", "train", rnn_numbers, rnn),
        _workload("cnn", "train", cnn_numbers, cnn),
        _workload("block", "train", block_numbers, block),
        _workload("elementwise", "value", elementwise_numbers, elementwise),
        _workload("elementwise-backward", "gradient", elementwise_numbers, elementwise_sum),
        _workload("inference", "value", mlp_numbers(SMALL, 32, labels=False), scores),
    )
}
