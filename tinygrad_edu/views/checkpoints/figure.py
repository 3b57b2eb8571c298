"""How checkpoints are drawn: the chain and its cuts, the peak for each number of segments, and one step in time."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...common.wording import bytes_text, plural
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import UI_12, Canvas, hatch, wrap_text
from . import alive, words
from .alive import Scale, mark
from .model import OWNERS, SliderState, again, expected, parts

PLOT = 452.0  # the width of the peaks in the wide form
ALIVE = 338.0  # of one step, beside them
LEFT = 52.0  # room for the numbers of an axis
TOP, FLOOR = 50.0, 210.0  # of the peaks, from the upper edge of their part
LOW, GROUND = 280.0, 308.0  # of the layers computed again
TIP = "Hover or focus a bar to read it; press it to see that run."


def draw(state: SliderState, width: int) -> Figure:
    """The chain, the peaks, one step in time, and what is said of it."""
    canvas, wide = Canvas(width), width >= WIDE
    _chain(canvas, state, width)
    top, plot = 60.0, PLOT if wide else float(width)
    _peaks(canvas, state, top, plot)
    beside, below = (width - ALIVE, top) if wide else (0.0, top + GROUND + 26)
    if state.measured:
        room = ALIVE if wide else float(width)
        alive.draw(canvas, state, (beside, below), room, scale(state), wide)
        _verdict(canvas, state, canvas.height + 14, width)
    elif wide:
        canvas.text(beside, below + 12, "alive during one step", "b")
        canvas.rect(beside, below + TOP, ALIVE - 1, FLOOR - TOP, "hole")
        for i, line in enumerate(wrap_text(words.waiting(state), 34)):
            canvas.text(beside + ALIVE / 2, below + 122 + 18 * i, line, "f13 t2", "middle")
    return Figure(canvas, "Peak memory by number of segments", words.describe(state))


# The chain -------------------------------------------------------------------------------------------------------


def _chain(canvas: Canvas, state: SliderState, width: int) -> None:
    """Each layer a cell: filled if its result is kept after forward, hollow if it is dropped. A cut is a rule."""
    count = state.segments if state.measured else state.draft if state.said is None else state.said
    sizes, wide = parts(state.layers, count), width >= WIDE
    canvas.text(0, 11, words.division(state, count), "b")
    key = [("own-activation", "kept"), ("own-again", "dropped, made again")]
    x, y = width - (216.0 if wide else 0.0), 1.5
    if not wide:
        x, y = 0.0, 19.5
    for cls, told in key:
        canvas.rect(x, y, 11, 11, cls)
        canvas.text(x + 17, y + 9.5, told, "t2")
        x += 17 + len(told) * UI_12 + 16
    top = 20.0 if wide else 38.0
    cut = 7.0 if state.layers <= 60 else 3.0
    pitch = (width - cut * (count - 1)) / state.layers
    gap = min(3.0, pitch / 5)
    x, height = 0.0, 20.0 if wide else 12.0
    for place, size in enumerate(sizes):
        last = place == count - 1
        for i in range(size):
            cls = "own-activation" if last or i == size - 1 else "own-again"
            canvas.rect(x + 0.5, top, pitch - gap - 1 if pitch - gap > 2 else pitch * 0.7, height, cls)
            x += pitch
        if not last:
            canvas.line(x - gap / 2 + cut / 2 - 0.5, top - 6, x - gap / 2 + cut / 2 - 0.5, top + height + 6, "span")
            x += cut
    canvas.height = 60


# The peaks -------------------------------------------------------------------------------------------------------


def scale(state: SliderState) -> Scale:
    """Bytes upwards from zero to a round number above all that is drawn. It is the same whichever run is shown."""
    runs = state.runs if state.measured else state.runs[:1]
    most = max(max(run.peak, expected(state, run).predicted) for run in runs)
    power = 10.0 ** math.floor(math.log10(max(most, 1)))
    step = next(power * m for m in (0.1, 0.2, 0.25, 0.5, 1, 2, 5) if most / (power * m) <= 4)
    return Scale(step, math.ceil(most / step - 1e-9))


def _peaks(canvas: Canvas, state: SliderState, top: float, plot: float) -> None:
    found, floor = scale(state), top + FLOOR
    high = floor - (FLOOR - TOP)
    counts = state.counts
    pitch = (plot - LEFT - 4) / len(counts)

    def across(place: float) -> float:
        return LEFT + 2 + (place + 0.5) * pitch

    def up(size: float) -> float:
        return floor - (floor - high) * size / found.top

    canvas.text(0, top + 12, words.PEAKS, "b")
    if state.measured:
        canvas.text(0, top + 28, words.formula(state), "t2")
    for tick in range(found.count + 1):
        canvas.line(LEFT, up(tick * found.step), plot - 4, up(tick * found.step), "hair")
        canvas.text(LEFT - 8, up(tick * found.step) + 4, found.label(tick), "t2", "end")
    _bars(canvas, state, across, up, min(pitch * 0.72, 22.0), (high, floor))
    canvas.line(LEFT, floor, plot - 4, floor, "axis")
    _ticks(canvas, state, across, floor)
    if state.measured:
        _arithmetic(canvas, state, across, up)
        _lowest(canvas, state, across, up, (high, floor), plot)
        _missing(canvas, state, across, floor)
    else:
        x = across(0.5)
        canvas.rect(x, high, plot - 4 - x, floor - high, "hole")
        canvas.text(x + 12, high + 22, f"{bytes_text(state.plain.peak)} without cuts", "f13 b")
        _prediction(canvas, state, across, high, floor, plot)
    _again(canvas, state, across, top, plot, min(pitch * 0.72, 22.0))


def _bars(
    canvas: Canvas, state: SliderState, across: Callable[[float], float], up: Callable[[float], float], width: float,
    span: tuple[float, float],
) -> None:  # fmt: skip
    """A bar for each run, by owner from the floor up. In a live figure it can be pressed."""
    high, floor = span
    for run in state.runs if state.measured else state.runs[:1]:
        place = state.counts.index(run.segments)
        x = across(place) - width / 2
        if state.measured:
            told = f"{plural(run.segments, 'segment')}: {bytes_text(run.peak)} at the peak"
            canvas.open(
                data_act="segments", data_value=run.segments, tabindex=0, role="button", aria_label=told,
                data_link=f"k{run.segments}", data_current=run.segments == state.segments,
                data_tip=f"{told}: {words.owners_text(run)}",
            )  # fmt: skip
            canvas.rect(x - 1.5, high, width + 3, floor - high, "hit")
        stacked = 0
        for owner, size in zip(OWNERS, run.owners, strict=True):
            y = up(stacked + size)
            height = up(stacked) - y
            stacked += size
            if height < 0.1:
                continue
            cls = mark(run, owner, run.top)
            inset = 0.6 if cls == "own-again" else 0.0
            canvas.rect(x + inset, y + inset, width - 2 * inset, max(height - 2 * inset, 0.2), cls)
            if owner == "workspace":
                hatch(canvas, x, y, width, height)
        if state.measured:
            canvas.close()


def _ticks(canvas: Canvas, state: SliderState, across: Callable[[float], float], floor: float) -> None:
    """Some numbers of segments, always the first, the last and the one that is shown."""
    counts = state.counts
    room = 26.0
    shown = counts.index(state.segments) if state.measured else counts.index(state.draft if state.said is None else 1)
    taken: list[int] = []
    for place in [shown, 0, len(counts) - 1, *range(0, len(counts), max(round(len(counts) / 8), 1))]:
        if all(abs(across(place) - across(other)) >= room for other in taken):
            taken.append(place)
    for place in sorted(taken):
        x, on = across(place), place == shown and state.measured
        canvas.line(x, floor, x, floor + 4, "axis")
        if on:
            canvas.rect(x - 9, floor, 18, 4, "knob")
        canvas.text(x, floor + 18, str(counts[place]), "b" if on else "t2", "middle")


def _arithmetic(
    canvas: Canvas, state: SliderState, across: Callable[[float], float], up: Callable[[float], float]
) -> None:
    """What arithmetic predicts for each run: a line with hollow marks."""
    pitch = across(1) - across(0)
    points = [(across(state.counts.index(run.segments)), up(expected(state, run).predicted)) for run in state.runs]
    canvas.path("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), "line-a")
    for x, y in points:
        canvas.circle(x, y, min(3.0, 3.0 * pitch / 10), "run-a")


def _lowest(
    canvas: Canvas, state: SliderState, across: Callable[[float], float], up: Callable[[float], float],
    span: tuple[float, float], plot: float,
) -> None:  # fmt: skip
    """Where the least peak is, above the bars, and below them where it was predicted."""
    high, floor = span
    least = next(run for run in state.runs if run.segments == state.lowest[0])
    x = across(state.counts.index(least.segments))
    told = f"lowest, {bytes_text(least.peak)}: {words.some(state.lowest, 'or')}"
    y = high - 5
    canvas.line(x, y + 4, x, up(least.peak) - 3, "axis")
    half = len(told) * UI_12 / 2
    canvas.text(min(max(x, LEFT + half), plot - half), y, told, "b", "middle")
    if state.said:
        _you(canvas, across(state.counts.index(state.said)), floor + 30, 6, f"you, {state.said}", plot)


def _you(canvas: Canvas, x: float, y: float, size: float, told: str, plot: float) -> None:
    """The prediction: a diamond, and words on the side where there is room."""
    canvas.path(f"M{x - size:.1f} {y:.1f}l{size} -{size}l{size} {size}l-{size} {size}z", "you", y + size)
    beside = x + size + 6 + len(told) * UI_12 < plot
    canvas.text(x + size + 4 if beside else x - size - 4, y + 4, told, "", None if beside else "end")


def _missing(canvas: Canvas, state: SliderState, across: Callable[[float], float], floor: float) -> None:
    """A word where nothing was measured, because it was stopped."""
    reached = [run.segments for run in state.runs]
    missing = [place for place, count in enumerate(state.counts) if count not in reached]
    if missing:
        canvas.text(across(missing[-1]), floor - 12, "not visited", "t2", "end")


def _prediction(
    canvas: Canvas, state: SliderState, across: Callable[[float], float], high: float, floor: float, plot: float
) -> None:
    count = state.draft if state.said is None else state.said
    x, y = across(state.counts.index(count)), high + 70
    canvas.line(x, y + 8, x, floor, "rule")
    _you(canvas, x, y, 8, f"you: lowest at {count}", plot)


def _again(
    canvas: Canvas, state: SliderState, across: Callable[[float], float], top: float, plot: float, width: float
) -> None:
    """How many layers backward runs once more."""
    low, ground = top + LOW, top + GROUND
    canvas.text(0, low - 16, "layers computed again", "b")
    for value, y in ((0, ground), (state.layers, low)):
        canvas.line(LEFT, y, plot - 4, y, "axis" if not value else "hair")
        canvas.text(LEFT - 8, y + 4, str(value), "t2", "end")
    if not state.measured:
        x = across(0.5)
        canvas.rect(x, low, plot - 4 - x, ground - low, "hole")
        return
    told = f"{again(state.layers, state.segments)} of {state.layers}"
    canvas.text(plot - 4, low - 16, told, "b", "end")
    for run in state.runs:
        height = (ground - low) * again(state.layers, run.segments) / state.layers
        if height:
            x = across(state.counts.index(run.segments)) - width / 2
            cls = "knob" if run.segments == state.segments else "run-a"
            canvas.rect(x, ground - height, width, height, cls)


# The verdict -----------------------------------------------------------------------------------------------------


def _verdict(canvas: Canvas, state: SliderState, y: float, width: int) -> None:
    """The number of segments in large digits, and what is said of it."""
    big = plural(state.segments, "segment")
    left = 24 + len(big) * 16.0 if width >= WIDE else 0.0
    canvas.text(0, y + 24, big, "f24 b")
    bottom = y + 14 if width >= WIDE else y + 48
    for i, line in enumerate([words.headline(state), *words.lines(state)]):
        for part in wrap_text(line, int((width - left) / (7.2 if i else 8.2))):
            canvas.text(left, bottom, part, ("f13 b", "f13")[i > 0])
            bottom += 18
        bottom += 3
    if width >= WIDE:
        canvas.line(left - 12, y, left - 12, bottom - 14, "hair")


# The widget ------------------------------------------------------------------------------------------------------


def frame(state: SliderState, working: bool = False) -> Frame:
    """The whole widget."""
    return Frame(
        "CheckpointSlider", ("buffers", "device"), words.question(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state), words.conditions(state), None if state.time is None else "measured",
        _controls(state, working), TIP if state.measured else None, state.message, summary=words.summary(state),
        status=words.describe(state) if state.measured else "",
    )  # fmt: skip


def _controls(state: SliderState, working: bool) -> tuple[Control, ...]:
    controls, bounds = [], (1, state.layers, 1)
    if state.said is None:
        controls.append(Control("range", "draft", f"your guess: {state.draft}", state.draft, bounds))
        controls.append(Control("button", "commit", "Commit and measure", main=True))
    else:
        controls.append(Control("range", "segments", plural(state.segments, "segment"), state.segments, bounds,
                                disabled=not state.measured))  # fmt: skip
        if len(state.runs) < len(state.counts):
            controls.append(Control("button", "rest", "Measure the rest", main=True, disabled=working))
        else:
            idle = state.segments == 1 or working
            controls.append(Control("button", "time", "Time this run", main=True, disabled=idle))
    if state.models:
        controls.append(Control("radio", "model", "", state.model, state.models, hint="model"))
    if state.said is not None:
        controls.append(Control("button", "reset", "Ask again", push=True, key="r"))
    return tuple(controls)
