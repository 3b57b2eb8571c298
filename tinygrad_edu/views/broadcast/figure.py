"""How broadcasting is drawn: each number beside its repeated reads, and below them each gradient beside its terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.wording import brief
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, MONO_13, UI_12, Canvas, wrap_text
from . import grids, model, words
from .grids import Grid
from .model import LabState, Place

LINE = 17.0  # from one line of terms to the next
CAPTION = 24.0  # a name above its grid


def draw(state: LabState, width: int) -> Figure:
    """Forward, backward, and the shapes aligned from the right."""
    canvas = Canvas(width)
    if state.refusal:
        y = _table(canvas, state, 0, width)
        _refusal(canvas, state.refusal, y + 14, width)
    elif 0 in state.readings[2].shape:
        canvas.text(0, 20, words.NO_ELEMENTS, "t2")
        _table(canvas, state, 36, width)
    else:
        y = _halves(canvas, state, width)
        y = _table(canvas, state, y + 22, width)
        base = model.picked_base(state)
        if base is not None and state.picked:
            for line in wrap_text(words.tell(state, "ab".index(state.picked[0]), base), int((width - 4) / MONO_13)):
                y += 20
                canvas.text(0, y, line, "m f13 b")
    canvas.height += 4
    known = "Broadcast forward, sum back in backward" if state.backward is not None else "Broadcast forward"
    title = known if not state.refusal else "Two shapes that do not fit"
    return Figure(canvas, title, words.describe(state))


def _halves(canvas: Canvas, state: LabState, width: int) -> float:
    grid, wide = grids.measure(state, width), width >= WIDE
    left = 86.0 if wide else 0.0
    again = any(model.stretched(shape, state.readings[2].shape) for shape in state.shapes)
    y = 8.0 if wide else 14.0
    _side(canvas, "forward", words.FORWARD[again], y, grid, wide)
    y = _forward(canvas, state, grid, left, y if wide else y + 10, width)
    if words.gap_note(state):
        canvas.text(left, y + 14, words.gap_note(state), "t2")
        y += 20
    canvas.line(0, y + 14, width, y + 14, "hair")
    y += 22 if wide else 32
    if state.backward is None:
        canvas.rect(1, y, width - 2, 118, "hole")
        canvas.text(width / 2, y + 63, words.WAITING, "f13 t2", "middle")
        return y + 120
    _side(canvas, "backward", words.BACKWARD[again], y, grid, wide)
    y = y if wide else y + 10
    if state.said is not None:
        _said(canvas, state, left, y + 10)
        y += 24
    return _backward(canvas, state, grid, left, y, width)


def _side(canvas: Canvas, half: str, caption: str, y: float, grid: Grid, wide: bool) -> None:
    """The name of a half with its arrow: on the left when wide, above when narrow."""
    forward = half == "forward"
    if wide:
        x0, x1, at = 0.0, 60.0, y + CAPTION + grid.row / 2 + 8
        canvas.text(0, at - 12, half, "b")
        for i, line in enumerate(wrap_text(caption, 11)):
            canvas.text(0, at + 20 + 16 * i, line, "t2")
    else:
        x0, x1, at = 76.0, 120.0, y - 4
        canvas.text(0, y, half, "b")
        canvas.text(132, y, caption, "t2")
    if forward:
        canvas.line(x0, at, x1 - 8, at, "fwd")
        canvas.path(f"M{x1} {at}l-7 -4v8z", "fh")
    else:
        canvas.line(x1, at, x0 + 4, at, "bwd")
        canvas.path(f"M{x0 + 9} {at - 4.5}l-8 4.5l8 4.5", "bh")


def _said(canvas: Canvas, state: LabState, x: float, y: float) -> None:
    """The prediction beside the right answer."""
    said = f"you: {state.said}"
    canvas.path(f"M{x} {y - 4}l6 -6l6 6l-6 6z", "you")
    canvas.text(x + 18, y, said, "m")
    at = x + 18 + len(said) * MONO_12 + 24
    canvas.circle(at, y - 4, 5, "result")
    canvas.text(at + 12, y, f"∂a: {state.shapes[0]}", "m b")


def _forward(canvas: Canvas, state: LabState, grid: Grid, left: float, top: float, width: int) -> float:
    heads = ["a", "b", _formula(state)]
    sizes = [(max(grid.width, grids.head_width(h, r.shape)), grid.height + CAPTION)
             for h, r in zip(heads, state.readings, strict=True)]  # fmt: skip
    sizes[2] = (_result_width(state, grid), sizes[2][1])
    spots = grids.flow(sizes, left, width)
    for which, ((x, y), head, reading) in enumerate(zip(spots, heads, state.readings, strict=True)):
        room = width - x if which == 2 else sizes[which][0]
        grids.head(canvas, head, reading.shape, x, top + y + 14, room)
        _numbers(canvas, state, grid, which, x, top + y + CAPTION)
    for which, sign in enumerate((state.op, "=")):
        (x0, y0), (x1, y1) = spots[which : which + 2]
        if y0 == y1 and grid.width:
            middle = (x0 + grid.width + x1) / 2
            canvas.text(middle, top + y0 + CAPTION + grid.height / 2 + 4, sign, "m f16", "middle")
    return top + max(y for _, y in spots) + sizes[2][1]


def _formula(state: LabState) -> str:
    return f"c = a {state.op} b"


def _result_width(state: LabState, grid: Grid) -> float:
    """The width of c with its head, whose shape may be left out. Its gradient has the same width."""
    return max(grid.width, grids.head_width(_formula(state), ()))


def _numbers(canvas: Canvas, state: LabState, grid: Grid, which: int, x: float, top: float) -> None:
    """One grid of c's shape. A number is in its card, and again, dotted, wherever it is read again."""
    reading = state.readings[which]
    known = dict(zip(model.places(grid.shown), reading.values, strict=True))
    picked = model.picked_base(state) if state.picked and state.picked[0] == reading.name else None
    for place, at, y in grids.drawn_places(canvas, grid, x, top):
        base = model.source(reading.shape, place)
        here = which < 2 and base == picked
        own = base == place
        _open_number(canvas, state, which, place, own)
        style = ("picked" if here else "card") if own else "ghost"
        grids.cell(canvas, grid, at, y, style, known[place], "tv b" if own or here else "t2")
        canvas.close()


