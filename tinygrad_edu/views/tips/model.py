"""The tips as a front door: find one, predict, run, see, explain, try where it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ... import cuda
from ...common.wording import exact, plain
from ...errors import ArgumentError
from ...tips import GUIDES, THEMES, Choice, Limit, Result, Size, Tip, search, source_of
from ...tips.words import count_text, fact_text
from ..board import Block, Board, Code, Controls, Drawing, Editor, Fold, Item, Row, Section, Words
from ..frame import NARROW, WIDE, Control, Figure, Progress
from ..marks import MONO_13, Canvas, shorten, wrap_text
from .figures import bars, picture

WAYS = (("A", "slow"), ("B", "fast"))
LETTERS = {name: letter for letter, name in WAYS}
WAITING = "The result is not in this page: it is measured after your prediction."
STEPS = ("Predict", "Run", "See", "Explain", "Try where it ends")
SAID = {"holds": "The tip holds", "no difference": "No difference", "false here": "False here"}
RESET = Control("button", "reset", "Reset", push=True, key="r")


@dataclass(frozen=True)
class Visit:
    """What became of one tip so far."""

    setting: Mapping[str, Any] = field(default_factory=dict)  # what differs from the defaults
    draft: str | None = None
    committed: bool = False
    code: Mapping[str, str] = field(default_factory=dict)  # edited copies, by "slow" and "fast"
    editing: bool = False
    result: Result | None = None
    ran: Mapping[str, str] = field(default_factory=dict)  # the edited copies that the result is of
    explanation: str = ""
    explained: bool = False
    ends: Mapping[int, Result] = field(default_factory=dict)  # the limits that were tried

    @property
    def state(self) -> str:
        """The visit in a word, for the list."""
        if self.explained:
            return "explained"
        return "run" if self.result is not None else "predicted" if self.committed else "not yet"


@dataclass(frozen=True)
class BrowserState:
    """The filters, the tip in front, and what became of each."""

    slug: str
    alone: bool = False  # one tip, without the list
    words: str = ""
    theme: str = ""
    source: str = ""
    symptom: str = ""
    visits: Mapping[str, Visit] = field(default_factory=dict)
    message: str = ""

    @property
    def visit(self) -> Visit:
        """What became of the tip in front."""
        return self.visits.get(self.slug, Visit())

    def with_visit(self, **changes: Any) -> BrowserState:
        """The state after something was done with the tip in front."""
        return replace(self, visits={**self.visits, self.slug: replace(self.visit, **changes)}, message="")

    def shown(self) -> tuple[Tip, ...]:
        """The tips that the filters leave."""
        return search(self.words, theme=self.theme, source=self.source, symptom=self.symptom)


def draft(tip: Tip, state: BrowserState, value: Any) -> BrowserState:
    """A prediction, not committed yet. Raises `ArgumentError` for what is none of the choices."""
    if value not in tip.question.choices:
        raise ArgumentError(
            f"the prediction {value!r}", "it is none of the choices", f"take one of {', '.join(tip.question.choices)}"
        )
    return state.with_visit(draft=value)


def sections(tip: Tip, visit: Visit, progress: Progress | None) -> tuple[Section, ...]:
    """The steps, of which those that would give the result away hold nothing before the prediction."""
    code = Section("", (_code(tip, visit), *_code_controls(visit)))
    predict = _step(1, _predict(tip, visit), visit.committed)
    if not visit.committed:
        return code, predict, *_later(2)
    run = _step(2, _run(tip, visit, progress), visit.result is not None)
    if visit.result is None:
        return code, predict, run, *_later(3)
    return (
        code, predict, run,
        _step(3, _see(tip, visit, visit.result), True),
        _step(4, _explain(tip, visit), visit.explained),
        _step(5, _limits(tip, visit), bool(visit.ends)),
        Section("", _more(tip, visit.result)),
    )  # fmt: skip


def _step(number: int, blocks: tuple[Block, ...], done: bool) -> Section:
    return Section(STEPS[number - 1], blocks, number, "done" if done else "now")


def _later(first: int) -> list[Section]:
    return [Section(name, (), number, "later") for number, name in enumerate(STEPS, 1) if number >= first]


def way(tip: Tip, visit: Visit, name: str) -> str:
    """The code of ``slow`` or ``fast``, as edited. It is called A or B: which one is faster is to be found out."""
    return visit.code.get(name, source_of(getattr(tip, name), LETTERS[name]))


def _code(tip: Tip, visit: Visit) -> Block:
    blocks: list[Words | Code | Editor] = []
    for letter, name in WAYS:
        source = way(tip, visit, name)
        label = f"**{letter}**{', edited' if name in visit.code else ''}"
        blocks.append(
            Editor(label, source, f"code:{name}", f"code of {letter}") if visit.editing else Code(label, source)
        )
    return Row(tuple(blocks))


def _code_controls(visit: Visit) -> tuple[Block, ...]:
    if visit.editing:
        done = Control("button", "edited", "Done")
        return (Controls((done, Control("button", "restore", "Original code", disabled=not visit.code), RESET)),)
    edit = Control("button", "edit", "Edit the code")
    back = (Control("button", "restore", "Original code"),) if visit.code else ()
    return (Controls((edit, *back, RESET)),)


def _predict(tip: Tip, visit: Visit) -> tuple[Block, ...]:
    if visit.committed:
        return (Words(f"You said: **{visit.draft}**."), Controls((Control("button", "again", "Predict again"),)))
    choices = Control("radio", "draft", "", visit.draft, tip.question.choices, hint="your prediction")
    commit = Control("button", "commit", "Commit", main=True, disabled=visit.draft is None)
    return (Controls((choices, Control("break"), commit)), Words(WAITING, "hole"))


def _run(tip: Tip, visit: Visit, progress: Progress | None) -> tuple[Block, ...]:
    label = "Run again" if visit.result else "Run"
    controls = [Control("button", "run", label, main=True, disabled=progress is not None)]
    controls += [_parameter(p, visit) for p in tip.parameters]
    devices = tuple(device for device in tip.devices if device != "cuda" or cuda.is_available())
    if len(devices) > 1:
        controls.append(_parameter(Choice("device", devices[0], devices, "where the tensors live"), visit))
    old = _what_changed(tip, visit, visit.result) if visit.result is not None else ""
    return (Controls(tuple(controls)), *((progress,) if progress else ()), *((Words(old, "quiet"),) if old else ()))


def _what_changed(tip: Tip, visit: Visit, result: Result) -> str:
    """What the result below is for, where that is no more what is set and written above."""
    if dict(result.setting) != tip.setting(visit.setting):
        return f"What follows is for {_setting_text(result.setting)}."
    return "What follows is for the code as it was." if visit.code != visit.ran else ""


def _parameter(p: Size | Choice, visit: Visit) -> Control:
    now = visit.setting.get(p.name, p.default)
    if isinstance(p, Choice):
        return Control("radio", f"set:{p.name}", f"`{p.name}`", now, p.options, hint=p.words)
    place = p.stops.index(now) if now in p.stops else 0
    return Control(
        "range", f"set:{p.name}", f"`{p.name} = {exact(now)}`", place, (0, len(p.stops) - 1, 1), hint=p.words
    )


def _setting_text(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` = {value}" for name, value in setting.items() if name != "device")


def _see(tip: Tip, visit: Visit, result: Result) -> tuple[Block, ...]:
    if result.slow["error"] or result.fast["error"]:
        return Words(SAID[result.verdict], "verdict"), Words(result.reason, "error")
    right = tip.question.answer(result)
    said = "You said the same." if visit.draft == right else f"You said: {visit.draft}."
    blocks: list[Block] = [
        Words(SAID[result.verdict], "verdict"),
        Words(f"**{tip.title}.**"),
        Words(f"It is: **{right}**. {said}"),
        *((Words(tip.question.refutation),) if right != tip.question.tempting else ()),
        *((Words(result.reason, "quiet"),) if result.reason else ()),
        Drawing(bars(result, NARROW)),
        Words(f"Equal numbers: {'yes' if result.equal else 'no'}.", "quiet"),
        *picture(tip),
    ]
    return tuple(blocks)


def _explain(tip: Tip, visit: Visit) -> tuple[Block, ...]:
    area = Control("area", "explanation", "", visit.explanation, hint="your explanation")
    compare = Control("button", "explain", "Compare", main=not visit.explained)
    ours = (Words(tip.why, "why"), Words(tip.about)) if visit.explained else ()
    return Words(tip.explain), Controls((area, compare)), *ours


def _limits(tip: Tip, visit: Visit) -> tuple[Block, ...]:
    blocks: list[Block] = [Words("No tip holds everywhere. Predict what becomes of this one, then try.")]
    for place, limit in enumerate(tip.limits):
        blocks.append(Controls((Control("button", "limit", f"Run with {_limit_text(limit)}", place),)))
        found = visit.ends.get(place)
        if found is not None:
            counted = "; ".join(j.words for j in found.claims if j.claim.counted)
            blocks += [Words(f"**{found.verdict.capitalize()}.** {found.reason}"), Words(f"{counted}.", "quiet")]
    return tuple(blocks)


def _limit_text(limit: Limit) -> str:
    return ", ".join(f"{name} = {value}" for name, value in limit.setting.items())


def _more(tip: Tip, result: Result) -> tuple[Block, ...]:
    said = [Words(f"{GUIDES[s.guide]}, {s.section}: {s.says}.") for s in tip.sources]
    folds: list[Block] = [Fold("Where it comes from", tuple(said))]
    if tip.slip is not None and result.guide is not None:
        shown = ", ".join(_fact(name, result.guide[name]) for name in tip.slip.shows)
        slip = (Words(tip.slip.words), Code(f"as the {GUIDES[tip.slip.guide]} has it", source_of(tip.slip.run)))
        folds.append(Fold("Where the guide slips", (*slip, Words(f"Counted here: {shown}.", "quiet"))))
    codes = tuple(Code(f"{e.framework}, {e.date}", e.code) for e in tip.elsewhere)
    return (*folds, Fold("The same elsewhere", codes))


def _fact(name: str, value: Any) -> str:
    said = "the same numbers as B" if name == "equal" else fact_text(name)
    return f"{said}: {count_text(name, value)}"


def text(tip: Tip, state: BrowserState) -> str:
    """The text twin."""
    visit, result = state.visit, state.visit.result
    lines = [_heading(tip, state), plain(tip.question.ask)]
    lines += [f"  {'◇' if choice == visit.draft else ' '} {choice}" for choice in tip.question.choices]
    for letter, name in WAYS:
        source = way(tip, visit, name)
        lines += [f"{letter}{', edited' if name in visit.code else ''}:", *(f"  {row}" for row in source.split("\n"))]
    if result is None:
        lines.append("Run it to see." if visit.committed else WAITING)
    else:
        lines += _result_lines(tip, visit, result)
    shown = [] if state.alone else ["", "tips:", *(f"  {t.slug}: {_visit(state, t).state}" for t in state.shown())]
    message = [f"▲ {state.message}"] if state.message else []
    return "\n".join([*lines, *shown, *message])


def _result_lines(tip: Tip, visit: Visit, result: Result) -> list[str]:
    lines = [f"with {plain(_setting_text(result.setting))}: {result.verdict}"]
    if result.slow["error"] or result.fast["error"]:
        return [*lines, f"▲ {plain(result.reason)}"]
    right = tip.question.answer(result)
    lines += [
        *([plain(result.reason)] if result.reason else []),
        f"you: {visit.draft}", f"result: {right}",
        *([plain(tip.question.refutation)] if right != tip.question.tempting else []),
        *(f"  {j.words}: {j.verdict}" for j in result.claims),
        f"  equal numbers: {'yes' if result.equal else 'no'}",
        f"explain: {plain(tip.explain)}",
        *([plain(tip.why), plain(tip.about)] if visit.explained else []),
    ]  # fmt: skip
    ends = ((_limit_text(tip.limits[place]), found) for place, found in visit.ends.items())
    return [*lines, *(f"limit {setting}: {found.verdict}. {plain(found.reason)}" for setting, found in ends)]


def _visit(state: BrowserState, tip: Tip) -> Visit:
    return state.visits.get(tip.slug, Visit())


def _heading(tip: Tip, state: BrowserState) -> str:
    """Widget and tip; the title too, once it no longer gives the result away."""
    return f"{_name(state)}: {tip.slug}{f', {tip.title}' if state.visit.result is not None else ''}"


def _name(state: BrowserState) -> str:
    return "Tip" if state.alone else "TipBrowser"


def figure(tip: Tip, visit: Visit, width: int) -> Figure:
    """What stands for the sections in a picture: both ways as code, and the bars once there are any."""
    canvas = Canvas(width)
    y = _draw_code(canvas, tip, visit) + 8
    title = f"{tip.slug}: two ways to do the same"
    if visit.result is None:
        canvas.rect(1, y, width - 2, 64, "hole")
        for i, row in enumerate(wrap_text(WAITING, 60 if width == NARROW else 110)):
            canvas.text(width / 2, y + 36 + 18 * i, row, "f13 t2", "middle")
        return Figure(canvas, title, WAITING)
    found = bars(visit.result, width)
    canvas.items += [f'<g transform="translate(0 {y})">', *found.canvas.items, "</g>"]
    canvas.text_items += found.canvas.text_items
    canvas.height = y + found.canvas.height
    return Figure(canvas, title, found.description)


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


STAGES = {
    "BufferMap": ("tensors", "buffers"), "BroadcastLab": ("tensors", "buffers"), "GraphStepper": ("tensors",),
    "TimingRace": ("tensors", "device"),
}  # fmt: skip


def frame(tip: Tip, state: BrowserState, progress: Progress | None = None) -> Board:
    """The whole widget."""
    visit = state.visit
    timing = visit.result.timing if visit.result else None
    conditions = timing.conditions.text() if timing else "counted, not timed" if visit.result else "nothing is run yet"
    if timing:
        conditions += f" · {len(timing.ratios)} pairs after {len(timing.slow.warmups)} warm-ups, median and middle half"
    return Board(
        name=_name(state), stages=STAGES[tip.picture.widget], ask=tip.question.ask,
        wide=figure(tip, visit, WIDE), narrow=figure(tip, visit, NARROW), why="",
        text=text(tip, state), conditions=conditions, badge="measured" if timing else None,
        message=state.message, progress=progress, summary=_summary(tip, state),
        sections=sections(tip, visit, progress), finders=() if state.alone else _finders(state),
        lists=() if state.alone else _lists(state), chosen=tip.slug, kicker=tip.slug,
        empty="No tip fits all of this.",
    )  # fmt: skip


def _summary(tip: Tip, state: BrowserState) -> str:
    """What a saved notebook shows: the same on every machine."""
    verdict = state.visit.result.verdict if state.visit.result else state.visit.state
    return f"{_heading(tip, state)}\n{plain(tip.question.ask)}\n{verdict}"


def _finders(state: BrowserState) -> tuple[Control, ...]:
    tips = search()
    symptoms = ((s, s) for s in sorted({symptom for tip in tips for symptom in tip.symptoms}))
    themes = tuple((theme, THEMES[theme]) for theme in dict.fromkeys(tip.theme for tip in tips))
    guides = tuple((letter, GUIDES[letter]) for letter in GUIDES if any(letter in tip.guides for tip in tips))
    return (
        Control("search", "words", "", state.words, hint=f"Search {len(tips)} tips"),
        Control("select", "theme", "", state.theme, (("", "all themes"), *themes), hint="theme"),
        Control("select", "source", "", state.source, (("", "all guides"), *guides), hint="guide"),
        Control("select", "symptom", "", state.symptom, (("", "all symptoms"), *symptoms), hint="symptom"),
    )


def _lists(state: BrowserState) -> tuple[tuple[str, tuple[Item, ...]], ...]:
    found: dict[str, list[Item]] = {}
    for tip in state.shown():
        found.setdefault(THEMES[tip.theme], []).append(Item(tip.slug, tip.slug, _visit(state, tip).state))
    return tuple((heading, tuple(items)) for heading, items in found.items())
