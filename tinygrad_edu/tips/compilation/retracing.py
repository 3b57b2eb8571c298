"""Keep what a program depends on the same from call to call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, tips
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign

tips.declare(tips.Fact("recordings", "programs made", "count", "how often the function was recorded"))


def shrunk(x: Tensor, rate: Any) -> Tensor:
    return (x * rate).tanh() - x


def inputs(generator: tg.Generator, calls: int, what: str) -> dict[str, Any]:
    changes = what == "the rate changes"
    rates = [0.5 + step * changes / 8 for step in range(calls)]
    return {"x": tg.rand(64, 32, generator=generator), "rates": rates}


def slow(x: Tensor, rates: list[float]) -> Any:
    f = tg.compile(shrunk)
    results = [f(x, rate) for rate in rates]
    return results, tips.Aside(len(f.ledger))


def fast(x: Tensor, rates: list[float]) -> Any:
    f = tg.compile(shrunk)
    results = [f(x, tg.tensor(rate)) for rate in rates]
    return results, tips.Aside(len(f.ledger))


def by_length(x: Tensor, rates: list[float], pad: bool, dynamic: bool) -> Any:
    """Batches of other lengths, one after the other."""
    f = tg.compile(shrunk, dynamic=dynamic)
    parts = [F.pad(x[: len(x) - i], (0, 0, 0, i * pad)) for i in range(len(rates))]
    results = [f(part, tg.tensor(rate)) for part, rate in zip(parts, rates, strict=True)]
    recordings = sum(one.origin is None for one in f.ledger)
    return [F.pad(y, (0, 0, 0, len(x) - len(y))) for y in results], tips.Aside(recordings)


def dynamic(x: Tensor, rates: list[float]) -> Any:
    return by_length(x, rates, pad=False, dynamic=True)


def padded(x: Tensor, rates: list[float]) -> Any:
    return by_length(x, rates, pad=True, dynamic=False)


def how_often(result: Result) -> str:
    return "at each call" if result.slow["recordings"] == result.setting["calls"] > 1 else "once"


def applies(seen: Seen) -> Iterator[Sign]:
    made: dict[Any, list[Any]] = {}
    for function, trace in seen.traces:
        code = getattr(function._function, "__code__", function)  # compiled anew, it is the same function
        made.setdefault(code, []).append(trace)
    for traces in made.values():
        if len(traces) >= 4:
            told = f"{len(traces)} programs were recorded for one function"
            yield Sign(None, told, sum(trace.seconds for trace in traces[1:]))


TIP = Tip(
    slug="retracing",
    title="Keep what a program depends on the same from call to call",
    theme="compilation",
    why="A program is kept under a **key**: shapes, dtypes, and each value of Python it has read.",
    about=(
        "A recorded program has numbers of Python written into it, and holds for one set of shapes. A rate that is a "
        "Python number and changes at every step gives a new key each time, and recording costs as much as many runs. "
        "Hand it over as a tensor: its shape and dtype stay, and its value is read at each run. The last batch of an "
        "epoch is shorter, and sentences differ in length: fill them up to one length, or to one of a few. Zeros "
        "disturb nothing here; a mean or a softmax needs a mask. Or let two recordings serve every length (C). "
        "After eight programs this compiler runs the function as it is written, and warns."
    ),
    sources=(
        Source(
            "M",
            "Is there a performance penalty for having unused function parameters?",
            "static arguments that change or cannot be hashed are traced each time",
        ),
    ),
    parameters=(
        Size("calls", 6, 1, 8, "the number of calls"),
        Choice("what", "the rate changes", ("the rate changes", "the rate stays"), "what is another in each call"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        tips.Way("dynamic", dynamic, tips.FREE, "Batches of other lengths: two recordings tell what follows from one."),
        tips.Way("padded", padded, tips.FREE, "The same batches, filled up with zeros: one shape, one program."),
    ),
    claims=(
        Claim("recordings", fast=1),
        Claim("recordings", over=tips.Over("calls", (1, 2, 4, 6, 8), slow="linear", fast="flat")),
        Claim("recordings", fast=1, ways=("dynamic", "padded")),
        Claim("time"),
    ),
    limits=(
        Limit({"what": "the rate stays"}, "false here", "A number that never changes gives one key, too."),
        Limit({"calls": 1}, "no difference", "One call needs one program in any case."),
    ),
    question=Question(
        "A hands over a Python number, another one in each call. How often is the function recorded?",
        ("once", "at each call"),
        how_often,
        tempting="once",
        refutation="The number is part of the program, as a constant. For another number that program would be wrong.",
    ),
    explain="Why may the compiler not read the number anew, as it does with a tensor?",
    symptoms=("my compiled function is slower than before", "my loop is slow"),
    picture=Picture("RetraceLedger", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "f = torch.compile(lambda x: x * 2, backend='eager')\ny = f(x)"),
        Elsewhere("JAX 0.10", "2026-11", "f = jax.jit(shrunk)  # traces numbers, unless static_argnames names them"),
    ),
    reads={"recordings": lambda found: found[1].value},
    torch=None,
    differs_in_torch="torch.compile turns a number that changes into an input by itself, after the second recording.",
    applies=applies,
)
