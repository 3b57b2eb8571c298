"""A tip whose numbers are known, for texts that are the same on every machine."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu.observe.timing import Comparison, Conditions, Timing
from tinygrad_edu.tips import (
    Choice,
    Claim,
    Elsewhere,
    Judged,
    Limit,
    Picture,
    Question,
    Result,
    Size,
    Slip,
    Source,
    Tip,
)


def inputs(generator: Any, n: int, kind: str) -> dict[str, Any]:
    return {"x": tg.ones(n)}


def slow(x):
    return x.clone()


def fast(x):
    return x.detach()


def guide(x):
    return x + 0


TIP = Tip(
    slug="made-up",
    title="Alias what is only read",
    theme="arrays",
    why="A tensor over **the same buffer** costs no bytes.",
    about="Reading needs no copy: `detach` shares.",
    sources=(Source("R", "Memory", "clone only when you must"),),
    parameters=(
        Size("n", 1000, 1, 4096, "how many numbers"),
        Choice("kind", "plain", ("plain", "odd"), "which numbers"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("allocated", fast=0), Claim("time")),
    limits=(Limit({"kind": "odd"}, "no difference", "With odd numbers `clone` is free."),),
    question=Question(
        "How many bytes does `detach` take?", ("none", "4 kB"), lambda r: "none", "4 kB", "They are shared."
    ),
    explain="Why?",
    symptoms=("out of memory", "my copies are slow"),
    picture=Picture("BufferMap", lambda: {"x": tg.ones(2)}),
    elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", "y = x.detach()"),),
    slips=(Slip("R", guide, {"equal": True}, "Adding zero copies **too**."),),
)
CONDITIONS = Conditions("Example CPU", 2, "Linux x86_64", "3.11.7", "2.4.6", "openblas 0.3", 1, "off", 1e-9)
TIMING = Comparison(
    Timing("A", (4e-6, 4e-6, 4e-6), (5e-6,), 16),
    Timing("B", (1e-6, 1e-6, 1e-6), (2e-6,), 64),
    (4.0, 4.0, 4.0),
    CONDITIONS,
)
RESULT = Result(
    slug="made-up",
    setting={"n": 1000, "kind": "plain", "device": "cpu"},
    slow={"allocated": 4000, "error": "", "equal": True, "met": True},
    fast={"allocated": 0, "error": "", "equal": True, "met": True},
    others={},
    guides=({"allocated": 4000, "error": "", "equal": True, "met": True},),
    equal=True,
    met=True,
    claims=(
        Judged(TIP.claims[0], "holds", "newly allocated: A 4.00 kB, B 0 bytes", 4000, 0),
        Judged(TIP.claims[1], "holds", "time: B is faster than A: 4.0× (4.0–4.0)", 4e-6, 1e-6, timing=TIMING),
    ),
    verdict="holds",
    reason="",
    timing=TIMING,
)
