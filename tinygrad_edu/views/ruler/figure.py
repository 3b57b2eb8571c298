"""How numbers on a ruler are drawn: their sizes over powers of two, and under them the reach of each format."""

from __future__ import annotations

import math

import numpy as np

from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..glyphs import fill, glyph
from ..marks import UI_12, Canvas, wrap_text
from . import words
from .model import BY_NAME, FORMATS, HIGH, LARGEST, LOW, Format, RulerState

LEFT = 92.0  # where the number line begins, right of the names of formats
TOP, TALL = 62.0, 132.0  # of the histogram
ROW = 26.0
ROOM, MOST_BITS = 18.0, 11  # of a row, for the most bits of precision: those of float16
STEPS = 20


class _Line:
    """The number line: where a power of two stands."""

    def __init__(self, width: float) -> None:
        self.unit = (width - LEFT - 8) / (HIGH - LOW)
        self.end = LEFT + self.unit * (HIGH - LOW)

    def x(self, power: float) -> float:
        return LEFT + self.unit * (min(max(power, LOW), HIGH) - LOW)


def draw(state: RulerState, width: int) -> Figure:
    """The histogram, with what becomes 0 and what is too large; the formats; the axis."""
    canvas, line = Canvas(width), _Line(width)
    for i, part in enumerate(wrap_text(words.heading(state), int(width / (UI_12 * 1.1)))[:2]):
        canvas.text(0, 14 + 16 * i, part, "b")
    base = TOP + 30 + TALL
    _zones(canvas, state, line, base)
    _legend(canvas, state)
    _histogram(canvas, state, line, base)
    canvas.line(LEFT, base, line.end, base, "axis")
    y = base + 14
    for kind in FORMATS:
        _format(canvas, state, kind, line, y)
        y += ROW
    y = _axis(canvas, line, y + 6)
    told = [words.range_text(BY_NAME[state.format], state), words.step_text(state)]
    for text, cls in zip(told, ("t2", "b"), strict=True):
        for part in wrap_text(text, int(width / (UI_12 * 1.12))) if text else ():
            canvas.text(0, y, part, cls)
            y += 17
    return Figure(canvas, f"Numbers on the ruler of {state.format}", words.describe(state))


def _zones(canvas: Canvas, state: RulerState, line: _Line, base: float) -> None:
    """Where numbers become 0, and where they are too large."""
    kind = BY_NAME[state.format]
    low, high = _ends(state, kind)
    zero, over = line.x(low - 1), line.x(high)
    top = TOP + 20
    canvas.rect(LEFT, top, max(zero - LEFT, 0), base - top, "floor")
    canvas.rect(over, top, max(line.end - over, 0), base - top, "floor")
    if zero - LEFT > 66:
        canvas.text(LEFT + 6, top + 16, "becomes 0", "b")
    if zero - LEFT > 66 and kind.dtype:
        canvas.text(LEFT + 6, top + 32, f"up to {words.power_text(kind.smallest - 1)}", "t2")
    beyond = "inf" if kind.name in ("float16", "bfloat16", "e5m2") else "too large" if kind.dtype else "nothing here"
    if line.end - over > len(beyond) * UI_12 + 10:
        canvas.text(line.end - 6, top + 16, beyond, "b", "end")
    for x in (zero, over):
        if LEFT < x < line.end:
            canvas.line(x, top, x, base, "rule")


def _ends(state: RulerState, kind: Format) -> tuple[float, float]:
    """The smallest and the largest number of a format, as powers of two. Those of int8 come from the numbers."""
    if kind.dtype:
        return kind.smallest, math.log2(kind.largest)
    largest = math.log2(float(np.abs(state.sample.values).max())) + state.power
    return largest - math.log2(127), largest


def _legend(canvas: Canvas, state: RulerState) -> None:
    """What the two histograms are, and what becomes of them."""
    y = TOP - 12
    for i, (name, told) in enumerate(words.lines(state)):
        filled = i == 1 or not state.power
        canvas.rect(0.75, y - 9, 10.5, 10.5, _bar(state) if filled else "mark-a")
        canvas.text(18, y, name, "b")
        canvas.text(18 + len(name) * UI_12 + 14, y, told)
        y += 18


def _bar(state: RulerState) -> str:
    return "own-gradient" if state.sample.name == "gradients" else "own-parameter"


