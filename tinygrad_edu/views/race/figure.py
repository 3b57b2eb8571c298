"""How a race is drawn: all runs beside their median, the size sweep, and the verdict below."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...common.wording import exact, plural, ratio_text, unit_of
from ...observe.results import Comparison, Sweep, Timing
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import UI_12, Canvas, wrap_text
from . import words
from .model import WARMUPS, RaceState, multiples

PLOT = 398.0  # the width of one of two plots side by side
HEIGHT = 236.0  # of a plot, with its title and its ticks
PITCH = 4.6  # from one run to the next
BESIDE = 11  # characters of a name that fit beside its marks
ROOM = 70.0  # for a stack of runs
BEYOND = 92.0  # for the count of runs beyond the axis
DOT = ("run-a", "result")
LINE = ("line-a", "line-b")
BROAD = ("stroke-width:4px;stroke-opacity:.45", None)  # A shows on both sides of B where they are equal
MIDDLE = ("middle-a", "middle-b")
Place = Callable[[float], float]


def draw(state: RaceState, width: int) -> Figure:
    """An empty frame for the result, or the whole result."""
    canvas = Canvas(width)
    shown, wide = state.shown, width >= WIDE
    if shown is None or state.result is None:
        told = words.waiting(state)
        height = HEIGHT + 80 * wide
        canvas.rect(1, 1, width - 2, height - 2, "hole")
        canvas.text(width / 2, height / 2 + 4, told, "f13 t2", "middle")
        return Figure(canvas, "Hidden until predicted", words.describe(state))
    plot = PLOT if wide else float(width)
    names = _names(state, width)
    full, canvas = canvas, Canvas(width)  # below the names
    _runs(canvas, state, shown, axis(state.result), plot)
    left, top = (width - PLOT, 0.0) if wide else (0.0, HEIGHT + 20)
    if len(state.sizes) > 1:
        _sweep(canvas, state, state.result, left, top, plot)
    else:
        _ratio(canvas, state, shown, left, top, plot)
    _verdict(canvas, state, shown, max(canvas.height, HEIGHT) + 12, width)
    for i, line in enumerate(names):
        full.text(0, 12 + 17 * i, line, "b")
    if names:
        shift = 17 * len(names) + 8
        full.items += [f'<g transform="translate(0 {shift})">', *canvas.items, "</g>"]
        full.text_items += canvas.text_items
        full.height = canvas.height + shift
        canvas = full
    return Figure(canvas, "Two functions on the clock", words.describe(state))


def _names(state: RaceState, width: int) -> list[str]:
    """Both names in full, in lines of their own; none where they fit beside their marks."""
    titles = [words.title(state, which) for which in (0, 1)]
    if all(len(one) <= BESIDE for one in titles):
        return []
    room = int(width / UI_12)
    return [line[at : at + room] for one in titles for line in wrap_text(one, room) for at in range(0, len(line), room)]


def _name(state: RaceState, which: int) -> str:
    """The name beside a mark; where it does not fit, its letter, and the names stand above."""
    return words.LETTERS[which] if _names(state, WIDE) else words.title(state, which)


# All runs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """A range of multiples of the median, with round ticks. Runs above ``high`` are counted, not drawn."""

    low: float
    high: float
    step: float

    def ticks(self) -> list[float]:
        """Round numbers in the range."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [i * self.step for i in range(first, last + 1)]


def axis(result: Sweep) -> Axis:
    """A range that holds 1, the fastest run and most of the others. It is the same for every size shown."""
    timings = [timing for one in result.comparisons for timing in (one.slow, one.fast)]
    runs = sorted(value for timing in timings for value in multiples(timing)[0])
    least = min(value for timing in timings for group in multiples(timing) for value in group)
    quartiles = [timing.quartiles[1] / timing.median for timing in timings]
    low, high = min(least, 0.98), max(runs[int(0.95 * (len(runs) - 1))], 1.02, *quartiles)
    pad = 0.04 * (high - low)
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step * m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= 5)
    return Axis(low - pad, high + pad, step)


def _runs(canvas: Canvas, state: RaceState, shown: Comparison, found: Axis, plot: float) -> None:
    """Each run a dot, in two lanes, as multiples of their own median."""
    left, right, bottom = 96.0, plot - BEYOND, 206.0

    def place(value: float) -> float:
        return left + (value - found.low) / (found.high - found.low) * (right - left)

    count = len(shown.ratios)
    canvas.text(0, 12, f"{plural(count, 'run')} each, as a multiple of their own median", "b")
    for tick in found.ticks():
        canvas.line(place(tick), 26, place(tick), bottom, "hair")
        canvas.text(place(tick), 224, f"{tick:.6g}×", "t2", "middle")
    canvas.line(left, bottom, right, bottom, "axis")
    for which, timing in enumerate((shown.slow, shown.fast)):
        base = (102.0, 190.0)[which]
        _lane(canvas, which, timing, base, place, found.high)
        canvas.text(0, base - 32, _name(state, which), "b")
        median, spread = timing.text().split(" (")
        canvas.text(0, base - 15, median, "f13")
        canvas.text(0, base + 2, spread.removesuffix(")"), "t2")