def _open_number(canvas: Canvas, state: LabState, which: int, place: Place, own: bool) -> None:
    """Begin a labelled mark. All reads of one number, its gradient and its terms light up together."""
    reading = state.readings[which]
    base = model.source(reading.shape, place)
    position = model.flat(reading.shape, base)
    if which == 2:
        parts = (brief(model.value_at(state, r.values, place)) for r in state.readings)
        a, b, c = parts
        said = f"{model.index_text('c', reading.shape, place)} = {a} {state.op} {b} = {c}"
        canvas.open(data_link=f"c{position}", data_tip=said)
        return
    said = words.tell(state, which, base)
    act = {"tabindex": 0, "role": "button", "aria_label": said, "data_act": "point",
           "data_value": f"{reading.name}:{position}"} if own else {}  # fmt: skip
    canvas.open(**act, data_link=f"{reading.name}{position}", data_tip=said)


# Backward --------------------------------------------------------------------------------------------------------


def _backward(canvas: Canvas, state: LabState, grid: Grid, left: float, top: float, width: int) -> float:
    sizes = [_sums_size(state, grid, which) for which in (0, 1)]
    sizes.append((_result_width(state, grid), grid.height + CAPTION))
    spots = grids.flow(sizes, left, width)
    for which in (0, 1):
        x, y = spots[which]
        grids.head(canvas, f"∂{'ab'[which]}", state.shapes[which], x, top + y + 14, width)
        _sums(canvas, state, grid, which, x, top + y + CAPTION)
    x, y = spots[2]
    grids.head(canvas, "∂c", state.readings[2].shape, x, top + y + 14, width - x)
    _arrived(canvas, state, grid, x, top + y + CAPTION)
    return top + max(y + h for (_, y), (_, h) in zip(spots, sizes, strict=True))


@dataclass(frozen=True)
class Row:
    """One row of a gradient: its numbers, and the terms beside or under them."""

    bases: tuple[Place | None, ...]  # None where numbers are left out
    terms: tuple[tuple[str, ...], ...]  # of each number, by line
    beside: bool
    head: str = ""  # of a block of three axes; it stands alone


