"""How a roofline is drawn: FLOP per byte from left to right, FLOP/s upwards, and what a machine cannot exceed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ...common.wording import prefix_of, si
from ...observe.roofline import Peaks, Point, Roofline
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import UI_12, Canvas, shorten, wrap_text
from . import words
from .model import CHOICES, FORMS, RooflineState

LEFT, TALL = 64.0, 290.0  # of the axis; the height of the plot
PANEL = 276.0  # beside the plot, where there is room
Box = tuple[float, float, float, float]  # left, top, right, bottom
NAME = 84.0  # room for a name in the list
LISTED = 6  # operations in the list, around the one that is picked; and numbered in the plot


@dataclass(frozen=True)
class Axes:
    """Powers of ten, across and upwards."""

    x0: float
    x1: float
    y0: float  # the bottom
    y1: float
    across: tuple[int, int]  # exponents of the ends
    up: tuple[int, int]

    def x(self, intensity: float) -> float:
        """Where FLOP per byte are."""
        low, high = self.across
        share = (math.log10(intensity) - low) / (high - low)
        return self.x0 + (self.x1 - self.x0) * min(max(share, 0.0), 1.0)

    def y(self, rate: float) -> float:
        """Where FLOP/s are."""
        low, high = self.up
        share = (math.log10(rate) - low) / (high - low)
        return self.y0 - (self.y0 - self.y1) * min(max(share, 0.0), 1.0)


def draw(
    found: Roofline, width: int, picked: int = 0, head: str = "", live: bool = True, other: Roofline | None = None,
    told: tuple[str, str] = ("", ""),
) -> Figure:  # fmt: skip
    """The plot, and beside it or below it the operations and what is known of the one that is picked.

    With ``other``, its marks are hollow and those of ``found`` filled; ``told`` is both in numbers, and which is which.
    """
    canvas, wide = Canvas(width), width >= WIDE
    y = 0.0
    most = int(width / 8.0)
    lines = [(line, "b f13") for line in wrap_text(head, most)] if head else []
    lines += [(line, "f13") for line in (told[0].split("; ") if len(told[0]) > most else [told[0]]) if line]
    for line, cls in lines:
        canvas.text(0, y + 13, line, cls)
        y += 18
    y += 10 * bool(head)
    right = width - PANEL - 24 if wide else width - 16.0
    axes = _axes(found, other, LEFT, right, y + 24 + TALL, y + 24)
    _frame(canvas, axes)
    _roof(canvas, found, axes)
    _marks(canvas, found, other, axes, picked, live)
    if other is not None:
        canvas.text(axes.x0, axes.y0 + 56, told[1], "t2")
    left, top = (width - PANEL, y) if wide else (0.0, y + TALL + 84 + 18 * (other is not None))
    _panel(canvas, found, picked, left, top, width - left, live)
    return Figure(canvas, "Operations under the roof of a machine", words.describe(found))


def _axes(found: Roofline, other: Roofline | None, x0: float, x1: float, y0: float, y1: float) -> Axes:
    peaks = found.peaks
    drawn = [point for one in (found, other) if one is not None for point in one.points if point.flops]
    many = [point.intensity for point in drawn] + [peaks.ridge]
    rates = [point.achieved for point in drawn] + [peaks.rate]
    across = math.floor(math.log10(min(many))), math.ceil(math.log10(max(many) * 1.5))
    up = math.floor(math.log10(min(rates) / 1.5)), math.ceil(math.log10(max(rates) * 1.2))
    return Axes(x0, x1, y0, y1, (across[0], max(across[1], across[0] + 2)), (up[0], max(up[1], up[0] + 2)))


def _frame(canvas: Canvas, axes: Axes) -> None:
    for power in range(axes.up[0], axes.up[1] + 1):
        y = axes.y(10.0**power)
        canvas.line(axes.x0, y, axes.x1, y, "hair")
        size, prefix = prefix_of(10.0**power)
        canvas.text(axes.x0 - 8, y + 4, f"{10.0**power / size:g} {prefix}".strip(), "t2", "end")
    for power in range(axes.across[0], axes.across[1] + 1):
        x = axes.x(10.0**power)
        canvas.line(x, axes.y0, x, axes.y0 + 5, "rule")
        canvas.text(x, axes.y0 + 20, f"{10.0**power:g}", "t2", "middle")
    canvas.line(axes.x0, axes.y0, axes.x1, axes.y0, "axis")
    canvas.line(axes.x0, axes.y0, axes.x0, axes.y1, "axis")
    canvas.text(axes.x0, axes.y1 - 10, "FLOP/s", "t2")
    canvas.text(axes.x1, axes.y0 + 38, "FLOP per byte", "t2", "end")


def _roof(canvas: Canvas, found: Roofline, axes: Axes) -> None:
    """What memory and arithmetic allow. From a cache more is possible, which is drawn as a thin line."""
    peaks = found.peaks
    fastest = max(rate for _, rate in peaks.bandwidths)
    if fastest > 1.2 * peaks.bandwidth:
        _slope(canvas, axes, fastest, peaks.rate, "rule")
        _along(canvas, axes, fastest, peaks.rate, f"cache {si(fastest, 'B/s')}", "t2")
    _slope(canvas, axes, peaks.bandwidth, peaks.rate, "span")
    ridge = axes.x(peaks.ridge)
    canvas.line(ridge, axes.y(peaks.rate), axes.x1, axes.y(peaks.rate), "span")
    told = si(peaks.rate, "FLOP/s")
    canvas.text(axes.x1, axes.y(peaks.rate) - 8, told, "b", "end")
    _along(canvas, axes, peaks.bandwidth, peaks.rate, f"memory {si(peaks.bandwidth, 'B/s')}", "b", below=True)


def _along(
    canvas: Canvas, axes: Axes, bandwidth: float, rate: float, told: str, cls: str, below: bool = False
) -> None:  # fmt: skip
    """A name beside a slope: below its middle; or before that and, where the axis is too near, over its end."""
    low = max(10.0 ** axes.across[0], 10.0 ** axes.up[0] / bandwidth)
    middle, wide = math.sqrt(low * rate / bandwidth), len(told) * UI_12
    x, y = axes.x(middle), axes.y(middle * bandwidth)
    if below:
        canvas.text(x + 10, y + 12, told, cls)
    elif x - 8 - wide > axes.x0:
        canvas.text(x - 8, y - 6, told, cls, "end")
    else:
        canvas.text(max(axes.x(rate / bandwidth) - wide / 2, axes.x0 + 4), axes.y(rate) - 8, told, cls)


def _slope(canvas: Canvas, axes: Axes, bandwidth: float, rate: float, cls: str) -> None:
    low = max(10.0 ** axes.across[0], 10.0 ** axes.up[0] / bandwidth)
    high = min(rate / bandwidth, 10.0 ** axes.across[1])
    if low < high:
        canvas.line(axes.x(low), axes.y(low * bandwidth), axes.x(high), axes.y(high * bandwidth), cls)


def _marks(
    canvas: Canvas, found: Roofline, other: Roofline | None, axes: Axes, picked: int, live: bool
) -> None:  # fmt: skip
    """Each operation, with its number in the list. Of the picked one also the height that its start allows."""
    point = found.points[picked]
    start = point.needs(found.peaks)["start"]
    if point.flops and start:
        highest = point.flops / start
        if 10.0 ** axes.up[0] < highest < 10.0 ** axes.up[1]:
            y = axes.y(highest)
            canvas.line(axes.x0, y, axes.x1, y, "dotted")
            canvas.text(axes.x0, axes.y0 + 38, "dotted: what its start allows", "t2")  # where no mark can be
    drawn = [(place, point) for place, point in enumerate(found.points) if point.flops]
    hollow = [] if other is None else _hollow(canvas, other, axes)
    for place, one in reversed(drawn):
        _mark(canvas, axes, one, place, place == picked, live, found, other is not None)
    _numbers(canvas, found.peaks, axes, drawn, picked, hollow)


def _hollow(canvas: Canvas, other: Roofline, axes: Axes) -> list[tuple[float, float]]:
    """The marks of the other form. Returns where they are."""
    places = []
    for point in other.points:
        if point.flops:
            x, y = axes.x(point.intensity), axes.y(point.achieved)
            told = f"{words.form_of(other)}, {words.point_text(point, other.peaks)}"
            canvas.open(data_tip=told, role="img", aria_label=told)
            canvas.circle(x, y, 7, "mark-a")  # larger than a filled mark, which may stand in the same place
            canvas.rect(x - 9, y - 9, 18, 18, "hit")
            canvas.close()
            places.append((x, y))
    return places


def _numbers(
    canvas: Canvas, peaks: Peaks, axes: Axes, drawn: list[tuple[int, Point]], picked: int,
    hollow: list[tuple[float, float]],
) -> None:  # fmt: skip
    """The marks' numbers in the list, each where it covers least. Marks that lie on each other share theirs."""
    at = [(axes.x(one.intensity), axes.y(one.achieved)) for _, one in drawn]
    taken = [*_drawn_roof(peaks, axes), *((x - 9, y - 9, x + 9, y + 9) for x, y in (*at, *hollow))]
    named: list[tuple[float, float, list[int]]] = []
    for (x, y), (place, _) in zip(at, drawn, strict=True):
        if place >= LISTED and place != picked:
            continue
        beside = next((names for ox, oy, names in named if abs(x - ox) < 20 and abs(y - oy) < 14), None)
        if beside is None:
            named.append((x, y, [place]))
        else:
            beside.append(place)
    for x, y, places in named:
        told = ", ".join(str(place + 1) for place in places)
        wide = len(told) * UI_12
        before, behind, middle = x - 12 - wide, x + 12, x - wide / 2
        spots = [
            (behind, y - 7),
            (behind, y + 18),
            (middle, y + 24),
            (before, y - 7),
            (before, y + 18),
            (middle, y - 14),
        ]
        boxes = [(left, base - 11, left + wide, base + 3) for left, base in spots if left > axes.x0 + 4]
        box = min(boxes, key=lambda box: sum(_meet(box, one) for one in taken))
        canvas.text(box[0], box[3] - 3, told, "b" if picked in places else "t2")
        taken.append(box)


