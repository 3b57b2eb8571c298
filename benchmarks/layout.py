"""How long the graph stepper needs for a 166-step RNN of a thousand nodes: to record, to lay out, to draw one step."""

from __future__ import annotations

from collections.abc import Callable

import tinygrad_edu as tg
from benchmarks import harness
from benchmarks.harness import Here, Step
from tinygrad_edu.views.graph import GraphState, frame, record
from tinygrad_edu.views.graph.cards import scene

STEPS, BUDGET = 166, 0.3  # seconds that the layout may take
BASELINE = "forward and backward"


def leaves_and_loss() -> tuple[Callable[..., tg.Tensor], dict[str, tg.Tensor]]:
    """An RNN written by hand, and its parameters."""
    tg.manual_seed(0)
    xs = tg.randn(STEPS, 1, 4)
    leaves = {"W": tg.randn(8, 8, requires_grad=True), "U": tg.randn(4, 8, requires_grad=True)}
    leaves["b"] = tg.zeros(8, requires_grad=True)

    def loss_of(W: tg.Tensor, U: tg.Tensor, b: tg.Tensor) -> tg.Tensor:
        h = tg.zeros(1, 8)
        for t in range(STEPS):
            h = (xs[t] @ U + h @ W + b).tanh()
        return (h * h).sum()

    return loss_of, leaves


def contenders() -> dict[str, Step]:
    """The plain run, and what the stepper does with it."""
    loss_of, leaves = leaves_and_loss()
    run = record(loss_of, leaves)
    scene(run, frozenset())
    return {
        BASELINE: lambda: loss_of(**leaves).backward(),
        "record both passes": lambda: record(loss_of, leaves),
        "lay out": lambda: scene.__wrapped__(run, frozenset()),
        "make the page of one step": lambda: frame(run, GraphState(run.steps // 2), "?").html(),
    }


def run(turns: int = 7) -> str:
    """The times, as a table, and whether the layout keeps to its budget."""
    ratios = harness.compare({name: Here(step) for name, step in contenders().items()}, BASELINE, turns)
    layout = next(ratio.seconds for ratio in ratios if ratio.name == "lay out")
    verdict = f"layout: {layout * 1e3:.0f} ms of {BUDGET * 1e3:.0f} ms{harness.over(layout, BUDGET)}"
    title = f"Graph stepper on an RNN of {STEPS} steps"
    return "\n\n".join([harness.machine("numpy", "graphlay"), harness.table(title, ratios, BASELINE) + f"\n{verdict}"])