def rows(state: LabState, grid: Grid, which: int) -> list[Row]:
    """The rows of a's or b's gradient. None of a row's numbers are drawn where rows are left out."""
    shape, onto = state.shapes[which], state.readings[2].shape
    again = {i + model.AXES - len(onto) for i in model.stretched(shape, onto)}
    kept = [(0,) if axis in again else grid.shown[axis] for axis in range(model.AXES)]
    found = []
    for i in kept[0]:
        if grid.solid and 0 not in again and i is not None:
            found.append(Row((), (), True, words.block_text(i)))
        for j in kept[1] if i is not None else (None,):
            if i is None or j is None:
                found.append(Row((None,), (), True))
                continue
            bases = tuple(None if k is None else (i, j, k) for k in kept[2])
            beside = 2 in again
            terms = tuple(_said_terms(state, which, base, beside) if base else ("…",) for base in bases)
            found.append(Row(bases, terms if again else (), beside))
    return found


def _said_terms(state: LabState, which: int, base: Place, beside: bool) -> tuple[str, ...]:
    """``= 1+0`` and in further lines ``+2+1``; under a number bare terms, one to a line. Where backward sums over
    blocks, each block begins with its head, as in ∂c."""
    placed = model.placed_lines(state, which, base)
    if beside:
        said = [("= " if not n else "") + line for n, line in enumerate(words.equation(state, which, base))]
    else:
        said = [words.added(line) for _, line in placed]
    onto = state.readings[2].shape
    if len(onto) < model.AXES or 0 not in model.stretched(state.shapes[which], onto):
        return tuple(said)
    parts: list[str] = []
    for n, ((block, _), line) in enumerate(zip(placed, said, strict=True)):
        parts += [words.block_text(block)] if n == 0 or block != placed[n - 1][0] else []
        parts.append(line)
    return tuple(parts)


def _row_height(row: Row, grid: Grid) -> float:
    if row.bases == (None,) or row.head:
        return 24.0 if row.head and row.head != words.block_text(0) else 18.0
    count = max((len(terms) for terms in row.terms), default=0)
    return max(grid.row, LINE * count + grid.row - LINE) if row.beside else grid.row + LINE * count + 8 * bool(count)


def _sums_size(state: LabState, grid: Grid, which: int) -> tuple[float, float]:
    found = rows(state, grid, which)
    beside = [len(line) for row in found if row.beside for terms in row.terms for line in terms]
    widest = max(max((len(row.bases) for row in found), default=1) * grid.cell, max(beside, default=0) * MONO_12
                 + grid.cell + 8 if beside else 0, len(words.sum_label(state, which)) * UI_12)  # fmt: skip
    return widest, CAPTION + sum(_row_height(row, grid) for row in found) + 22


def _sums(canvas: Canvas, state: LabState, grid: Grid, which: int, x: float, top: float) -> None:
    """A gradient laid out like its tensor, with the terms that add up to each number."""
    assert state.backward is not None
    values, y = state.backward.sums[which].values, top
    for row in rows(state, grid, which):
        height = _row_height(row, grid)
        if row.head:
            canvas.text(x, y + height - 6, row.head, "m t2")
        for column, base in enumerate(row.bases):
            at = x + column * grid.cell
            if base is None:
                middle = 12 if row.bases == (None,) else grid.baseline
                canvas.text(at + grid.cell / 2, y + middle, "…", "t2", "middle")
                continue
            position = model.flat(state.shapes[which], base)
            here = state.picked == f"{'ab'[which]}:{position}"
            canvas.open(data_link=f"{'ab'[which]}{position}", data_tip=words.tell(state, which, base))
            tall = height - 2 if row.terms else grid.row - 2
            wide = grid.cell - 2 if not row.beside else grid.cell + 8 + max(map(len, row.terms[column])) * MONO_12
            canvas.rect(at + 1, y + 1, wide, tall, "hit", rx=4)
            style = "now-backward" if here else "gradient"
            grids.cell(canvas, grid, at, y, style, model.value_at(state, values, base), "tg")
            if row.terms:
                _terms(canvas, row.terms[column], row.beside, at, y, grid)
            canvas.close()
        y += height
    canvas.text(x, y + 14, words.sum_label(state, which), "t2")


def _terms(canvas: Canvas, terms: tuple[str, ...], beside: bool, x: float, y: float, grid: Grid) -> None:
    for n, line in enumerate(terms):
        if beside:
            indent = 0 if line.startswith(("=", "[", "…")) else MONO_12  # a further sign is under the space after the =
            canvas.text(x + grid.cell + 6 + indent, y + grid.baseline + LINE * n, line, "m t2")
        else:
            canvas.text(x + grid.cell / 2, y + grid.row + 14 + LINE * n, line, "m t2", "middle")