def _drawn_roof(peaks: Peaks, axes: Axes) -> list[Box]:
    """The roof's line, from point to point."""
    xs = [axes.x0 + share * (axes.x1 - axes.x0) / 60 for share in range(61)]
    low, high = axes.across
    intensities = [10 ** (low + (x - axes.x0) / (axes.x1 - axes.x0) * (high - low)) for x in xs]
    ys = [axes.y(min(peaks.rate, one * peaks.bandwidth)) for one in intensities]
    return [(x - 4, y - 4, x + 4, y + 4) for x, y in zip(xs, ys, strict=True)]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _mark(
    canvas: Canvas, axes: Axes, point: Point, place: int, on: bool, live: bool, found: Roofline, filled: bool
) -> None:  # fmt: skip
    x, y, told = axes.x(point.intensity), axes.y(point.achieved), words.point_text(point, found.peaks)
    acts = {"data_act": "pick", "data_value": place, "role": "button", "tabindex": -1} if live else {}
    canvas.open(**acts, data_link=f"r{place}", data_tip=told, aria_label=told, data_current=on)
    canvas.circle(x, y, 5, "result" if on or filled else "mark-a")
    if on:
        canvas.circle(x, y, 9, "cross")
    canvas.rect(x - 9, y - 9, 18, 18, "hit")
    canvas.close()


