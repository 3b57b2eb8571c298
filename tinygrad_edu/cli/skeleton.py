"""``tinygrad-edu tips new``: a file for a new tip, which names all that is to be filled in."""

from __future__ import annotations

import re
from pathlib import Path

from ..tips import THEMES, TipError
from ..tips.registry import unknown

TEMPLATE = '''"""TITLE."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip


def inputs(generator: tg.Generator, n: int, kind: str) -> dict[str, Any]:
    """The arguments of both ways, by name. Draw random numbers from the generator."""
    return {"x": tg.rand(n, generator=generator)}


def slow(x: Tensor) -> Tensor:
    raise NotImplementedError("A: what people write, in fewer than 15 lines")


def fast(x: Tensor) -> Tensor:
    raise NotImplementedError("B: what the tip proposes; it gives the same numbers")


def answer(result: Result) -> str:
    """The right choice, computed from what was counted: another result must be able to give another answer."""
    return "first" if result.slow["allocated"] > result.fast["allocated"] else "second"


TIP = Tip(
    slug="SLUG",
    title="",  # as a learner would say what to do
    theme="THEME",
    why="",  # one sentence of at most 25 words, its **cause** in bold
    about="",  # 50 to 130 words: what happens, and why
    sources=(),  # Source("P", "section", "what the guide says there")
    parameters=(Size("n", 1000, 1, 100_000, "how many numbers"), Choice("kind", "plain", ("plain",), "which ones")),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("allocated", fast=0),),  # what can be counted; Claim("time") besides
    limits=(),  # Limit({"kind": "…"}, "no difference", "Why it does not hold there.")
    question=Question("", ("first", "second"), answer, tempting="second", refutation=""),
    explain="",  # what to explain after the result; a question
    symptoms=(),  # as a learner says them; first those of other tips
    picture=Picture("TimingRace", dict),
    elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", ""),),  # code that runs with the inputs by name
)
'''


def skeleton(slug: str, theme: str, folder: Path | None = None) -> Path:
    """Write the file of a new tip, and return its path. Raises `TipError` for a name that cannot be, or is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", slug):
        mend = "use small letters and hyphens, such as keep-the-number"
        raise TipError(f"the slug {slug!r}", "it becomes a file name, a web address and a word in code", mend)
    if theme not in THEMES:
        raise unknown("theme", theme, THEMES)
    place = folder if folder is not None else Path(__file__).parents[1] / "tips" / theme
    path = place / f"{slug.replace('-', '_')}.py"
    if path.exists():
        raise TipError(f"the file {path}", "it is there already", "choose another slug, or edit that file")
    try:
        place.mkdir(parents=True, exist_ok=True)
        path.write_text(TEMPLATE.replace("SLUG", slug).replace("THEME", theme), encoding="utf-8")
    except OSError as error:
        mend = "name a folder of your own: --into FOLDER"
        raise TipError(f"the file {path}", f"it cannot be written: {error.strerror}", mend) from None
    return path
