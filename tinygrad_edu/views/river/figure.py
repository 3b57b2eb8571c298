"""How memory over time is drawn: one river above the other on one scale, and below them the event that is shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.wording import plain
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, UI_12, Canvas, shorten, wrap_text
from . import words
from .bands import Step, draw_band, label_place, swatch
from .model import LETTERS, STACK, Column, River, RiverState, among, by_line, ceiling, columns, share, total

LEFT = 56.0  # of the plots: room for the ticks
HEAD, NAME = 42.0, 17.0  # above a plot: the label of its peak, and its name
TALL, LOW = 180.0, 108.0  # a plot that is alone, and one of two
BOLD_13 = 7.8  # a generous average for bold text of 13 pixels
BAR = 116.0  # where the bars of the owners begin
WRITTEN = ("parameter", "gradient", "activation")  # bands on which paper-coloured text can be read


def draw(state: RiverState, width: int, working: bool = False) -> Figure:
    """What the owners are, in a dashed frame; or the rivers and the event that is shown."""
    canvas = Canvas(width)
    if not state.rivers:
        _draw_key(canvas, state, width, working)
        return Figure(canvas, "Hidden until predicted", words.describe(state, working))
    y = 0.0
    for line in wrap_text(words.verdict(state), int(width / 7.9)):
        canvas.text(0, y + 13, line, "f13 b")
        y += 19
    y = _draw_event(canvas, state, y + 6, width)
    longest = max(len(river.events) for river in state.rivers)
    each = share(state.rivers)
    pitch, top = (width - LEFT - 4) / -(-longest // each), ceiling(state.rivers)[0]
    for which, river in enumerate(state.rivers):
        y = _Plot(canvas, state, which, y + 8, pitch, columns(river, each), top).draw()
    _draw_tables(canvas, state, y + 12, width)
    return Figure(canvas, "Memory by owner over the events of a run", words.describe(state))


def _draw_key(canvas: Canvas, state: RiverState, width: float, working: bool) -> None:
    """Before the prediction: who the owners are."""
    runs = words.runs_text(state)
    height = 294 if runs else 274
    canvas.rect(1, 1, width - 2, height - 2, "hole")
    canvas.text(24, 30, words.hidden(state, working), "f13 t2")
    for i, line in enumerate(filter(None, (words.PEAK, runs))):
        canvas.text(24, 254 + 20 * i, line, "")
    for i, owner in enumerate(STACK):
        y = 62.0 + 23 * i
        swatch(canvas, owner, 24, y - 11)
        canvas.text(48, y, words.LABELS[owner], "b")
        canvas.text(136, y, words.MEANINGS[owner], "")
    canvas.height = height


# A river ----------------------------------------------------------------------------------------------------------


@dataclass
class _Plot:
    """One run: its bands over the events, its peak, its phases and marks."""

    canvas: Canvas
    state: RiverState
    which: int
    y: float
    pitch: float
    found: list[Column]
    scale: int  # the bytes at the end of the axis

    @property
    def river(self) -> River:
        return self.state.rivers[self.which]

    @property
    def top(self) -> float:
        return self.y + HEAD + NAME * bool(words.title(self.state, self.which))

    @property
    def bottom(self) -> float:
        return self.top + (TALL if len(self.state.rivers) == 1 else LOW)

    @property
    def right(self) -> float:
        return LEFT + self.pitch * len(self.found)

    def height(self, nbytes: float) -> float:
        """Bytes in pixels."""
        return nbytes / self.scale * (self.bottom - self.top)

    def middle(self, event: int) -> float:
        """Where the column of an event is."""
        place = next(i for i, one in enumerate(self.found) if one.first <= event < one.last)
        return LEFT + (place + 0.5) * self.pitch

    def draw(self) -> float:
        """Returns the lower edge."""
        canvas = self.canvas
        canvas.text(0, self.y + 13, shorten(words.title(self.state, self.which), 50), "b f13")
        for value, label in words.ticks(self.state):
            y = self.bottom - self.height(value)
            canvas.line(LEFT, y, canvas.width, y, "hair")
            canvas.text(LEFT - 8, y + 4, label, "t2", "end")
        found = self.steps()
        for owner, steps in found.items():
            draw_band(canvas, owner, steps)
        for owner, steps in found.items():
            self.label(owner, steps)
        canvas.line(LEFT, self.bottom, self.right, self.bottom, "axis")
        self.mark_peak()
        if self.which == self.state.which:
            self.mark_shown()
        self.hits()
        return self.below()

    def label(self, owner: str, steps: list[Step]) -> None:
        """The name of a band in it, where there is room; on a plate where the band itself cannot carry text."""
        label = words.LABELS[owner]
        room = len(label) * UI_12 + 16
        place = label_place(steps, room, 15)
        if place is None:
            return
        x, y = place
        if owner not in WRITTEN:
            self.canvas.rect(x - room / 2 + 4, y - 8, room - 8, 16, "paper", rx=2)
        self.canvas.text(x, y + 4, label, "b tp" if owner in WRITTEN else "b", "middle")

    def steps(self) -> dict[str, list[Step]]:
        """Each owner's band: left, right, top and bottom of each column."""
        found: dict[str, list[Step]] = {}
        floors = [self.bottom] * len(self.found)
        for place, owner in enumerate(STACK):
            steps = []
            for i, column in enumerate(self.found):
                top = floors[i] - self.height(max(self.river.events[column.fullest].most[place], 0))
                steps.append((LEFT + i * self.pitch, LEFT + (i + 1) * self.pitch, top, floors[i]))
                floors[i] = top
            if any(bottom > top for _, _, top, bottom in steps):
                found[owner] = steps
        return found

    def mark_shown(self) -> None:
        """The column of the event that is shown: a line around it, a stroke down to it, a triangle below."""
        x = self.middle(self.state.event)
        column = next(one for one in self.found if one.first <= self.state.event < one.last)
        top = self.bottom - self.height(sum(max(count, 0) for count in self.river.events[column.fullest].most))
        self.canvas.open(data_current=True)
        self.canvas.rect(x - self.pitch / 2, top, self.pitch, self.bottom - top, "axis")
        self.canvas.line(x, self.top - 4, x, top, "rule")
        self.canvas.path(f"M{x:.1f} {self.bottom + 1:.1f}l6 10h-12z", "knob", self.bottom + 11)
        self.canvas.close()

    def mark_peak(self) -> None:
        """A dot on the fullest column, and what happened there."""
        canvas, at = self.canvas, self.river.peak
        x, y = self.middle(at), self.bottom - self.height(total(self.river.events[at].most))
        size, what = words.peak_text(self.river)
        canvas.line(x, y, x, self.top - 20, "rule")
        canvas.circle(x, y, 3.5, "knob")
        room = max(len(size) * BOLD_13, len(what) * UI_12)
        fits = x + 8 + room <= canvas.width
        if not fits:
            what = shorten(what, int((x - 8) / UI_12))
        place, anchor = (x + 8, None) if fits else (x - 8, "end")
        canvas.text(place, self.top - 24, size, "b f13", anchor)
        canvas.text(place, self.top - 8, what, "t2", anchor)

    def hits(self) -> None:
        """Each column can be pressed."""
        for i, column in enumerate(self.found):
            name = f"{LETTERS[self.which]}:{column.fullest}"
            tip = words.column_text(self.river, column)
            self.canvas.open(data_act="at", data_value=name, data_link=name, aria_label=tip, role="button", tabindex=-1)
            self.canvas.rect(LEFT + i * self.pitch, self.top, self.pitch, self.bottom - self.top, "hit")
            self.canvas.close()

    def below(self) -> float:
        """Phases and marks under the axis. Returns the lower edge."""
        canvas = self.canvas
        if any(column.last - column.first > 1 for column in self.found):  # then phases come too thick and fast
            canvas.text((LEFT + self.right) / 2, self.bottom + 26, words.phases_text(self.river), "b", "middle")
        else:
            self.name_phases()
        bottom = self.bottom + 34 + 16 * self.marks()
        canvas.height = max(canvas.height, bottom)
        return bottom

    def name_phases(self) -> None:
        """A stroke where a phase begins, and the names of phases under their columns: of the longest first, and of
        others where there is room beside those."""
        taken: list[tuple[float, float]] = []
        for first, last, phase in sorted(self.phases(), key=lambda one: one[0] - one[1]):
            left, middle = LEFT + first * self.pitch, LEFT + (first + last) / 2 * self.pitch
            if first:
                self.canvas.line(left, self.bottom, left, self.bottom + 14, "rule")
            half = len(phase) * UI_12 / 2 + 6
            if all(middle + half <= one or other <= middle - half for one, other in taken):
                self.canvas.text(middle, self.bottom + 26, phase, "b", "middle")
                taken.append((middle - half, middle + half))

    def marks(self) -> int:
        """A stroke for each mark, with its name in one of two rows where there is room. Returns how many are used."""
        ends = [0.0, 0.0]  # of the names in each row
        named = {self.middle(i): e.what for i, e in reversed([*enumerate(self.river.events)]) if e.phase == "mark"}
        for x, name in sorted(named.items()):  # of several in a column, the first
            label = shorten(name, 16)
            half = len(label) * UI_12 / 2 + 4
            self.canvas.line(x, self.bottom, x, self.bottom + 30, "span")
            middle = min(x, self.canvas.width - half)
            row = next((i for i, end in enumerate(ends) if end <= middle - half), None)
            if row is not None:
                self.canvas.text(middle, self.bottom + 44 + 16 * row, label, "", "middle")
                ends[row] = middle + half
        return sum(end > 0 for end in ends)

    def phases(self) -> list[tuple[int, int, str]]:
        """Stretches of columns of one phase. What lies between operations belongs to the phase before it."""
        found: list[tuple[int, int, str]] = []
        for i, column in enumerate(self.found):
            phase = self.river.events[column.fullest].phase
            if found and phase in (found[-1][2], "between", "mark"):
                found[-1] = (found[-1][0], i + 1, found[-1][2])
            elif phase not in ("between", "mark"):
                found.append((0 if not found else i, i + 1, phase))
        return found


