"""What a run of a tip has found, in sentences: the verdict, what the clock says beside it, and the one number."""

from __future__ import annotations

from collections.abc import Mapping

from ..common.wording import number as digits
from ..common.wording import plural, ratio_text
from ..observe.results import Comparison
from .facts import FACTS, TIME
from .judging import Judged
from .runner import Result
from .tip import FAILED, FALSE, GUIDES, HOLDS, SAME, Tip
from .words import context_text, count_text

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
IN_A_WORD = {"equal": "right", "differs": "wrong", "free": "a result", "raises": "error"}
SMALLER = "The difference here is smaller than the tip claims"
ALIKE = "They give the same numbers, and neither stops."
UNEQUAL = "They do not give the same numbers, so it does not matter which is faster."


def clock(result: Result) -> Comparison | None:
    """The comparison on the clock, where the tip claims something about time and both do the same."""
    timed = any(_about_all(judged) and judged.claim.fact == TIME for judged in result.claims)
    return result.timing if timed and result.equal else None


def _about_all(judged: Judged) -> bool:
    """Whether a claim is about A and B in the setting that was run, and for all of it."""
    claim = judged.claim
    return not (claim.at or claim.when or claim.over) and claim.ways == ("slow", "fast")


def disagree(result: Result) -> bool:
    """Whether the clock says something other than the counts."""
    timing = clock(result)
    if timing is None:
        return False
    same = any(_about_all(judged) and judged.claim.fact == TIME and judged.claim.same for judged in result.claims)
    return timing.verdict != AGREES[SAME if same and result.verdict == HOLDS else result.verdict]


def smaller(judged: Judged) -> bool:
    """Whether A needs more than B, but less than was claimed."""
    return judged.verdict == SAME and judged.claim.times > 1 and bool(judged.slow > judged.fast)


def verdict_text(result: Result) -> str:
    """The verdict, which comes from the counts, as a sentence."""
    if result.verdict == SAME and any(smaller(judged) for judged in result.claims if judged.counted):
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


def number(tip: Tip, result: Result) -> tuple[str, str]:
    """The one number, and what it says. Not for a result that failed."""
    timing = clock(result)
    if not result.met:
        return "A ≠ B" if not result.equal else "A = B", UNEQUAL if not result.equal else ALIKE
    if tip.outcomes:
        return _came(tip, result)
    if timing is not None:
        return f"{_ratio(timing)}×", f"**{_said(timing)}.** {decided(timing)}"
    judged = next(judged for judged in result.claims if judged.counted)
    a, b = (count_text(judged.claim.fact, value) for value in (judged.slow, judged.fast))
    words, (first, second) = context_text(judged.claim), judged.letters
    if a == b:
        return a, f"{words}, in {first} and in {second}."
    return f"{a} → {b}", f"{words}, from {first} to {second}."


def _came(tip: Tip, result: Result) -> tuple[str, str]:
    """What A and B did, where the tip is about that, as it was expected."""
    kinds = [tip.ways[name].outcome.kind for name in ("slow", "fast")]
    words = " ".join(outcome_text(tip, result, name) for name in ("slow", "fast"))
    return " → ".join(IN_A_WORD[kind] for kind in kinds), words


def outcome_text(tip: Tip, result: Result, name: str) -> str:
    """What a way did, as a sentence: ``C gives other numbers.``"""
    letter, facts = tip.letters[name], result.ways[name]
    if facts["error"]:
        return f"{letter} stops: {facts['error'].rstrip('.')}."
    if tip.ways[name].outcome.kind == "free":
        return f"{letter} gives a result."
    return f"{letter} gives {'the right numbers' if facts['equal'] else 'other numbers, without an error'}."


def figures(tip: Tip, result: Result) -> tuple[str, ...]:
    """The guides' own figures, each beside what is found here."""
    said = []
    for figure in tip.figures:
        here = _here(figure.fact, result)
        about = f" ({figure.words})" if figure.words else ""
        says = f"{FACTS[figure.fact].words}{about}: {figure.times:g}× in the {GUIDES[figure.guide]}"
        said.append(f"{says}, {here} here." if here else f"{says}, not measured here.")
    return tuple(said)


def _here(fact: str, result: Result) -> str:
    """How many times as much A needs here."""
    judged = next((j for j in result.claims if j.claim.fact == fact), None)
    if judged is None or not judged.slow or not judged.fast:
        return ""
    ratio = judged.timing.ratio if judged.timing else judged.slow / judged.fast
    return f"{ratio_text(ratio)}×"


def _said(timing: Comparison) -> str:
    return {"faster": "B is faster here", "slower": "A is faster here"}.get(timing.verdict, "No difference in time")


def _ratio(timing: Comparison) -> str:
    return ratio_text(timing.times[0])


def decided(timing: Comparison) -> str:
    """What the verdict on the time rests on."""
    return f"Measured: {timing.grounds()}."


Runs = Mapping[str, list[list[float]]]  # by letter: the numbers of each seed


def series_of(tip: Tip, result: Result) -> dict[str, Runs]:
    """What the ways log in training, by name and letter."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for way, facts in result.ways.items():
        for name, each in facts.get("series", {}).items():
            found.setdefault(name, {})[tip.letters[way]] = each
    return dict(found)


def series_text(name: str, runs: Runs) -> str:
    """``loss over 60 steps: A from 2.31 to 0.45, B from 2.31 to 0.12``; with seeds, each from the least to the most."""
    steps = max(len(one) for each in runs.values() for one in each)
    said = (f"{letter} from {_spread(each, 0)} to {_spread(each, -1)}" for letter, each in runs.items())
    return f"{name} over {plural(steps, 'step')}: {', '.join(said)}"


def _spread(each: list[list[float]], place: int) -> str:
    numbers = [one[place] for one in each]
    return "–".join(dict.fromkeys((digits(min(numbers)), digits(max(numbers)))))
