"""``tinygrad-edu tips``: list, explain, run and check the performance tips.

What ``--json`` prints; keys may be added, but none changes its meaning:

Each begins with ``schema``, the version of what follows, which is 1.

``list``
    ``tips``: a list of ``slug``, ``title``, ``theme``, ``guides`` (letters), ``why``, ``symptoms``.
``explain``
    these of one tip, and ``about``, ``sources`` (``guide``, ``section``, ``says``), ``question`` (``ask``,
    ``choices``, for a number its ``low``, ``high``, ``unit`` and ``within``; ``tempting``, ``refutation``),
    ``parameters`` (``name``, ``default``, ``words``, and ``low`` with ``high``, or ``options``), ``inputs``,
    ``slow`` and ``fast`` (source text), ``also`` (``name``, ``code``, ``words``), ``limits`` (``setting``,
    ``verdict``, ``words``), ``slips`` (``guide``, ``code``, ``words``), ``figures`` (``fact``, ``times``, ``guide``,
    ``words``), ``elsewhere`` (``framework``, ``date``, ``code``), ``widget``.
``run``
    what `tips.Result.to_dict` gives: ``slug``, ``setting``, ``verdict``, ``reason``, ``equal``, ``met``, ``claims``,
    ``slow`` and ``fast`` (facts by name), ``others`` (the same, by way), ``guides`` (the same, for each slip),
    ``timing`` (as in `observe.timing.Comparison.to_dict`; null if a way failed).
    With ``--framework torch``: ``here`` and ``there``, two of these, and ``version``, PyTorch's.
``check``
    ``passed`` and ``tips``: a list of ``slug``, ``passed``, ``verdict``, ``faults``, ``limits`` (``setting``,
    ``verdict``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from shlex import quote
from typing import Any

from ..common.wording import plain, plural
from ..tips import (
    GUIDES,
    Checked,
    Judged,
    Number,
    Result,
    Size,
    Slip,
    Tip,
    TipError,
    Way,
    all_tips,
    check,
    find,
    framework,
    run,
    source_of,
)
from ..tips.elsewhere import faults_of_snippets
from ..tips.findings import APART, disagree, figures, headline, outcome_text, series_of, series_text
from ..tips.registry import own_tips
from ..tips.runner import SCHEMA
from ..tips.tip import HOLDS, SAME
from ..tips.words import context_text, count_text, fact_text
from .listing import SHORT
from .terminal import Progress, Terminal

HEAD = ("verdict", "A", "B", "about")
COLOURS = {HOLDS: "blue", SAME: "yellow"}  # and red for "false here"


# explain ------------------------------------------------------------------------------------------------------------


def in_short(tip: Tip) -> dict[str, Any]:
    """A tip as ``list --json`` prints it."""
    return {name: getattr(tip, name) for name in SHORT}


def explain(terminal: Terminal, slug: str, *, as_json: bool) -> str:
    """Everything a tip says, with both functions."""
    tip = find(slug)
    if as_json:
        return terminal.json({"schema": SCHEMA, **in_full(tip)})
    says = [(f"{GUIDES[s.guide]}, {s.section}:", s.says) for s in tip.sources]
    parts = [
        terminal.section(tip.title, terminal.prose(plain(tip.why))),
        terminal.prose(plain(tip.about)),
        terminal.section("Predict", terminal.prose(_predict(tip), "  ")),
        _code(terminal, "A, what people write", source_of(tip.slow)),
        _code(terminal, "B, what the tip proposes", source_of(tip.fast)),
        terminal.section(
            "The guides say", "\n".join(terminal.prose(f"{who} {what.rstrip('.')}.", "  ") for who, what in says)
        ),
        *(_other(terminal, tip, way) for way in tip.also),
        *(_slip(terminal, slip) for slip in tip.slips),
        _code(terminal, "What they are given", source_of(tip.inputs)),
        terminal.section("Settings", _settings(terminal, tip)),
        terminal.section("Where it fails", _limits(terminal, tip)),
        terminal.section("Helps when you say", terminal.prose("\n".join(tip.symptoms), "  ")),
        *(_code(terminal, f"In {e.framework}, as of {e.date}", e.code) for e in tip.elsewhere),
        f"Try it:\n  tinygrad-edu tips run {slug}",
    ]
    return "\n\n".join(parts)


def in_full(tip: Tip) -> dict[str, Any]:
    """A tip as ``explain --json`` prints it."""
    question = tip.question
    return in_short(tip) | {
        "about": tip.about,
        "sources": [asdict(source) for source in tip.sources],
        "question": {
            "ask": question.ask,
            "choices": asdict(question.choices) if isinstance(question.choices, Number) else question.choices,
            "tempting": question.tempting,
            "refutation": question.refutation,
        },
        "parameters": [asdict(parameter) for parameter in tip.every_parameter],
        "slow": source_of(tip.slow),
        "fast": source_of(tip.fast),
        "limits": [asdict(limit) for limit in tip.limits],
        "inputs": source_of(tip.inputs),
        "also": [{"name": w.name, "code": source_of(w.run), "words": w.words} for w in tip.also],
        "slips": [{"guide": s.guide, "code": source_of(s.run), "words": s.words} for s in tip.slips],
        "figures": [asdict(figure) for figure in tip.figures],
        "elsewhere": [asdict(elsewhere) for elsewhere in tip.elsewhere],
        "widget": tip.picture.widget,
    }


def _predict(tip: Tip) -> str:
    return "\n".join([plain(tip.question.ask), *(f"- {choice}" for choice in tip.question.offered)])


def _code(terminal: Terminal, title: str, code: str) -> str:
    """Code is never wrapped: it would no longer run."""
    lines = "\n".join(f"  {line}".rstrip() for line in terminal.spell(code).splitlines())
    return terminal.section(title, lines)


def _slip(terminal: Terminal, slip: Slip) -> str:
    code = _code(terminal, f"A slip in the {GUIDES[slip.guide]}", source_of(slip.run))
    return f"{code}\n{terminal.prose(plain(slip.words), '  ')}"


def _other(terminal: Terminal, tip: Tip, way: Way) -> str:
    letter = tip.letters[way.name]
    code = _code(terminal, f"{letter}, {way.name}", source_of(way.run, letter))
    return f"{code}\n{terminal.prose(plain(way.words), '  ')}"


def _limits(terminal: Terminal, tip: Tip) -> str:
    rows = [(arguments(limit.setting), limit.verdict, plain(limit.words)) for limit in tip.limits]
    return terminal.table(rows, indent="  ")


def _settings(terminal: Terminal, tip: Tip) -> str:
    rows = []
    for p in tip.every_parameter:
        values = f"{p.low} to {p.high}" if isinstance(p, Size) else " or ".join(p.options)
        rows.append((arguments({p.name: p.default}), values, p.words))
    return terminal.table(rows, indent="  ")


def arguments(setting: Mapping[str, Any]) -> str:
    """A setting as typed on the command line."""
    given = [f"--device {v}" if name == "device" else f"--size {quote(f'{name}={v}')}" for name, v in setting.items()]
    return " ".join(given)


# run ----------------------------------------------------------------------------------------------------------------


def run_tip(
    terminal: Terminal, progress: Progress, slug: str, given: Sequence[str], device: str | None, *, as_json: bool
) -> str:
    """Both ways side by side, and the verdict on each claim. ``given`` is written NAME=VALUE."""
    tip = find(slug)
    setting: dict[str, Any] = dict(parse_size(tip, text) for text in given)
    if device is not None:
        setting["device"] = device
    result = run(tip, setting, progress=lambda done, total, left: progress.show(_under_way(done, total, left)))
    progress.clear()
    return terminal.json(result.to_dict()) if as_json else outcome(terminal, tip, result)


def run_there(
    terminal: Terminal, progress: Progress, slug: str, given: Sequence[str], device: str | None, *, as_json: bool
) -> str:
    """A tip here, and its ways in PyTorch: does it hold there?"""
    tip = find(slug)
    setting: dict[str, Any] = dict(parse_size(tip, text) for text in given)
    there = framework.run_in_torch(tip, setting, progress=lambda d, t, left: progress.show(_under_way(d, t, left)))
    here = run_tip(terminal, progress, slug, given, device, as_json=as_json)
    if as_json:
        both = {"schema": SCHEMA, "here": json.loads(here), "there": there.to_dict(), "version": framework.version()}
        return terminal.json(both)
    table = [_compared(terminal, there)] if there.claims and not there.failed else []
    timing = [there.timing.text()] if there.timing else []
    found = "\n\n".join([terminal.prose(framework.said(tip, there)), *table, *timing])
    return f"{here}\n\n{terminal.section(f'In {framework.version()}', found)}"


def parse_size(tip: Tip, text: str) -> tuple[str, str]:
    """The name and the value in ``n=1000``. Raises `TipError` if there is no such parameter."""
    name, equals, value = text.partition("=")
    if not equals:
        mend = f"write: --size {tip.parameters[0].name if tip.parameters else 'n'}={text}"
        raise TipError(f"--size {text}", "a size has a name", mend)
    names = [parameter.name for parameter in tip.every_parameter]
    near = get_close_matches(name, names, 1)
    if name not in names and near:
        raise TipError(f"--size {text}", f"{tip.slug} has no parameter {name!r}", f"did you mean {near[0]}={value}?")
    return name, value


def _under_way(done: int, total: int, left: float) -> str:
    return f"measuring, {done} of {total}, {left:.0f} s left"


def outcome(terminal: Terminal, tip: Tip, result: Result) -> str:
    """One run as text."""
    setting = ", ".join(f"{name}={value}" for name, value in result.setting.items())
    verdict = terminal.paint(result.verdict, "bold", _colour(result.verdict))
    said = [headline(result), APART] if not result.failed and disagree(result) else []
    reason = "".join(f"\n{terminal.prose(plain(words), '  ')}" for words in (*said, result.reason) if words)
    conditions = [terminal.prose(f"Measured on {result.timing.conditions.text()}")] if result.timing else []
    parts = [
        terminal.section(tip.title, terminal.prose(f"{tip.slug} with {setting}")),
        *([] if result.failed else [_compared(terminal, result)] if result.claims else []),
        f"Verdict: {verdict}{reason}",
        *([] if result.failed else [terminal.prose(plain(tip.why)), *_answered(terminal, tip, result)]),
        *_seen(terminal, tip, result),
        terminal.section("Where it fails", _limits(terminal, tip)),
        "\n".join([*conditions, "A and B in full:", f"  tinygrad-edu tips explain {tip.slug}"]),
    ]
    return "\n\n".join(parts)


def _compared(terminal: Terminal, result: Result) -> str:
    return terminal.table([_row(judged) for judged in result.claims], HEAD, indent="  ", right=(1, 2))


def _answered(terminal: Terminal, tip: Tip, result: Result) -> list[str]:
    """The question and its answer. It asks about a setting in which the tip holds."""
    asked = result.verdict == HOLDS
    return [terminal.section(plain(tip.question.ask), terminal.prose(_answer(tip, result), "  "))] if asked else []


def _answer(tip: Tip, result: Result) -> str:
    """The answer to the question here, and why the tempting one is wrong if it is."""
    question = tip.question
    right, tempting = question.answer(result), question.tempting
    wrong = f"\nNot “{question.said(tempting)}”: {plain(question.refutation)}"
    return f"Here: {question.said(right)}.{'' if question.right(tempting, right) else wrong}"


def _colour(verdict: str) -> str:
    return COLOURS.get(verdict, "red")


def _row(judged: Judged) -> tuple[str, str, str, str]:
    fact = judged.claim.fact
    about = context_text(judged.claim)
    if judged.letters != ("A", "B"):
        about = f"{about}, {judged.letters[0]} and {judged.letters[1]}"
    if judged.timing is not None:
        return judged.verdict, judged.timing.slow.text(), judged.timing.fast.text(), judged.words
    if judged.slow is None:
        return judged.verdict, "", "", judged.words
    a, b = (count_text(fact, value) for value in (judged.slow, judged.fast))
    return judged.verdict, a, b, judged.words if judged.shapes else about


def _seen(terminal: Terminal, tip: Tip, result: Result) -> list[str]:
    """What the ways did that are not only compared: errors, other ways, slips, things to look at, guides' figures."""
    if result.failed:
        return []
    rows = [outcome_text(tip, result, name) for name in tip.outcomes]
    rows += [f"{outcome_text(tip, result, way.name)} {plain(way.words)}" for way in tip.also]
    for slip, facts in zip(tip.slips, result.guides, strict=True):
        counted = ", ".join(_shown(name, facts[name]) for name in slip.shows)
        rows.append(f"A slip in the {GUIDES[slip.guide]}: {plain(slip.words)} Counted here: {counted}.")
    rows += figures(tip, result)
    rows += [series_text(*one) for one in series_of(tip, result).items()]
    said = [terminal.prose("\n".join(rows))] if rows else []
    looked = [(tip.letters[name], facts["shown"]) for name, facts in result.ways.items() if "shown" in facts]
    return [*said, *(_code(terminal, f"{shown['title']}, of {letter}", shown["text"]) for letter, shown in looked)]