def _lane(canvas: Canvas, which: int, timing: Timing, base: float, place: Place, high: float) -> None:
    runs, warmups = multiples(timing)
    drawn = [(value, False) for value in warmups if value <= high] + [(value, True) for value in runs if value <= high]
    columns = [round((place(value) - place(1)) / PITCH) for value, _ in drawn]
    pitch = min(PITCH, ROOM / max(map(columns.count, columns), default=1))
    heights: dict[int, int] = {}
    for column, (_, is_run) in zip(columns, drawn, strict=True):
        x, y = place(1) + column * PITCH, base - 2 - heights.get(column, 0) * pitch
        heights[column] = heights.get(column, 0) + 1
        if is_run:
            canvas.circle(x, y, 2.1, DOT[which])
        else:
            canvas.path(f"M{x - 2.2:.1f} {y - 2.2:.1f}l4.4 4.4m0 -4.4l-4.4 4.4", "cross", y + 3)
    first, third = (place(value / timing.median) for value in timing.quartiles)
    canvas.line(first, base + 7, third, base + 7, MIDDLE[which])
    canvas.line(place(1), base + 3, place(1), base + 11, "span")
    beyond = [sum(value > high for value in group) for group in (runs, warmups)]
    told = [f"{count}{sign} beyond →" for count, sign in zip(beyond, ("", " ×"), strict=True) if count]
    told.insert(0, words.first_run(timing))
    for i, line in enumerate(told):
        canvas.text(place(high) + BEYOND, base - 16 - 17 * (len(told) - 1 - i), line, "t2", "end")


# Sizes -----------------------------------------------------------------------------------------------------------


def _sweep(canvas: Canvas, state: RaceState, result: Sweep, left: float, top: float, plot: float) -> None:
    """Both medians over the sizes, on logarithmic axes, with the crossover and the prediction."""
    x0, x1, y0, y1 = left + 56, left + plot - 104, top + 206, top + 44  # on the right, the names of both
    first, last = math.log(state.sizes[0]), math.log(state.sizes[-1])
    low, high = _decades(state, result)

    def across(size: float) -> float:
        return x0 + (math.log(size) - first) / (last - first) * (x1 - x0)

    def up(seconds: float) -> float:
        share = (math.log10(seconds) - low) / (high - low)
        return y0 - min(max(share, 0.0), 1.0) * (y0 - y1)

    canvas.text(left, top + 12, "size sweep", "b")
    for power in range(low, high + 1, 1 + (high - low) // 7):
        canvas.line(x0, up(10.0**power), x1, up(10.0**power), "hair")
        canvas.text(x0 - 8, up(10.0**power) + 4, _power(power), "t2", "end")
    canvas.line(x0, y0, x1, y0, "axis")
    _size_ticks(canvas, state, across, y0, x1)
    for i, size in enumerate(result.sizes):
        _size_button(canvas, state, i, across(size), y0, y1)
    _curves(canvas, state, result, across, up)
    if result.crossover is not None:
        index = next(i for i, size in enumerate(result.sizes) if size >= result.crossover)
        height = _between(result, index, result.crossover)
        _crossover(canvas, across(result.crossover), up(height), result.crossover, (x0, x1), y1)
    if state.said is not None and state.said_at < len(result.sizes):
        seconds = result.comparisons[state.said_at].slow.median / state.said
        y, measured = up(seconds), up(result.comparisons[state.said_at].fast.median)
        share = (math.log10(seconds) - low) / (high - low)
        told = "you, beyond ↑" if share > 1 else "you, beyond ↓" if share < 0 else "you"
        _you(canvas, across(state.sizes[state.said_at]), y, y < measured, state.said_at == len(state.sizes) - 1, told)


def _curves(canvas: Canvas, state: RaceState, result: Sweep, across: Place, up: Place) -> None:
    """Both medians over the sizes, each with its name at the end."""
    ends = []
    for which in (0, 1):
        timings = [(one.slow, one.fast)[which] for one in result.comparisons]
        points = [(across(size), up(t.median)) for size, t in zip(result.sizes, timings, strict=True)]
        if len(points) > 1:
            canvas.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), LINE[which], style=BROAD[which])
        for x, y in points:
            canvas.circle(x, y, (5.5, 3)[which], ("mark-a", "result")[which])
        ends.append(points[-1])
    _end_labels(canvas, state, ends)


