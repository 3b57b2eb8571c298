"""How a training run is drawn: progress, the loss by epoch, and a table of everything that was recorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from ...common.wording import exact
from ..frame import NARROW, WIDE, Figure, Frame
from ..marks import MONO_12, Canvas, shorten
from .model import COLUMNS, LOSS, Group, Series, TrainingState
from .words import HEADS, SPANS, conditions, describe, headline, rows, span_text, text, why

LEFT, RIGHT = WIDE - COLUMNS - 8.0, 8.0  # what the curve leaves free on both sides
HEIGHT, LANE = 170.0, 16.0

Place = Callable[[float], float]


@dataclass(frozen=True)
class Axis:
    """Round numbers. Its ends, ``low`` and ``high``, are in units of ``scale``, in which no float overflows."""

    ticks: tuple[Decimal, ...]
    scale: float
    low: float
    high: float

    def share(self, value: float) -> float:
        """Where on the axis a value is, from 0 to 1."""
        return (value / self.scale - self.low) / (self.high - self.low)


def axis(low: float, high: float, most: int = 5) -> Axis:
    """An axis that holds zero and both numbers, in at most ``most`` + 1 round steps."""
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        high = 1.0
    least, greatest = Decimal(low), Decimal(high)
    power = ((greatest - least) / most).adjusted()
    steps = (Decimal(digit).scaleb(power) for digit in ("1", "2", "5", "10"))
    step = next(step for step in steps if (greatest - least) / step <= most)
    first = int((least / step).to_integral_value(ROUND_FLOOR))
    last = int((greatest / step).to_integral_value(ROUND_CEILING))
    scale = max(-low, high)
    ends = (float(step * i / Decimal(scale)) for i in (first, last))
    return Axis(tuple(step * i for i in range(first, last + 1)), scale, *ends)


def tick_text(tick: Decimal) -> str:
    """A round number, in full or as a power of ten: ``0.05``, ``2 000``, ``2.5e−7``."""
    tick = tick.normalize()
    if tick == 0:
        return "0"
    if -4 < tick.adjusted() < 6:
        return f"{tick:,f}".replace(",", "\u2009").replace("-", "−")
    digits = "".join(map(str, tick.as_tuple().digits))
    mantissa = f"{digits[0]}.{digits[1:]}" if digits[1:] else digits
    return f"{'−' if tick < 0 else ''}{mantissa}e{tick.adjusted()}".replace("e-", "e−")


def whole_ticks(total: int, width: float) -> list[int]:
    """Round epochs from 0 to ``total``, as many as have room for their labels."""
    room = max(2, int(width / (len(exact(total)) * MONO_12 + 14)))
    step = next(
        digit * 10**power for power in range(400) for digit in (1, 2, 5) if digit * 10**power * min(room, 10) >= total
    )
    return list(range(0, total + 1, step))


def draw(state: TrainingState, width: int) -> Figure:
    """The progress bar, the loss curve and the table."""
    canvas = Canvas(width)
    announced = max(state.epochs, 1)
    canvas.text(0, 12, headline(state), "b f13")
    canvas.rect(0, 22, width, 4, "on")
    canvas.rect(0, 22, width * min(state.count / announced, 1), 4, "knob")
    _table(canvas, state, width, _curve(canvas, state, width))
    return Figure(canvas, f"Loss by {state.unit}", describe(state))


def _curve(canvas: Canvas, state: TrainingState, width: int) -> float:
    """The loss over the epochs, and above it, in a lane of their own, the losses that are no numbers. Its lower end."""
    series, total = state.series.get(LOSS, Series()), max(state.epochs, state.count, 1)
    left, right = LEFT, width - RIGHT
    canvas.text(left, 48, "loss", "t2")
    size, found = series.groups()
    odd = {sign: at for sign, at in _not_finite(found, size).items() if at}
    top = 60 + (LANE * len(odd) + 8 if odd else 0)
    bottom = top + HEIGHT
    numbers = [one for group in found for one in (group.low, group.high) if one is not None]
    values = [value for _, value in numbers]
    scale = axis(min(values, default=0.0), max(values, default=1.0))

    def across(epoch: float) -> float:
        return left + (right - left) * epoch / total

    def up(value: float) -> float:
        return bottom - HEIGHT * scale.share(value)

    for tick in scale.ticks if values else ():  # else no number says where the axis lies
        share = float((tick - scale.ticks[0]) / (scale.ticks[-1] - scale.ticks[0]))
        y = bottom - HEIGHT * share
        canvas.line(left - 4, y, left, y, "rule")
        canvas.text(left - 8, y + 4, tick_text(tick), "m t2", "end")
    zero = up(0.0)
    if values and zero < bottom - 1:
        canvas.line(left, zero, right, zero, "hair")
    canvas.line(left, bottom, right, bottom, "axis")
    ticks = whole_ticks(total, right - left)
    for epoch in ticks:
        canvas.line(across(epoch), bottom, across(epoch), bottom + 5, "rule")
        label = exact(epoch)
        canvas.text(min(across(epoch), width - len(label) * MONO_12 / 2), bottom + 19, label, "m t2", "middle")
    canvas.text(right, bottom + 36, state.unit, "t2", "end")
    _line(canvas, found, across, up)
    _lanes(canvas, odd, across, 60.0)
    _marks(canvas, state, series, across, up, (60.0, top, bottom))
    return bottom + 44


def _not_finite(found: list[Group], size: int) -> dict[str, list[float]]:
    """Where nan, ∞ and −∞ were recorded: the middles of those groups."""
    at: dict[str, list[float]] = {"nan": [], "∞": [], "−∞": []}
    for one in found:
        for sign, count in zip(at, (one.nan, one.above, one.below), strict=True):
            if count:
                at[sign].append(one.place * size + (size + 1) / 2)
    return at


def _line(canvas: Canvas, found: list[Group], across: Place, up: Place) -> None:
    """Through the lowest and the highest number of each group, broken where there is one that is not finite. A number
    between two breaks is a short stroke."""
    pieces: list[list[str]] = [[]]
    for one in found:
        if one.odd:
            pieces.append([])
        if one.low is not None and one.high is not None:
            both = sorted({one.low, one.high})  # one, if the group has only one number
            pieces[-1] += [f"{across(epoch):.2f} {up(value):.2f}" for epoch, value in both]
        if one.odd:
            pieces.append([])
    drawn = ["M" + "L".join(piece) + ("m-1 0h2" if len(piece) == 1 else "") for piece in pieces if piece]
    if drawn:
        canvas.path("".join(drawn), "resultline")


def _lanes(canvas: Canvas, odd: dict[str, list[float]], across: Place, top: float) -> None:
    """For nan, ∞ and −∞ a lane each, with a stroke at each epoch where it was recorded."""
    for lane, (sign, at) in enumerate(odd.items()):
        y = top + LANE * lane
        canvas.text(LEFT - 8, y + 9, f"▲ {sign}", "ta b", "end")
        columns = {round(across(epoch)) for epoch in at}
        starts, ends = ([x for x in sorted(columns) if x + step not in columns] for step in (-1, 1))
        for start, stop in zip(starts, ends, strict=True):
            canvas.rect(start - 1, y, stop - start + 2, 10, "edge-alert")


def _marks(
    canvas: Canvas, state: TrainingState, series: Series, across: Place, up: Place, heights: tuple[float, float, float]
) -> None:
    """What can be pointed at: each record, or each group of neighbours if there are many. The newest has its point."""
    lanes, top, bottom = heights
    size, found = series.groups(state.count, SPANS)
    single = size == 1
    for i, one in enumerate(found):
        canvas.open(data_link=f"p{i}", data_tip=span_text(one, state))
        if single and one.low is not None:
            canvas.circle(across(one.first), up(one.low[1]), 3.5, "result")
        else:
            start, stop = across(one.first - 0.5), across(one.last + 0.5)
            stop = min(stop, canvas.width)
            canvas.rect(start, lanes, stop - start, (top if single else bottom) - lanes, "hit")
        canvas.close()
    if found and not single and math.isfinite(series.newest[1]):
        epoch, value = series.newest
        canvas.circle(across(epoch), up(value), 3.5, "result")


def _table(canvas: Canvas, state: TrainingState, width: int, top: float) -> None:
    """Every series: its newest number, its lowest and its highest; below each other where there is too little room."""
    found = rows(state)
    if not found:
        return
    canvas.line(0, top + 2, width, top + 2, "hair")
    name_width, cell = 0.3 * width, 0.7 * width / 3
    longest = max(len(value) for row in found for value in row.values)
    aside = (longest + 2) * MONO_12 <= cell
    y = top + 20
    if aside:
        for i, head in enumerate(HEADS, 1):
            canvas.text(name_width + i * cell, y, head, "t2", "end")
        y += 20
    for row in found:
        canvas.text(0, y, shorten(row.name, int(name_width / 8)), "b")
        for i, value in enumerate(row.values, 1):
            if aside:
                canvas.text(name_width + i * cell, y, value, "m", "end")
            else:
                canvas.text(name_width, y, HEADS[i - 1], "t2")
                canvas.text(name_width + 64, y, shorten(value, int((width - name_width - 64) / MONO_12)), "m")
                y += 18
        y += 20 if aside else 6


def frame(state: TrainingState, ask: str) -> Frame:
    """The whole widget."""
    return Frame(
        "TrainingMonitor", (), ask, draw(state, WIDE), draw(state, NARROW), why(state),
        text(state), conditions(state), None, (),
        _hint(state), summary=describe(state),
    )  # fmt: skip


def _hint(state: TrainingState) -> str:
    if LOSS not in state.series:
        return ""
    return "Hover a point to read it." if state.count <= SPANS else "Hover the curve to read a part of it."
