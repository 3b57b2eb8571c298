"""Multiply once."""

# A tip that is small, whose counts can be worked out by hand, and that tests spoil in one place each.

from __future__ import annotations

from pathlib import Path
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip


def inputs(generator: tg.Generator, n: int, kind: str) -> dict[str, Any]:
    return {"x": tg.rand(n, generator=generator), "kind": kind}


def slow(x: Tensor, kind: str) -> Tensor:
    return x * 2 + x if kind == "plain" else x * 3


def fast(x: Tensor, kind: str) -> Tensor:
    return x * 3


def guide(x: Tensor, kind: str) -> Tensor:
    return x * 2


def answer(result: Result) -> str:
    return "two" if result.slow["calls"] == 2 else "one"


TIP = Tip(
    slug="made-up",
    title="Multiply once",
    theme="arrays",
    why="Each operation makes a **new buffer** for its result.",
    about=(
        "Two operations make two buffers, each of which is as large as the first, and all of them are written and read "
        "once more than they need to be. Whoever multiplies once has one buffer less, one operation less, and the same "
        "numbers at the end; nothing else is to be seen here, and nothing else is claimed by this tip."
    ),
    sources=(Source("P", "Arithmetic", "multiply once"),),
    parameters=(Size("n", 100, 1, 1000, "how many numbers"), Choice("kind", "plain", ("plain", "same"), "which one")),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("calls", fast=1, slow=2), Claim("time")),
    limits=(Limit({"kind": "same"}, "no difference", "Both multiply once."),),
    question=Question("How many operations does A do?", ("one", "two"), answer, "one", "It adds as well."),
    explain="What does A do twice?",
    symptoms=("my loop is slow",),
    picture=Picture("TimingRace", dict),
    elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", "y = x * 3"),),
    slips=(Slip("P", guide, {"equal": False}, "It multiplies by two."),),
)


def course(folder: Path) -> Path:
    """A package that is installed in a folder and brings tips of its own: where their files belong."""
    info, home = folder / "my_course-1.0.dist-info", folder / "my_course" / "tips"
    home.mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-course\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tinygrad_edu.tips]\nmy-course = my_course.tips\n")
    (home.parent / "__init__.py").write_text("")
    (home / "__init__.py").write_text("")
    return home
