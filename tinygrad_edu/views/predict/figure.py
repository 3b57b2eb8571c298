"""How a prediction is drawn: first an empty frame for the result, then both together."""

from __future__ import annotations

import math

from ...common.wording import exact, number, plain
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, Canvas, shorten, wrap_text
from .model import GateState, Question, span
from .words import DRAW, LEVEL, NOTHING_RUN, RUN_IT, WAITING, describe, hit, text, tick_texts, wrong_because


def draw(state: GateState, width: int, still: bool = False) -> Figure:
    """An empty frame for the result, or the prediction and the result together.

    A ``still`` picture has no controls beside it, so the choices are in it.
    """
    q = state.question
    canvas = Canvas(width)
    if q.kind == "curve":
        _curve(canvas, state, width)
    elif state.outcome is None and still:
        _offer(canvas, q)
    elif state.outcome is None:
        _hole(canvas, width)
    elif q.kind == "choice":
        _choices(canvas, state)
    else:
        _axis(canvas, state, width)
    return Figure(canvas, "Prediction and result" if state.outcome else "Hidden until predicted", describe(state))


def _hole(canvas: Canvas, width: int) -> None:
    canvas.rect(1, 1, width - 2, 118, "hole")
    canvas.text(width / 2, 64, WAITING, "f13 t2", "middle")


def _offer(canvas: Canvas, q: Question) -> None:
    """What can be answered, and how."""
    y = 4.0
    for choice in q.choices:
        canvas.circle(46, y + 16, 6, "hole")
        canvas.text(68, y + 20, shorten(choice, 46), "f13")
        y += 30
    canvas.text(40, y + 20, RUN_IT, "f13 b")
    canvas.text(40, y + 40, WAITING, "f13 t2")
    canvas.height = y + 48


def _choices(canvas: Canvas, state: GateState) -> None:
    """Each choice, marked if it is the learner's or the result, and why it is wrong if that is known."""
    assert state.outcome is not None
    y, room = 4.0, int((canvas.width - 68) / 6.4)
    for choice in state.question.choices:
        yours, true = choice == state.draft, choice == state.outcome.value
        canvas.text(68, y + 20, shorten(choice, 46), "f13 b" if true else "f13")
        if yours:
            canvas.path(f"M12 {y + 16}l7 -7l7 7l-7 7z", "you")
        if true:
            canvas.circle(46, y + 16, 6, "result")
        for line in wrap_text(words, room) if (words := plain(wrong_because(state, choice))) else ():
            canvas.text(68, y + 38, line, "t2")
            y += 17
        y += 30 + 4 * bool(words)
    canvas.height = y
    canvas.path(f"M12 {y + 14}l6 -6l6 6l-6 6z", "you", y + 22)
    canvas.text(30, y + 18, "you", "t2")
    canvas.circle(74, y + 14, 5, "result")
    canvas.text(85, y + 18, state.outcome.badge or "what happens", "t2")
    canvas.text(canvas.width - 4, y + 18, hit(state), "b", "end")


