"""The frame around every figure, top to bottom: head, question, stage, controls, why, foot; as HTML, SVG and text."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from typing import Any

from ..common.wording import plain, seconds_text
from .marks import Canvas, attributes, escape, freeze, rich, wrap_text
from .tokens import stylesheet

STAGES = ("names", "tensors", "buffers", "device", "queue")
WIDE, NARROW = 812, 446
LAST_RUN = "The figure shows the last run."
NOTHING_YET = "Nothing has run yet."  # where a prediction is awaited
BACK_AGAIN = "To use its controls, run the cell again."
BADGES = {"measured": "●", "simulated": "◌", "recorded": "■"}


@dataclass(frozen=True)
class Control:
    """Something to press or to set. ``act`` is the message that it sends, with ``value`` or the text entered."""

    kind: str  # button, icon, radio, text, search, number, range, scrub, select, area, knob, switch, break
    act: str = ""
    label: str = ""
    value: Any = None
    options: tuple[Any, ...] = ()  # of a radio group; (value, words) of a select; (least, greatest, step) of a range
    main: bool = False
    push: bool = False
    pressed: bool | None = None
    disabled: bool = False
    key: str | None = None  # a keyboard key that presses it while the focus is anywhere in the widget
    hint: str | None = None
    walk: str | None = None  # where it leads in a reel, which the browser plays by itself


@dataclass(frozen=True)
class Figure:
    """A drawn canvas, with words for those who cannot see it."""

    canvas: Canvas
    title: str
    description: str

    def svg(self, cls: str | None = None, live: bool = True) -> str:
        """The SVG element."""
        return self.canvas.svg(self.title, self.description, cls, live)


@dataclass(frozen=True)
class Progress:
    """How far a piece of work is: steps done, steps in all (0 if they cannot be counted), and the seconds left."""

    done: int
    total: int
    left: float

    def html(self) -> str:
        """A bar, the count, the time left, and *Stop*."""
        words, known = "running", {}
        if self.total:
            words = f"{self.done} of {self.total}, about {seconds_text(max(self.left, 0.1))} left"
            known = {"aria_valuenow": self.done, "aria_valuemin": 0, "aria_valuemax": self.total}
        bar = attributes(class_="edu-bar", role="progressbar", aria_label="progress", **known)
        share = min(100 * self.done / max(self.total, 1), 100)
        stop = control_html(Control("button", "halt", "Stop"))
        return (
            f'<div class="edu-progress"><span{bar}><span style="width:{share:.0f}%"></span></span>'
            f"<span>{escape(words)}</span>{stop}</div>"
        )


@dataclass(frozen=True)
class Frame:
    """One state of one widget, ready to be shown."""

    name: str
    stages: tuple[str, ...]
    ask: str
    wide: Figure
    narrow: Figure
    why: str
    text: str  # every value that the figure shows
    conditions: str
    badge: str | None = None  # measured, simulated or recorded; None if everything is counted
    controls: tuple[Control, ...] = field(default=())
    tip: str | None = None  # the line that explains a hovered mark; None for no such line
    message: str = ""  # why the last act was refused
    progress: Progress | None = None  # of work under way; the figure is still that of the previous run
    status: str | None = None  # read aloud when it changes: what a commit has shown. None: nothing ever is
    stale: str = ""  # why the figure no longer holds; it is shown pale, under these words
    summary: str = ""  # in place of the text in saved notebooks, where the text would differ from run to run
    waiting: bool = False  # nothing has run: it waits for a prediction

    def html(self, live: bool = True) -> str:
        """The inside of the widget. Without a kernel (``live=False``) controls are absent."""
        kind = attributes(class_=f"edu-prov {self.badge}")
        badge = f"<span{kind}>{escape(self.badge)}</span>" if self.badge else ""
        note = "" if live else f'<span class="edu-last">{self._shows()}</span>'
        return "".join([
            f'<div{attributes(class_="edu-body", **self.body())}>',
            f'<header class="edu-head"><h3>{escape(self.name)}</h3>{strip(self.stages)}</header>',
            self._status(live),
            *self.middle(live),
            self._why(live),
            f'<div class="edu-foot">{badge}<span>{escape(self.conditions)}</span>{note}'
            '<details><summary>Read as text</summary><pre tabindex="0">'  # so that the keyboard can scroll it
            f"{self._twin(live)}</pre></details></div></div>",
        ])  # fmt: skip

    def body(self) -> dict[str, Any]:
        """Further attributes of the whole."""
        return {"data_waiting": True} if self.waiting else {}

    def _shows(self) -> str:
        return NOTHING_YET if self.waiting else LAST_RUN

    def words(self) -> str:
        """All that is said, by the figure and around it: the question, why, and how the figure came about."""
        why = f"why: {plain(self.why)}" * (bool(self.why) and plain(self.why) not in self.text)
        foot = f"{self.badge}: {self.conditions}" if self.badge else self.conditions
        shown = f"shown of the machine: {', '.join(self.stages)}" * bool(self.stages)
        asked = f"question: {plain(self.ask)}" * (bool(self.ask) and plain(self.ask) not in self.text)
        around = [asked, self.text, why, foot, shown]
        return "\n".join(filter(None, around))

    def _why(self, live: bool) -> str:
        return f'<p class="edu-why">{rich(self.why)}</p>' if self.why else ""

    def _twin(self, live: bool) -> str:
        return escape(self.text)

    def _status(self, live: bool) -> str:
        """A region that screen readers watch. It is there before it has words, or they would not be read."""
        return (
            f'<p class="edu-status" role="status">{escape(self.status)}</p>' if live and self.status is not None else ""
        )

    def middle(self, live: bool) -> list[str]:
        """Question, stage and controls."""
        tall = " tall" if self.wide.canvas.height > 1000 else ""
        stale = " stale" if self.progress is not None or self.stale else ""
        broad = " broad" if self.wide.canvas.width > WIDE else ""
        stage = attributes(class_=f"edu-stage{tall}{broad}{stale}", tabindex=-1 if live else None)
        parts = [
            f'<p class="edu-ask">{rich(self.ask)}</p>',
            f"<figure{stage}>{self.wide.svg('w', live)}{self.narrow.svg('n', live)}</figure>",
        ]
        if self.stale:
            since = attributes(class_="edu-since", role="status" if live else None)
            parts.append(f"<p{since}>{escape(self.stale)}</p>")
        if self.tip is not None and live:
            tip = escape(self.tip)
            parts.append(f'<p class="edu-tip" aria-live="polite" data-rest="{tip}">{tip}</p>')
        if self.message:
            alert = attributes(class_="edu-error", role="alert" if live else None)
            parts.append(f"<p{alert}><b>▲</b> {escape(self.message)}</p>")
        if live and self.progress is not None:
            parts.append(self.progress.html())
        if live and self.controls:
            parts.append(f'<div class="edu-controls">{"".join(map(control_html, self.controls))}</div>')
        return parts

    def page(self, theme: str | None = None, live: bool = False) -> str:
        """A whole HTML page, for export and for looking at without Jupyter."""
        section = attributes(class_="edu", aria_label=self.name, data_theme=theme)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(self.name)}</title>'
            f"<style>html{{color-scheme:light dark}}body{{margin:0}}{stylesheet()}</style></head>"
            f"<body><section{section}>{self.html(live)}</section></body></html>"
        )

    def still(self) -> str:
        """The picture and the text for a saved notebook, as HTML that survives where pages are made safe.

        There, scripts, styles and inline SVG are removed, but an image that holds its own data is shown.
        """
        data = base64.b64encode(self.svg().encode()).decode()
        seen = f"{plain(self.ask)} {self.wide.title}. {self.wide.description}".strip()
        words = attributes(alt=seen, style="max-width:100%")
        return (
            f'<figure style="margin:0"><img src="data:image/svg+xml;base64,{data}"{words}>'
            f'<figcaption style="padding:0 24px">{self._shows()} {BACK_AGAIN}<details><summary>Read as text</summary>'
            f'<pre style="font-family:monospace">{escape(self.words())}</pre></details></figcaption></figure>'
        )

    def svg(self, theme: str | None = None) -> str:
        """Everything but the controls as one standalone picture, in one theme or in that of the reader's system."""
        margin = 24
        lines = wrap_text(plain(self.ask), 84)
        width = max(WIDE, round(self.wide.canvas.width))
        canvas = Canvas(width + 2 * margin)
        canvas.text(margin, 30, self.name, "b t2 f13")
        if self.stages:
            canvas.items.append(strip(self.stages, right=width + margin))
        for i, line in enumerate(lines):
            canvas.text(margin, 54 + 22 * i, line, "b f16")
        top = 54 + 22 * (len(lines) - 1) + 24
        pale = ' opacity=".45"' if self.stale else ""
        canvas.items += [f'<g transform="translate({margin} {top})"{pale}>', *self.wide.canvas.items, "</g>"]
        y = top + self.wide.canvas.height + 30
        for line in wrap_text(self.stale, 92) if self.stale else ():
            canvas.text(margin, y - 4, line, "b f16")
            y += 22
        for line in wrap_text(f"▲ {self.message}", 110) if self.message else ():
            canvas.text(margin, y - 4, line, "ta b")
            y += 18
        for line in wrap_text(plain(self.why), 92) if self.why else ():
            canvas.text(margin, y, line, "f16")
            y += 22
        foot = f"{BADGES.get(self.badge, '●')} {self.badge} · {self.conditions}" if self.badge else self.conditions
        canvas.line(margin, y - 4, width + margin, y - 4, "hair")
        for line in wrap_text(foot, 120):
            canvas.text(margin, y + 16, line, "t2")
            y += 17
        canvas.height = y + 12
        return freeze(canvas.svg(self.wide.title, self.wide.description, live=False), theme)


