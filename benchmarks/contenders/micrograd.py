"""micrograd: numbers of Python, one by one."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.contenders.base import Running, Unsupported
from benchmarks.workloads import Workload


def tanh(x: Any) -> Any:
    """What the package lacks, written as its author teaches it."""
    t = math.tanh(x.data)
    out = type(x)(t, (x,), "tanh")

    def backward() -> None:
        x.grad += (1 - t * t) * out.grad

    out._backward = backward
    return out


def make(workload: Workload) -> Running:
    """The scalar chain in micrograd."""
    if workload.name != "scalar":
        raise Unsupported("it knows scalars only")
    from micrograd.engine import Value

    sys.setrecursionlimit(10_000)  # it walks the graph by recursion
    arrays, inputs = workload.fresh()
    p = {name: Value(float(array)) for name, array in arrays.items()}
    f = SimpleNamespace(tanh=tanh, sum=lambda number: number)

    def step() -> Any:
        for parameter in p.values():
            parameter.grad = 0
        loss = workload.formula(f, p, Value(float(inputs[0])))
        loss.backward()
        return loss.data

    return Running(step, np.array, lambda: {name: parameter.grad for name, parameter in p.items()})
