"""JAX, with the whole step compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.contenders.base import Running
from benchmarks.contenders.words import words
from benchmarks.workloads import LEARNING_RATE, Workload


def vocabulary() -> Any:
    """JAX's own functions."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def cross_entropy(z: Any, labels: Any) -> Any:
        return -jax.nn.log_softmax(z)[jnp.arange(z.shape[0]), labels].mean()

    def conv(x: Any, weight: Any, bias: Any) -> Any:
        return lax.conv_general_dilated(x, weight, (1, 1), "SAME") + bias[:, None, None]

    def pool(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    own = {"relu": jax.nn.relu, "softmax": jax.nn.softmax, "cross_entropy": cross_entropy, "conv": conv, "pool": pool}
    return words(jnp, **own)


def make(workload: Workload) -> Running:
    """The workload in JAX."""
    import jax

    p, inputs = jax.tree.map(jax.numpy.asarray, workload.fresh())
    formula = partial(workload.formula, vocabulary())
    slopes = jax.value_and_grad(formula)
    gradients: dict[str, Any] = {}

    @partial(jax.jit, donate_argnums=0)
    def update(p: Any, *inputs: Any) -> Any:
        loss, gradients = slopes(p, *inputs)
        return loss, jax.tree.map(lambda old, slope: old - LEARNING_RATE * slope, p, gradients)

    compiled = jax.jit(formula if workload.kind == "value" else slopes)

    def value() -> Any:
        return compiled(p, *inputs).block_until_ready()

    def gradient() -> Any:
        nonlocal gradients
        loss, gradients = jax.block_until_ready(compiled(p, *inputs))
        return loss

    def train() -> Any:
        nonlocal p
        loss, p = jax.block_until_ready(update(p, *inputs))
        return loss

    step = {"value": value, "gradient": gradient, "train": train}[workload.kind]
    return Running(step, np.array, lambda: gradients if workload.kind == "gradient" else p)
