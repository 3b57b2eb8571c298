"""How buffers are drawn: their bytes, and under each the tensors that look at it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...common.wording import bytes_text, exact, plural
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import Canvas, shorten
from .model import CELLS, HEAD, Buffer, BufferState, Entry, byte_of, entry, unravel, visit
from .words import EMPTY, NO_BYTES, arithmetic, describe, ordinal_text, text, why


def draw(state: BufferState, width: int) -> Figure:
    """Buffers with their bytes, and under each the tensors that look at it."""
    canvas = Canvas(width)
    wide = width >= WIDE
    floor_x, cell_w = (366, 36) if wide else (0, 36)
    left = floor_x + 10 if wide else 7
    y = 26.0
    canvas.items.append("")  # the floor goes here once its height is known
    if state.buffers:
        canvas.text(left, 20, state.buffers[0].device, "b")
        canvas.text(left + 30, 20, "byte address" + _unit(state), "t2")
    for number_, buffer in enumerate(state.buffers):
        rows = [e for e in state.entries if e.buffer == number_]
        y = _draw_buffer(canvas, state, number_, buffer, rows, y, left, cell_w, wide)
        for e in rows:
            y = _draw_entry(canvas, state, e, buffer, y, left, cell_w, wide)
        y += 14
    if not state.entries:
        canvas.text(left, 28, EMPTY, "t2")
        y = 48
    floor = Canvas(width)
    floor.rect(floor_x, 0, width - floor_x, y - 4, "floor")
    floor.line(floor_x, 0.5, width, 0.5, "floortop")
    canvas.items[0] = "".join(floor.items)
    canvas.height = max(y, canvas.height)
    here = _wrap_terms(arithmetic(state), int((width - 4) / 7.9))
    for part in here:
        canvas.height += 20
        canvas.text(0, canvas.height, part, "m f13 b" if len(here) == 1 else "m f13")
    title = f"{plural(len(state.entries), 'name')}, {plural(len(state.buffers), 'buffer')}"
    return Figure(canvas, title, describe(state))


def _unit(state: BufferState) -> str:
    sizes = {b.itemsize for b in state.buffers}
    return f", {bytes_text(sizes.pop())} per cell" if len(sizes) == 1 else ""


def _wrap_terms(line: str, characters: int) -> list[str]:
    """Break a chain of equalities before an equals sign."""
    lines: list[str] = []
    for part in line.split(" = ") if line else ():
        joined = f"{lines[-1]} = {part}" if lines else part
        if lines and len(joined) > characters:
            lines.append(f"  = {part}")
        else:
            lines[-1:] = [joined]
    return lines


def _slots(buffer: Buffer) -> list[int | None]:
    """Cell numbers from left to right, with None where cells are left out."""
    if buffer.count <= CELLS:
        return list(buffer.cells)
    return [*buffer.cells[:HEAD], None, *buffer.cells[HEAD:]]


def _columns(canvas: Canvas, buffer: Buffer, left: float, w: float, y: float) -> Iterator[tuple[int, int, int]]:
    """Slot, place among the drawn cells, and cell number, from left to right; the gap is drawn on the way."""
    drawn = 0
    for slot, cell in enumerate(_slots(buffer)):
        if cell is None:
            canvas.text(left + (slot + 0.5) * w, y + 17, "…", "f16 t2", "middle")
        else:
            yield slot, drawn, cell
            drawn += 1


def _draw_buffer(
    canvas: Canvas,
    state: BufferState,
    number_: int,
    buffer: Buffer,
    rows: list[Entry],
    y: float,
    left: float,
    w: float,
    wide: bool,
) -> float:
    shared = "one tensor" if len(rows) == 1 else f"shared by {len(rows)} tensors"
    caption = f"{bytes_text(buffer.nbytes)}, {shared}"
    e = entry(state, state.picked)
    cell_now = byte_of(e, state.index) // buffer.itemsize if e and e.buffer == number_ and 0 not in e.shape else None
    top = y + 20
    for slot, drawn, cell in _columns(canvas, buffer, left, w, top):
        x = left + slot * w
        canvas.rect(x, top, w, 26, "cell")
        for t in range(1, min(buffer.itemsize, 8)):
            at = x + t * w / min(buffer.itemsize, 8)
            canvas.line(at, top + 22, at, top + 26, "tick")
        value, address = buffer.values[drawn], cell * buffer.itemsize
        canvas.text(x + w / 2, top + 17, value, "m f13" if len(value) < 5 else "m", "middle")
        if slot in (0, 7) if buffer.count > CELLS else address < 1000 and (wide or cell % 2 == 0):
            canvas.text(x, top - 4, exact(address), "m t2")
    if not buffer.count:
        canvas.text(left, top + 17, NO_BYTES, "t2")
    if cell_now in buffer.cells:
        canvas.rect(left + _slots(buffer).index(cell_now) * w, top - 1, w, 28, "frame")
    if wide:
        canvas.text(354, top + 18, caption, "t2", "end")
        canvas.text(0, top + 18, f"buffer {buffer.name}", "b")
        return top + 38
    canvas.text(left, top + 41, f"buffer {buffer.name}", "b")
    canvas.text(left + 62, top + 41, caption, "t2")
    return top + 50


def _draw_entry(
    canvas: Canvas, state: BufferState, e: Entry, buffer: Buffer, y: float, left: float, w: float, wide: bool
) -> float:
    made = e.label or e.name
    meta = f"{e.shape}, strides {e.strides}" + (f", from byte {e.offset}" if e.offset else "")
    row = y + 7 if wide else y + 34
    tip = canvas.tag(0 if wide else left, y + 10 if wide else y + 2, shorten(e.name, 8))
    if wide:
        card = max(tip + 14, 48)
        canvas.line(tip, y + 20, card, y + 20, "rule")
        canvas.rect(card, y + 0.75, 353 - card, 39, "card", rx=8)
        canvas.text(card + 10, y + 17, shorten(made, int((340 - card) / 7.23)), "m b")
        canvas.text(card + 10, y + 33, shorten(meta, int((340 - card) / 7.23)), "m t2")
    else:
        canvas.text(tip + 8, y + 9, shorten(made, 48), "m b")
        canvas.text(tip + 8, y + 24, shorten(meta, 50), "m t2")
    picked_at = None
    if e.name == state.picked and 0 not in e.shape:
        picked_at = visit(e.shape, e.strides, e.offset, byte_of(e, state.index))
    for slot, drawn, cell in _columns(canvas, buffer, left, w, row):
        x = left + slot * w
        position = e.order[drawn]
        if position is None:
            canvas.circle(x + w / 2, row + 13, 1.5, "dot")
            continue
        index = unravel(e, position)
        words = f"{e.name}[{', '.join(map(str, index))}] is at byte {byte_of(e, index)} of buffer {buffer.name}"
        here = position == picked_at
        canvas.open(
            tabindex=0, role="button", aria_label=words, data_act="point", data_value=f"{e.name}:{position}",
            data_link=f"{e.buffer}:{cell}", data_tip=words,
        )  # fmt: skip
        span = w * e.itemsize / buffer.itemsize
        ordinal = ordinal_text(e, position)
        inset = 3 if len(ordinal) < 4 else 1
        canvas.rect(x + inset, row, min(span, w) - 2 * inset, 26, "picked" if here else "card", rx=5)
        canvas.text(x + w / 2, row + 17, ordinal if len(ordinal) < 5 else "…", "m tv b" if here else "m tv", "middle")
        canvas.close()
    return y + 50 if wide else row + 36


def frame(state: BufferState, ask: str, extra: tuple[Control, ...] = ()) -> Frame:
    """The whole widget."""
    controls: list[Control] = []
    e = entry(state, state.picked)
    if e is not None and len(state.entries) > 1:
        controls.append(Control("radio", "pick", "index of", e.name, tuple(x.name for x in state.entries)))
    if e is not None and 0 not in e.shape:
        for axis, size in enumerate(e.shape):
            label = "" if axis or len(state.entries) > 1 else f"index of `{e.name}`"
            hint = f"index along axis {axis}"
            controls.append(Control("scrub", f"axis:{axis}", label, state.index[axis], (0, size - 1, 1), hint=hint))
    read_from = ", ".join([f"NumPy {np.__version__}", *sorted({x.dtype for x in state.entries})])
    tip = "Hover a cell for its address. Blue: the order in which a tensor visits the cells. A dot: a cell it skips."
    return Frame(
        "BufferMap", ("names", "tensors", "buffers"), ask, draw(state, WIDE), draw(state, NARROW), why(state),
        text(state), f"addresses and strides read from {read_from}", None, (*controls, *extra), tip, state.message,
    )  # fmt: skip
