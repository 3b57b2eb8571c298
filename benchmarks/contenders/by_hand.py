"""Forward, backward and update written by hand in NumPy: what is left when the engine costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders.base import Running
from benchmarks.workloads import BATCH, HEADS, LEARNING_RATE, LENGTH, WIDTH, A, B, Parameters, Workload

Array = Any
Gradients = dict[str, Array]


def make(workload: Workload) -> Running:
    """The workload by hand."""
    p, inputs = workload.fresh()
    program = PROGRAMS[workload.name]
    gradients: Gradients = {}

    def value() -> Any:
        return program(p, *inputs)

    def gradient() -> Any:
        nonlocal gradients
        gradients = {}  # the earlier ones go first, as everywhere
        loss, gradients = program(p, *inputs)
        return loss

    def train() -> Any:
        loss, slopes = program(p, *inputs)
        for name, slope in slopes.items():
            slope *= LEARNING_RATE
            p[name] -= slope
        return loss

    step = {"value": value, "gradient": gradient, "train": train}[workload.kind]
    return Running(step, np.array, lambda: gradients if workload.kind == "gradient" else p)


# Chains --------------------------------------------------------------------------------------------------------


def chain(repeats: int) -> Callable[..., tuple[Any, Gradients]]:
    def program(p: Parameters, x: Array) -> tuple[Any, Gradients]:
        y, w, b, c = (a[()] for a in (x, *p.values()))  # scalars of NumPy, where they are scalars
        ys, ts = [], []
        for _ in range(repeats):
            ys.append(y)
            t = np.tanh(y * w + b)
            ts.append(t)
            y = t - c
        g = np.ones_like(y)
        gw, gb, gc = np.zeros_like(w), np.zeros_like(b), np.zeros_like(c)
        for earlier, t in zip(reversed(ys), reversed(ts), strict=True):
            gc -= g
            g = g * (1 - t * t)
            gw += g * earlier
            gb += g
            g = g * w
        return y.sum(), {"w": gw, "b": gb, "c": gc}

    return program


def elementwise(p: Parameters) -> Array:
    x = p["x"]
    return np.tanh(x * A + B) * x - np.exp(-x * x)


def elementwise_backward(p: Parameters) -> tuple[Any, Gradients]:
    x = p["x"]
    t, e = np.tanh(x * A + B), np.exp(-x * x)
    return (t * x - e).sum(), {"x": t + (1 - t * t) * A * x + 2 * x * e}


# Networks ------------------------------------------------------------------------------------------------------


def cross_entropy(z: Array, labels: Array) -> tuple[Any, Array]:
    """The loss, and its gradient for the scores ``z`` (N, C)."""
    rows = np.arange(len(z))
    z = z - z.max(1, keepdims=True)
    powers = np.exp(z)
    total = powers.sum(1, keepdims=True)
    loss = (np.log(total[:, 0]) - z[rows, labels]).mean()
    powers /= total
    powers[rows, labels] -= 1
    powers /= len(z)
    return loss, powers


def mse(out: Array, target: Array) -> tuple[Any, Array]:
    difference = out - target
    return (difference * difference).mean(), difference * (2 / difference.size)


def linear(x: Array, p: Parameters, name: str) -> Array:
    out = x @ p[f"{name}.weight"].T
    out += p[f"{name}.bias"]
    return out


def linear_backward(g: Array, x: Array, name: str, grads: Gradients) -> None:
    """The gradients of a linear layer's parameters. That of its input is ``g @ weight``."""
    g = g.reshape(-1, g.shape[-1])
    grads[f"{name}.weight"], grads[f"{name}.bias"] = g.T @ x.reshape(-1, x.shape[-1]), g.sum(0)


def relu(x: Array) -> Array:
    return np.maximum(x, 0, out=x)


def hidden_layers(p: Parameters, x: Array) -> tuple[list[str], list[Array]]:
    """The names of the layers, and the input of each."""
    names = [name.split(".")[0] for name in p if name.endswith("weight")]
    inputs = [x]
    for name in names[:-1]:
        inputs.append(relu(linear(inputs[-1], p, name)))
    return names, inputs


