"""How buffers are drawn: their bytes, and under each the names that point at them, with what they read there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...common.wording import bytes_text, exact, plural
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, Canvas, shorten, wrap_text
from .model import CELLS, HEAD, Buffer, BufferState, Entry, byte_of, entry, unravel
from .words import (
    BETWEEN,
    EMPTY,
    GOES_ON,
    NO_BYTES,
    again_text,
    arithmetic,
    caption,
    describe,
    goal_sentence,
    meta,
    ordinal_text,
    out_of_sight,
    part_in_write,
    repeats,
    spoken,
    stale_sentence,
    text,
    why,
    write_sentence,
)

LONGEST = 18  # characters of a name's tag
CELL = 36  # the width of a cell


@dataclass(frozen=True)
class Row:
    """Where one name is drawn: the top of its row, of its cells, and its end; its words, broken into lines."""

    entry: Entry
    top: float
    cells: float
    end: float
    made: list[str]
    meta: list[str]


def draw(state: BufferState, width: int) -> Figure:
    """Buffers with their bytes, and under each the names that point at them."""
    canvas = Canvas(width)
    wide = width >= WIDE
    floor_x = 366 if wide else 0
    left = floor_x + 10 if wide else 7
    y = 26.0
    canvas.items.append("")  # the floor goes here once its height is known
    if state.buffers:
        canvas.text(left, 20, state.buffers[0].device, "b")
        canvas.text(left + 30, 20, "byte address" + _unit(state), "t2")
    for number, buffer in enumerate(state.buffers):
        top = y + 20
        start = top + (38 if wide else 54)
        rows = _rows(state, number, start, left, wide)
        _draw_stems(canvas, buffer, rows, left, top + 26)
        _draw_buffer(canvas, state, number, top, left, wide)
        for row in rows:
            _draw_row(canvas, state, row, left, wide)
        y = (rows[-1].end if rows else start) + 14
    if not state.entries:
        canvas.text(left, 28, EMPTY, "t2")
        y = 48
    floor = Canvas(width)
    floor.rect(floor_x, 0, width - floor_x, y - 4, "floor")
    floor.line(floor_x, 0.5, width, 0.5, "floortop")
    canvas.items[0] = "".join(floor.items)
    canvas.height = max(y, canvas.height)
    _draw_sentences(canvas, state)
    title = f"{plural(len(state.entries), 'name')}, {plural(len(state.buffers), 'buffer')}"
    return Figure(canvas, title, describe(state))


def _unit(state: BufferState) -> str:
    sizes = {b.itemsize for b in state.buffers}
    return f", {bytes_text(sizes.pop())} per cell" if len(sizes) == 1 else ""


def _draw_sentences(canvas: Canvas, state: BufferState) -> None:
    """Who saw the last write, which puzzle is solved, and where the learner points."""
    room = int((canvas.width - 4) / 7.9)
    for sentence, weight in ((write_sentence(state), " b"), (goal_sentence(state), " b"), (arithmetic(state), "")):
        for i, line in enumerate(wrap_text(sentence, room) if sentence else ()):
            canvas.height += 20 if i else 24
            canvas.text(0, canvas.height - 4, line, "m f13" + weight)


# Where everything goes ----------------------------------------------------------------------------------------------


def _rows(state: BufferState, number: int, y: float, left: float, wide: bool) -> list[Row]:
    """The rows of one buffer, from top to bottom."""
    rows = []
    for e in state.entries:
        if e.buffer != number:
            continue
        room = int(((340 if wide else 430) - max(_tag_width(e) + 14, 48)) / MONO_12)
        beside = len(part_in_write(state, e)) + 1
        made = [shorten(line, room - beside) for line in wrap_text(e.label or e.name, room - beside)]
        lines = [shorten(line, room) for line in _packed(meta(state, e), room)]
        words = 16 * (len(made) + len(lines)) + 7
        cells = y + 7 if wide else y + words + 2
        foot = cells + 33 + 14 * (state.ordered + repeats(e))
        end = max(foot, y + words + 5) + 4 if wide else foot + 10
        rows.append(Row(e, y, cells, end, made, lines))
        y = end
    return rows


def _packed(parts: list[str], room: int) -> list[str]:
    """Parts joined by commas, in lines of at most ``room`` characters; a part that is too long is broken."""
    lines: list[str] = []
    for i, part in enumerate(parts):
        piece = part + ("," if i < len(parts) - 1 else "")
        if lines and len(lines[-1]) + 1 + len(piece) <= room:
            lines[-1] += f" {piece}"
        else:
            lines += wrap_text(piece, room)
    return lines


def _tag_width(e: Entry) -> float:
    return 22 + len(shorten(e.name, LONGEST)) * MONO_12


def _slots(buffer: Buffer) -> list[int | None]:
    """Cell numbers from left to right, with None where cells are left out."""
    if buffer.count <= CELLS:
        return list(buffer.cells)
    return [*buffer.cells[:HEAD], None, *buffer.cells[HEAD:]]


def _columns(buffer: Buffer) -> Iterator[tuple[int, int, int]]:
    """Slot, place among the drawn cells, and cell number, from left to right."""
    drawn = 0
    for slot, cell in enumerate(_slots(buffer)):
        if cell is not None:
            yield slot, drawn, cell
            drawn += 1


def _draw_stems(canvas: Canvas, buffer: Buffer, rows: list[Row], left: float, y: float) -> None:
    """From the lowest name that looks at a cell up to the cell: an arrow, on which the names between hang or not."""
    for slot, drawn, _ in _columns(buffer):
        lowest = next((row for row in reversed(rows) if row.entry.covers[drawn]), None)
        if lowest is not None:
            x = left + (slot + 0.5) * CELL
            canvas.line(x, y + 7, x, lowest.cells + 2, "rule")
            canvas.path(f"M{x - 4:g} {y + 8:g}L{x:g} {y + 1:g}L{x + 4:g} {y + 8:g}Z", "ih")


def _draw_buffer(canvas: Canvas, state: BufferState, number: int, top: float, left: float, wide: bool) -> None:
    buffer = state.buffers[number]
    e, w = entry(state, state.picked), CELL
    now: range = range(0)  # the cells in which the element pointed at lies
    if e and e.buffer == number and 0 not in e.shape:
        first = byte_of(e, state.index)
        now = range(first // buffer.itemsize, (first + e.itemsize - 1) // buffer.itemsize + 1)
    for slot, drawn, cell in _columns(buffer):
        x = left + slot * w
        value, address = buffer.values[drawn], cell * buffer.itemsize
        canvas.open(data_link=f"{number}:{cell}", data_tip=f"{_bytes(buffer, cell)} of buffer {buffer.name}: {value}")
        canvas.rect(x, top, w, 26, "cell")
        for t in range(1, min(buffer.itemsize, 8)):
            at = x + t * w / min(buffer.itemsize, 8)
            canvas.line(at, top + 22, at, top + 26, "tick")
        _fitted(canvas, x + w / 2, top + 17, value, "m f13" if len(value) < 5 else "m", w - 5)
        canvas.close()
        if slot in (0, 7) if buffer.count > CELLS else address < 1000 and (wide or cell % 2 == 0):
            canvas.text(x, top - 4, exact(address), "m t2")
    if None in (slots := _slots(buffer)):
        canvas.text(left + (slots.index(None) + 0.5) * w, top + 17, "…", "f16 t2", "middle")
    if not buffer.count:
        canvas.text(left, top + 17, NO_BYTES, "t2")
    framed = [slot for slot, _, cell in _columns(buffer) if cell in now]
    if framed:
        canvas.rect(left + framed[0] * w, top - 1, len(framed) * w, 28, "frame")
    said = caption(state, number)
    if wide:
        canvas.text(354, top + 18, said, "t2", "end")
        canvas.text(0, top + 18, f"buffer {buffer.name}", "b")
    else:
        _in_front(canvas, left, top + 48, f"buffer {buffer.name}", "b", 7.5)
        _in_front(canvas, left + 64, top + 48, said, "t2", 6.4)


def _bytes(buffer: Buffer, cell: int) -> str:
    first = cell * buffer.itemsize
    return f"byte {first}" if buffer.itemsize == 1 else f"bytes {first} to {first + buffer.itemsize - 1}"


def _fitted(canvas: Canvas, x: float, y: float, value: str, cls: str, room: float) -> None:
    """A value in the middle of its cell. Five characters are as wide as a cell: they are drawn a little narrower."""
    tight = len(value) * MONO_12 > room
    canvas.text(
        x, y, value, cls, "middle", **({"textLength": room, "lengthAdjust": "spacingAndGlyphs"} if tight else {})
    )


def _in_front(canvas: Canvas, x: float, y: float, content: str, cls: str, advance: float = MONO_12) -> None:
    """Text in front of the stems, which are not drawn behind it."""
    canvas.rect(x - 3, y - 12, len(content) * advance + 6, 16, "floor")
    canvas.text(x, y, content, cls)


def _draw_row(canvas: Canvas, state: BufferState, row: Row, left: float, wide: bool) -> None:
    e, y, part = row.entry, row.top, part_in_write(state, row.entry)
    tip = canvas.tag(0 if wide else left, y + 10 if wide else y + 1, shorten(e.name, LONGEST))
    height = 16 * (len(row.made) + len(row.meta)) + 7
    if wide:
        card, right = max(tip + 14, 48), 353
        canvas.line(tip, y + 20, card, y + 20, "rule")
        canvas.rect(card, y + 0.75, right - card, height, "card", rx=8)
    x, right = (card + 10, 343) if wide else (tip + 8, 439)
    for i, line in enumerate((*row.made, *row.meta)):
        cls, at = "m b" if i < len(row.made) else "m t2", y + 17 + 16 * i - (0 if wide else 3)
        if wide:
            canvas.text(x, at, line, cls)
        else:
            _in_front(canvas, x, at, line, cls)
    if part and wide:
        canvas.text(right, y + 17, part, "m tv b", "end")
    elif part:
        _in_front(canvas, right - len(part) * MONO_12, y + 14, part, "m tv b")
    _draw_cells(canvas, state, row, left, wide)


def _draw_cells(canvas: Canvas, state: BufferState, row: Row, left: float, wide: bool) -> None:
    """What a name reads, each under the byte that it reads."""
    e, buffer, w = row.entry, state.buffers[row.entry.buffer], CELL
    middle = row.cells + 13
    covered = [slot for slot, drawn, _ in _columns(buffer) if e.covers[drawn]]
    if covered:
        canvas.line(
            353 if wide else left + covered[0] * w + w / 2, middle, left + covered[-1] * w + w / 2, middle, "rule"
        )
    if out_of_sight(e):
        canvas.text(left, row.cells + 17, BETWEEN, "t2")
    marked = range(0)
    pointed = entry(state, state.picked)
    if pointed and 0 not in pointed.shape and pointed.buffer == e.buffer and (pointed is e or state.wrote is not None):
        first = byte_of(pointed, state.index)
        marked = range(first, first + pointed.itemsize)
    columns = list(_columns(buffer))
    filled = 0  # slots up to here lie under a card
    for place, (slot, drawn, cell) in enumerate(columns):
        position, value = e.order[drawn], e.values[drawn]
        if position is None or value is None:
            if e.covers[drawn] and slot >= filled:  # of an element that begins in a cell which is not drawn
                canvas.rect(left + slot * w + 3, row.cells, w - 6, 26, "card", rx=5)
                canvas.text(left + (slot + 0.5) * w, row.cells + 17, GOES_ON, "m t2", "middle")
            continue
        index, start = unravel(e, position), cell * buffer.itemsize
        span = 1  # cells that the element fills, as far as they are drawn side by side
        for further, other, number in columns[place + 1 :]:
            if e.order[other] is not None or number * buffer.itemsize >= start + e.itemsize or further != slot + span:
                break
            span += 1
        filled = slot + span
        words = f"{e.name}[{', '.join(map(str, index)) or '()'}] is at byte {exact(start)} of buffer {buffer.name}"
        often = f", read {exact(e.times[drawn])} times" * (e.times[drawn] > 1)
        words += f" and holds {value}{often}"
        here = bool(marked) and start < marked.stop and marked.start < start + e.itemsize
        canvas.open(
            tabindex=0, role="button", aria_label=words, data_act="point", data_value=f"{e.name}:{position}",
            data_link=f"{e.buffer}:{cell}", data_tip=words,
        )  # fmt: skip
        x, inset = left + slot * w, 3 if len(value) < 4 else 1
        canvas.rect(x + inset, row.cells, span * w - 2 * inset, 26, "picked" if here else "card", rx=5)
        _fitted(canvas, x + span * w / 2, row.cells + 17, value, "m tv b" if here else "m tv", span * w - 6)
        canvas.close()
        below = ([ordinal_text(e, position)] if state.ordered else []) + (
            [again_text(e.times[drawn])] if repeats(e) else []
        )
        for line, said in enumerate(below):
            short = said if len(said) < 5 else "…"
            if short:
                left_of = x + span * w / 2 - len(short) * MONO_12 / 2
                _in_front(canvas, left_of, row.cells + 40 + 14 * line, short, "m t2")


def frame(state: BufferState, ask: str, extra: tuple[Control, ...] = (), stale: tuple[str, ...] = ()) -> Frame:
    """The whole widget. ``stale`` are the names whose bytes have changed since the state was read."""
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
    tip = "Blue: what a name reads from the cell that its arrow points at. Where it skips a cell, it has no number."
    if state.ordered:
        tip = "Grey, 1st to nth: the order in which a name visits its cells, row by row. Blue: what it reads there."
    if any(map(repeats, state.entries)):
        tip += " ×2: it reads the same bytes twice."
    since, words = stale_sentence(stale), text(state)
    return Frame(
        "BufferMap", ("names", "tensors", "buffers", "device"), ask, draw(state, WIDE), draw(state, NARROW), why(state),
        f"{words}\n{since}" if since else words, f"values, addresses and strides read from {read_from}", None,
        (*controls, *extra), tip, state.message, status=spoken(state), stale=since,
    )  # fmt: skip
