"""The parts of `one_sitting.md` that no file of the repository holds: generated code, and the picture of its graph."""

from __future__ import annotations

import tinygrad_edu as tg
from tinygrad_edu.core.op import OPS
from tinygrad_edu.views.graph import figure, model


def square_sum(x: tg.Tensor) -> tg.Tensor:
    return (x * x).sum()


def files() -> dict[str, str]:
    """The files by name."""
    run = model.record(square_sum, {"x": tg.tensor([1.0, 2.0], requires_grad=True)})
    frame = figure.frame(run, figure.GraphState(run.steps), "")
    return {"mul.py": OPS["mul"].source, "one_sitting.svg": frame.svg() + "\n"}
