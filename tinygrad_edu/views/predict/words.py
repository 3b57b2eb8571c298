"""A prediction in words: what is hidden, what was predicted, what came out, and the text twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...common.wording import number, plain
from .model import GateState, Question

WAITING = "Nothing is computed before you commit to a prediction."
NOTHING_RUN = "nothing is computed yet"
RUN_IT = "Run this notebook to answer."
LEVEL = "a level line, whose points the arrow keys move"
DRAW = "Draw your prediction here, from left to right."


def tick_text(value: float) -> str:
    """A round number without unneeded zeros."""
    return f"{value:g}".replace("-", "−")


def tick_texts(values: Sequence[float]) -> list[str]:
    """Round numbers, each with as many digits as tell it from the others."""
    forms = ([f"{value:.{digits}g}".replace("-", "−") for value in values] for digits in range(6, 18))
    found = next((form for form in forms if len(set(form)) == len(set(values))), None)
    return found or [repr(value).replace("-", "−") for value in values]


def spoken(q: Question, value: Any) -> str:
    """A prediction or a result in words."""
    if value is None:
        return "–"
    if q.kind == "choice":
        return str(value)
    if q.kind == "number":
        return f"{number(value)}{q.unit}"
    return ", ".join(f"{x}: {number(y)}{q.unit}" for x, y in zip(tick_texts(q.xs), value, strict=True))


def describe(state: GateState) -> str:
    """What is known so far, in a sentence."""
    q = state.question
    if state.outcome is None:
        return WAITING + (f" You are about to predict {spoken(q, state.draft)}." if state.draft is not None else "")
    kind = (state.outcome.badge or "result").capitalize()
    told = f"You predicted {spoken(q, state.draft)}. {kind}: {spoken(q, state.outcome.value)}"
    return f"{told}, {hit(state)}." if hit(state) else f"{told}."


def hit(state: GateState) -> str:
    """``as you predicted``, of a choice; "" for another one, and for a number or a curve, which are near or far."""
    chosen = state.question.kind == "choice" and state.outcome is not None and state.outcome.value == state.draft
    return "as you predicted" if chosen else ""


def wrong_because(state: GateState, choice: str) -> str:
    """Why a choice is not the result; "" if nothing is said about it, or before the commit."""
    return dict(state.outcome.wrong).get(choice, "") if state.outcome is not None else ""


def text(state: GateState) -> str:
    """The text twin."""
    q = state.question
    lines = [f"PredictGate: {plain(q.ask)}"]
    if q.kind == "choice":
        for choice in q.choices:
            yours = "◇" if choice == state.draft else " "
            true = "●" if state.outcome is not None and choice == state.outcome.value else " "
            lines.append(f"  {yours}{true} {choice}")
            if words := wrong_because(state, choice):
                lines.append(f"       {plain(words)}")
    else:
        axis = f"{q.y_label} from {tick_text(q.low)} to {tick_text(q.high)}{q.unit}".strip()
        over = f"over {q.x_label} {', '.join(tick_texts(q.xs))}".replace("  ", " ") if q.xs else ""
        lines.append(f"  {axis} {over}".rstrip())
    if state.outcome is None:
        lines.append(WAITING)
        if state.draft is not None and q.kind != "choice":
            lines.append(f"you, not committed: {spoken(q, state.draft)}")
    else:
        lines += [
            f"you: {spoken(q, state.draft)}",
            f"{state.outcome.badge or 'result'}: {spoken(q, state.outcome.value)}"
            + f", {hit(state)}" * bool(hit(state)),
        ]
        if state.outcome.why:
            lines.append(plain(state.outcome.why))
    if state.message:
        lines.append(f"▲ {state.message}")
    return "\n".join(lines)
