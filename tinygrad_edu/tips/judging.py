"""Whether a claim holds: from what two ways were found to need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..observe.results import Comparison
from .facts import FACTS, TIME
from .shapes import shape_of
from .tip import FALSE, HOLDS, SAME, Claim
from .words import claim_text, context_text

WITHIN_TIME = 0.2  # of the largest: how far measured values may be from a shape


@dataclass(frozen=True)
class Judged:
    """A claim, its verdict here, and what was found of its two ways: one value each, and those over sizes."""

    claim: Claim
    verdict: str
    words: str
    slow: Any = None
    fast: Any = None
    letters: tuple[str, str] = ("A", "B")
    timing: Comparison | None = None
    shapes: tuple[str, str] | None = None

    @property
    def counted(self) -> bool:
        """Whether it is the same on every machine."""
        return self.claim.counted


def value_of(claim: Claim, facts: Mapping[str, Any]) -> Any:
    """What a claim is about, of one way. None if the way never came to the mark that the claim names."""
    return facts["at"].get(claim.when, {}).get(claim.fact) if claim.when else facts.get(claim.fact)


def judge(claim: Claim, slow: Mapping[str, Any], fast: Mapping[str, Any], letters: tuple[str, str]) -> Judged:
    """A claim about a count."""
    a, b = value_of(claim, slow), value_of(claim, fast)
    words = claim_text(claim, a, b, letters)
    if a is None or b is None:
        return Judged(claim, FALSE, f"{words}: not found", a, b, letters)
    verdict = _compared(claim, a, b)
    if verdict == HOLDS and claim.fact in slow.get("seeds", {}):
        pairs = zip(slow["seeds"][claim.fact], fast["seeds"][claim.fact], strict=True)
        verdict = HOLDS if all(_compared(claim, one, other) == HOLDS for one, other in pairs) else SAME
    return Judged(claim, verdict, words, a, b, letters)


def _compared(claim: Claim, a: Any, b: Any) -> str:
    def near(value: Any, wanted: Any) -> bool:
        return bool(value == wanted or (claim.within and abs(value - wanted) <= claim.within * abs(wanted)))

    if claim.fast is not None:
        fits = near(b, claim.fast) and (near(a, claim.slow) if claim.slow is not None else not near(a, claim.fast))
        return HOLDS if fits else SAME if near(a, b) else FALSE
    if claim.same:
        return HOLDS if near(a, b) else FALSE
    if claim.no_more:
        return HOLDS if b <= a else FALSE
    more, less = (b, a) if claim.price else (a, b)
    return HOLDS if more > less and more >= claim.times * less else FALSE if more < less else SAME


def judge_time(claim: Claim, timing: Comparison | None, letters: tuple[str, str]) -> Judged:
    """A claim about time. ``timing`` is None if it was not taken."""
    if timing is None:
        return Judged(claim, SAME, f"{context_text(claim)}: not taken", None, None, letters)
    if claim.same:
        verdict = HOLDS if timing.verdict == "no difference" else FALSE
    else:
        wanted, other = ("slower", "faster") if claim.price else ("faster", "slower")
        verdict = {wanted: HOLDS, other: FALSE}.get(timing.verdict, SAME)
    words = f"{context_text(claim)}: {timing.sentence()}"
    return Judged(claim, verdict, words, timing.slow.median, timing.fast.median, letters, timing)


def judge_over(claim: Claim, slow: list[Any], fast: list[Any], here: Judged) -> Judged:
    """A claim over sizes: how the values of both ways grow, or that they cross. ``here`` is the claim at one size."""
    assert claim.over is not None
    within = WITHIN_TIME if claim.fact == TIME else 0.05
    shapes = shape_of(claim.over.sizes, slow, within), shape_of(claim.over.sizes, fast, within)
    if claim.over.crosses:
        ends = [a - b for a, b in ((slow[0], fast[0]), (slow[-1], fast[-1]))]
        verdict = HOLDS if min(ends) < 0 < max(ends) else SAME
        said = "they cross" if verdict == HOLDS else "they do not cross"
    else:
        wanted = (claim.over.slow or shapes[0], claim.over.fast or shapes[1])
        verdict = HOLDS if shapes == wanted else FALSE
        said = f"{here.letters[0]} {shapes[0]}, {here.letters[1]} {shapes[1]}"
    low, high = claim.over.sizes[0], claim.over.sizes[-1]
    words = f"{FACTS[claim.fact].words} over `{claim.over.name}` from {low} to {high}: {said}"
    return replace(here, verdict=verdict, words=words, shapes=shapes)
