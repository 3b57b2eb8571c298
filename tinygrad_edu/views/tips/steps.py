"""The steps of a tip, one below the other. What is done folds to one line, so that all of them fit on a screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...common.wording import exact
from ...tips import GUIDES, Choice, Number, Result, Size, Tip, Way, source_of
from ...tips.findings import APART, disagree, figures, headline, number, outcome_text, series_of, verdict_text
from ...tips.words import count_text, fact_text
from ..board import Beside, Block, Chips, Code, Controls, Drawing, Editor, Fold, Folds, One, Row, Section, Words
from ..frame import Control, Progress
from .bars import BARS, bars
from .examples import picture
from .findings import claims, predicted, reason_text, result_line, there_text
from .model import WAYS, Visit, as_asked, here, way
from .series import draw
from .words import WAITING, limit_text, shown_fact, what_changed

STEPS = ("Predict", "Run", "See", "Explain", "Try where it fails")
RESET = Control("button", "reset", "Reset", key="r")


def sections(tip: Tip, visit: Visit, progress: Progress | None, presenting: bool = False) -> tuple[Section, ...]:
    """The steps. Those that would give the result away are empty before the prediction.

    Before an audience only the step in hand is shown, and the code until there is a result.
    """
    steps = [_predict(tip, visit), _run(tip, visit, progress), *_later(visit)]
    if visit.result is not None:
        steps[2:] = [_see(tip, visit, visit.result), _explain(tip, visit, visit.result), _limits(tip, visit)]
    if presenting:
        step = steps[visit.hand - 1]
        step = replace(step, links=(*step.links, *_paging(visit)))
        return (code(tip, visit), step) if visit.hand < 3 else (step,)
    more = (Section("", (_more(tip, visit.result),)),) if visit.result is not None and visit.hand > 3 else ()
    return code(tip, visit), *steps, *more


def _later(visit: Visit) -> list[Section]:
    return [Section(name, number=place, state="later") for place, name in enumerate(STEPS, 1) if place > 2]


def _state(visit: Visit, number: int) -> str:
    """Whether a step is done, next, or not yet reached."""
    done = (visit.committed, visit.result is not None, visit.result is not None, visit.explained, bool(visit.ends))
    return "done" if done[number - 1] else "now" if number <= visit.reached else "later"


def _paging(visit: Visit) -> tuple[Control, ...]:
    back = Control("button", "back", "Back", key="ArrowLeft", disabled=visit.hand == 1)
    return back, Control("button", "next", "Next", key="ArrowRight")


def code(tip: Tip, visit: Visit) -> Section:
    """Both ways side by side, as text or to be edited."""
    blocks: list[Words | Code | Editor] = []
    for letter, name in WAYS:
        source = way(tip, visit, name)
        label = f"**{letter}**{', edited' if name in visit.code else ''}"
        blocks.append(
            Editor(label, source, f"code:{name}", f"code of {letter}") if visit.editing else Code(label, source)
        )
    return Section("", (Row(tuple(blocks)),))


def tools(visit: Visit) -> tuple[Control, ...]:
    """What can be done with the code, and *Reset*."""
    if visit.editing:
        done = Control("button", "edited", "Done")
        return done, Control("button", "restore", "Original code", disabled=not visit.code), RESET
    back = (Control("button", "restore", "Original code"),) if visit.code else ()
    return Control("button", "edit", "Edit the code"), *back, RESET


def _predict(tip: Tip, visit: Visit) -> Section:
    hand = visit.hand == 1
    if visit.committed:
        again = Control("button", "again", "Change and run again")
        said = f"You said: **{tip.question.said(visit.draft)}**."
        return Section(STEPS[0], (), 1, "done", hand, said, links=(again,))
    offered, draft = tip.question.choices, visit.draft
    if isinstance(offered, Number):
        label = f"your prediction{f', in {offered.unit}' if offered.unit else ''}"
        choices = Control("number", "draft", label, "" if draft is None else f"{draft!r}".removesuffix(".0"))
    else:
        choices = Control("radio", "draft", "", draft, offered, hint="your prediction")
    commit = Control("button", "commit", "Commit", main=True, disabled=visit.draft is None)
    return Section(STEPS[0], (Controls((choices, commit)), Words(WAITING, "hole")), 1, "now", hand)


def _run(tip: Tip, visit: Visit, progress: Progress | None) -> Section:
    if not visit.committed:
        return Section(STEPS[1], number=2, state="later")
    label = "Run again" if visit.result else "Run"
    controls = [Control("button", "run", label, main=visit.hand == 2, disabled=progress is not None)]
    controls += [_parameter(p, visit) for p in tip.parameters]
    devices = here(tip)
    if len(devices) > 1:
        controls.append(_parameter(Choice("device", devices[0], devices, "where the tensors live"), visit))
    old = what_changed(tip, visit, visit.result) if visit.result is not None else ""
    below = (*((progress,) if progress else ()), *((Words(old, "quiet"),) if old else ()))
    return Section(STEPS[1], below, 2, _state(visit, 2), visit.hand == 2, controls=tuple(controls))


def _parameter(p: Size | Choice, visit: Visit) -> Control:
    now = visit.setting.get(p.name, p.default)
    if isinstance(p, Choice):
        return Control("radio", f"set:{p.name}", f"`{p.name}`", now, p.options, hint=p.words)
    place = p.stops.index(now) if now in p.stops else 0
    return Control(
        "range", f"set:{p.name}", f"`{p.name} = {exact(now)}`", place, (0, len(p.stops) - 1, 1), hint=p.words
    )


def _see(tip: Tip, visit: Visit, result: Result) -> Section:
    hand = visit.hand == 3
    if visit.hand > 3:
        return Section(STEPS[2], (), 3, "done", hand, result_line(tip, result), links=(_show(3),))
    if result.failed:
        return Section(
            STEPS[2], (Words(reason_text(tip, result), "error"),), 3, "done", hand, f"**{verdict_text(result)}**"
        )
    found = [Words(words) for words in predicted(tip, visit, result)]
    found += [Words(reason_text(tip, result), "quiet")] if result.reason else []
    found += [Words(APART, "quiet")] if disagree(result) else []
    found += [Words(words) for words in there_text(tip, visit)]
    told: tuple[Words | One, ...] = (One(*number(tip, result)), *found)
    body = (Beside(told, (Drawing(bars(result, BARS)),)),) if result.claims else told
    there = (Control("button", "torch", "Also in PyTorch"),) if tip.torch is not None else ()
    said = f"**{headline(result)}**"
    return Section(STEPS[2], (*body, Chips(claims(tip, result))), 3, "done", hand, said, links=there)


def _show(number: int) -> Control:
    return Control("button", "open", "Show", number, hint=f"Show step {number}")


def _explain(tip: Tip, visit: Visit, result: Result) -> Section:
    hand, state = visit.hand == 4, _state(visit, 4)
    if result.failed:
        return Section(STEPS[3], (), 4, "later", hand, "Once A and B can be compared.")
    if visit.hand == 5 or (visit.hand != 4 and not as_asked(visit, result)):  # it asks why the tip holds
        return Section(STEPS[3], (), 4, state, hand, tip.explain, links=(_show(4),))
    area = Control("area", "explanation", "", visit.explanation, hint="your explanation")
    compare = Control("button", "explain", "Compare", main=not visit.explained)
    asked = (Controls((area, compare)),)
    if not visit.explained:
        return Section(STEPS[3], asked, 4, state, hand, tip.explain)
    return Section(STEPS[3], (*asked, Words(tip.why, "why"), Words(tip.about)), 4, state, hand, tip.explain)


def _limits(tip: Tip, visit: Visit) -> Section:
    tries = tuple(
        Control("button", "limit", limit_text(limit), place, hint=f"Run with {limit_text(limit)}")
        for place, limit in enumerate(tip.limits)
    )
    blocks: list[Block] = []
    for place in sorted(visit.ends) if visit.hand == 5 else ():
        found = visit.ends[place]
        counted = "; ".join(j.words for j in found.claims if j.counted)
        said = f"**With {limit_text(tip.limits[place])}: {verdict_text(found)}** {reason_text(tip, found)}"
        blocks.append(Words(f"{said} ({counted}.)" if counted else said))
    line = "Predict the verdict, then run:" if visit.hand == 5 and not visit.ends else ""
    return Section(STEPS[4], tuple(blocks), 5, _state(visit, 5), visit.hand == 5, line, tries)


def _more(tip: Tip, result: Result) -> Block:
    said = [f"{GUIDES[s.guide]}, {s.section}: {s.says}." for s in tip.sources]
    sources = tuple(Words(words) for words in (*said, *figures(tip, result)))
    drawn = picture(tip)
    folds = [Fold("The same on a small array", drawn)] if drawn else []
    if runs := series_of(tip, result):
        folds.append(Fold("The training, step by step", tuple(Drawing(draw(*one)) for one in runs.items())))
    folds.append(Fold("Where it comes from", sources))
    if not result.failed:
        folds += [Fold(_titled(tip, way), _other(tip, result, way)) for way in tip.also]
        folds += [_looked_at(tip, name, facts["shown"]) for name, facts in result.ways.items() if "shown" in facts]
    for slip, facts in zip(tip.slips, result.guides, strict=True):
        shown = ", ".join(shown_fact(name, facts[name]) for name in slip.shows)
        told = (Words(slip.words), Code(f"as in the {GUIDES[slip.guide]}", source_of(slip.run)))
        folds.append(Fold("Where the guide slips", (*told, Words(f"Counted here: {shown}.", "quiet"))))
    codes = tuple(Code(f"{e.framework}, {e.date}", e.code) for e in tip.elsewhere)
    return Folds((*folds, Fold("The same elsewhere", codes)))


def _titled(tip: Tip, way: Way) -> str:
    return f"{tip.letters[way.name]}: {way.name}"


def _other(tip: Tip, result: Result, way: Way) -> tuple[Words | Code, ...]:
    """One more way: its code, what it did, and what it needed of what the claims are about."""
    letter, facts = tip.letters[way.name], result.others[way.name]
    counted = dict.fromkeys(j.claim.fact for j in result.claims if j.counted and not j.claim.when)
    needed = ", ".join(f"{fact_text(name)}: {count_text(name, facts[name])}" for name in counted if name in facts)
    said = f"{outcome_text(tip, result, way.name)} {way.words}"
    found = () if facts["error"] or not needed else (Words(f"Counted here: {needed}.", "quiet"),)
    return (Code(letter, source_of(way.run, letter)), Words(said), *found)


def _looked_at(tip: Tip, name: str, shown: Mapping[str, str]) -> Fold:
    return Fold(f"{shown['title']}, of {tip.letters[name]}", (Code("", shown["text"]),))
