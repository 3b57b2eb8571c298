"""A tip in words: the prediction, the findings, the limits, and the text twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...common.wording import plain
from ...tips import Limit, Result, Tip
from ...tips.findings import (
    APART,
    disagree,
    figures,
    headline,
    number,
    outcome_text,
    series_of,
    series_text,
    verdict_text,
)
from ...tips.words import count_text, fact_text
from .bars import row_text
from .findings import claim_verdict, equal_text, predicted, reason_text, said, there_text
from .model import WAYS, BrowserState, Visit, way

WAITING = "The result is not on this page: it is measured after your prediction."


def what_changed(tip: Tip, visit: Visit, result: Result) -> str:
    """Which settings or code the result belongs to, once those above have been changed."""
    if dict(result.setting) != tip.setting(visit.setting):
        return f"The result below is for {setting_text(result.setting)}."
    return "The result below is for the code as it was." if visit.code != visit.ran else ""


def setting_text(setting: Mapping[str, Any]) -> str:
    """The parameters and their values."""
    return ", ".join(f"`{name}` = {value}" for name, value in setting.items() if name != "device")


def limit_text(limit: Limit) -> str:
    """The setting in which the tip fails."""
    return ", ".join(f"{name} = {value}" for name, value in limit.setting.items())


def shown_fact(name: str, value: Any) -> str:
    """One count of the guide's own code."""
    said = "the same numbers as B" if name == "equal" else fact_text(name)
    return f"{said}: {count_text(name, value)}"


def text(tip: Tip, state: BrowserState) -> str:
    """The text twin."""
    visit, result = state.visit, state.visit.result
    lines = [heading(tip, state), plain(tip.question.ask)]
    lines += offered(tip, visit)
    for letter, name in WAYS:
        source = way(tip, visit, name)
        lines += [f"{letter}{', edited' if name in visit.code else ''}:", *(f"  {row}" for row in source.split("\n"))]
    if result is None:
        lines.append("Run it to see." if visit.committed else WAITING)
    else:
        lines += _result_lines(tip, visit, result)
    shown = (
        [] if state.alone else ["", "tips:", *(f"  {t.slug}: {state.visit_of(t.slug).state}" for t in state.shown())]
    )
    message = [f"▲ {state.message}"] if state.message else []
    return "\n".join([*lines, *shown, *message])


def _result_lines(tip: Tip, visit: Visit, result: Result) -> list[str]:
    lines = [f"with {plain(setting_text(result.setting))}: {headline(result)}"]
    if result.failed:
        return [*lines, f"▲ {plain(reason_text(tip, result))}"]
    big, words = number(tip, result)
    lines += [
        f"{big} {plain(words)}",
        *([plain(reason_text(tip, result))] if result.reason else []),
        *([APART] if disagree(result) else []),
        *(plain(words) for words in predicted(tip, visit, result)),
        *(f"  {row_text(j)}: {claim_verdict(j, result)}" for j in result.claims),
        *([] if tip.outcomes else [f"  equal {equal_text(tip, result)}"]),
        *(f"  {outcome_text(tip, result, way.name)} {plain(way.words)}" for way in tip.also),
        *(f"  {words}" for words in figures(tip, result)),
        *(f"  {series_text(*one)}" for one in series_of(tip, result).items()),
        *(f"  {words}" for words in there_text(tip, visit)),
        f"explain: {plain(tip.explain)}",
        *([plain(tip.why), plain(tip.about)] if visit.explained else []),
    ]  # fmt: skip
    ends = ((limit_text(tip.limits[place]), found) for place, found in visit.ends.items())
    return [
        *lines,
        *(f"with {setting}: {verdict_text(found)} {plain(reason_text(tip, found))}" for setting, found in ends),
    ]


def heading(tip: Tip, state: BrowserState) -> str:
    """Widget and tip; the title too, once it no longer gives the result away."""
    return f"{name_of(state)}: {tip.slug}{f', {tip.title}' if state.visit.result is not None else ''}"


def spoken(tip: Tip, visit: Visit) -> str:
    """What is read aloud after a commit, and after a run."""
    if not visit.committed:
        return ""
    if visit.result is None:
        return f"{said(tip, visit)} The next step is Run."
    found = visit.result
    return " ".join(
        [headline(found), plain(reason_text(tip, found)) if found.failed else plain(predicted(tip, visit, found)[0])]
    )


def name_of(state: BrowserState) -> str:
    """The widget's name: a single tip is not a browser."""
    return "Tip" if state.alone else "TipBrowser"


def summary(tip: Tip, state: BrowserState) -> str:
    """What a saved notebook shows: the same on every machine."""
    visit, asked = state.visit, f"{heading(tip, state)}\n{plain(tip.question.ask)}"
    if visit.result is not None:
        return f"{asked}\n{visit.result.verdict}"
    return "\n".join([asked, *offered(tip, visit), "Run it to see." if visit.committed else WAITING])


def offered(tip: Tip, visit: Visit) -> list[str]:
    """What can be predicted, and what was."""
    question, draft = tip.question, visit.draft
    rows = [f"  {'◇' if choice == draft else ' '} {choice}" for choice in question.offered]
    return [*rows, f"  ◇ {question.said(draft)}"] if isinstance(draft, float) else rows
