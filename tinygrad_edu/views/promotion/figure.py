"""How a trace of dtypes is drawn: the tree, and beside each row its shape, its dtype and its bytes."""

from __future__ import annotations

from ...common.wording import bytes_text, shape_text
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..glyphs import BITS, fill, glyph
from ..marks import MONO_12, MONO_13, UI_12, Canvas, shorten, wrap_text
from . import words
from .model import TABLES, PromotionState, Row, in_hand, rows, suspect

PITCH, HEAD = 28.0, 28.0  # of rows, and what stands above them
STEP = 20.0  # from a row to those below it in the tree, where there is room
_WIDE = {"shape": 380.0, "dtype": 488.0, "bytes": 606.0, "bar": 116.0}
_NARROW = {"shape": 0.0, "dtype": 214.0, "bytes": 318.0, "bar": 48.0}


def draw(state: PromotionState, width: int) -> Figure:
    """The tree with its columns; what is known of the picked row; what the culprit costs, and how to mend it."""
    canvas, at = Canvas(width), _WIDE if width >= WIDE else _NARROW
    shown = rows(state)
    if not shown:
        canvas.text(0, 20, words.EMPTY, "f13 t2")
        return Figure(canvas, "Dtypes of a run", words.describe(state))
    for name, x in (
        ("operation, the result first", 0.0),
        *((name, at[name]) for name in ("shape", "dtype", "bytes") if at[name]),
    ):
        canvas.text(x, 14, name, "t2")
    canvas.line(0, 22, width, 22, "hair")
    _Tree(canvas, state, shown, at).draw()
    _below(canvas, state, shown, width)
    return Figure(canvas, "Dtypes of a run", words.describe(state))


class _Tree:
    """The rows, and the lines between them."""

    def __init__(self, canvas: Canvas, state: PromotionState, shown: list[Row], at: dict[str, float]):
        self.canvas, self.state, self.shown, self.at = canvas, state, shown, at
        deepest = max(row.depth for row in shown)
        self.end = (at["shape"] or at["dtype"]) - 12
        self.step = min(STEP, 0.45 * self.end / max(deepest, 1))
        self.sizes = [words.size_of(state, row) for row in shown]
        results = [size[2] for row, size in zip(shown, self.sizes, strict=True) if row.leaf is None]
        self.largest = max(results, default=0) or max((size[2] for size in self.sizes), default=0) or 1

    def middle(self, place: int) -> float:
        return HEAD + PITCH * (place + 0.5)

    def left(self, row: Row) -> float:
        return 6 + self.step * row.depth

    def draw(self) -> None:
        for place, row in enumerate(self.shown):
            self._ground(place, row)
        wide = {place for place, (_, _, _, extra) in enumerate(self.sizes) if extra}
        bits = [BITS.get(dtype, 0) for dtype, _, _, _ in self.sizes]
        for place in sorted(range(len(self.shown)), key=lambda place: (place in wide, bits[place])):
            self._line(place, self.shown[place], 2.5 if place in wide else 1.5)  # what is wide lies on top
        for place, row in enumerate(self.shown):
            self._row(place, row)

    def _ground(self, place: int, row: Row) -> None:
        y = HEAD + PITCH * place
        if words.mark_text(self.state, row):
            self.canvas.rect(0, y, self.canvas.width, PITCH, "wash")
        elif row.key == self.state.picked:
            self.canvas.rect(0, y, self.canvas.width, PITCH, "on")

    def _line(self, place: int, row: Row, thick: float) -> None:
        """From the row's parent down, and then to it, in the colour of its dtype."""
        if row.parent is None:
            return
        parent, cls = self.shown[row.parent], fill(self.sizes[place][0]) if self.sizes[place][0] else "dot"
        x, top, y = self.left(parent), self.middle(row.parent) + 5, self.middle(place)
        end = self.left(row) - (4 if row.leaf is None else 0)
        self.canvas.rect(x - thick / 2, top, thick, y - top + thick / 2, cls)
        self.canvas.rect(x, y - thick / 2, max(end - x, 2), thick, cls)

    def _row(self, place: int, row: Row) -> None:
        canvas, y, x = self.canvas, self.middle(place), self.left(row)
        told = words.row_text(self.state, row)
        on = row.key == self.state.picked
        acts = {"data_act": "pick", "data_value": row.key, "data_rove": "true", "role": "button"}
        acts = {**acts, "tabindex": "0" if on else "-1"} if row.key != "m" else {}
        canvas.open(**acts, data_tip=told, aria_label=told, data_current=on)
        canvas.rect(0.5, y - PITCH / 2 + 0.5, canvas.width - 1, PITCH - 1, "hit", rx=2)
        self._name(row, x, y, self.sizes[place], on)
        self._columns(y, self.sizes[place])
        canvas.close()

    def _name(self, row: Row, x: float, y: float, size: tuple[str, tuple[int, ...], int, int], on: bool) -> None:
        canvas, name = self.canvas, words.name_text(self.state, row)
        if row.leaf is not None and row.leaf.name and row.key[0] == "l":
            canvas.tag(x, y - 10, shorten(name, int((self.end - x - 24) / MONO_12)))
            return
        if row.key[0] == "m":
            canvas.text(x, y + 4.5, f"▸ {name}" if row.key != "m" else name, "t2" if not on else "")
            return
        if row.leaf is None and row.key[0] != "a":
            canvas.circle(x, y, 5, fill(size[0]) if size[0] not in ("", "bool") else "knob")
            if not size[3]:
                canvas.circle(x, y, 3, "paper")
        mark = words.mark_text(self.state, row)
        mark = f"▲ {mark if self.canvas.width >= WIDE else mark.split(' ')[0]}" if mark else ""
        room = self.end - x - 12 - len(mark) * UI_12 - 8 * bool(mark)
        label = f"▸ {name}" if row.folded else name
        label = shorten(label, max(int(room / MONO_13), 3))
        canvas.text(x + 12, y + 4.5, label, "m f13 b" if mark or on else "m f13")
        if mark:
            canvas.text(x + 20 + len(label) * MONO_13, y + 4.5, mark, "ta b")

    def _columns(self, y: float, size: tuple[str, tuple[int, ...], int, int]) -> None:
        canvas, at = self.canvas, self.at
        dtype, shape, nbytes, extra = size
        if not dtype:
            return
        if at["shape"]:
            canvas.text(at["shape"], y + 4.5, shorten(shape_text(shape) or "scalar", 13), "m")
        canvas.text(at["dtype"] + glyph(canvas, at["dtype"], y, dtype) + 6, y + 4.5, dtype, "m")
        if not nbytes:
            return
        longer = nbytes > self.largest  # than any result: an input, whose bar is broken
        length = max(at["bar"] * min(nbytes / self.largest, 1.0), 1.0)
        needed = length * (nbytes - extra) / max(nbytes, 1)
        base = words.narrow_name(self.state) if extra else dtype
        canvas.rect(at["bytes"], y - 5, max(needed, 0.5), 10, fill(base) if base != "bool" else "knob")
        if extra:
            canvas.rect(at["bytes"] + needed + 1, y - 5, max(length - needed - 1, 0.5), 10, fill(dtype))
        if longer:
            canvas.rect(at["bytes"] + length - 10, y - 7, 2.5, 14, "paper")
            canvas.rect(at["bytes"] + length - 5, y - 7, 2.5, 14, "paper")
        canvas.text(at["bytes"] + length + 6, y + 4.5, bytes_text(nbytes))


