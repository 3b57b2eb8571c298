"""Counts and claims in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.wording import bytes_text, exact, seconds_text
from .facts import FACTS, TIME
from .tip import Claim, Tip

PHASES = {"setup": "while it is set up", "first": "in the first call"}


def count_text(fact: str, value: Any) -> str:
    """A count as readers see it: ``4.19 MB``, ``1024``, ``yes``; an error as it is."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if FACTS[fact].unit == "bytes":
        return bytes_text(value)
    if FACTS[fact].unit == "seconds":
        return seconds_text(value)
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.3g}"
    return exact(value) if isinstance(value, (int, float)) else value or "none"


def claim_text(claim: Claim, slow: Any, fast: Any, letters: tuple[str, str] = ("A", "B")) -> str:
    """A claim with what was counted: ``newly allocated: A 4.19 MB, B 0 bytes``."""
    a, b = (f"{letter} {count_text(claim.fact, value)}" for letter, value in zip(letters, (slow, fast), strict=True))
    return f"{context_text(claim)}: {a}, {b}"


def fact_text(fact: str) -> str:
    """What is counted or measured: ``newly allocated``, ``time``."""
    return FACTS[fact].words


def context_text(claim: Claim) -> str:
    """What a claim is about: the fact, and where and in which setting, if that is not where all others are."""
    over = f" over {claim.over.name}" if claim.over else ""
    return ", ".join([f"{_where(claim)}{over}", *([f"with {setting_text(claim.at)}"] if claim.at else [])])


def _where(claim: Claim) -> str:
    if claim.when in PHASES:
        return f"{fact_text(claim.fact)} {PHASES[claim.when]}"
    return f"alive {claim.when}" if claim.when else fact_text(claim.fact)


def setting_text(setting: Mapping[str, Any]) -> str:
    """``n = 16, keep = all``."""
    return ", ".join(f"{name} = {value}" for name, value in setting.items())


def letters_of(tip: Tip, claim: Claim) -> tuple[str, str]:
    """The letters of the two ways that a claim is about."""
    return tip.letters[claim.ways[0]], tip.letters[claim.ways[1]]


def claimed(claim: Claim, letters: tuple[str, str] = ("A", "B")) -> str:
    """The claim, before anything is counted, in a few characters: ``A more than B``."""
    a, b = letters
    if claim.over is not None:
        over = claim.over
        grows = [f"{letter} {shape}" for letter, shape in ((a, over.slow), (b, over.fast)) if shape]
        return "they cross" if over.crosses else ", ".join(grows)
    if claim.same:
        return f"{a} = {b}, within {claim.within:.0%}" if claim.within else f"{a} the same as {b}"
    more, less = (b, a) if claim.price else (a, b)
    if claim.fact == TIME:
        return f"{less} less"
    if claim.no_more:
        return f"{b} no more"
    if claim.fast is None:
        return f"{more} at least {claim.times:g}× {less}" if claim.times > 1 else f"{more} more than {less}"
    fast = count_text(claim.fact, claim.fast)
    slow = "" if claim.slow is None else f"{a} {count_text(claim.fact, claim.slow)}, "
    return f"{slow}{b} {fast}" + (f" ± {claim.within:.0%}" if claim.within else "")