# The event that is shown ------------------------------------------------------------------------------------------


def _draw_event(canvas: Canvas, state: RiverState, y: float, width: float) -> float:
    """What happened in it, and on which line. Returns the lower edge."""
    event = state.river.events[state.event]
    canvas.rect(0, y, width, 50 if event.where else 26, "floor")
    title, module = words.event_title(state), words.module_text(event)
    if len(title) > int((width - 20) / BOLD_13):
        title = title.replace(f" of {len(state.river.events)}", "")  # the size matters more than how many there are
    canvas.text(10, y + 18, shorten(title, int((width - 20) / BOLD_13)), "b f13")
    room = int((width - 40 - len(title) * BOLD_13) / UI_12)
    if module and len(module) <= room:
        canvas.text(width - 10, y + 18, module, "t2", "end")
    if not event.where:
        return y + 26
    place, code = words.place_of(event.where)
    if len(place) > (44 if width >= WIDE else 28):
        place = place.rpartition(", ")[2]  # the line without its long file
    left = 10 + len(place) * UI_12 + 16
    canvas.text(10, y + 39, place, "t2")
    canvas.text(left, y + 39, shorten(code, int((width - left - 8) / MONO_12)), "m b")
    return y + 50


def _draw_tables(canvas: Canvas, state: RiverState, y: float, width: float) -> None:
    """The bytes of each owner; which lines made what is alive, and which names keep it."""
    canvas.line(0, y, width, y, "hair")
    if width >= WIDE:
        _draw_owners(canvas, state, y + 8, 372)
        _draw_lines(canvas, state, 412, y + 8, width - 412)
    else:
        below = _draw_owners(canvas, state, y + 8, width)
        _draw_lines(canvas, state, 0, below + 12, width)