def _button(place: int, on: bool, live: bool) -> dict[str, Any]:
    """A row can be pressed; arrows go from one to the next."""
    tab = 0 if on else -1
    return (
        {"data_act": "pick", "data_value": place, "role": "button", "tabindex": tab, "data_rove": "true"}
        if live
        else {}
    )


def _more(canvas: Canvas, place: int, told: str, left: float, y: float, width: float, live: bool) -> float:
    """A row that stands for those that are not listed, and picks the nearest. Returns its lower edge."""
    canvas.open(**_button(place, False, live), aria_label=told)
    canvas.rect(left, y, width, 20, "hit")
    canvas.text(left + 28, y + 14, told, "t2")
    canvas.close()
    return y + 22


def _cut(name: str) -> str:
    """A name as the list shows it, in bold if need be: names of kernels may be long."""
    ends = list(accumulate(11.5 if one in "mwMW+" else 5.0 if one in "filrt" else 8.0 for one in name))
    return name if ends[-1] <= NAME else shorten(name, 1 + sum(end <= NAME - 12 for end in ends))


def _panel(canvas: Canvas, found: Roofline, picked: int, left: float, y: float, width: float, live: bool) -> None:
    """The operations, and what is known of the one that is picked."""
    whole = sum(point.total for point in found.points)
    first = min(max(picked - LISTED + 2, 0), max(len(found.points) - LISTED, 0))
    listed = range(first, min(first + LISTED, len(found.points)))
    y = _more(canvas, first - 1, f"{first} more before these", left, y, width, live) if first else y
    for place in listed:
        point, on = found.points[place], place == picked
        told = words.point_text(point, found.peaks)
        canvas.open(**_button(place, on, live), data_link=f"r{place}", data_tip=told, aria_label=told, data_current=on)
        canvas.rect(left, y, width, 22, "on" if on else "hit")
        quiet = "" if on else "t2"  # which could hardly be read on the row that is picked
        canvas.text(left + 8, y + 15, f"{place + 1}", quiet)
        canvas.text(left + 28, y + 15, _cut(point.name), "b" if on else "")
        canvas.text(left + 156, y + 15, f"{round(100 * point.total / whole)} %", quiet, "end")
        canvas.text(left + width - 8, y + 15, CHOICES[point.bound(found.peaks)], "", "end")
        canvas.close()
        y += 24
    after = len(found.points) - listed.stop
    y = _more(canvas, listed.stop, f"{after} more after these", left, y, width, live) if after else y
    for line in wrap_text(words.rest(found), int((width - 8) / UI_12)):
        canvas.text(left + 8, y + 13, line, "t2")
        y += 17
    y += 12
    point = found.points[picked]
    for line in wrap_text(point.name, int((width - 8) / UI_12)) if _cut(point.name) != point.name else ():
        canvas.text(left + 8, y + 13, line, "b")
        y += 17
    for line in wrap_text(point.line, int((width - 8) / UI_12))[:2] if point.line else ():
        canvas.text(left + 8, y + 12, line, "t2")
        y += 17
    y += 4
    for head, rows in words.sections(point, found.peaks):
        if head:
            canvas.text(left + 8, y + 13, head, "t2")
            y += 20
        for name, value in rows:
            canvas.text(left + 8 + 10 * bool(head), y + 13, name, "t2")
            canvas.text(left + width - 8, y + 13, value, "b" if head == words.estimated(found.peaks) else "", "end")
            y += 20
        y += 6