def _arrived(canvas: Canvas, state: LabState, grid: Grid, x: float, top: float) -> None:
    """The gradient that arrives at c. Each of its numbers can be pressed: that adds one."""
    assert state.backward is not None
    shape = state.readings[2].shape
    known = dict(zip(model.places(grid.shown), state.backward.upstream, strict=True))
    for place, at, y in grids.drawn_places(canvas, grid, x, top):
        position = model.flat(shape, place)
        said = f"∂{model.index_text('c', shape, place)} = {brief(known[place])}: press to change it"
        canvas.open(tabindex=0, role="button", aria_label=said, data_act="turn", data_value=position,
                    data_link=f"c{position}", data_tip=said)  # fmt: skip
        grids.cell(canvas, grid, at, y, "gradient", known[place], "tg")
        canvas.close()


# Shapes and refusals ---------------------------------------------------------------------------------------------


def _table(canvas: Canvas, state: LabState, top: float, width: int) -> float:
    """Shapes aligned from the right, and what stretching costs: beside each row, or below it."""
    head, *rest = words.table(state)
    widest = max((len(word) for row in rest for word in row[1:]), default=0) * MONO_12
    step = max(widest, 6 * UI_12) + 24
    edge = 16 + step * (len(head) - 1)
    remarks = [words.facts(state, which) for which in range(3)] if state.readings else [""] * 3
    beside = edge + 24 + max(map(len, remarks)) * UI_12 <= width
    for i, word in enumerate(head[1:]):
        canvas.text(16 + step * (i + 1), top + 12, word, "t2", "end")
    y = top + 14
    for row, remark in zip(rest, remarks, strict=True):
        if row[0] == "c":
            canvas.line(0, y + 8, edge, y + 8, "rule")
            y += 4
        y += 22 if beside else 26
        canvas.text(0, y, row[0], "m b")
        for i, word in enumerate(row[1:]):
            tone = "m ta b" if i - len(row) + 1 in (state.refusal.axes if state.refusal else ()) else "m"
            canvas.text(16 + step * (i + 1), y, word, f"{tone} b" if "→" in word else tone, "end")
        if remark:
            y += 0 if beside else 18
            canvas.text(edge + 24 if beside else 16, y, remark, "t2")
    return y + 4


def _refusal(canvas: Canvas, refusal: model.Refusal, top: float, width: int) -> None:
    """What was tried, why it cannot work, and how to fix it."""
    room = int((width - 96) / 7.4)
    parts = [("tried", refusal.tried), ("why", refusal.why), ("mend", refusal.mend)]
    told = [(label, wrap_text(said, room)) for label, said in parts]
    height = 42 + 19.0 * sum(len(lines) for _, lines in told)
    canvas.rect(0, top, width, height, "wash")
    canvas.rect(0, top, 3, height, "edge-alert")
    canvas.text(16, top + 24, "▲ ShapeError", "ta b f13")
    y = top + 46
    for label, lines in told:
        canvas.text(16, y, label)
        for line in lines:
            canvas.text(72, y, line, "m" if label == "tried" else "")
            y += 19


# The frame -------------------------------------------------------------------------------------------------------


def frame(state: LabState) -> Frame:
    """The whole widget."""
    controls = [
        Control("text", name, f"shape of `{name}`", str(shape).strip("()").rstrip(",") or "()")
        for name, shape in zip("ab", state.shapes, strict=True)
    ]
    controls.append(Control("radio", "op", "", state.op, tuple(model.OPS), hint="operation"))
    if state.backward is not None:
        controls.append(Control("radio", "upstream", "`∂c`", state.upstream, model.UPSTREAMS))
    elif state.readings:
        controls += [
            Control("break"),
            Control("radio", "draft", "shape of `∂a`", state.draft, model.choices(state)),
            Control("button", "commit", "Commit", main=True, disabled=state.draft is None),
        ]
    controls.append(Control("button", "reset", "Reset", push=True, key="r"))
    dtype = f", {state.dtype}" * bool(state.dtype)
    conditions = f"values, strides and bytes read from tensors of this run{dtype}, NumPy {np.__version__}"
    if state.backward is not None:
        conditions += " · ∂c is made up: press its numbers" if state.upstream == "made up" else " · ∂c is all ones"
    tip = "Hover a number: all its reads light up, and its gradient. Press it to keep it."
    drawn = state.readings and 0 not in state.readings[2].shape
    return Frame(
        "BroadcastLab", ("tensors", "buffers"), words.ask(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state), conditions, None, tuple(controls), tip if drawn else None, state.message,
        status=words.spoken(state),
    )  # fmt: skip
