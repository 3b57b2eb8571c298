"""How a timeline is drawn: a row for each lane, work with a point in the direction of time, hatching where none is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...common.wording import PREFIXES
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import UI_12, Canvas, hatch, shorten, wrap_text
from . import words
from .gaps import HOST, Gap, Item, is_stream
from .model import QueueState, Run, most_kernels

LEFT, ROW, TALL = 88.0, 30.0, 20.0  # the lanes' names, at least; from one row to the next; the height of work
LETTERS = 22  # of a lane's name that are drawn
RIGHT = 66.0  # for the whole time, beside the end
NARROWEST = 2.0  # pixels: narrower pieces that nearly touch are drawn together
LONGEST = 5  # lines of a remark; the text has all of it
COLUMN = 24.0  # pixels: as wide is one drawing of many pieces
ARROWS = 40  # of which work waits for which, at most: more would hide it
LOOKS = ("host", "host waits", "copy", "kernel", "no kernel runs")
ASKED = "the same copy, in its stream"


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


@dataclass(frozen=True)
class Hand:
    """What can be pressed in a run, and what has been."""

    which: int
    picked: Item | None = None
    gap: Gap | None = None
    entry: Item | Gap | None = None  # where Tab comes in; arrows lead on

    def button(self, act: str, place: int, inside: bool) -> dict[str, Any]:
        """The attributes of what can be pressed."""
        tab = 0 if inside else -1
        return {"data_act": act, "data_value": f"{self.which}:{place}", "role": "button", "tabindex": tab,
                "data_rove": "true"}  # fmt: skip


def draw(
    runs: Sequence[Run], width: int, head: Sequence[str] = (), picked: Item | None = None, gap: Gap | None = None
) -> Figure:
    """All runs below each other on one scale, under lines of words. Work can be pressed where there are any."""
    canvas, longest = Canvas(width), max(1, *(run.end for run in runs))
    names = [words.lane_text(lane)[:LETTERS] for run in runs for lane in run.lanes]
    scale = Scale(max(LEFT, *(20 + len(name) * UI_12 for name in names)), width - RIGHT, longest)
    y = 0.0
    canvas.open()  # of their own, so that more lines move no other element to another place
    for i, line in enumerate(head):
        for part in wrap_text(line, int(width / (UI_12 if i else 8.0))):
            canvas.text(0, y + 13, part, "" if i else "b f13")
            y += 18
    canvas.close()
    y += 8.0 * bool(head)
    for which, run in enumerate(runs):
        if run.name:
            canvas.text(0, y + 13, shorten(run.name, int(width / UI_12)), "b f13")
            y += 22
        drawn = gap if gap is not None and any(_is_of(lane, gap.device) for lane in run.lanes) else None
        entry = picked or drawn or next(work[0] for work in run.by_lane.values() if work)
        y = _run(canvas, run, scale, y, Hand(which, picked, gap, entry) if head else None) + 14
    _axis(canvas, scale, _step(longest, 6 if width >= WIDE else 4), y)
    if head:
        _legend(canvas, y + 38, any(item.stream for run in runs for item in run.items))
    return Figure(canvas, words.TITLE, words.describe(runs))


def _legend(canvas: Canvas, y: float, streams: bool) -> None:
    """What the looks of work mean."""
    x = 0.0
    for name in (*LOOKS, *(ASKED,) * streams):
        if x + 28 + len(name) * UI_12 > canvas.width:
            x, y = 0.0, y + 20
        if name == "no kernel runs":
            hatch(canvas, x, y, 16, 12)
        else:
            canvas.rect(x, y, 16, 12, {"host waits": "ghost", ASKED: "work-asked"}.get(name, f"work-{name}"))
        canvas.text(x + 22, y + 10, name, "t2")
        x += 40 + len(name) * UI_12


def _step(longest: int, ticks: int) -> int:
    """The distance of ticks: a round number of nanoseconds."""
    power = 10 ** math.floor(math.log10(max(longest / ticks, 1)))
    return next(int(power * m) for m in (1, 2, 5, 10) if longest / (power * m) <= ticks)


def _axis(canvas: Canvas, scale: Scale, step: int, y: float) -> None:
    """Dotted, because the time is simulated."""
    canvas.line(scale.left, y, scale.right, y, "dotted")
    last = scale.end // step * step
    size, prefix = next(
        (one for one in (*PREFIXES, (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")) if last / 1e9 >= one[0]), (1e-9, "n")
    )
    for tick in range(0, last + 1, step):
        x = scale.at(tick)
        canvas.line(x, y, x, y + 5, "rule")
        told = f"{tick / 1e9 / size:g}"
        canvas.text(x, y + 19, f"{told} {prefix}s" if tick == last else told, "t2", "middle")


def _run(canvas: Canvas, run: Run, scale: Scale, y: float, hand: Hand | None) -> float:
    """One run. Returns its lower edge."""
    top, left, below = y, scale.left, [lane for lane in run.lanes if lane != HOST]
    if below:
        canvas.rect(left - 6, y + ROW - 4, canvas.width - left + 6, ROW * len(below) + 4, "floor")
        canvas.line(left - 6, y + ROW - 4, canvas.width, y + ROW - 4, "floortop")
    rows = {lane: y + ROW * place for place, lane in enumerate(run.lanes)}
    for lane, row in rows.items():
        canvas.text(left - 14, row + 15, shorten(words.lane_text(lane), LETTERS), "", "end")
        computes = any(item.kind == "kernel" for item in run.by_lane[lane])
        for place, gap in enumerate(run.gaps):
            if not (computes and _is_of(lane, gap.device)):
                continue
            if (hand is not None and gap is hand.entry) or scale.at(gap.end) - scale.at(gap.start) > 3:
                acts = {} if hand is None else hand.button("idle", place, gap is hand.entry)
                _gap(canvas, gap, scale, row + 2, acts)
        for group in _groups(run.by_lane[lane], scale):
            _piece(canvas, run, group, scale, row + 2, hand)
        for item in run.copies_of[lane]:
            _asked(canvas, item, scale, row + 2)
    _order(canvas, run, scale, rows)
    if hand is not None:
        _marks(canvas, run, scale, rows, hand)
    x = scale.at(run.end)
    bottom = y + ROW * len(rows)
    canvas.line(x, top - 2, x, bottom - 2, "span")
    canvas.text(x + 7, top + 15, words.time_text(run.end), "b")
    # A small example has room for two lines under each run.
    lines = [(part, "t2") for part in wrap_text(words.summary(run), int((canvas.width - left) / UI_12))]
    lines = lines if hand is not None else lines[:2]
    for remark in words.remarks(run):  # the text has all of it
        room = int((canvas.width - left) / UI_12)
        lines += [(part, "ta") for part in wrap_text(shorten(remark, LONGEST * room - 30), room)]
    for line, kind in lines:
        canvas.text(left, bottom + 14, line, kind)
        bottom += 17
    return bottom + 2


def _is_of(lane: str, device: str) -> bool:
    return is_stream(lane) and lane.startswith(f"{device} ")


def _marks(canvas: Canvas, run: Run, scale: Scale, rows: dict[str, float], hand: Hand) -> None:
    """A frame around what is picked, and a line from what it waited for."""
    item, gap = hand.picked, hand.gap
    if gap is not None and gap in run.gaps:
        x1, x2 = scale.at(gap.start), scale.at(gap.end)
        for lane in run.lanes:
            if _is_of(lane, gap.device):
                canvas.rect(x1 - 1, rows[lane], max(x2 - x1 + 2, 4), TALL + 4, "frame")
    if item is None or id(item) not in run.places:
        return
    canvas.rect(scale.at(item.start) - 2, rows[item.lane], max(scale.width(item), 1) + 4, TALL + 4, "frame")
    reason = run.reasons.of(item) if item.lane != HOST else None
    if reason is not None and reason.lane != item.lane:
        _arrow(canvas, scale.at(item.start), rows[reason.lane], rows[item.lane], "span")


def _order(canvas: Canvas, run: Run, scale: Scale, rows: dict[str, float]) -> None:
    """An arrow to work that begins when work of another stream ends."""
    found = [(item, run.reasons.of(item)) for item in run.items if item.lane != HOST and item.duration]
    waited = [(item, reason) for item, reason in found
              if reason is not None and reason.lane != HOST and reason.queue != item.queue]  # fmt: skip
    for item, reason in waited if len(waited) <= ARROWS else []:
        _arrow(canvas, scale.at(item.start), rows[reason.queue], rows[item.queue], "waitline")


def _arrow(canvas: Canvas, x: float, start: float, end: float, kind: str) -> None:
    """From one row to another."""
    low = end > start
    y1, y2 = start + (TALL + 2 if low else 2), end + (2 if low else TALL + 2)
    tip = -6 if low else 6
    canvas.line(x, y1, x, y2, kind)
    canvas.path(f"M{x - 4:.1f} {y2 + tip:.1f}L{x:.1f} {y2:.1f}L{x + 4:.1f} {y2 + tip:.1f}", kind)


def _asked(canvas: Canvas, item: Item, scale: Scale, y: float) -> None:
    """A copy where it stands in the order of its stream; a copy engine makes it, in a row of its own."""
    told = f"{words.lane_text(item.stream)}: {words.item_text(item)}"
    canvas.open(data_link=f"a{item.stream}{item.start}", data_tip=told, aria_label=told)
    canvas.rect(scale.at(item.start), y, max(scale.width(item), 1), TALL, "work-asked")
    if label := _label(item, scale.width(item)):
        canvas.text(scale.at((item.start + item.end) / 2), y + 14, label, "t2", "middle")
    canvas.close()


def _gap(canvas: Canvas, gap: Gap, scale: Scale, y: float, acts: dict[str, Any]) -> None:
    x1, x2 = scale.at(gap.start), scale.at(gap.end)
    told = words.gap_text(gap)
    canvas.open(**acts, data_link=f"i{acts.get('data_value')}{gap.start}", data_tip=told, aria_label=told)
    if x2 - x1 > 3:
        hatch(canvas, x1 + 1, y, x2 - x1 - 2, TALL)
    if acts:
        canvas.rect(x1, y, x2 - x1, TALL, "hit")
    canvas.close()


def _groups(items: list[Item], scale: Scale) -> list[list[Item]]:
    """Pieces of one lane; narrow ones that nearly touch are one group, no wider than a column."""
    found: list[list[Item]] = []
    for item in items:
        last = found[-1][-1] if found else item
        near = scale.at(item.start) - scale.at(last.end) < NARROWEST and last.kind == item.kind
        narrow = max(scale.width(last), scale.width(item)) < NARROWEST
        if found and near and narrow and scale.at(item.end) - scale.at(found[-1][0].start) <= COLUMN:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _piece(canvas: Canvas, run: Run, group: list[Item], scale: Scale, y: float, hand: Hand | None) -> None:
    """Work, with its name in it where there is room. Of many pieces the fill is as high as their share of the time."""
    item = group[0]
    x1, x2 = scale.at(item.start), max(scale.at(group[-1].end), scale.at(item.start) + 1)
    share = sum(one.duration for one in group) / max(group[-1].end - item.start, 1)
    told = words.item_text(item)
    if len(group) > 1:
        told = f"{len(group)} pieces of work, {words.percent(share)} of the time from first to last, such as {told}"
    told = f"{words.lane_text(item.lane)}: {told}"
    acts: dict[str, Any] = {}
    if hand is not None:
        inside = any(one is hand.entry for one in group)
        acts = hand.button("pick", run.places[id(item)], inside) | {
            "data_current": any(one is hand.picked for one in group)
        }
    canvas.open(
        **acts, data_link=f"q{acts.get('data_value')}{item.lane}{item.start}", data_tip=told, aria_label=told
    )  # fmt: skip
    if item.kind == "wait":
        canvas.rect(x1, y, x2 - x1, TALL, "ghost")
    elif len(group) > 1:
        high = TALL * min(share, 1)
        canvas.rect(x1, y + TALL - high, x2 - x1, high, _class(item))
    elif x2 - x1 < 9:
        canvas.rect(x1, y, x2 - x1, TALL, _class(item))
    else:
        point, bottom = f"L{x2:.1f} {y + TALL / 2:.1f}L{x2 - 5:.1f} {y + TALL:.1f}", y + TALL
        canvas.path(f"M{x1:.1f} {y:.1f}H{x2 - 5:.1f}{point}H{x1:.1f}Z", _class(item), bottom)
    if len(group) == 1 and (label := _label(item, x2 - x1)):
        canvas.text((x1 + x2) / 2 - 2, y + 14, label, "t2" if item.kind == "wait" else "", "middle")
    if hand is not None:
        canvas.rect(x1 - 1, y, max(x2 - x1 + 2, 4), TALL, "hit")
    canvas.close()


def _label(item: Item, width: float) -> str:
    """The longest name of a piece of work that has room in it."""
    names = ["wait"] if item.kind == "wait" else [item.name, item.name.partition(" ")[0]]
    return next((name for name in names if len(name) * UI_12 + 8 <= width), "")


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
        tip="Press or hover work, or a hatched gap, to read what it is and what was waited for." if shown else None,
        summary=words.summary_text(state), status=words.verdict(state) if shown else "", waiting=not shown,
        stale=words.UNDER_WAY if state.outdated else "",
    )  # fmt: skip


def _stage(state: QueueState, width: int, working: bool) -> Figure:
    if state.runs:
        head = [words.verdict(state), *filter(None, [words.picked_text(state)])]
        gap = None if state.gap is None else state.runs[state.gap[0]].gaps[state.gap[1]]
        return draw(state.runs, width, head, state.item, gap)
    canvas = Canvas(width)
    canvas.rect(1, 1, width - 2, 120, "hole")
    lines = wrap_text(words.hidden(state, working), int(width / 8.5))[:5]
    for place, line in enumerate(lines):
        canvas.text(width / 2, 66 + 18 * place - 9 * (len(lines) - 1), line, "f13 t2", "middle")
    return Figure(canvas, "Hidden until predicted", words.hidden(state, working))


def _controls(state: QueueState, working: bool) -> list[Control]:
    again = Control("button", "reset", "Ask again", push=True, key="r")
    knobs = [Control("radio", f"knob:{k.name}", k.name, str(k.value), tuple(map(str, k.options))) for k in state.knobs]
    machine = [Control("radio", "machine", "machine", state.machine, state.machines)] if state.machines else []
    if not state.begun and not state.runs:
        return [
            Control("radio", "draft", "", state.draft, state.choices, hint="your prediction"),
            Control("button", "commit", "Commit", main=True, disabled=state.draft is None),
        ]
    if not state.runs:
        return [] if working else [*knobs, *machine, again]
    last = most_kernels(state)
    label = f"also wait after kernel {state.stop}" if state.stop else "also wait: nowhere"
    stop = [Control("range", "stop", label, state.stop, (0, max(last, state.stop), 1))]
    moves = stop if state.machines and last > 1 else []
    return [Control("button", "gap", "Longest gap", main=True, key="g"), *moves, *knobs, *machine, again]
