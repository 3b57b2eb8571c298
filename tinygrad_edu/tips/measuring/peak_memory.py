"""Ask for the peak, and for whose it is."""

from __future__ import annotations

import tracemalloc
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.observe.memory import Memory
from tinygrad_edu.tips import Choice, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.ways import Shown


def inputs(generator: tg.Generator, n: int, work: str) -> dict[str, Any]:
    model: nn.Module = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64))
    if work == "one layer, frozen":
        model = nn.Linear(64, 64).requires_grad_(False)
    return {"model": model, "x": tg.rand(n, 64, generator=generator), "step": step}


def step(model: nn.Module, x: Tensor) -> Tensor:
    """Forward, backward, and a step of the optimiser."""
    y = model(x)
    if y.requires_grad:
        y.sum().backward()
        tg.optim.SGD(model.parameters(), lr=0.1).step()
    return y


def slow(model: nn.Module, x: Tensor, step: Any) -> Any:
    y = step(model, x)
    total = y.nbytes + sum(p.grad.nbytes for p in model.parameters() if p.grad is not None)
    return Shown("What one can see", f"the result and the gradients: {total:,} bytes", total / 1e6)


def fast(model: nn.Module, x: Tensor, step: Any) -> Any:
    with Memory() as memory:
        step(model, x)
    most = max(sum(moment.most) for moment in memory.moments)
    return Shown("What was in use", repr(memory), most / 1e6)


def allocator(model: nn.Module, x: Tensor, step: Any) -> Any:
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    step(model, x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (peak - before) / 1e6


def share(result: Result) -> str:
    return "nearly all of it" if result.slow["equal"] else "half of it, or less"


TIP = Tip(
    slug="peak-memory",
    title="Ask for the peak, and for whose it is",
    theme="measuring",
    why="At the peak there is **what no name refers to any more**: activations, and what operations work in.",
    about=(
        "A adds up the tensors that one can still see after a step. The program stops for lack of memory at another "
        "moment: early in backward, when all activations are still there and the first gradients are being made. And "
        "then there is what a single operation needs only while it runs. `Memory` asks the allocator before and after "
        "each operation, and says whose each buffer is: parameter, gradient, activation, optimiser, data. What is the "
        "largest share decides what helps: checkpoints and smaller batches against activations, a smaller state "
        "against the optimiser; none of these helps against the parameters."
    ),
    sources=(
        Source("P", "Memory Profiling", "reset the peak, run a step, read max_memory_allocated"),
        Source("R", "Memory Profiling", "add up what is allocated, and keep the largest sum"),
    ),
    parameters=(
        Size("n", 4096, 256, 8192, "the number of samples"),
        Choice("work", "training", ("training", "one layer, frozen"), "what is done in a step"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=allocator,
    outcomes={"slow": DIFFERS},
    claims=(),
    limits=(
        Limit(
            {"work": "one layer, frozen"}, "no difference", "Nothing is kept for backward: the result is all there is."
        ),
    ),
    question=Question(
        "A adds up the result and the gradients after a step. How much of the peak has it found?",
        ("nearly all of it", "half of it, or less"),
        share,
        tempting="nearly all of it",
        refutation="After the step the activations have gone. At the peak they were there, and most of it.",
    ),
    explain="Which buffers were alive at the peak, and are not when A looks?",
    symptoms=("out of memory", "I do not know what fills my memory"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "from torch.profiler import profile\nwith profile(profile_memory=True) as seen:\n    y = x.exp().sum()",
        ),
    ),
    torch=None,
    differs_in_torch="`Memory` watches this engine. There, torch.profiler counts the bytes of each operation.",
    tolerance=0.2,  # Python makes things of its own in a first run
)