def inference(p: Parameters, x: Array) -> Array:
    names, inputs = hidden_layers(p, x)
    return linear(inputs[-1], p, names[-1])


def mlp(p: Parameters, x: Array, labels: Array) -> tuple[Any, Gradients]:
    names, inputs = hidden_layers(p, x)
    loss, g = cross_entropy(linear(inputs[-1], p, names[-1]), labels)
    grads: Gradients = {}
    while names:
        name, before = names.pop(), inputs.pop()
        linear_backward(g, before, name, grads)
        if names:
            g = g @ p[f"{name}.weight"]
            g *= before > 0
    return loss, grads


def rnn(p: Parameters, x: Array, h: Array, target: Array) -> tuple[Any, Gradients]:
    W, U, b = p.values()
    hs = [h]
    for x_t in x:
        z = x_t @ W
        z += hs[-1] @ U
        z += b
        hs.append(np.tanh(z, out=z))
    loss, g = mse(hs[-1], target)
    gW, gU, gb = np.zeros_like(W), np.zeros_like(U), np.zeros_like(b)
    for t in range(len(x) - 1, -1, -1):
        g *= 1 - hs[t + 1] * hs[t + 1]
        gW += x[t].T @ g
        gU += hs[t].T @ g
        gb += g.sum(0)
        g = g @ U.T
    return loss, {"W": gW, "U": gU, "b": gb}


def cnn(p: Parameters, x: Array, labels: Array) -> tuple[Any, Gradients]:
    c1, r1 = conv(x, p["0.weight"], p["0.bias"])
    p1 = pool(relu(r1))
    c2, r2 = conv(p1, p["3.weight"], p["3.bias"])
    p2 = pool(relu(r2))
    flat = p2.reshape(len(x), -1)
    loss, g = cross_entropy(linear(flat, p, "7"), labels)
    grads: Gradients = {}
    linear_backward(g, flat, "7", grads)
    g = pool_relu_backward((g @ p["7.weight"]).reshape(p2.shape), r2, p2)
    conv_backward(g, c2, p["3.weight"].shape, "3", grads)
    g = pool_relu_backward(conv_input(g, p["3.weight"]), r1, p1)
    conv_backward(g, c1, p["0.weight"].shape, "0", grads)
    return loss, grads


def conv(x: Array, weight: Array, bias: Array) -> tuple[Array, Array]:
    """Windows of 3×3 as columns (N, C * 9, H * W), and the images that they give: one matrix product."""
    n, c, h, w = x.shape
    wide = np.zeros((n, c, h + 2, w + 2), x.dtype)
    wide[:, :, 1:-1, 1:-1] = x
    cols = np.empty((n, c, 3, 3, h, w), x.dtype)
    for i in range(3):
        for j in range(3):
            cols[:, :, i, j] = wide[:, :, i : i + h, j : j + w]
    cols = cols.reshape(n, c * 9, h * w)
    out = weight.reshape(len(weight), -1) @ cols
    out += bias[:, None]
    return cols, out.reshape(n, -1, h, w)


def conv_backward(g: Array, cols: Array, shape: tuple[int, ...], name: str, grads: Gradients) -> None:
    flat = g.reshape(*g.shape[:2], -1)
    grads[f"{name}.weight"] = (flat @ cols.transpose(0, 2, 1)).sum(0).reshape(shape)
    grads[f"{name}.bias"] = flat.sum((0, 2))


def conv_input(g: Array, weight: Array) -> Array:
    """The gradient of a convolution's input: columns added back to where they were read."""
    n, f, h, w = g.shape
    cols = (weight.reshape(f, -1).T @ g.reshape(n, f, h * w)).reshape(n, -1, 3, 3, h, w)
    wide = np.zeros((n, cols.shape[1], h + 2, w + 2), g.dtype)
    for i in range(3):
        for j in range(3):
            wide[:, :, i : i + h, j : j + w] += cols[:, :, i, j]
    return wide[:, :, 1:-1, 1:-1]


CORNERS = [(i, j) for i in range(2) for j in range(2)]


def pool(x: Array) -> Array:
    """The largest of each 2×2 pixels."""
    a, b, c, d = (x[:, :, i::2, j::2] for i, j in CORNERS)
    return np.maximum(np.maximum(a, b), np.maximum(c, d))