def _draw_owners(canvas: Canvas, state: RiverState, y: float, width: float) -> float:
    """A row for each owner: a bar on the scale of the rivers, and its bytes. Returns the lower edge."""
    event, top = state.river.events[state.event], ceiling(state.rivers)[0]
    room = width - BAR - 164
    you = words.marked(state)
    canvas.text(0, y + 12, words.event_number(state), "b")
    canvas.text(width - 82, y + 12, "when fullest", "t2", "end")
    canvas.text(width, y + 12, "after it", "t2", "end")
    y += 20
    for owner, most, after in zip(STACK, event.most, event.after, strict=True):
        if not (most or after or owner == you):
            continue
        swatch(canvas, owner, 0, y + 3)
        canvas.text(20, y + 13, words.LABELS[owner], "b")
        if most > 0:
            draw_band(canvas, owner, [(BAR, BAR + most / top * room, y + 3, y + 15)])
        canvas.text(width - 82, y + 13, words.size(most), "", "end")
        canvas.text(width, y + 13, words.size(after), "t2", "end")
        if owner == you:
            x = BAR + 8 + max(most, 0) / top * room
            canvas.path(f"M{x:.1f} {y + 3:.1f}l6 6l-6 6l-6 -6z", "you", y + 15)
            canvas.text(x + 10, y + 13, "you", "t2")
        y += 21
    canvas.line(0, y + 2, width, y + 2, "hair")
    canvas.text(20, y + 18, "together", "b")
    canvas.text(width - 82, y + 18, words.size(total(event.most)), "b", "end")
    canvas.text(width, y + 18, words.size(total(event.after)), "t2", "end")
    return y + 24


