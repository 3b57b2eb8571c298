"""Write to the tensor, not to the array inside it."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import DIFFERS


def inputs(generator: tg.Generator, n: int, op: str) -> dict[str, Any]:
    w = tg.rand(n, generator=generator, requires_grad=True)
    return {"w": w, "f": tg.exp if op == "exp" else lambda w: w * 2, "k": max(1, n // 4)}


def slow(w: Tensor, f: Any, k: int) -> tuple[Any, ...]:
    y = f(w)
    y.detach().numpy()[:k] = 0  # NumPy tells nobody
    y.sum().backward()
    return y.detach(), w.grad


def fast(w: Tensor, f: Any, k: int) -> tuple[Any, ...]:
    y = f(w)
    y[:k] = 0  # recorded, as any other operation
    y.sum().backward()
    return y.detach(), w.grad


def not_in_place(w: Tensor, f: Any, k: int) -> tuple[Any, ...]:
    y = tg.cat([tg.zeros(k), f(w)[k:]])
    y.sum().backward()
    return y.detach(), w.grad


def felt(result: Result) -> str:
    if result.slow["error"]:
        return "an error"
    return "0, as for B" if result.slow["equal"] else "the same as without the write"


def picture() -> dict[str, Any]:
    y = tg.tensor([0.0, 2.0, 4.0, 6.0])
    return {"y": y, "the array inside": y.detach()}


TIP = Tip(
    slug="tracked-mutation",
    title="Write to the tensor, not to the array inside it",
    theme="autograd",
    why="A write to a tensor is **an operation in the graph**; a write to its array changes numbers behind its back.",
    about=(
        "Both writes end up in the same memory, and both results look the same. But the gradient is computed from what "
        "was recorded. For B, the graph holds “as before, but these places are new”, so backward sends nothing through "
        "them. For A, it holds only `y = f(w)`: the values say that `w` has no influence there, and the gradient says "
        "that it has. Where an operation has saved its result, such as `exp`, both writes are stopped: that of A by "
        "the guard, that of B when backward finds the saved numbers changed."
    ),
    sources=(Source("G", "Controlling Memory-Guarding Behavior", "tensors may be mutated, NumPy arrays may not"),),
    parameters=(
        Size("n", 1000, 4, 100_000, "how many numbers `w` has; a quarter of the results is set to 0"),
        Choice("op", "double", ("double", "exp"), "what is done with `w` before the write"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=not_in_place,
    outcomes={"slow": DIFFERS},
    also=(Way("nothing in place", not_in_place, words="The same program without a write, for comparison."),),
    claims=(Claim("nodes", price=True),),
    limits=(
        Limit(
            {"op": "exp"},
            "could not be compared",
            "`exp` has saved its result for its own derivative, so neither write can be allowed.",
        ),
    ),
    question=Question(
        "A sets a quarter of `y` to 0 through NumPy. What gradient does `w` get in those places?",
        ("0, as for B", "the same as without the write", "an error"),
        felt,
        tempting="0, as for B",
        refutation="Nothing was recorded: the graph still says `y = f(w)` for all of `y`, and gives the slope of `f`.",
    ),
    explain="After the write, A and B hold the same `y`. What does the graph of A not know?",
    symptoms=("my gradients are wrong", "my mask has no effect"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = w * 2\ny[:k] = 0\ny.sum().backward()"),
        Elsewhere("MyGrad 2.5", "2026-11", "y = w * 2\ny[:k] = 0\ny.sum().backward()"),
    ),
)
