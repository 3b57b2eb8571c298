"""Use the same buffers for every request."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Number, Picture, Question, Size, Source, Tip
from tinygrad_edu.tips.ways import prepared

WIDTH = 1024  # numbers in a row


def inputs(generator: tg.Generator, rows: int, request: str) -> dict[str, Any]:
    there = rows + (request == "one row more")
    w = tg.randn(WIDTH, 16, generator=generator) / WIDTH
    return {"request": tg.rand(there, WIDTH, generator=generator), "w": w, "rows": rows}


@prepared
def slow(request: Tensor, w: Tensor, rows: int) -> Any:
    def answer() -> Tensor:
        return (request * 2.0 - 1.0).tanh() @ w

    return answer


@prepared
def fast(request: Tensor, w: Tensor, rows: int) -> Any:
    x, y = tg.empty(rows, w.shape[0]), tg.empty(rows, w.shape[1])

    def answer() -> Tensor:
        if len(request) != rows:  # there is no buffer for it
            return (request * 2.0 - 1.0).tanh() @ w
        tg.mul(request, 2.0, out=x)
        return tg.matmul(x.sub_(1.0).tanh_(), w, out=y)

    return answer


TIP = Tip(
    slug="inference-buffers",
    title="Use the same buffers for every request",
    theme="loops",
    why="A large new array means **pages that the system hands over one by one**; a buffer has them already.",
    about=(
        "A service that answers requests of about the same size makes the same arrays each time, and throws them away. "
        "Make them once, and let each operation write into them: `out=` takes the place of a result, and in-place "
        "methods that of an operand. Then a request allocates nothing. The price: an answer is only good until the "
        "next request, because that writes over it, so copy what you keep; and two threads need buffers of their own. "
        "Small arrays hardly gain, because memory that was given back is taken again. Of a compiled function's buffers "
        "the compiler takes care."
    ),
    sources=(
        Source(
            "R",
            "Inference Optimization",
            "an input cache without columns, so that nothing fits, and an output cache that is never used",
        ),
    ),
    parameters=(
        Size("rows", 4096, 1, 8192, "rows of a request, and of the buffers; each has 1,024 numbers"),
        Choice("request", "as foreseen", ("as foreseen", "one row more"), "whether it fits the buffers"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("allocated", fast=0), Claim("time")),
    limits=(
        Limit(
            {"request": "one row more"},
            "no difference",
            "For a request of another size there are no buffers: it is answered as in A.",
        ),
    ),
    question=Question(
        "The buffers are there. How many bytes of new arrays does the tenth request of B take?",
        Number(0, 100_000_000, "bytes"),
        lambda result: float(result.fast["allocated"]),
        tempting=1_048_576,
        refutation="Each operation writes into a buffer that was made before the first request; parts of it are views.",
    ),
    explain="What does a caller find in an answer of B that it has kept until after the next request?",
    symptoms=("inference is too slow", "my program allocates memory all the time"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "x, w, y = torch.ones(2, 3), torch.ones(3, 4), torch.empty(2, 4)\nwith torch.no_grad():\n"
            "    torch.matmul(x, w, out=y)",
        ),
    ),
    tolerance=1e-4,
)
