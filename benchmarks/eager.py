"""Eager speed on many tiny operations, forward and backward, where the engine's own cost is nearly all there is."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from benchmarks import harness  # first: it sets the number of threads
from benchmarks.harness import Step

import numpy as np  # isort: skip

import tinygrad_edu as tg
from tinygrad_edu import guard

BASELINE = "PyTorch eager"
REPEATS = {"scalar": 50, "vector": 25}  # of four operations: 200 and 100


def chain(x: Any, w: Any, b: Any, c: Any, tanh: Callable[[Any], Any], repeats: int) -> Any:
    """``tanh(y * w + b) - c``, over and over."""
    y = x
    for _ in range(repeats):
        y = tanh(y * w + b) - c
    return y


def numbers(size: int | None) -> list[Any]:
    """x, w, b and c as float32 arrays."""
    rng = np.random.default_rng(0)
    return [np.asarray(rng.uniform(0.1, 0.9, size), "f4") for _ in range(4)]


def ours(kind: str, size: int | None, exposed: bool) -> Step:
    """Our engine; ``exposed`` means that every array came from NumPy, so that the guard has work to do."""
    make = tg.from_numpy if exposed else tg.tensor
    arrays = numbers(size)
    x, *parameters = (make(a) for a in arrays)
    for p in parameters:
        p.requires_grad_()
    repeats = REPEATS[kind]

    def step() -> None:
        for p in parameters:
            p.grad = None
        chain(x, *parameters, tg.tanh, repeats).sum().backward()

    step.arrays = arrays  # type: ignore[attr-defined]  # the guard locks arrays that live
    return step


def within(scope: Any, step: Step) -> Step:
    """The step under a setting of the guard. The scope is entered once per call: its cost is in the figure."""

    def inside() -> None:
        with scope():
            step()

    return inside


def pytorch(kind: str, size: int | None) -> Step:
    import torch

    torch.set_num_threads(1)
    x, *parameters = (torch.from_numpy(a) for a in numbers(size))
    for p in parameters:
        p.requires_grad_()

    def step() -> None:
        for p in parameters:
            p.grad = None
        chain(x, *parameters, torch.tanh, REPEATS[kind]).sum().backward()

    return step


def mygrad(kind: str, size: int | None, guarded: bool) -> Step:
    import mygrad as mg

    x, *parameters = (mg.tensor(a) for a in numbers(size))
    scope = mg.mem_guard_on if guarded else mg.mem_guard_off

    def step() -> None:
        with scope:
            for p in parameters:
                p.null_grad()
            chain(x, *parameters, mg.tanh, REPEATS[kind]).sum().backward()

    return step


def hips_autograd(kind: str, size: int | None) -> Step:
    import autograd
    import autograd.numpy as anp

    x, *parameters = numbers(size)
    slope = autograd.grad(lambda ps: anp.sum(chain(x, *ps, anp.tanh, REPEATS[kind])))
    return lambda: slope(parameters)


def micrograd(kind: str, size: int | None) -> Step:
    import sys

    from micrograd.engine import Value

    sys.setrecursionlimit(10_000)  # it walks the graph by recursion

    def step() -> None:
        x, *parameters = (Value(float(a)) for a in numbers(size))
        chain(x, *parameters, Value.relu, REPEATS[kind]).backward()  # it has no tanh: relu is cheaper

    return step


def tinygrad(kind: str, size: int | None) -> Step:
    from tinygrad import Tensor

    x, *parameters = (Tensor(a if size else a.reshape(1)) for a in numbers(size))

    def step() -> None:
        for p in parameters:
            p.requires_grad, p.grad = True, None
        chain(x, *parameters, Tensor.tanh, REPEATS[kind]).sum().backward()
        Tensor.realize(*(p.grad for p in parameters))

    return step


def contenders(kind: str, size: int | None) -> dict[str, Step]:
    """Whoever is installed."""
    found: dict[str, Step] = {
        "ours, guard off": within(guard.off, ours(kind, size, exposed=False)),
        "ours, guard on, nothing exposed": ours(kind, size, exposed=False),
        "ours, guard on, all exposed": ours(kind, size, exposed=True),
        "ours, guard off, all exposed": within(guard.off, ours(kind, size, exposed=True)),
    }
    peers: dict[str, tuple[str, Callable[[], Step]]] = {
        BASELINE: ("torch", lambda: pytorch(kind, size)),
        "MyGrad, guard off": ("mygrad", lambda: mygrad(kind, size, guarded=False)),
        "MyGrad, guard on": ("mygrad", lambda: mygrad(kind, size, guarded=True)),
        "HIPS autograd": ("autograd", lambda: hips_autograd(kind, size)),
        "tinygrad, no JIT": ("tinygrad", lambda: tinygrad(kind, size)),
    }
    if kind == "scalar":
        peers["micrograd (relu for tanh)"] = ("micrograd", lambda: micrograd(kind, size))
    for name, (package, make) in peers.items():
        if importlib.util.find_spec(package):
            try:
                step = make()
                step()
            except Exception as error:  # a peer that does not run here is left out, and named
                print(f"{name} does not run here: {type(error).__name__}: {error}")
                continue
            found[name] = step
    return found


def run(turns: int = 25) -> str:
    """Both chains, as a table."""
    parts = [harness.machine("numpy", "torch", "mygrad", "autograd", "micrograd", "tinygrad")]
    for kind, size, title in (
        ("scalar", None, "200 operations on a scalar"),
        ("vector", 64, "100 operations on 64 elements"),
    ):
        steps = contenders(kind, size)
        baseline = BASELINE if BASELINE in steps else "ours, guard on, nothing exposed"
        parts.append(harness.table(f"{title}, forward and backward", harness.compare(steps, baseline, turns), baseline))
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(run())