def strip(shown: tuple[str, ...], right: float | None = None) -> str:
    """The machine strip: five signs. Only the stages shown have colour and a word; if none is shown, there is no strip.

    In a picture it ends at ``right``.
    """
    if not shown:
        return ""
    x = 0.0
    parts: list[str] = []
    for stage in STAGES:
        if parts:
            parts.append(f'<path class="hair" d="M{x:g} 11h6"/>')
            x += 10
        on = stage in shown
        width, sign = _sign(stage, x, on)
        parts.append(sign)
        x += width
        if on:
            parts.append(f'<text class="b" x="{x + 4:g}" y="15">{stage}</text>')
            x += len(stage) * 7.7 + 8
        else:
            x += 4
    words = f"The machine: {', '.join(STAGES)}. Shown here: {', '.join(shown)}."
    width = x + (2 if STAGES[-1] in shown else -1)  # without the space after the last sign
    place = "" if right is None else f'x="{right - width:g}" y="14" '
    size = f'width="{width:g}" height="22" viewBox="-1 0 {width:g} 22"'
    return f'<svg {place}{size} role="img" aria-label="{words}">{"".join(parts)}</svg>'


def _sign(stage: str, x: float, on: bool) -> tuple[float, str]:
    off = "sign-off"
    if stage == "names":
        return 18, f'<path class="{"name" if on else off}" d="M{x:g} 5h13l5 6l-5 6h-13z"/>'
    if stage == "tensors":
        return 19, f'<rect class="{"sign-tensor" if on else off}" x="{x:g}" y="5" width="18" height="12" rx="4"/>'
    if stage == "buffers":
        return 19, f'<path class="{"sign-buffer" if on else off}" d="M{x:g} 7h18v8h-18zM{x + 6:g} 7v8M{x + 12:g} 7v8"/>'
    if stage == "device":
        floor, top = ("sign-device", "floortop") if on else (off, off)
        return 19, f'<path class="{floor}" d="M{x:g} 6v11h18v-11"/><path class="{top}" d="M{x:g} 5h18"/>'
    work = "sign-queue" if on else off
    return 19, f'<path class="{work}" d="M{x:g} 7h5l3 4l-3 4h-5zM{x + 10:g} 7h5l3 4l-3 4h-5z"/>'