def _decades(state: RaceState, result: Sweep) -> tuple[int, int]:
    """Whole powers of ten around all medians, and around the prediction where it is not too far off."""
    medians = [t.median for one in result.comparisons for t in (one.slow, one.fast)]
    low, high = min(medians), max(medians)
    if state.said is not None and state.said_at < len(result.sizes):
        you = result.comparisons[state.said_at].slow.median / state.said
        low, high = min(low, max(you, low / 100)), max(high, min(you, high * 100))
    least = math.floor(math.log10(low) + 1e-9)
    return least, max(math.ceil(math.log10(high) - 1e-9), least + 1)


def _power(power: int) -> str:
    """A round time: ``100 ns``."""
    unit, size = unit_of(10.0**power)
    return f"{10.0**power / size:g} {unit}"


def _size_ticks(canvas: Canvas, state: RaceState, across: Place, y: float, right: float) -> None:
    """As many sizes as there is room for, always with the last one."""
    labels = [exact(size) for size in state.sizes]
    last = across(state.sizes[-1]) - len(labels[-1]) * UI_12 / 2
    free = -math.inf
    for i, (size, label) in enumerate(zip(state.sizes, labels, strict=True)):
        x, half = across(size), len(label) * UI_12 / 2
        is_last = i == len(labels) - 1
        if is_last or (x - half >= free and x + half + 8 <= last):
            canvas.line(x, y, x, y + 5, "rule")
            canvas.text(x, y + 20, label, "t2", "middle")
            free = x + half + 8
    canvas.text(right + len(labels[-1]) * UI_12 / 2 + 10, y + 20, "n", "t2")


def _size_button(canvas: Canvas, state: RaceState, place: int, x: float, bottom: float, top: float) -> None:
    """A size to press. The one shown has a line and its name."""
    told = f"show n = {exact(state.sizes[place])}"
    canvas.open(
        data_act="n", data_value=place, tabindex=0, role="button", aria_label=told, data_link=f"n{place}",
        data_current=place == state.place,
    )  # fmt: skip
    canvas.rect(x - 11, top - 4, 22, bottom - top + 4, "hit")
    canvas.close()
    if place == state.place:
        canvas.line(x, top - 8, x, bottom, "rule")
        last = place == len(state.sizes) - 1  # beside it, the lines' names begin
        canvas.text(x + 6 * last, top - 14, told.removeprefix("show "), "t2", "end" if last else "middle")


def _end_labels(canvas: Canvas, state: RaceState, ends: list[tuple[float, float]]) -> None:
    """The names at the ends of the lines, kept apart."""
    heights = [y for _, y in ends]
    if abs(heights[0] - heights[1]) < 16:
        center, sign = sum(heights) / 2, 8 if heights[0] > heights[1] else -8
        heights = [center + sign, center - sign]
    for which, (x, _) in enumerate(ends):
        canvas.text(x + 12, heights[which] + 4, _name(state, which), "b")


def _between(result: Sweep, index: int, size: float) -> float:
    """The median of A at a size between two that were measured."""
    if index == 0:
        return result.comparisons[0].slow.median
    low, high = result.sizes[index - 1], result.sizes[index]
    share = math.log(size / low) / math.log(high / low)
    before, after = (result.comparisons[i].slow.median for i in (index - 1, index))
    return before * (after / before) ** share


def _crossover(canvas: Canvas, x: float, y: float, size: float, span: tuple[float, float], top: float) -> None:
    told = f"lines cross near n = {words.place_text(size)}"
    half = len(told) * UI_12 / 2
    middle = min(max(x, span[0] + half), span[1] - half + 20)
    above = y - 52 > top
    end = y - 38 if above else y + 38
    canvas.line(x, y, x, end, "axis")
    canvas.text(middle, end - 6 if above else end + 15, told, "b", "middle")
    canvas.circle(x, y, 6, "ring")


def _you(canvas: Canvas, x: float, y: float, above: bool, at_end: bool, told: str) -> None:
    """The predicted time of B, its name on the side away from the measured one. One that lies beyond the axis stands at
    its end, and says so."""
    canvas.path(f"M{x - 7:.1f} {y:.1f}l7 -7l7 7l-7 7z", "you", y + 7)
    canvas.text(x - 10 if at_end else x + 10, y - 8 if above else y + 16, told, "", "end" if at_end else None)


# One ratio -------------------------------------------------------------------------------------------------------