def _histogram(canvas: Canvas, state: RulerState, line: _Line, base: float) -> None:
    """The numbers by size: as they are in outline, and multiplied as bars."""
    now, before = _bins(state, state.power), _bins(state, 0)
    most = max(*now.values(), *before.values())  # so that bars do not grow as they move
    for k, many in now.items():
        height = _height(many, most)
        canvas.rect(line.x(k) + 0.5, base - height, line.unit - 1, height, _bar(state))
    if state.power:
        path = ""
        for k in sorted(before):
            left, right, y = line.x(k), line.x(k + 1), base - _height(before[k], most)
            path += f"{'L' if k - 1 in before else f'M{left:.1f} {base:.1f}L'}{left:.1f} {y:.1f}L{right:.1f} {y:.1f}"
            if k + 1 not in before:
                path += f"L{right:.1f} {base:.1f}"
        canvas.path(path, "axis")


def _bins(state: RulerState, power: int) -> dict[int, int]:
    """How many numbers there are in each bar; what is beyond the ends counts in the last ones."""
    found: dict[int, int] = {}
    for k, many in state.sample.bins.items():
        at = min(max(k + power, LOW), HIGH - 1)
        found[at] = found.get(at, 0) + many
    return found


def _height(many: int, most: int) -> float:
    """As high as the share, and never too low to be seen."""
    return max(TALL * 0.92 * many / most, 3.0)


def _format(canvas: Canvas, state: RulerState, kind: Format, line: _Line, y: float) -> None:
    """A format's row: its glyph, its name, and the powers of two that it reaches, as high as its bits of precision."""
    on = kind.name == state.format
    if on:
        canvas.rect(0, y - 4, canvas.width, ROW - 2, "on")
    middle = y + 8
    canvas.text(14 + 2, middle + 4, kind.name, "m b" if on else "m")
    glyph(canvas, 0, middle, kind.name)
    low, high = _ends(state, kind)
    bits = kind.digits + 1 if kind.dtype else 7
    normal = kind.normal if kind.dtype else high
    full = ROOM * bits / MOST_BITS
    for k in range(max(math.floor(low), LOW), min(math.ceil(min(normal, HIGH)), HIGH)):
        height = max(ROOM * (bits - (normal - k)) / MOST_BITS, 1.5)  # of the bits that are left
        left, right = max(line.x(k), line.x(low)), min(line.x(k + 1), line.x(high))
        if right > left:
            canvas.rect(left, middle - height / 2, max(right - left - 0.75, 0.5), height, fill(kind.name))
    if high > normal and line.x(high) > line.x(normal):
        canvas.rect(line.x(normal), middle - full / 2, line.x(high) - line.x(normal), full, fill(kind.name))


def _axis(canvas: Canvas, line: _Line, y: float) -> float:
    """Powers of two. Returns where the next line of text stands."""
    canvas.line(LEFT, y, line.end, y, "axis")
    canvas.text(0, y + 18, "height: bits", "t2")
    canvas.text(0, y + 33, "of precision", "t2")
    for power in range(-40, HIGH + 1, 10):
        x = line.x(power)
        canvas.line(x, y, x, y + 4, "axis")
        near = line.end - x < 12
        canvas.text(line.end if near else x, y + 18, words.power_text(power), "t2", "end" if near else "middle")
    return y + 58


# The widget ----------------------------------------------------------------------------------------------------------


def frame(state: RulerState) -> Frame:
    """The whole widget."""
    return Frame(
        "PrecisionRuler", ("tensors", "buffers"), words.question(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state),
        f"computed in float32, then cast to {state.format} and counted · NumPy {np.__version__}", None,
        tuple(_controls(state)), status=words.describe(state), summary=words.summary(state),
    )  # fmt: skip


def _controls(state: RulerState) -> list[Control]:
    scale = Control(
        "knob", "scale", words.scale_name(state), state.power,
        (0, LARGEST, 1), hint=words.power_text(state.power),
    )  # fmt: skip
    trains = [
        Control("button", "step", "Step", key="s"), Control("button", "steps", f"{STEPS} steps")
    ] if state.trains else []  # fmt: skip
    formats = Control("radio", "format", "format", state.format, tuple(one.name for one in FORMATS))
    return [scale, formats, *trains, Control("button", "reset", "Reset", push=True, key="r")]