ICONS = {
    "first": "M2 2h2v10H2zM12 2v10L5 7z",
    "back": "M11 2v10L4 7z",
    "step": "M3 2v10l7-5z",
    "last": "M2 2v10l7-5zM10 2h2v10h-2z",
    "up": "M2 10h10L7 3z",
    "down": "M2 4h10l-5 7z",
    "play": "M3 2v10l8-5z",
    "pause": "M3 2h3v10H3zM8 2h3v10H8z",
    "again": "M12 1v5H7l1.9-1.9A3.6 3.6 0 1 0 10.4 8.5l1.8.6A5.5 5.5 0 1 1 10.2 2.8z",
}


def _icon(name: str) -> str:
    return f'<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d="{ICONS[name]}"/></svg>'


def control_html(c: Control) -> str:
    """One control as HTML. The browser side knows these forms and nothing about any widget."""
    common = {"data_act": c.act, "data_key": c.key, "disabled": c.disabled, "title": c.hint, "data_walk": c.walk}
    push = "push" if c.push else ""
    if c.kind == "break":
        return '<span class="breath"></span>'
    if c.kind == "icon":
        head = attributes(type="button", class_="icon", aria_label=c.label, **common)
        return f"<button{head}>{_icon(c.value)}</button>"
    if c.kind == "button":
        cls = " ".join(part for part in ("main" if c.main else "", push) if part) or None
        drawn = c.value in ("step", "play", "pause")
        icon = _icon(c.value) if drawn else ""
        pressed = None if c.pressed is None else str(c.pressed).lower()
        value = None if drawn else c.value
        head = attributes(type="button", class_=cls, aria_pressed=pressed, data_value=value, **common)
        return f"<button{head}>{icon}{escape(c.label)}</button>"
    if c.kind == "switch":  # with push, it waits for an answer
        head = attributes(
            type="button", role="switch", class_="switch", aria_checked=str(bool(c.pressed)).lower(),
            data_value=c.value, data_asks=c.push, **common,
        )  # fmt: skip
        return f'<button{head}><span class="track" aria-hidden="true"></span><span>{rich(c.label)}</span></button>'
    if c.kind == "knob":
        return _knob_html(c)
    label = f'<span class="field">{rich(c.label)}</span>' if c.label else ""
    name = plain(c.label) or c.hint
    if c.kind == "radio":
        stack = "stack" if any(len(str(option)) > 24 for option in c.options) else ""
        outer = "" if c.label else push
        group = attributes(class_=" ".join(filter(None, ("seg", stack, outer))), role="radiogroup", aria_label=name)
        options = f"<span{group}>{''.join(_radio(c, i, o) for i, o in enumerate(c.options))}</span>"
        if not c.label:
            return options
        both = attributes(class_=" ".join(filter(None, ("field", push))))  # so that they stay together
        return f"<span{both}>{rich(c.label)}{options}</span>"
    if c.kind == "scrub":
        least, greatest, step = c.options
        limits = {"aria_valuenow": c.value, "aria_valuemin": least, "aria_valuemax": greatest, "data_step": step}
        head = attributes(
            class_="scrub", role="spinbutton", tabindex=0, data_act=c.act, aria_label=c.hint or name,
            title="drag, or use the arrow keys", **limits,
        )  # fmt: skip
        return f"{label}<span{head}>{c.value}</span>"
    if c.kind == "select":
        options = "".join(
            f"<option{attributes(value=value, selected=value == c.value)}>{escape(words)}</option>"
            for value, words in c.options
        )
        return f"{label}<select{attributes(data_act=c.act, aria_label=name, disabled=c.disabled)}>{options}</select>"
    if c.kind == "area":
        rows = str(c.value).count("\n") + 1
        head = attributes(data_act=c.act, rows=rows, spellcheck="false", aria_label=name)
        return f"{label}<textarea{head}>{escape(str(c.value))}</textarea>"
    bounds = dict(zip(("min", "max", "step"), c.options, strict=False)) if c.kind in ("range", "number") else {}
    head = attributes(
        type=c.kind, data_act=c.act, value=c.value, aria_label=name, placeholder=c.hint, autocomplete="off",
        disabled=c.disabled, aria_valuetext=name if c.kind == "range" else None, **bounds,
    )  # fmt: skip
    if label and c.kind != "range":  # which grows; any other label stays beside its box
        return f'<span class="field">{rich(c.label)}<input{head}></span>'
    return f"{label}<input{head}>"


def _knob_html(c: Control) -> str:
    """A name and a value above a slider whose places have values of their own, in ``hint``; or above a list."""
    name = plain(c.label)
    if isinstance(c.options[0], tuple):
        box, value = control_html(replace(c, kind="select", label="", hint=name)), ""
    else:
        bounds = dict(zip(("min", "max", "step"), c.options, strict=True))
        head = attributes(
            type="range", data_act=c.act, value=c.value, aria_label=name, aria_valuetext=c.hint, disabled=c.disabled,
            **bounds,
        )  # fmt: skip
        box, value = f"<input{head}>", f" <b>{escape(c.hint or '')}</b>"
    return f'<span class="knob"><span>{rich(c.label)}{value}</span>{box}</span>'


def _radio(c: Control, place: int, option: Any) -> str:
    """One choice of a group. The chosen one, or the first, is the group's stop for the Tab key."""
    chosen = option == c.value
    stop = 0 if chosen or (c.value is None and not place) else -1
    state = {"data_act": c.act, "data_value": option, "aria_checked": str(chosen).lower(), "tabindex": stop}
    return f"<button{attributes(type='button', role='radio', **state)}>{escape(str(option))}</button>"