def scale(low: float, high: float) -> list[float]:
    """Five to nine round ticks."""
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step = next(step * m for m in (1, 2, 2.5, 5, 10) if (high - low) / (step * m) <= 8)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _axis(canvas: Canvas, state: GateState, width: int) -> None:
    q, outcome = state.question, state.outcome
    assert outcome is not None
    low, high = span(state)
    left, right = 20.0, width - 20.0

    def place(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    canvas.line(left, 74, right, 74, "axis")
    ticks = scale(low, high)
    for tick, round_text in zip(ticks, tick_texts(ticks), strict=True):
        canvas.line(place(tick), 74, place(tick), 79, "rule")
        grouped = float(tick).is_integer() and abs(tick) < 1e9
        words = f"{exact(tick) if grouped else round_text}{q.unit}"
        canvas.text(place(tick), 94, words, "t2", "end" if place(tick) + 3.5 * len(words) > width else "middle")
    you, real = place(state.draft), place(outcome.value)
    canvas.path(f"M{you - 6:.1f} 60l6 -6l6 6l-6 6z", "you")
    canvas.circle(real, 60, 5, "result")
    _label(canvas, you, 40, f"you, {number(state.draft)}{q.unit}", "", left, right)
    _label(canvas, real, 22, f"{outcome.badge or 'result'}, {number(outcome.value)}{q.unit}", "b", left, right)
    canvas.height = 100


def _label(canvas: Canvas, x: float, y: float, text: str, cls: str, left: float, right: float) -> None:
    half = len(text) * 3.8
    anchor = "start" if x - half < left - 12 else "end" if x + half > right + 12 else "middle"
    canvas.text(x, y, text, cls, anchor)


def _curve(canvas: Canvas, state: GateState, width: int) -> None:
    q = state.question
    left, right, top, bottom = 56.0, width - 76.0, 26.0, 226.0  # on the right, room for the labels of both lines
    breadth = (q.xs[-1] - q.xs[0]) or 1.0
    xs = [left + (x - q.xs[0]) / breadth * (right - left) for x in q.xs]
    low, high = span(state)

    def place(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - top)

    canvas.line(left, bottom, right, bottom, "axis")
    ticks = scale(low, high)
    for tick, words in zip(ticks, tick_texts(ticks), strict=True):
        canvas.line(left - 4, place(tick), left, place(tick), "rule")
        canvas.text(left - 8, place(tick) + 4, f"{words}{q.unit}", "m t2", "end")
    free = 0.0  # where the next label may begin
    for x, words in zip(xs, tick_texts(q.xs), strict=True):
        half = len(words) * MONO_12 / 2
        if x - half >= free:
            canvas.line(x, bottom, x, bottom + 5, "rule")
            canvas.text(x, bottom + 19, words, "m t2", "middle")
            free = max(x + half + 8, x + (right - left) / 9)
    canvas.text(left, 12, q.y_label, "t2")
    canvas.text(right, bottom + 36, q.x_label, "t2", "end")
    canvas.line(left, top, left, bottom, "hair")
    mine = state.draft
    if state.outcome is None:
        canvas.open(
            data_draw="draw", data_left=left, data_right=right, data_top=top, data_bottom=bottom, data_count=len(xs)
        )
        canvas.rect(left, top, right - left, bottom - top, "hole")
        canvas.close()
        if mine is None:
            canvas.text((left + right) / 2, (top + bottom) / 2, DRAW, "f13 t2", "middle")
    if mine is not None:
        canvas.path("M" + "L".join(f"{x:.1f} {place(v):.1f}" for x, v in zip(xs, mine, strict=True)), "youline")
        for i, (x, v) in enumerate(zip(xs, mine, strict=True)):
            if state.outcome is None:
                words = f"your height at {q.x_label or 'x'} {number(q.xs[i])}: {number(v)}"
                canvas.open(tabindex=0, role="slider", aria_label=words, data_act="nudge", data_value=i,
                            aria_valuenow=number(v), aria_valuemin=low, aria_valuemax=high)  # fmt: skip
            canvas.path(f"M{x - 5:.1f} {place(v):.1f}l5 -5l5 5l-5 5z", "you")
            if state.outcome is None:
                canvas.close()
        real = mine if state.outcome is None else state.outcome.value
        shown = [i for i in range(len(xs)) if math.isfinite(real[i])] or [len(xs) - 1]
        widest = max(shown, key=lambda i: (abs(mine[i] - real[i]), i))
        mine_above = not mine[widest] < real[widest]
        canvas.text(xs[widest] + 9, place(mine[widest]) + (-8 if mine_above else 16), "you")
    if state.outcome is not None:
        found = state.outcome.value
        heights = {i: place(v) for i, v in enumerate(found) if math.isfinite(v)}
        pieces = "".join(  # the line breaks where a result is not a finite number
            f"{'L' if i - 1 in heights else 'M'}{xs[i]:.1f} {h:.1f}" for i, h in heights.items()
        )
        if pieces:
            canvas.path(pieces, "resultline")
        for i in set(range(len(xs))) - set(heights):
            canvas.text(xs[i], bottom - 6 if math.isnan(found[i]) else top + 10, number(found[i]), "m b", "middle")
        for i, h in heights.items():
            canvas.circle(xs[i], h, 4, "result")
        if mine is not None:
            at = heights.get(widest, bottom) + (16 if mine_above else -8)
            canvas.text(xs[widest] + 9, at, state.outcome.badge or "result", "b")
    canvas.height = bottom + 44


def frame(state: GateState, name: str = "PredictGate", still: bool = False, about: tuple[str, ...] = ()) -> Frame:
    """The whole widget, or what is kept of it without a kernel. ``about`` are the stages that the question is about."""
    q = state.question
    controls: list[Control] = []
    if state.outcome is None:
        if q.kind == "choice":
            controls.append(Control("radio", "draft", "", state.draft, q.choices, hint="your prediction"))
        elif q.kind == "number":
            label = f"your prediction{f', in {q.unit.strip()}' if q.unit.strip() else ''}"
            controls.append(
                Control("number", "draft", label, "" if state.draft is None else f"{state.draft!r}".removesuffix(".0"))
            )
        controls.append(Control("button", "commit", "Commit", main=True, disabled=state.draft is None))
        if q.kind == "curve":
            again = Control("button", "clear", "Draw again")
            controls.append(again if state.draft is not None else Control("button", "level", "Start level", hint=LEVEL))
    else:
        controls.append(Control("button", "reset", "Ask again", push=True))
    outcome = state.outcome
    conditions = outcome.conditions if outcome else NOTHING_RUN
    return Frame(
        name, about, q.ask, draw(state, WIDE, still), draw(state, NARROW, still), outcome.why if outcome else "",
        text(state), conditions or "computed when you committed", outcome.badge if outcome else None, tuple(controls),
        message=state.message, status=describe(state) if outcome else "", waiting=not outcome,
    )  # fmt: skip
