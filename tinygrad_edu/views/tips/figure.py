"""How a tip is drawn: one picture to represent it, and the frame with the list, the question and the steps."""

from __future__ import annotations

from ...common.wording import plain
from ...tips import GUIDES, THEMES, Result, Tip, all_tips, search
from ...tips.findings import verdict_text
from ..board import Board, Item
from ..frame import NARROW, WIDE, Control, Figure, Progress
from ..marks import MONO_13, Canvas, shorten, wrap_text
from .bars import bars
from .examples import EXAMPLES
from .findings import reason_text, timed
from .model import ANY, WAYS, BrowserState, Visit, here, way
from .steps import sections, tools
from .words import WAITING, name_of, spoken, summary, text


def draw(tip: Tip, visit: Visit, width: int) -> Figure:
    """The picture of the sections: both ways as code, and the bars once there are any."""
    canvas = Canvas(width)
    y = _draw_code(canvas, tip, visit) + 8
    title = f"{tip.slug}: two ways to do the same"
    if visit.result is None:
        canvas.rect(1, y, width - 2, 64, "hole")
        for i, row in enumerate(wrap_text(WAITING, 60 if width == NARROW else 110)):
            canvas.text(width / 2, y + 36 + 18 * i, row, "f13 t2", "middle")
        return Figure(canvas, title, WAITING)
    if visit.result.failed:
        return _draw_failure(canvas, title, tip, visit.result, y)
    found = bars(visit.result, width)
    canvas.items += [f'<g transform="translate(0 {y})">', *found.canvas.items, "</g>"]
    canvas.text_items += found.canvas.text_items
    canvas.height = y + found.canvas.height
    return Figure(canvas, title, found.description)


def _draw_failure(canvas: Canvas, title: str, tip: Tip, result: Result, y: float) -> Figure:
    """What was raised, where the bars would be."""
    said, reason = verdict_text(result), plain(reason_text(tip, result))
    canvas.text(0, y + 24, said, "f24 b")
    for i, row in enumerate(wrap_text(f"▲ {reason}", 60 if canvas.width == NARROW else 110)):
        canvas.text(0, y + 52 + 18 * i, row, "f13")
    return Figure(canvas, title, f"{said} {reason}")


def _draw_code(canvas: Canvas, tip: Tip, visit: Visit) -> float:
    """Both ways, side by side where there is room. Returns where they end."""
    beside, y = canvas.width == WIDE, 0.0
    room = canvas.width / 2 - 12 if beside else canvas.width
    for place, (letter, name) in enumerate(WAYS):
        left, top = (place * (room + 24), 0.0) if beside else (0.0, y)
        canvas.text(left, top + 14, letter, "b f13")
        rows = way(tip, visit, name).split("\n")
        canvas.rect(left, top + 22, room, 20 * len(rows) + 12, "floor")
        for i, row in enumerate(rows):
            canvas.text(left + 12, top + 44 + 20 * i, shorten(row, int((room - 24) / MONO_13)), "m f13")
        y = max(y, top + 22 + 20 * len(rows) + 24)
    return y


# The frame ---------------------------------------------------------------------------------------------------------


def frame(tip: Tip, state: BrowserState, progress: Progress | None = None, presenting: bool = False) -> Board:
    """The whole widget; ``presenting``, only the tip in front and its step in hand."""
    visit, listed = state.visit, not (state.alone or presenting)
    timing = visit.result.timing if visit.result and timed(visit.result) else None
    conditions = "nothing is run yet"
    if visit.result is not None:
        conditions = "nothing is compared" if visit.result.failed else "counted; the tip claims nothing about time"
    if timing:
        ran = f"{len(timing.ratios)} pairs after {len(timing.slow.warmups)} warm-ups"
        conditions = f"{timing.conditions.text()} · {ran}; bars: median, middle half"
    return Board(
        name=name_of(state), stages=EXAMPLES[tip.picture.widget].stages, ask=tip.question.ask,
        wide=draw(tip, visit, WIDE), narrow=draw(tip, visit, NARROW), why="",
        text=text(tip, state), conditions=conditions, badge="measured" if timing else None,
        message=state.message, progress=progress, summary=summary(tip, state),
        sections=sections(tip, visit, progress, presenting), finders=_finders(state) if listed else (),
        lists=_lists(state) if listed else (), chosen=tip.slug,
        kicker="" if presenting else tip.slug, tools=tools(visit),
        empty="No tip fits all of this.", status=spoken(tip, visit), waiting=visit.result is None,
    )  # fmt: skip


def _finders(state: BrowserState) -> tuple[Control, ...]:
    tips = search()
    symptoms = ((s, s) for s in sorted({symptom for tip in tips for symptom in tip.symptoms}))
    themes = tuple((theme, THEMES[theme]) for theme in dict.fromkeys(tip.theme for tip in tips))
    devices = dict.fromkeys(device for tip in all_tips() for device in here(tip))
    guides = tuple((letter, GUIDES[letter]) for letter in GUIDES if any(letter in tip.guides for tip in tips))
    return (
        Control("search", "words", "", state.words, hint=f"Search {len(tips)} tips"),
        Control("radio", "device", "", state.device or ANY, (ANY, *devices), hint="device"),
        Control("select", "theme", "", state.theme, (("", "all themes"), *themes), hint="theme"),
        Control("select", "source", "", state.source, (("", "all guides"), *guides), hint="guide"),
        Control("select", "symptom", "", state.symptom, (("", "all symptoms"), *symptoms), hint="symptom"),
    )


def _lists(state: BrowserState) -> tuple[tuple[str, tuple[Item, ...]], ...]:
    found: dict[str, list[Item]] = {}
    for tip in state.shown():
        found.setdefault(THEMES[tip.theme], []).append(Item(tip.slug, tip.slug, state.visit_of(tip.slug).state))
    return tuple((heading, tuple(items)) for heading, items in found.items())
