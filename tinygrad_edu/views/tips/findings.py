"""What a run of a tip has found, for the learner: the claims, the prediction beside the answer, and all in one line."""

from __future__ import annotations

import inspect
import re

from ...tips import Judged, Result, Tip, framework, source_of
from ...tips.facts import TIME
from ...tips.findings import clock, headline, number, smaller, verdict_text
from ...tips.tip import FALSE, HOLDS
from ...tips.words import context_text
from .model import WAYS, Visit


def timed(result: Result) -> bool:
    """Whether the tip claims something about time: only then its times are shown."""
    return result.timing is not None and any(judged.claim.fact == TIME for judged in result.claims)


def reason_text(tip: Tip, result: Result) -> str:
    """The reason of a verdict. An error names lines of the tip's file, or of edited code: here they are A's or B's."""
    file = inspect.getfile(tip.slow).replace("\\", "/").rpartition("/")[2]
    found = re.sub(rf"\bat {re.escape(file)}, line (\d+)", lambda line: _as_read(tip, line), result.reason)
    return re.sub(r"\bat this cell, line (\d+)", r"in line \1 of the edited code", found)


def _as_read(tip: Tip, line: re.Match[str]) -> str:
    """``in line 4 of B``; the line as it was if it belongs to neither."""
    for letter, name in WAYS:
        way = getattr(tip, name)
        written, read = (text.rstrip().count("\n") for text in (inspect.getsource(way), source_of(way)))
        below = int(line[1]) - way.__code__.co_firstlineno
        if 0 < below <= written:
            return f"in line {below - (written - read) + 1} of {letter}"
    return line[0]


def claims(tip: Tip, result: Result) -> tuple[tuple[str, str], ...]:
    """Each claim and its verdict here, and whether the numbers are equal."""
    found = [(context_text(j.claim), claim_verdict(j, result)) for j in result.claims]
    return tuple(found) if tip.outcomes else (*found, ("equal", equal_text(tip, result)))


def claim_verdict(judged: Judged, result: Result) -> str:
    """A verdict beside its claim. A time is that of this machine, so it holds only here."""
    timed = judged.claim.fact == TIME
    if timed and not result.equal:
        return "does not matter"
    if timed or judged.verdict == HOLDS:
        return "holds here" if timed and judged.verdict == HOLDS else judged.verdict
    return "less than claimed" if smaller(judged) else judged.verdict


def equal_text(tip: Tip, result: Result) -> str:
    """Whether A and B give equal numbers, and within what."""
    if not result.equal:
        return FALSE
    return f"holds, within {f'{tip.tolerance:.0e}'.replace('e-0', 'e−')}" if tip.tolerance else "holds"


def predicted(tip: Tip, visit: Visit, result: Result) -> tuple[str, ...]:
    """The prediction beside the answer, and the refutation of the tempting one."""
    if visit.answer is None:
        first = "the setting first shown" if dict(result.setting) != tip.defaults else "the code first shown"
        return (f"{said(tip, visit)} That is about {first}: go back to it and run to see.",)
    question, answer = tip.question, visit.answer
    near = " That is near enough." if question.right(visit.draft, answer) else ""
    told = "You said the same." if visit.draft == answer else f"{said(tip, visit)}{near}"
    lead = "It is" if result.verdict == HOLDS and not visit.ran else "In the setting that the question is about, it is"
    refuted = () if question.right(question.tempting, answer) else (question.refutation,)
    return (f"{lead}: **{question.said(answer)}**. {told}", *refuted)


def said(tip: Tip, visit: Visit) -> str:
    """The prediction in a sentence; nothing if there is none."""
    return "" if visit.draft is None else f"You said: {tip.question.said(visit.draft)}."


def result_line(tip: Tip, result: Result) -> str:
    """A result in the one line of its folded step."""
    if result.failed:
        return verdict_text(result)
    big, words = number(tip, result)
    folded = clock(result) or result.slow["error"] or result.fast["error"]  # an error's words take more than a line
    return f"**{big}** · {headline(result)}" if folded else f"**{big}** {words} {headline(result)}"


def there_text(tip: Tip, visit: Visit) -> tuple[str, ...]:
    """What the tip's ways did in PyTorch, if they were run there."""
    there = visit.there
    if there is None:
        return ()
    return (framework.said(tip, there), *(f"In PyTorch: {judged.words}." for judged in there.claims))