def pool_relu_backward(g: Array, x: Array, out: Array) -> Array:
    """Back to the largest pixel ``x``, if it is above 0. Where all four are 0 nothing goes back, so ties are none."""
    g = g * (out > 0)
    back = np.empty_like(x)
    for i, j in CORNERS:
        np.multiply(g, x[:, :, i::2, j::2] == out, out=back[:, :, i::2, j::2])
    return back


# Transformer block ---------------------------------------------------------------------------------------------


def block(p: Parameters, x: Array, target: Array) -> tuple[Any, Gradients]:
    grads: Gradients = {}
    n1, back1 = layer_norm(x, p, "norm1")
    mixed, attention_back = attention(n1, p)
    y = x + mixed
    n2, back2 = layer_norm(y, p, "norm2")
    hidden = relu(linear(n2, p, "linear1"))
    out = linear(hidden, p, "linear2")
    out += y
    loss, g = mse(out, target)
    linear_backward(g, hidden, "linear2", grads)
    gh = g @ p["linear2.weight"]
    gh *= hidden > 0
    linear_backward(gh, n2, "linear1", grads)
    g += back2(gh @ p["linear1.weight"], grads)
    back1(attention_back(g, grads), grads)
    return loss, grads


def layer_norm(x: Array, p: Parameters, name: str) -> tuple[Array, Callable[[Array, Gradients], Array]]:
    weight, bias = p[f"{name}.weight"], p[f"{name}.bias"]
    normal = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((normal * normal).mean(-1, keepdims=True) + 1e-5)
    normal *= scale

    def backward(g: Array, grads: Gradients) -> Array:
        along = g * normal
        grads[f"{name}.weight"], grads[f"{name}.bias"] = along.sum((0, 1)), g.sum((0, 1))
        g = g * weight
        along *= weight
        g -= g.mean(-1, keepdims=True)
        g -= normal * along.mean(-1, keepdims=True)
        g *= scale
        return g

    return normal * weight + bias, backward


def attention(x: Array, p: Parameters) -> tuple[Array, Callable[[Array, Gradients], Array]]:
    size = WIDTH // HEADS
    weight = p["self_attn.in_proj_weight"]
    mixed = x @ weight.T
    mixed += p["self_attn.in_proj_bias"]
    query, key, value = mixed.reshape(BATCH, LENGTH, 3, HEADS, size).transpose(2, 0, 3, 1, 4)
    weights = query @ key.swapaxes(-1, -2)
    weights *= size**-0.5
    weights -= weights.max(-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(-1, keepdims=True)
    joined = (weights @ value).transpose(0, 2, 1, 3).reshape(x.shape)

    def backward(g: Array, grads: Gradients) -> Array:
        linear_backward(g, joined, "self_attn.out_proj", grads)
        g = (g @ p["self_attn.out_proj.weight"]).reshape(BATCH, LENGTH, HEADS, size).transpose(0, 2, 1, 3)
        gs = g @ value.swapaxes(-1, -2)
        gs -= (gs * weights).sum(-1, keepdims=True)
        gs *= weights
        gs *= size**-0.5
        back = np.empty((BATCH, LENGTH, 3, HEADS, size), x.dtype)
        for part, grad in enumerate((gs @ key, gs.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ g)):
            back[:, :, part] = grad.transpose(0, 2, 1, 3)
        back = back.reshape(-1, 3 * WIDTH)
        grads["self_attn.in_proj_weight"] = back.T @ x.reshape(-1, WIDTH)
        grads["self_attn.in_proj_bias"] = back.sum(0)
        return (back @ weight).reshape(x.shape)

    return linear(joined, p, "self_attn.out_proj"), backward


PROGRAMS: dict[str, Callable[..., Any]] = {
    "scalar": chain(50),
    "vector": chain(25),
    "mlp": mlp,
    "mlp-large": mlp,
    "rnn": rnn,
    "cnn": cnn,
    "block": block,
    "elementwise": elementwise,
    "elementwise-backward": elementwise_backward,
    "inference": inference,
}
