"""How a timeline is drawn: a row for each lane, work with a point in the direction of time, hatching where none is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...common.wording import PREFIXES
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import UI_12, Canvas, hatch, shorten, wrap_text
from . import words
from .model import HOST, Item, QueueState, Run, gaps, is_stream

LEFT, ROW, TALL = 88.0, 30.0, 20.0  # the lanes' names; from one row to the next; the height of work
NARROWEST = 2.0  # pixels: narrower pieces that touch are drawn together


@dataclass(frozen=True)
class Scale:
    """Time from left to right."""

    left: float
    right: float
    end: int  # nanoseconds

    def at(self, time: float) -> float:
        """Where a time is."""
        return self.left + (self.right - self.left) * time / self.end

    def width(self, item: Item) -> float:
        """How wide a piece of work is."""
        return self.at(item.end) - self.at(item.start)


def draw(runs: Sequence[Run], width: int, head: Sequence[str] = (), picked: tuple[int, int] | None = None) -> Figure:
    """All runs below each other on one scale, under lines of words. Work can be pressed where there are any."""
    canvas, longest = Canvas(width), max(1, *(run.end for run in runs))
    step = _step(longest, 6 if width >= WIDE else 4)
    scale = Scale(LEFT, width - 74.0, math.ceil(longest / step) * step)
    y = 0.0
    for i, line in enumerate(head):
        for part in wrap_text(line, int(width / (UI_12 if i else 8.0))):
            canvas.text(0, y + 13, part, "" if i else "b f13")
            y += 18
    y += 8.0 * bool(head)
    for which, run in enumerate(runs):
        if run.name:
            canvas.text(0, y + 13, shorten(run.name, int(width / UI_12)), "b f13")
            y += 22
        y = _run(canvas, run, scale, y, which if head else None, picked) + 14
    _axis(canvas, scale, step, y)
    return Figure(canvas, "Host and device over time", words.describe(runs))


def _step(longest: int, ticks: int) -> int:
    """The distance of ticks: a round number of nanoseconds."""
    power = 10 ** math.floor(math.log10(max(longest / ticks, 1)))
    return next(int(power * m) for m in (1, 2, 5, 10) if longest / (power * m) <= ticks)


def _axis(canvas: Canvas, scale: Scale, step: int, y: float) -> None:
    """Dotted, because the time is simulated."""
    canvas.line(scale.left, y, scale.right, y, "dotted")
    seconds = scale.end / 1e9
    size, prefix = next(
        (one for one in (*PREFIXES, (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")) if seconds >= one[0]), (1e-9, "n")
    )
    for tick in range(0, scale.end + 1, step):
        x = scale.at(tick)
        canvas.line(x, y, x, y + 5, "rule")
        told = f"{tick / 1e9 / size:g}"
        canvas.text(x, y + 19, f"{told} {prefix}s" if tick == scale.end else told, "t2", "middle")


def _run(
    canvas: Canvas, run: Run, scale: Scale, y: float, which: int | None, picked: tuple[int, int] | None
) -> float:  # fmt: skip
    """One run. Returns its lower edge."""
    places, around = {id(item): place for place, item in enumerate(run.items)}, None
    top = y
    below = [lane for lane in run.lanes if lane != HOST]
    if below:
        canvas.rect(LEFT - 6, y + ROW - 4, canvas.width - LEFT + 6, ROW * len(below) + 4, "floor")
        canvas.line(LEFT - 6, y + ROW - 4, canvas.width, y + ROW - 4, "floortop")
    for lane in run.lanes:
        canvas.text(LEFT - 14, y + 15, shorten(words.lane_text(lane), 12), "", "end")
        for gap in gaps(run) if is_stream(lane) else ():
            x1, x2 = scale.at(gap.start), scale.at(gap.end)
            if x2 - x1 > 3:
                hatch(canvas, x1 + 1, y + 2, x2 - x1 - 2, TALL)
        for group in _groups(run.of(lane), scale):
            act = None if which is None else f"{which}:{places[id(group[0])]}"
            on = picked is not None and which == picked[0] and run.items[picked[1]] in group
            _piece(canvas, group, scale, y + 2, act, on)
            around = (
                (scale.at(group[0].start) - 2, y, scale.at(group[-1].end) - scale.at(group[0].start) + 4)
                if on
                else around
            )
        y += ROW
    if around is not None:
        canvas.rect(*around, TALL + 4, "frame")
    x = scale.at(run.end)
    canvas.line(x, top - 2, x, y - 2, "span")
    canvas.text(x + 7, top + 15, words.time_text(run.end), "b")
    canvas.text(LEFT, y + 14, shorten(words.summary(run), int((canvas.width - LEFT) / UI_12)), "t2")
    return y + 18


def _groups(items: list[Item], scale: Scale) -> list[list[Item]]:
    """Pieces of one lane; narrow ones that touch are one group."""
    found: list[list[Item]] = []
    for item in items:
        last = found[-1][-1] if found else item
        touch = scale.at(item.start) - scale.at(last.end) < 1 and last.kind == item.kind
        if found and touch and max(scale.width(last), scale.width(item)) < NARROWEST:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _piece(canvas: Canvas, group: list[Item], scale: Scale, y: float, act: str | None, on: bool) -> None:
    """Work, with its name in it where there is room. ``act`` is what is sent where it can be pressed."""
    item = group[0]
    x1, x2 = scale.at(item.start), max(scale.at(group[-1].end), scale.at(item.start) + 1)
    told = words.item_text(item) if len(group) == 1 else f"{len(group)} pieces of work, such as {words.item_text(item)}"
    acts = {} if act is None else {"data_act": "pick", "data_value": act, "role": "button", "tabindex": -1}
    canvas.open(**acts, data_link=f"q{act}{item.lane}{item.start}", data_tip=told, aria_label=told, data_current=on)
    if item.kind == "wait":
        canvas.rect(x1, y, x2 - x1, TALL, "ghost")
    elif x2 - x1 < 9 or len(group) > 1:
        canvas.rect(x1, y, x2 - x1, TALL, _class(item))
    else:
        point, bottom = f"L{x2:.1f} {y + TALL / 2:.1f}L{x2 - 5:.1f} {y + TALL:.1f}", y + TALL
        canvas.path(f"M{x1:.1f} {y:.1f}H{x2 - 5:.1f}{point}H{x1:.1f}Z", _class(item), bottom)
    label = "wait" if item.kind == "wait" else item.name
    if len(group) == 1 and len(label) * UI_12 + 10 <= x2 - x1:
        canvas.text((x1 + x2) / 2 - 2, y + 14, label, "t2" if item.kind == "wait" else "", "middle")
    if act is not None:
        canvas.rect(x1 - 1, y, max(x2 - x1 + 2, 4), TALL, "hit")
    canvas.close()


def _class(item: Item) -> str:
    return "work-host" if item.lane == HOST else {"kernel": "work-kernel", "copy": "work-copy"}[item.kind]


# The widget ----------------------------------------------------------------------------------------------------------


def frame(state: QueueState, working: bool = False) -> Frame:
    """The whole widget."""
    shown = bool(state.runs)
    return Frame(
        "QueueTimeline", ("device", "queue"), words.question(state), _stage(state, WIDE, working),
        _stage(state, NARROW, working), words.why(state), words.text(state, working), words.conditions(state),
        "simulated" if shown else None, tuple(_controls(state, working)),
        tip="Press or hover a piece of work to read what it is, and what kept it waiting." if shown else None,
        summary=words.summary_text(state), status=words.verdict(state) if shown else "", waiting=not shown,
    )  # fmt: skip


def _stage(state: QueueState, width: int, working: bool) -> Figure:
    if state.runs:
        head = [words.verdict(state), *filter(None, [words.picked_text(state)])]
        return draw(state.runs, width, head, state.picked)
    canvas = Canvas(width)
    canvas.rect(1, 1, width - 2, 120, "hole")
    canvas.text(width / 2, 66, words.hidden(state, working), "f13 t2", "middle")
    return Figure(canvas, "Hidden until predicted", words.hidden(state, working))


def _controls(state: QueueState, working: bool) -> list[Control]:
    again = Control("button", "reset", "Ask again", push=True, key="r")
    knobs = [Control("radio", f"knob:{k.name}", k.name, str(k.value), tuple(map(str, k.options))) for k in state.knobs]
    if not state.begun and not state.runs:
        return [
            Control("radio", "draft", "", state.draft, state.choices, hint="your prediction"),
            Control("button", "commit", "Commit", main=True, disabled=state.draft is None),
        ]
    if not state.runs:
        return [] if working else [again]
    machine = [Control("radio", "machine", "machine", state.machine, state.machines)] if state.machines else []
    return [Control("button", "gap", "Longest gap", main=True, key="g"), *knobs, *machine, again]
