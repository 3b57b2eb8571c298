"""What a run of a tip has found, in sentences: the verdict, what the clock says beside it, and the one number."""

from __future__ import annotations

from ..common.wording import ratio_text
from ..observe.results import Comparison
from .facts import TIME
from .runner import Judged, Result
from .tip import FAILED, FALSE, HOLDS, SAME
from .words import count_text, fact_text

SAID = {
    HOLDS: "The tip holds here.",
    SAME: "The tip makes no difference here.",
    FALSE: "The tip does not hold here.",
    FAILED: "The two could not be compared.",
}
COUNTS = {  # where the clock says something else
    HOLDS: "The tip holds for what is counted",
    SAME: "The tip makes no difference to what is counted",
    FALSE: "The tip does not hold for what is counted",
}
CLOCK = {"faster": "B is faster", "slower": "A is faster", "no difference": "there is no difference in time"}
AGREES = {HOLDS: "faster", SAME: "no difference", FALSE: "slower"}
APART = (
    "The verdict comes from counts, the same on every machine. The clock also sees what no count shows, such as the "
    "cost of starting an operation."
)
SMALLER = "The difference here is smaller than the tip claims"
UNEQUAL = "They do not give the same numbers, so it does not matter which is faster."


def clock(result: Result) -> Comparison | None:
    """The comparison on the clock, where the tip claims something about time and both do the same."""
    timed = any(judged.claim.fact == TIME for judged in result.claims)
    return result.timing if timed and result.equal else None


def disagree(result: Result) -> bool:
    """Whether the clock says something other than the counts."""
    timing = clock(result)
    return timing is not None and timing.verdict != AGREES[result.verdict]


def smaller(judged: Judged, result: Result) -> bool:
    """Whether A needs more than B, but less than was claimed."""
    claim = judged.claim
    return judged.verdict == SAME and claim.times > 1 and bool(result.slow[claim.fact] > result.fast[claim.fact])


def verdict_text(result: Result) -> str:
    """The verdict, which comes from the counts, as a sentence."""
    if result.verdict == SAME and any(smaller(judged, result) for judged in result.claims if judged.claim.counted):
        return f"{SMALLER}."
    return SAID[result.verdict]


def headline(result: Result) -> str:
    """The verdict as a sentence. Where the clock says something else, the sentence says both."""
    timing = clock(result)
    if timing is None or not disagree(result):
        return verdict_text(result)
    less = verdict_text(result).startswith(SMALLER)
    joint = "and" if (result.verdict, timing.verdict) == (SAME, "slower") else "but"
    return f"{SMALLER if less else COUNTS[result.verdict]}, {joint} on the clock {CLOCK[timing.verdict]}."


def number(result: Result) -> tuple[str, str]:
    """The one number, and what it says. Not for a result that failed."""
    timing = clock(result)
    if not result.equal:
        return "A ≠ B", UNEQUAL
    if timing is not None:
        return f"{_ratio(timing)}×", f"**{_said(timing)}.** {decided(timing)}"
    fact = next((j.claim.fact for j in result.claims if j.claim.counted), "")
    a, b = (count_text(fact, way[fact]) for way in (result.slow, result.fast))
    return (a, f"{fact_text(fact)}, in A and in B.") if a == b else (f"{a} → {b}", f"{fact_text(fact)}, from A to B.")


def _said(timing: Comparison) -> str:
    return {"faster": "B is faster here", "slower": "A is faster here"}.get(timing.verdict, "No difference in time")


def _ratio(timing: Comparison) -> str:
    return ratio_text(timing.times[0])


def decided(timing: Comparison) -> str:
    """What the verdict on the time rests on."""
    return f"Measured: {timing.grounds()}."
