"""Counts and claims in words."""

from __future__ import annotations

from typing import Any

from ..common.wording import bytes_text, exact
from .facts import FACTS, TIME
from .tip import Claim


def count_text(fact: str, value: Any) -> str:
    """A count as readers see it: ``4.19 MB``, ``1024``, ``yes``; an error as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if FACTS[fact].unit == "bytes":
        return bytes_text(value)
    return exact(value) if isinstance(value, (int, float)) else value or "none"


def claim_text(fact: str, slow: Any, fast: Any) -> str:
    """A claim with what was counted: ``newly allocated: A 4.19 MB, B 0 bytes``."""
    return f"{FACTS[fact].words}: A {count_text(fact, slow)}, B {count_text(fact, fast)}"


def fact_text(fact: str) -> str:
    """What is counted or measured: ``newly allocated``, ``time``."""
    return FACTS[fact].words


def claimed(claim: Claim) -> str:
    """The claim, before anything is counted: ``A has more than B``."""
    if claim.fact == TIME:
        return "B takes less"
    if claim.no_more:
        return "B has no more than A"
    if claim.fast is None:
        return f"A has {f'at least {claim.times:g} times as much as' if claim.times > 1 else 'more than'} B"
    fast = count_text(claim.fact, claim.fast)
    return f"B {fast}, unlike A" if claim.slow is None else f"A {count_text(claim.fact, claim.slow)}, B {fast}"