def _ratio(canvas: Canvas, state: RaceState, shown: Comparison, left: float, top: float, plot: float) -> None:
    """The measured ratio beside the predicted one, on a logarithmic axis."""
    x0, x1, y = left + 16, left + plot - 16, top + 112
    said = state.said or shown.ratio
    low, high = min(1.0, said, shown.middle[0]), max(1.0, said, shown.middle[1])
    ticks = _round_ratios(low / 1.1, high * 1.1)
    low, high = math.log(ticks[0]), math.log(ticks[-1])

    def place(ratio: float) -> float:
        return x0 + (math.log(ratio) - low) / (high - low) * (x1 - x0)

    canvas.text(left, top + 12, "how many times faster B is", "b")
    canvas.line(x0, y, x1, y, "axis")
    for tick in ticks:
        canvas.line(place(tick), y, place(tick), y + 5, "rule")
        canvas.text(place(tick), y + 20, f"{tick:g}×", "t2", "middle")
    first, third = map(place, shown.middle)
    canvas.line(first, y - 14, third, y - 14, "middle-b")
    canvas.circle(place(shown.ratio), y - 14, 5, "result")
    _label(canvas, place(shown.ratio), y - 52, f"measured, {ratio_text(shown.ratio)}×", "b", (x0, x1))
    if state.said is not None:
        canvas.path(f"M{place(said) - 6:.1f} {y - 14:.1f}l6 -6l6 6l-6 6z", "you")
        _label(canvas, place(said), y - 32, f"you, {words.said_text(said)}×", "", (x0, x1))


def _round_ratios(low: float, high: float) -> list[float]:
    """Two to seven round ratios around a range: 1, 2, 5, 10, or only powers of ten."""
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    rounds = [m * 10.0**power for power in range(first, last + 1) for m in (1.0, 2.0, 5.0)]
    inside = [value for value in rounds if low < value < high]
    if len(inside) <= 5:
        return [max(value for value in rounds if value <= low), *inside, min(v for v in rounds if v >= high)]
    every = math.ceil((last - first - 2) / 5)
    return [10.0**power for power in range(first + 1, last + every, every)]


def _label(canvas: Canvas, x: float, y: float, told: str, cls: str, span: tuple[float, float]) -> None:
    half = len(told) * 3.8
    canvas.text(min(max(x, span[0] + half - 12), span[1] - half + 12), y, told, cls, "middle")


# The verdict -----------------------------------------------------------------------------------------------------


def _verdict(canvas: Canvas, state: RaceState, shown: Comparison, y: float, width: int) -> None:
    """First whether the results differ; then the ratio in large digits, the verdict and the remarks."""
    different = words.disagreement(state, state.place)
    if different:
        lines = wrap_text(different.partition(": ")[2], int((width - 32) / 7.2))
        canvas.rect(0, y, width, 44 + 19 * len(lines), "wash")
        canvas.rect(0, y, 3, 44 + 19 * len(lines), "edge-alert")
        canvas.text(16, y + 31, f"▲ {different.partition(': ')[0]}", "f24 b ta")
        for i, line in enumerate(lines):
            canvas.text(16, y + 54 + 19 * i, line, "f13")
        y += 60 + 19 * len(lines)
    canvas.text(0, y + 32, words.ratio(shown), "f16 b" if different else "f24 b")
    left = 116.0
    canvas.text(left, y + 16, words.verdict(state, state.place), "f16 b")
    bottom = y + 18
    for line in wrap_text(words.grounds(shown), int((width - left) / 7.2)):
        bottom += 19
        canvas.text(left, bottom, line, "f13")
    for line in wrap_text(words.remarks(state), int((width - left) / 7.2)):
        bottom += 19
        canvas.text(left, bottom, line, "f13 t2")
    canvas.line(left - 16, y + 2, left - 16, bottom + 2, "hair")


# The widget ------------------------------------------------------------------------------------------------------


def frame(state: RaceState, working: bool = False) -> Frame:
    """The whole widget."""
    controls: list[Control] = []
    if state.said is None:
        label, value = "your prediction, times faster", "" if state.draft is None else f"{state.draft:g}"
        controls.append(Control("number", "draft", label, value))
        controls.append(Control("button", "commit", "Commit", main=True, disabled=state.draft is None))
    else:
        controls.append(Control("button", "run", "Run again", main=True, disabled=working))
    if len(state.sizes) > 1:
        label, last = f"n = {exact(state.sizes[state.place])}", len(state.sizes) - 1
        controls.append(Control("range", "n", label, state.place, (0, last, 1)))
    controls.append(Control("radio", "warmup", "", WARMUPS[not state.warmup], WARMUPS, hint="warm-up"))
    if state.said is not None:
        controls.append(Control("button", "reset", "Ask again", push=True, key="r"))
    measured = state.result is not None
    return Frame(
        "TimingRace", ("device",), words.question(state), draw(state, WIDE), draw(state, NARROW),
        (state.why or words.WHY) if measured else "", words.text(state), words.conditions(state),
        "measured" if measured else None, tuple(controls), message=state.message, summary=words.summary(state),
        status=words.describe(state) if measured else "", waiting=not measured,
    )  # fmt: skip
