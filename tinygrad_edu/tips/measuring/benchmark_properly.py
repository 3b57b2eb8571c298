"""Warm up, take turns, and look at the spread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.tips import Choice, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.ways import Shown

Programs = dict[str, Callable[[], Any]]


def inputs(generator: tg.Generator, n: int, first: str) -> dict[str, Any]:
    x = tg.rand(n, n, generator=generator)
    ready: list[Tensor] = []

    def program() -> Any:
        if not ready:  # what a first call does: here, a table
            ready.append(sum((tg.rand(256, 256) for _ in range(100)), tg.zeros(1)))
        return x @ x

    names = sorted(("old", "new"), reverse=first == "old")
    return {"programs": dict.fromkeys(names, program), "clock": clock}


def clock(program: Callable[[], Any]) -> float:
    """The seconds of one call."""
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def slow(programs: Programs, clock: Any) -> Any:
    seconds = {name: clock(program) for name, program in programs.items()}
    ratio = seconds["old"] / seconds["new"]
    verdict = "new is faster" if ratio > 2 else "no difference"
    return Shown("One run of each", f"old takes {ratio:.3g} times as long", verdict)


def fast(programs: Programs, clock: Any) -> Any:
    pairs = [{name: clock(program) for name, program in programs.items()} for _ in range(12)]
    ratios = sorted(seconds["old"] / seconds["new"] for seconds in pairs[2:])
    verdict = "new is faster" if ratios[5] > 2 else "no difference"
    text = f"old takes {ratios[5]:.2f} times as long; from {ratios[0]:.2f} to {ratios[-1]:.2f}"
    return Shown("Ten pairs, after two that do not count", text, verdict)


def alike(programs: Programs, clock: Any) -> Any:
    return "no difference"  # both call the same program


def guide(programs: Programs, clock: Any) -> Any:
    x = tg.rand(64, 64, requires_grad=True)
    with Counters() as backward:
        (x @ x).sum().backward()  # what its loop for backward times
    return backward.calls


def told(result: Result) -> str:
    return "that there is no difference" if result.slow["equal"] else "that the new one is faster"


TIP = Tip(
    slug="benchmark-properly",
    title="Warm up, take turns, and look at the spread",
    theme="measuring",
    why="A first run **pays for what later runs find ready**: memory, caches, tables, compiled code.",
    about=(
        "Old and new are the same program. A runs each of them once, the old one first, and finds the new one many "
        "times faster: the old one had to make a table that both use. B throws the first calls away, lets the two take "
        "turns, so that a busy moment hits both, and looks at the spread of the ratios before it believes their "
        "median. If the interval includes 1, it says that there is no difference, and that is a result, too. Time only "
        "what you mean: a loop that calls forward and backward times both."
    ),
    sources=(
        Source("R", "Comprehensive Benchmarks", "10 warm-up runs, then the mean of 100"),
        Source("P", "Simple Timing", "one call between two readings of the clock"),
    ),
    parameters=(
        Size("n", 32, 8, 64, "the number of rows, and of columns"),
        Choice("first", "old", ("old", "new"), "which of the two is run first"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=alike,
    outcomes={"slow": DIFFERS},
    claims=(),
    limits=(Limit({"first": "new"}, "no difference", "Now `new` pays for the table: A does not call it faster."),),
    slips=(
        Slip("R", guide, {"equal": False}, "The loop that it calls backward runs forward, too: its figure is of both."),
    ),
    question=Question(
        "`old` and `new` are the same program. A runs `old` once, then `new` once. What does it report?",
        ("that the new one is faster", "that there is no difference"),
        told,
        tempting="that there is no difference",
        refutation="Whoever runs first pays for what is prepared only once. That is not a property of the program.",
    ),
    explain="What would A have reported if it had run `new` first?",
    symptoms=("my timings change from run to run", "the first run is slow"),
    picture=Picture("TimingRace", dict),
    elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", "y = torch.ones(8)  # benchmark.Timer('y + 1').autorange()"),),
)
