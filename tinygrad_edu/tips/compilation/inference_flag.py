"""Let a switch be True or False, and nothing else."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, tips
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Number, Picture, Question, Result, Size, Source, Tip

tips.declare(tips.Fact("recordings", "programs made", "count", "how often the function was recorded"))

MIXED = (True, None, 1, False, 0, "yes", "", 2)
CLEAN = (True, False) * 4


def forward(x: Tensor, training: Any) -> Tensor:
    return x * 0.5 if training else x


def inputs(generator: tg.Generator, calls: int, flags: str) -> dict[str, Any]:
    given = (MIXED if flags == "anything that is true or false" else CLEAN)[:calls]
    return {"x": tg.rand(64, 64, generator=generator), "flags": given}


def slow(x: Tensor, flags: tuple[Any, ...]) -> Any:
    f = tg.compile(forward)
    results = [f(x, flag) for flag in flags]
    return results, tips.Aside(len(f.ledger))


def fast(x: Tensor, flags: tuple[Any, ...]) -> Any:
    f = tg.compile(forward)
    results = [f(x, bool(flag)) for flag in flags]
    return results, tips.Aside(len(f.ledger))


def programs(result: Result) -> float:
    return float(result.slow["recordings"])


TIP = Tip(
    slug="inference-flag",
    title="Let a switch be True or False, and nothing else",
    theme="compilation",
    why='The compiler compares a switch by its **value and type**; to it `1`, `True` and `"yes"` are three switches.',
    about=(
        "`if training:` asks only whether a value counts as true, so Python code gets away with None, 0, 1 or a text. "
        "A compiler cannot know that the code will ask nothing else. It keeps one program for each value that it was "
        "given, although they have only two different lists of operations. Turn the switch into a bool at the door, "
        "with `bool(training)` or a type that allows nothing else, and there are at most two programs. The same holds "
        "for any value of Python that is handed over: the fewer different values, the fewer programs."
    ),
    sources=(
        Source(
            "M",
            "Is there a performance penalty for having unused function parameters?",
            "only True and False, so that there are at most two traces",
        ),
    ),
    parameters=(
        Size("calls", 8, 1, 8, "the number of calls"),
        Choice(
            "flags",
            "anything that is true or false",
            ("anything that is true or false", "True and False"),
            "what callers give as a switch",
        ),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("recordings", fast=2, times=2), Claim("time")),
    limits=(
        Limit({"flags": "True and False"}, "no difference", "Callers who give a bool have two programs already."),
        Limit({"calls": 1}, "no difference", "One call needs one program."),
    ),
    question=Question(
        "Callers switch with True, None, 1, False, 0, a text, an empty text and 2. How many programs does A make?",
        Number(1, 8, "programs"),
        programs,
        tempting=2.0,
        refutation="There are two lists of operations, but eight values, and a program is found by the value.",
    ),
    explain="Which two of A's programs have the same list of operations?",
    symptoms=("my compiled function is slower than before",),
    picture=Picture("RetraceLedger", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "f = torch.compile(lambda x, training: x * 0.5 if training else x, backend='eager')\ny = f(x, bool(1))",
        ),
        Elsewhere("JAX 0.10", "2026-11", "y = jax.jit(forward, static_argnames='training')(x, training=bool(flag))"),
    ),
    reads={"recordings": lambda found: found[1].value},
    torch=None,
    differs_in_torch="torch.compile guards on each of these values too, and counts its recompilations elsewhere.",
)
