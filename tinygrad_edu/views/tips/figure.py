"""How a tip is drawn: the steps from prediction to limits, and one picture to represent them."""

from __future__ import annotations

from ... import cuda
from ...common.wording import exact, plain
from ...tips import GUIDES, THEMES, Choice, Result, Size, Tip, search, source_of
from ..board import Block, Board, Code, Controls, Drawing, Editor, Fold, Item, Row, Section, Words
from ..frame import NARROW, WIDE, Control, Figure, Progress
from ..marks import MONO_13, Canvas, shorten, wrap_text
from .bars import bars
from .examples import EXAMPLES, picture
from .model import WAYS, BrowserState, Visit, way
from .words import SAID, WAITING, limit_text, name_of, shown_fact, spoken, summary, text, what_changed

STEPS = ("Predict", "Run", "See", "Explain", "Try where it fails")
RESET = Control("button", "reset", "Reset", push=True, key="r")


def sections(tip: Tip, visit: Visit, progress: Progress | None) -> tuple[Section, ...]:
    """The steps. Those that would give the result away are empty before the prediction."""
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
    old = what_changed(tip, visit, visit.result) if visit.result is not None else ""
    return (Controls(tuple(controls)), *((progress,) if progress else ()), *((Words(old, "quiet"),) if old else ()))


def _parameter(p: Size | Choice, visit: Visit) -> Control:
    now = visit.setting.get(p.name, p.default)
    if isinstance(p, Choice):
        return Control("radio", f"set:{p.name}", f"`{p.name}`", now, p.options, hint=p.words)
    place = p.stops.index(now) if now in p.stops else 0
    return Control(
        "range", f"set:{p.name}", f"`{p.name} = {exact(now)}`", place, (0, len(p.stops) - 1, 1), hint=p.words
    )


def _see(tip: Tip, visit: Visit, result: Result) -> tuple[Block, ...]:
    if result.failed:
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
    blocks: list[Block] = [Words("No tip holds everywhere. Predict the verdict for each setting, then try it.")]
    for place, limit in enumerate(tip.limits):
        blocks.append(Controls((Control("button", "limit", f"Run with {limit_text(limit)}", place),)))
        found = visit.ends.get(place)
        if found is not None:
            counted = "; ".join(j.words for j in found.claims if j.claim.counted)
            blocks += [Words(f"**{found.verdict.capitalize()}.** {found.reason}")]
            blocks += [Words(f"{counted}.", "quiet")] if counted else []
    return tuple(blocks)


def _more(tip: Tip, result: Result) -> tuple[Block, ...]:
    said = [Words(f"{GUIDES[s.guide]}, {s.section}: {s.says}.") for s in tip.sources]
    folds: list[Block] = [Fold("Where it comes from", tuple(said))]
    if tip.slip is not None and result.guide is not None:
        shown = ", ".join(shown_fact(name, result.guide[name]) for name in tip.slip.shows)
        slip = (Words(tip.slip.words), Code(f"as in the {GUIDES[tip.slip.guide]}", source_of(tip.slip.run)))
        folds.append(Fold("Where the guide slips", (*slip, Words(f"Counted here: {shown}.", "quiet"))))
    codes = tuple(Code(f"{e.framework}, {e.date}", e.code) for e in tip.elsewhere)
    return (*folds, Fold("The same elsewhere", codes))


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
        return _draw_failure(canvas, title, visit.result, y)
    found = bars(visit.result, width)
    canvas.items += [f'<g transform="translate(0 {y})">', *found.canvas.items, "</g>"]
    canvas.text_items += found.canvas.text_items
    canvas.height = y + found.canvas.height
    return Figure(canvas, title, found.description)


def _draw_failure(canvas: Canvas, title: str, result: Result, y: float) -> Figure:
    """What was raised, where the bars would be."""
    said = SAID[result.verdict]
    canvas.text(0, y + 24, said, "f24 b")
    for i, row in enumerate(wrap_text(f"▲ {plain(result.reason)}", 60 if canvas.width == NARROW else 110)):
        canvas.text(0, y + 52 + 18 * i, row, "f13")
    return Figure(canvas, title, f"{said}. {plain(result.reason)}")


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


def frame(tip: Tip, state: BrowserState, progress: Progress | None = None) -> Board:
    """The whole widget."""
    visit = state.visit
    timing = visit.result.timing if visit.result else None
    conditions = "nothing is run yet"
    if visit.result is not None:
        conditions = "nothing is compared" if visit.result.failed else "counted, not timed"
    if timing:
        conditions = timing.conditions.text()
        conditions += f" · {len(timing.ratios)} pairs after {len(timing.slow.warmups)} warm-ups, median and middle half"
    return Board(
        name=name_of(state), stages=EXAMPLES[tip.picture.widget].stages, ask=tip.question.ask,
        wide=draw(tip, visit, WIDE), narrow=draw(tip, visit, NARROW), why="",
        text=text(tip, state), conditions=conditions, badge="measured" if timing else None,
        message=state.message, progress=progress, summary=summary(tip, state),
        sections=sections(tip, visit, progress), finders=() if state.alone else _finders(state),
        lists=() if state.alone else _lists(state), chosen=tip.slug, kicker=tip.slug,
        empty="No tip fits all of this.", status=spoken(tip, visit),
    )  # fmt: skip


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
        found.setdefault(THEMES[tip.theme], []).append(Item(tip.slug, tip.slug, state.visit_of(tip.slug).state))
    return tuple((heading, tuple(items)) for heading, items in found.items())
