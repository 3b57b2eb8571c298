"""Look at the program before you change it."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.compiler import cost_of, optimised, table, trace
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.tips import Choice, Elsewhere, Limit, Number, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.ways import Shown


def scaled(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True) + 1e-5).sqrt()


def doubled(x: Tensor) -> Tensor:
    return x * 2


def inputs(generator: tg.Generator, rows: int, function: str) -> dict[str, Any]:
    chosen = scaled if function == "rows to mean 0, variance 1" else doubled
    return {"function": chosen, "x": tg.randn(rows, 64, generator=generator)}


def slow(function: Any, x: Tensor) -> Any:
    with Counters() as counted:  # a call in the source is taken for an operation
        function(x)
    return Shown("The guess", f"{counted.calls} operations, so as many kernels", counted.calls)


def fast(function: Any, x: Tensor) -> Any:
    program = trace(function, x)
    shorter = optimised(program)
    text = f"as recorded\n{table(program)}\n\nafter the passes\n{table(shorter)}"
    return Shown("The program, before and after", text, cost_of(shorter).launches)


def runs(function: Any, x: Tensor) -> Any:
    f = tg.compile(function)
    f(x)
    with Counters() as counted:
        f(x)
    return counted.calls


def kernels(result: Result) -> float:
    x = tg.rand(4, 64)
    function = scaled if result.setting["function"] == "rows to mean 0, variance 1" else doubled
    return float(cost_of(optimised(trace(function, x))).launches)


TIP = Tip(
    slug="look-at-the-program",
    title="Look at the program before you change it",
    theme="compilation",
    why="What runs is **the program after the passes**, with other operations, and fewer, than the source names.",
    about=(
        "`trace` lists what a function does to arrays, and `optimised` gives what the passes make of it. "
        "`table` adds for each line its arithmetic, its bytes read and written, and what is held meanwhile. So you see "
        "before any measurement where the bytes go, which line makes the largest array, what is computed twice, and "
        "what became one kernel. Read both. The first shows what the source really asks for (a variance is seven "
        "operations), the second what is left of it. `f.ledger[0].source` shows the code that runs. A guess from the "
        "source names neither."
    ),
    sources=(
        Source(
            "M",
            "Is there a performance penalty for having unused function parameters?",
            "print the lowered function and look at its operations",
        ),
    ),
    parameters=(
        Size("rows", 256, 1, 4096, "rows of 64 numbers"),
        Choice(
            "function",
            "rows to mean 0, variance 1",
            ("rows to mean 0, variance 1", "twice as much"),
            "what is to be looked at",
        ),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=runs,
    outcomes={"slow": DIFFERS},
    claims=(),
    limits=(Limit({"function": "twice as much"}, "no difference", "One operation is one kernel."),),
    question=Question(
        "The compiled function takes the mean away and divides by the deviation. How many kernels does it run?",
        Number(1, 12, "kernels"),
        kernels,
        tempting=6.0,
        refutation="The listing shows it: each sum over a row is a kernel, and so is the work between two of them.",
    ),
    explain="Which lines of the first listing are one kernel in the second, and what keeps the others apart?",
    symptoms=("my model is slow, and I do not know where", "a faster GPU changes nothing"),
    picture=Picture("FusionBuilder", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "program = torch.fx.symbolic_trace(lambda x: x * 2 + 1)\nlisting = str(program.graph)\ny = program(x)",
        ),
        Elsewhere("JAX 0.10", "2026-11", "print(jax.jit(scaled).lower(x).as_text())"),
    ),
    torch=None,
    differs_in_torch="torch.fx and torch.export list operations; which kernels run, inductor's output code tells.",
)