# The widget ----------------------------------------------------------------------------------------------------------


def frame(state: RooflineState, working: bool = False) -> Frame:
    """The whole widget."""
    found = state.result
    badge = None if found is None else "simulated" if found.peaks.simulated else "measured"
    return Frame(
        "Roofline", ("device",), words.question(state), _stage(state, WIDE, working), _stage(state, NARROW, working),
        words.why(state), words.text(state, working), words.conditions(state), badge, tuple(_controls(state, working)),
        tip="Press a mark or a row to read what limits that operation." if found else None,
        summary=words.summary(state), status=words.verdict(state) if found else "", waiting=found is None,
    )  # fmt: skip


def _stage(state: RooflineState, width: int, working: bool) -> Figure:
    if state.result is not None:
        told = words.comparison(state), words.key(state)
        return draw(state.result, width, state.picked, words.verdict(state), other=state.other, told=told)
    canvas = Canvas(width)
    canvas.rect(1, 1, width - 2, 120, "hole")
    lines = wrap_text(words.hidden(state, working), int(width / 8.5))[:5]
    for place, line in enumerate(lines):
        canvas.text(width / 2, 66 + 18 * place - 9 * (len(lines) - 1), line, "f13 t2", "middle")
    return Figure(canvas, "Hidden until predicted", words.hidden(state, working))


def _controls(state: RooflineState, working: bool) -> list[Control]:
    again = Control("button", "reset", "Ask again", push=True, key="r")
    machines = Control("radio", "machine", "peaks", state.machine, state.machines)
    if not state.begun and state.result is None:
        return [
            Control("radio", "draft", "", state.draft, tuple(CHOICES.values()), hint="your prediction"),
            Control("button", "commit", "Commit", main=True, disabled=state.draft is None),
        ]
    if state.result is None:
        return [] if working else [machines, again]
    forms = [Control("radio", "form", "", state.form, FORMS, hint="as written or compiled")] * (not state.plain)
    measured = [Control("button", "run", "Measure again")] * (not state.result.peaks.simulated)
    return [*measured, *forms, *[machines] * (len(state.machines) > 1), again]
