"""How counts are said."""

from __future__ import annotations

from typing import Any

from ..wording import bytes_text, exact
from .tip import COUNTED, IN_BYTES, Claim


def count_text(fact: str, value: Any) -> str:
    """A count as it is read: ``4.19 MB``, ``1024``, ``yes``; an error as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if fact in IN_BYTES or fact == "stride":
        return bytes_text(value)
    return exact(value) if isinstance(value, (int, float)) else value or "none"


def claim_text(fact: str, slow: Any, fast: Any) -> str:
    """A claim with what was counted: ``newly allocated: A 4.19 MB, B 0 bytes``."""
    return f"{COUNTED[fact]}: A {count_text(fact, slow)}, B {count_text(fact, fast)}"


def claimed(claim: Claim) -> str:
    """What is claimed, before anything is counted: ``newly allocated: A has more than B``."""
    if not claim.counted:
        return "time: B takes less. Measured where it runs, and never taken for granted"
    said = COUNTED[claim.fact]
    if claim.no_more:
        return f"{said}: B has no more than A"
    if claim.fast is None:
        return f"{said}: A has {f'at least {claim.times:g} times as much as' if claim.times > 1 else 'more than'} B"
    slow = "something else" if claim.slow is None else count_text(claim.fact, claim.slow)
    return f"{said}: A {slow}, B {count_text(claim.fact, claim.fast)}"
