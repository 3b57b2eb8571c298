"""What one multiplication of four elements costs off the beaten track: on another device, in 16 bits, watched."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np

import tinygrad_edu as tg
from benchmarks import harness
from benchmarks.harness import Here, Step
from tests import second_device  # noqa: F401  (registers the device "far", whose arrays NumPy computes)
from tinygrad_edu.core.slow import Interceptor

BASELINE = "float32 on the CPU"
# In µs: what one call may take.
AIMS = {
    "another device": 5.0,
    "the simulated device": 10.0,
    "float16": 5.0,
    "bfloat16": 5.0,
    "float32 and float64": 5.0,
    "watched": 8.0,
}


def contenders() -> dict[str, tuple[Step, harness.Scope]]:
    """One multiplication each, and where it happens."""
    values = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    x, y, out = tg.tensor(values), tg.tensor(values), tg.empty(4)
    far, other = tg.tensor(values, device="far"), tg.tensor(values, device="far")
    sim, also = far.to("sim"), other.to("sim")
    half, brain, double, tracked = x.half(), x.bfloat16(), x.double(), x.clone().requires_grad_()
    steps: dict[str, Step] = {
        "NumPy": lambda: values * values,
        BASELINE: lambda: tg.mul(x, y),
        "the same, recorded": lambda: tg.mul(tracked, y),
        "out=": lambda: tg.mul(x, y, out=out),
        "another device": lambda: tg.mul(far, other),
        "the simulated device": lambda: tg.mul(sim, also),
        "float16": lambda: tg.mul(half, half),
        "bfloat16": lambda: tg.mul(brain, brain),
        "float32 and float64": lambda: tg.mul(x, double),
        "watched": lambda: tg.mul(x, y),
    }
    return {name: (step, Interceptor if name == "watched" else nullcontext) for name, step in steps.items()}


def run(turns: int = 25) -> str:
    """The times, as a table, and how each stands to its aim."""
    timers = {name: Here(step, scope) for name, (step, scope) in contenders().items()}
    ratios = harness.compare(timers, BASELINE, turns)
    times = {ratio.name: ratio.seconds * 1e6 for ratio in ratios}
    verdicts = [
        f"{name}: {times[name]:.1f} µs of {aim:.0f} µs{harness.over(times[name], aim)}" for name, aim in AIMS.items()
    ]
    out = next(ratio.middle for ratio in ratios if ratio.name == "out=")
    verdicts.append(f"out=: {out:.2f} of 1.5 times the call without{harness.over(out, 1.5)}")
    title = "One multiplication of four elements"
    return "\n".join([harness.machine("numpy"), "", harness.table(title, ratios, BASELINE), *verdicts])