def _draw_lines(canvas: Canvas, state: RiverState, x: float, y: float, width: float) -> None:
    """The lines that made what is alive, and the names that keep it."""
    groups = by_line(state.river, state.river.events[state.event])
    single = len({group.where.partition(",")[0] for group in groups if group.where}) == 1
    canvas.text(x, y + 12, "alive, by the line that made it", "t2")
    y += 20
    for group in groups[: words.FEW]:
        swatch(canvas, group.owner, x, y + 3)
        canvas.text(x + 88, y + 13, words.size(group.nbytes), "", "end")
        where = group.where.partition(", ")[2] if single and group.where else group.where or words.BEFORE
        canvas.text(x + 100, y + 13, shorten(where, int((width - 100) / MONO_12)), "m")
        y += 21
    if len(groups) > words.FEW:
        canvas.text(x + 100, y + 13, words.more_lines(groups), "t2")
        y += 21
    names = among(state.river, state.event)
    canvas.text(x, y + 22, words.names_title(names), "t2")
    y += 30
    for name in names.kept[: words.FEW]:
        text = words.kept_text(name)
        label = shorten(name[0], int((width - (len(text) - len(name[0])) * UI_12) / MONO_12))
        canvas.text(x, y + 13, label, "m b")
        canvas.text(x + len(label) * MONO_12 + 8, y + 13, text.removeprefix(name[0]).strip(), "")
        y += 19
    if len(names.kept) > words.FEW:
        canvas.text(x, y + 13, words.more_names(names), "t2")
    if not names.kept:
        canvas.text(x, y + 13, words.NOBODY, "")


# The widget -------------------------------------------------------------------------------------------------------


def frame(state: RiverState, working: bool = False) -> Frame:
    """The whole widget."""
    shown = bool(state.rivers)
    return Frame(
        "MemoryRiver", ("buffers", "device"), words.question(state), draw(state, WIDE, working),
        draw(state, NARROW, working), words.why(state), words.text(state, working),
        words.conditions(state, np.__version__), None, tuple(_controls(state, working)),
        tip=f"{words.event_title(state)}. Press a column to see another event." if shown else None,
        summary=words.summary(state), status=plain(words.verdict(state)) if shown else "", waiting=not shown,
    )  # fmt: skip


def _controls(state: RiverState, working: bool) -> list[Control]:
    again = Control("button", "reset", "Ask again", push=True, key="r")
    if not state.begun and not state.rivers:
        choices = tuple(words.LABELS.values())
        chosen = None if state.draft is None else words.LABELS[state.draft]
        return [
            Control("radio", "draft", "", chosen, choices, hint="your prediction"),
            Control("button", "commit", "Commit", main=True, disabled=state.draft is None),
        ]
    if not state.rivers:
        return [again]
    last = len(state.river.events) - 1
    label = f"event {state.event + 1} of {last + 1}"
    runs = LETTERS[: len(state.rivers)]
    return [
        *([Control("radio", "which", "run", runs[state.which], runs)] if len(runs) > 1 else []),
        Control("icon", "back", "Event before", "back", disabled=state.event == 0, key="ArrowLeft"),
        Control("button", "step", "Step", "step", main=True, disabled=state.event == last, key="ArrowRight"),
        Control("range", "event", label, state.event, (0, last, 1)),
        Control("button", "peak", "Peak", key="p"),
        again,
    ]