def _below(canvas: Canvas, state: PromotionState, shown: list[Row], width: int) -> None:
    y = HEAD + PITCH * len(shown) + 22
    picked = next((row for row in shown if row.key == state.picked), None)
    lines = [(line, "" if i == 0 else "t2") for i, line in enumerate(words.details(state, picked))]
    lines += [(line, "b") for line in (words.cost_text(state), words.time_text(state)) if line]
    for line, cls in lines:
        for part in wrap_text(line, int(width / (UI_12 * 1.15))):
            canvas.text(0, y, part, f"f13 {cls}".strip())
            y += 19
    fixed = words.fix_text(state)
    if fixed:
        canvas.text(0, y + 2, "fix", "t2 f13")
        canvas.text(30, y + 2, shorten(fixed, int((width - 30) / MONO_13)), "m f13")
        y += 22
    if state.trace.first is not None:
        _key(canvas, state, state.trace.steps[state.trace.first].dtype.name, y + 4)


def _key(canvas: Canvas, state: PromotionState, wide: str, y: float) -> None:
    """What the marks mean."""
    canvas.circle(5, y - 4, 5, "knob")
    canvas.text(15, y, "wide", "t2")
    canvas.circle(66, y - 4, 5, "knob")
    canvas.circle(66, y - 4, 3, "paper")
    canvas.text(76, y, "not", "t2")
    canvas.rect(118, y - 9, 10, 10, fill(words.narrow_name(state)))
    canvas.rect(129, y - 9, 10, 10, fill(wide))
    canvas.text(145, y, "needed, and more than needed", "t2")


# The widget ----------------------------------------------------------------------------------------------------------


def frame(state: PromotionState) -> Frame:
    """The whole widget."""
    badge = None if state.timing is None else "measured"
    return Frame(
        "PromotionTracer", ("tensors", "buffers"), words.question(state), draw(state, WIDE), draw(state, NARROW),
        words.why(state), words.text(state), words.conditions(state), badge,
        tuple(_controls(state)), message=state.trace.failure,
        tip="Press a row to see its operands; press an input to choose its dtype." if state.trace.steps else None,
        status=words.describe(state), summary=words.text(state, timed=False),
    )  # fmt: skip


def _controls(state: PromotionState) -> list[Control]:
    one = in_hand(state)
    made = [Control("radio", "make", f"make `{one.name}`", state.choice(one.name), one.options)] if one else []
    blame = suspect(state)
    hint = None if blame else "what the fix converts is not an argument of the function"
    timed = [Control("button", "time", "Time it", disabled=blame is None, hint=hint)]
    return [
        Control("radio", "table", "rules", state.table, TABLES),
        *made,
        *(timed if state.trace.first is not None else []),
        Control("button", "reset", "Reset", push=True, key="r"),
    ]
