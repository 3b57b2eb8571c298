"""What a run of a tip has found, for the learner: the claims, the prediction beside the answer, and all in one line."""

from __future__ import annotations

from ...tips import Judged, Result, Tip
from ...tips.findings import clock, headline, number, smaller, verdict_text
from ...tips.tip import FALSE, HOLDS, TIME
from ...tips.words import fact_text
from .model import Visit


def claims(tip: Tip, result: Result) -> tuple[tuple[str, str], ...]:
    """Each claim and its verdict here, and whether the numbers are equal."""
    found = [(fact_text(j.claim.fact), claim_verdict(j, result)) for j in result.claims]
    return (*found, ("equal", equal_text(tip, result)))


def claim_verdict(judged: Judged, result: Result) -> str:
    """A verdict beside its claim. A time is that of this machine, so it holds only here."""
    timed = judged.claim.fact == TIME
    if timed and not result.equal:
        return "does not matter"
    if timed or judged.verdict == HOLDS:
        return "holds here" if timed and judged.verdict == HOLDS else judged.verdict
    return "less than claimed" if smaller(judged, result) else judged.verdict


def equal_text(tip: Tip, result: Result) -> str:
    """Whether A and B give equal numbers, and within what."""
    if not result.equal:
        return FALSE
    return f"holds, within {f'{tip.tolerance:.0e}'.replace('e-0', 'e−')}" if tip.tolerance else "holds"


def predicted(tip: Tip, visit: Visit, result: Result) -> tuple[str, ...]:
    """The prediction beside the answer, and the refutation of the tempting one."""
    if visit.answer is None:
        first = "the setting first shown" if dict(result.setting) != tip.defaults else "the code first shown"
        return (f"You said: {visit.draft}. That is about {first}: go back to it and run to see.",)
    draft = "You said the same." if visit.draft == visit.answer else f"You said: {visit.draft}."
    lead = "It is" if result.verdict == HOLDS and not visit.ran else "In the setting that the question is about, it is"
    refuted = (tip.question.refutation,) if visit.answer != tip.question.tempting else ()
    return (f"{lead}: **{visit.answer}**. {draft}", *refuted)


def result_line(result: Result) -> str:
    """A result in the one line of its folded step."""
    if result.failed:
        return verdict_text(result)
    big, words = number(result)
    return f"**{big}** · {headline(result)}" if clock(result) else f"**{big}** {words} {headline(result)}"
