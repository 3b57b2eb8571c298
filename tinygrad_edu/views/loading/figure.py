"""How a loader is drawn: a row for each worker, the batches that lie ready, and the loop on its device below."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...common.wording import number, seconds_text
from ...data.practice import KINDS
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import UI_12, Canvas, wrap_text
from . import words
from .model import KEPT, PREFETCH, SIZES, STEPS, WORKERS, LoadingState, Pass, Piece, Run

LEFT, RIGHT = 78.0, 64.0  # for the names of the lanes, and for the whole time
ROW, TALL = 26.0, 20.0
DEEP = 40.0  # of the batches that lie ready
TIP = "Hover a batch to read when it was read, and how long it was waited for."


@dataclass(frozen=True)
class Scale:
    """Time from left to right."""

    left: float
    right: float
    end: float

    def at(self, time: float) -> float:
        """Where a time is."""
        return self.left + (self.right - self.left) * time / self.end


def draw(state: LoadingState, width: int) -> Figure:
    """The lanes, and what they come to."""
    canvas, run = Canvas(width), state.run
    if run is None:
        canvas.rect(1, 1, width - 2, 180, "hole")
        for place, line in enumerate(wrap_text(words.HIDDEN, int(width / 8.5))):
            canvas.text(width / 2, 96 + 18 * place, line, "f13 t2", "middle")
        return Figure(canvas, "Hidden until predicted", words.describe(state))
    scale = Scale(LEFT, width - RIGHT, run.span)
    y = _legend(canvas, run, width)
    top = y
    for epoch, one in enumerate(run.passes, 1):
        canvas.text(scale.at(one.begin) + 4 * (epoch > 1), y + 12, f"epoch {epoch}", "b")
    y = _workers(canvas, run, scale, y + 20)
    y = _ready(canvas, run, scale, y + 14) if run.workers else y + 8
    y = _loop(canvas, run, scale, y, width)
    for one in run.passes[1:]:
        canvas.line(scale.at(one.begin), top, scale.at(one.begin), y, "dotted")
    canvas.line(scale.at(run.span), top, scale.at(run.span), y, "span")
    canvas.text(scale.at(run.span) + 7, top + 12, seconds_text(run.span), "b")
    y = _axis(canvas, scale, y + 8, 6 if width >= WIDE else 4)
    _scales(canvas, state, run, y + 18, width)
    return Figure(canvas, "Workers, batches that lie ready, and the loop", words.describe(state))


def _legend(canvas: Canvas, run: Run, width: int) -> float:
    """What the parts of a batch mean."""
    x, y = 0.0, 2.0
    canvas.text(x, y + 12, "one batch", "t2")
    x += 66
    for name, cls, wide in (("samples read", "work-read", 96.0), ("joined", "work-kernel", 52.0)):
        canvas.rect(x, y - 1, wide, 18, cls)
        canvas.text(x + wide / 2, y + 12, name, "", "middle")
        x += wide
    x += 18
    canvas.rect(x, y - 1, 56, 18, "work-host")
    canvas.text(x + 28, y + 12, "trains", "", "middle")
    x += 56
    canvas.rect(x + 18, y - 1, 54, 18, "wash")
    canvas.rect(x + 18, y + 15, 54, 2, "edge-alert")
    canvas.text(x + 45, y + 12, "▲ waits", "ta", "middle")
    return y + 28


def _workers(canvas: Canvas, run: Run, scale: Scale, y: float) -> float:
    """A row for each worker, or one for the loop that reads by itself."""
    lanes: list[int | None] = [*range(run.workers)] or [None]
    for worker in lanes:
        canvas.text(LEFT - 12, y + 14, words.lane(worker), "", "end")
        for epoch, one in enumerate(run.passes):
            for number_, begun, ready in one.starts:
                if number_ == worker:
                    _start(canvas, scale, begun, ready, y)
            for group in _groups([piece for piece in one.pieces if piece.worker == worker], scale):
                _piece(canvas, group, scale, y, epoch)
        y += ROW
    return y


def _start(canvas: Canvas, scale: Scale, begun: float, ready: float, y: float) -> None:
    x1, x2 = scale.at(begun), scale.at(ready)
    if x2 - x1 < 3:
        return
    canvas.rect(x1, y, x2 - x1, TALL, "ghost")
    if x2 - x1 > 34:
        canvas.text((x1 + x2) / 2, y + 14, "start", "t2", "middle")


def _groups(pieces: list[Piece], scale: Scale) -> list[list[Piece]]:
    """Batches of one lane; those that would be thinner than three pixels together with their neighbours."""
    found: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda one: one.began):
        thin = scale.at(piece.packed) - scale.at(piece.began) < 3
        last = found[-1][-1] if found else None
        if last is not None and thin and scale.at(piece.began) - scale.at(last.packed) < 2 and len(found[-1]) < 50:
            found[-1].append(piece)
        else:
            found.append([piece])
    return found


def _piece(canvas: Canvas, group: list[Piece], scale: Scale, y: float, epoch: int) -> None:
    """A batch: read, joined, and handed over at its point; its number where there is room."""
    first, last = group[0], group[-1]
    x1, x2 = scale.at(first.began), max(scale.at(last.packed), scale.at(first.began) + 1)
    told = f"batch {first.number}" if len(group) == 1 else f"batches {first.number} to {last.number}"
    waited = sum(one.taken - one.wanted for one in group)
    seen = (
        f"{words.lane(first.worker)}: {told}, read from {words.at(first.began)} to {words.at(first.read)}, handed over "
        f"at {words.at(last.packed)}; the loop waited {seconds_text(waited)} for it"
    )
    canvas.open(data_link=f"b{epoch}:{first.number}", data_tip=seen, role="img", aria_label=seen)
    if len(group) > 1 or x2 - x1 < 9:
        canvas.rect(x1, y, x2 - x1, TALL, "work-read" if len(group) == 1 else "work-kernel")
    else:
        middle = min(max(scale.at(first.read), x1 + 2), x2 - 6)
        canvas.rect(x1, y, middle - x1, TALL, "work-read")
        body = f"M{middle:.1f} {y:.1f}H{x2 - 5:.1f}L{x2:.1f} {y + TALL / 2:.1f}L{x2 - 5:.1f} {y + TALL:.1f}"
        canvas.path(f"{body}H{middle:.1f}Z", "work-kernel", y + TALL)
        label = str(first.number)
        if len(label) * UI_12 + 6 <= x2 - x1 - 5:
            canvas.text((x1 + x2 - 5) / 2, y + 14, label, "", "middle")
    canvas.close()


def _ready(canvas: Canvas, run: Run, scale: Scale, y: float) -> float:
    """How many batches lie ready, as steps."""
    most = max(4, run.most_ready)
    floor = y + DEEP
    canvas.text(LEFT - 12, y + 18, "batches", "", "end")
    canvas.text(LEFT - 12, y + 34, "ready", "", "end")
    for value in (most // 2, most):
        height = floor - DEEP * value / most
        canvas.line(scale.left, height, scale.right, height, "hair")
        canvas.text(scale.right + 8, height + 4, str(value), "t2")
    for one in run.passes:
        points, depth = [f"M{scale.at(one.begin):.1f} {floor:.1f}"], 0
        for time, depth in one.ready:
            points.append(f"H{scale.at(time):.1f}V{floor - DEEP * depth / most:.1f}")
        canvas.path("".join(points) + f"H{scale.at(one.end):.1f}V{floor:.1f}Z", "work-kernel", floor)
    return floor + 16


def _loop(canvas: Canvas, run: Run, scale: Scale, y: float, width: int) -> float:
    """The loop on its device: what it does with each batch, and where it stands still."""
    canvas.rect(LEFT - 6, y, width - LEFT + 6, TALL + 14, "floor")
    canvas.line(LEFT - 6, y, width, y, "floortop")
    canvas.text(LEFT - 12, y + 21, "training", "", "end")
    y += 7
    for epoch, one in enumerate(run.passes):
        for start, end in _together(one.stalls, scale):
            _stall(canvas, scale, start, end, y)
        _steps(canvas, one, scale, y, epoch)
    return y + TALL + 7


def _together(stalls: list[tuple[float, float]], scale: Scale) -> list[tuple[float, float]]:
    """Waits that follow each other within a pixel are one."""
    found: list[tuple[float, float]] = []
    for start, end in stalls:
        if found and scale.at(start) - scale.at(found[-1][1]) < 1:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


def _stall(canvas: Canvas, scale: Scale, start: float, end: float, y: float) -> None:
    x1, x2 = scale.at(start), scale.at(end)
    if x2 - x1 < 0.5:
        return
    canvas.rect(x1, y, x2 - x1, TALL, "wash")
    canvas.rect(x1, y + TALL - 2, x2 - x1, 2, "edge-alert")
    label = f"▲ {seconds_text(end - start)}"
    label = label if len(label) * UI_12 + 8 <= x2 - x1 else "▲"
    if len(label) * UI_12 + 6 <= x2 - x1:
        canvas.text((x1 + x2) / 2, y + 14, label, "ta", "middle")


def _steps(canvas: Canvas, one: Pass, scale: Scale, y: float, epoch: int) -> None:
    """What the loop does with each batch. Neighbours that are too thin are one shape."""
    x1 = x2 = -1.0
    for piece in one.pieces:
        start, end = scale.at(piece.taken), scale.at(piece.until)
        if end - start >= 9:
            point = f"L{end:.1f} {y + TALL / 2:.1f}L{end - 4:.1f} {y + TALL:.1f}"
            seen = f"the loop uses batch {piece.number} until {words.at(piece.until)}"
            canvas.open(data_link=f"b{epoch}:{piece.number}", data_tip=seen, role="img", aria_label=seen)
            canvas.path(f"M{start:.1f} {y:.1f}H{end - 4:.1f}{point}H{start:.1f}Z", "work-host", y + TALL)
            canvas.close()
        elif start - x2 < 1 and x2 > 0:
            x2 = end
            continue
        else:
            if x2 > 0:
                canvas.rect(x1, y, max(x2 - x1, 0.8), TALL, "work-host")
            x1, x2 = start, end
    if x2 > 0:
        canvas.rect(x1, y, max(x2 - x1, 0.8), TALL, "work-host")


def _axis(canvas: Canvas, scale: Scale, y: float, ticks: int) -> float:
    power = 10.0 ** math.floor(math.log10(scale.end / ticks))
    step = next(power * m for m in (1, 2, 5, 10) if scale.end / (power * m) <= ticks)
    canvas.line(scale.left, y, scale.right, y, "axis")
    for tick in range(int(scale.end / step + 1e-9) + 1):
        x = scale.at(tick * step)
        canvas.line(x, y, x, y + 5, "axis")
        last = tick == int(scale.end / step + 1e-9)
        canvas.text(x, y + 19, f"{tick * step * 1e3:g}{' ms' * last}", "t2", "middle")
    return y + 24


# What it comes to ----------------------------------------------------------------------------------------------------


def _scales(canvas: Canvas, state: LoadingState, run: Run, y: float, width: int) -> None:
    """Samples a second, with the most there could be; and the share of time for which the loop waits."""
    half = (width - 40) / 2 if width >= WIDE else float(width)
    best = words.best(run)
    rates, stalls = [one.rate for one in state.runs], [one.stalled for one in state.runs]
    _line(canvas, "samples a second", (0, y, half), best, [number(run.rate), words.spread(rates)], run.rate,
          f"{number(best)} if it never waited", None, state.alone)  # fmt: skip
    x, y = (width - half, y) if width >= WIDE else (0.0, y + 94)
    said = None if state.said is None or not state.asked or state.outdated else state.said / 100
    _line(canvas, "share of time for which the loop waits", (x, y, half), 1.0,
          [words.share(run.stalled), words.spread(stalls, percent=True)], run.stalled, "100 %", said)  # fmt: skip


def _line(
    canvas: Canvas, name: str, box: tuple[float, float, float], most: float, told: list[str], value: float, end: str,
    said: float | None, alone: float = 0.0,
) -> None:  # fmt: skip
    x, y, width = box
    canvas.text(x, y + 12, name, "b")
    line = y + 54
    canvas.line(x, line, x + width - 2, line, "axis")
    canvas.text(x, line + 18, "0", "t2")
    canvas.text(x + width - 2, line + 18, end, "t2", "end")

    def across(what: float) -> float:
        return x + (width - 12) * min(what / most, 1.0) if most else x

    if alone:
        at = across(alone)
        canvas.line(at, line - 5, at, line + 6, "span")
        canvas.text(min(max(at, x + 62), x + width - 62), line + 34, f"without workers {number(alone)}", "t2", "middle")
    if said is not None:
        at = across(said)
        canvas.path(f"M{at - 8:.1f} {line:.1f}l8 -8l8 8l-8 8z", "you", line + 8)
        canvas.text(min(max(at, x + 26), x + width - 28), line + 34, f"you {100 * said:.0f} %", "", "middle")
    label = " ".join(filter(None, told))
    half = len(label) * UI_12 * 0.58  # it is bold
    at = across(value)
    canvas.circle(at, line, 5, "result")
    canvas.text(min(max(at, x + half), x + width - half), line - 12, label, "b", "middle")


# The widget ----------------------------------------------------------------------------------------------------------


def frame(state: LoadingState, working: bool = False) -> Frame:
    """The whole widget."""
    shown = bool(state.runs)
    return Frame(
        "LoaderGantt", ("device", "queue"), words.question(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state), words.conditions(state), "measured" if shown else None,
        tuple(_controls(state, working)), tip=TIP if shown else None, message=state.message,
        status=words.verdict(state), summary=words.summary(state), waiting=not shown,
        stale=words.STALE if state.outdated and not working else "",
    )  # fmt: skip


COSTS = {"waits": "waits", "NumPy": "NumPy", "Python": "Python"}


def _ends(values: range) -> tuple[int, int, int]:
    """Least, greatest and step of a slider."""
    return values[0], values[-1], 1


def _controls(state: LoadingState, working: bool) -> list[Control]:
    if state.watched:
        return []
    setting = state.setting
    none, kept = not setting.workers, next(name for name, on in KEPT.items() if on == setting.kept)
    found = [
        Control("knob", "workers", "workers", setting.workers, _ends(WORKERS), hint=str(setting.workers)),
        Control("knob", "prefetch", "read ahead", setting.prefetch, _ends(PREFETCH), hint=str(setting.prefetch),
                disabled=none),
        Control("knob", "kind", "as", setting.kind, tuple(SIZES.items()), disabled=none),
        Control("knob", "kept", "kept", kept, tuple((one, one) for one in KEPT), disabled=none),
    ]  # fmt: skip
    if not state.own:
        found.append(Control("knob", "cost", "a sample", setting.cost, tuple((one, COSTS[one]) for one in KINDS)))
    found.append(Control("break"))
    if state.said is None and state.asked:
        found += [
            Control("range", "draft", "waits, %", state.draft, (0, 100, STEPS), hint="your prediction"),
            Control("button", "commit", "Commit and run", main=True, disabled=working),
        ]
    else:
        found.append(Control("button", "again", "Run again", disabled=working, key="a"))
        if state.asked:
            found.append(Control("button", "reset", "Ask again", push=True, key="r"))
    return found