def _shown(name: str, value: Any) -> str:
    return f"{'the right numbers' if name == 'equal' else fact_text(name)} {count_text(name, value)}"


# check --------------------------------------------------------------------------------------------------------------


def check_tips(
    terminal: Terminal, progress: Progress, slugs: Sequence[str], where: str = "tinygrad_edu", *, as_json: bool
) -> tuple[str, int]:
    """Test what tips say, all of them if none is named; in PyTorch, too, their ways that run there and their snippets.

    The exit status is 1 if anything is not so.
    """
    if not slugs:
        own_tips()  # raises for a faulty one, which `all_tips` leaves out
    tips = [find(slug) for slug in slugs] or list(all_tips())
    found = []
    for done, tip in enumerate(tips):
        progress.show(f"checking {tip.slug}, {done} of {len(tips)}")
        one = check(tip)
        if where == "torch":
            there = () if tip.torch is None else framework.faults_in_torch(tip)
            one = replace(one, faults=(*one.faults, *there, *faults_of_snippets(tip)))
        found.append(one)
    progress.clear()
    status = 0 if all(one.passed for one in found) else 1
    return (terminal.json(verdicts(found)) if as_json else checked(terminal, found)), status


def verdicts(found: Sequence[Checked]) -> dict[str, Any]:
    """Checks as ``check --json`` prints them."""
    tips = [
        {
            "slug": one.slug,
            "passed": one.passed,
            "verdict": one.result.verdict,
            "faults": one.faults,
            "limits": [{"setting": limit.setting, "verdict": limit.verdict} for limit in one.limits],
        }
        for one in found
    ]
    return {"schema": SCHEMA, "passed": all(one.passed for one in found), "tips": tips}


def checked(terminal: Terminal, found: Sequence[Checked]) -> str:
    """Checks as text: a line each, and what is wrong below it."""
    lines = []
    for one in found:
        sign = terminal.paint(terminal.spell("●" if one.passed else "▲"), "blue" if one.passed else "red")
        ended = f", with {plural(len(one.limits), 'limit')}"
        words = f"{one.result.verdict}{ended}" if one.passed else "FAILED"
        lines.append(f"{sign} {one.slug}: {words}")
        lines += [terminal.prose(fault, "    ") for fault in one.faults]
    failed = [one.slug for one in found if not one.passed]
    total = (
        f"{len(failed)} of {len(found)} failed: {', '.join(failed)}" if failed else f"{len(found)} of {len(found)} hold"
    )
    return "\n".join([*lines, terminal.prose(total)])
