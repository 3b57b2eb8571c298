"""The frame of a playground: two columns, a row of knobs, and a list of switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...common.wording import exact, plural
from ..frame import Control, Figure, Frame, control_html
from ..marks import attributes, escape, rich
from .model import CHOICES, DEVICES, GUESSES, HABITS, STOPS, WRONG, PlayState, habits_of, stop_of, tip_of
from .reasons import cause
from .words import KNOB_LABELS, LABELS, headline, knob_text, means, tip_text, value_text, verdict_text

SIGNS = dict(zip(GUESSES, "↓=↑", strict=True))
YOU = '<svg width="14" height="14" aria-hidden="true"><path d="M1.5 7l5.5 -5.5l5.5 5.5l-5.5 5.5z" class="you"/></svg>'
IS = '<svg width="10" height="14" aria-hidden="true"><circle cx="5" cy="7" r="4.5" class="knob"/></svg>'


@dataclass(frozen=True)
class Parts:
    """The pieces of the picture, which the page puts beside each other or below."""

    top: Figure
    below: Figure
    costs: Figure
    costs_narrow: Figure
    small: Figure  # for a projector


@dataclass(frozen=True)
class Desk(Frame):
    """A frame whose middle is what is learnt, the knobs, and what it costs."""

    state: PlayState | None = None
    parts: Parts | None = None

    def middle(self, live: bool) -> list[str]:
        """Question, columns, controls."""
        state, parts = self.state, self.parts
        assert state is not None and parts is not None
        message = (
            [f'<p class="edu-error" role="alert"><b>▲</b> {escape(self.message)}</p>'] if self.message and live else []
        )
        if self.message and not live:
            message = [f'<p class="edu-error"><b>▲</b> {escape(self.message)}</p>']
        return [
            f'<p class="edu-ask">{rich(self.ask)}</p>', *message,
            '<div class="edu-desk">', _learns(state, parts, live), _controls(state) if live else "",
            _costs(state, parts, live), "</div>",
        ]  # fmt: skip


def _head(title: str, beside: str, control: str = "") -> str:
    return f'<div class="edu-desk-head"><h4>{title}</h4>{control}<span>{beside}</span></div>'


def _learns(state: PlayState, parts: Parts, live: bool) -> str:
    """The left column. The smaller figure stands in its place on a projector."""
    begin = ""
    if live and not state.glance.step and not state.playing:
        train = control_html(Control("button", "play", "Train", "play", main=not state.asking))
        words = (
            f"{plural(state.glance.knobs.batch, 'digit')} a step. While it learns, turn a knob, "
            "or flip a habit and see what it costs."
        )
        begin = f'<div class="edu-begin">{train}<p>{escape(words)}</p></div>'
    top = attributes(class_="edu-desk-top")
    stage = attributes(class_="edu-stage edu-desk-learns", tabindex=-1 if live else None)
    return (
        f"<figure{stage}>{_head('what it learns', _standing(state, live))}"
        f"<div{top}>{parts.top.svg(live=live)}{begin}</div>"
        f"{parts.below.svg(live=live)}{parts.small.svg('p', live)}</figure>"
    )


def _standing(state: PlayState, live: bool) -> str:
    """Where training stands. Where labels are wrong, what they say too, and a press for the other kind."""
    glance, knobs = state.glance, state.glance.knobs
    if not live or not knobs.noise:
        return escape(headline(glance))
    other = WRONG[(WRONG.index(knobs.wrong) + 1) % len(WRONG)]
    press = attributes(
        type="button", class_="link", data_act="knob:wrong", data_value=other,
        aria_label=f"wrong labels: {knobs.wrong}; press for {other}",
    )  # fmt: skip
    return f"<button{press}>wrong labels: {knobs.wrong}</button>step {exact(glance.step)}"


def _controls(state: PlayState) -> str:
    begun = state.glance.step > 0
    play = (
        Control("button", "pause", "Pause", "pause", main=not state.asking, key="p")
        if state.playing
        else Control("button", "play", "Train", "play", main=begun and not state.asking, key="p")
    )
    step = Control("icon", "advance", "One step", "last", key="s")
    again = Control("icon", "reset", "Start again", "again", key="r", disabled=not begun)
    knobs = "".join(control_html(_knob(state, name)) for name in KNOB_LABELS)
    transport = "".join(map(control_html, (play, step, again)))
    return (
        f'<div class="edu-controls"><span class="edu-desk-transport">{transport}</span>'
        f'<span class="edu-knobs">{knobs}</span></div>'
    )


def _knob(state: PlayState, name: str) -> Control:
    value: Any = getattr(state.glance.knobs, name)
    act, label = f"knob:{name}", KNOB_LABELS[name]
    if name in CHOICES:
        return Control("knob", act, label, value, tuple((one, one) for one in CHOICES[name]))
    return Control("knob", act, label, stop_of(name, value), (0, len(STOPS[name]) - 1, 1), hint=knob_text(name, value))


def _costs(state: PlayState, parts: Parts, live: bool) -> str:
    """The right column: meters, or the question about them, and the switches."""
    asking = live and bool(state.asking)
    beside = "choose, then <b>Commit</b>" if asking else ""
    change = state.glance.change
    if not asking and change is not None and change.on and change.habit in state.said:
        beside = f"{YOU}you said {IS}it is"
    if not asking and not state.glance.step:
        beside = "nothing measured yet"
    meters = _asked(state) if asking else f"{parts.costs.svg('w', live)}{parts.costs_narrow.svg('n', live)}"
    rows = "".join(_row(state, habit, live) for habit in habits_of(state.glance))
    chosen = Control("radio", "knob:device", "", state.glance.knobs.device, DEVICES, hint="device")
    device = control_html(chosen) if live else ""
    moved = state.asking or state.glance.change is not None
    tip = f'<p class="edu-desk-tip">{rich(tip_text(state.tip))}</p>' if state.tip and live else ""
    causes = "" if asking else _causes(state)
    return (
        f'<div class="edu-desk-costs">{_head("what it costs", beside, device)}{meters}{causes}'
        f"{_head('habits', '' if moved else 'flip one: it asks you first')}<ul>{rows}</ul>{tip}</div>"
    )


def _causes(state: PlayState) -> str:
    """Folded: a reason for each meter, after a habit was turned on."""
    found = [(meter, words) for meter in state.glance.knobs.meters if (words := cause(state, meter))]
    rows = "".join(f"<p><b>{LABELS[meter]}</b>: {escape(words)}</p>" for meter, words in found)
    return f'<details class="edu-desk-causes"><summary>Why each meter</summary>{rows}</details>' if rows else ""


def _asked(state: PlayState) -> str:
    """In the places of the three zones, what can be said about each meter."""
    words = "".join(f"<i>{guess}</i>" for guess in GUESSES)
    zones = f'<span></span><span class="zones">{words}</span><span>now</span>'
    head = f'<div class="edu-meter head" aria-hidden="true">{zones}</div>'
    rows = []
    for meter in state.glance.knobs.meters:
        drafted = state.draft.get(meter)
        chips = "".join(_chip(meter, guess, drafted, place) for place, guess in enumerate(GUESSES))
        group = attributes(class_="seg zones", role="radiogroup", aria_label=LABELS[meter])
        now = value_text(meter, state.glance.reading.value(meter))
        name = f"<span{attributes(title=means(state, meter))}>{LABELS[meter]}</span>"
        rows.append(f'<div class="edu-meter">{name}<span{group}>{chips}</span><b>{escape(now)}</b></div>')
    return head + "".join(rows)


def _chip(meter: str, guess: str, drafted: str | None, place: int) -> str:
    stop = 0 if guess == drafted or (drafted is None and not place) else -1
    state = attributes(
        type="button", role="radio", aria_label=guess, aria_checked=str(guess == drafted).lower(), tabindex=stop,
        data_act=f"guess:{meter}", data_value=guess,
    )  # fmt: skip
    return f"<button{state}>{SIGNS[guess]}</button>"


def _row(state: PlayState, name: str, live: bool) -> str:
    """A switch, its last verdict or *Commit*, and its tip."""
    on, asks = name in state.glance.habits, state.asking == name
    change = state.glance.change
    now = asks or (not state.asking and change is not None and change.on and change.habit == name)
    found = f'<span class="out">{escape(verdict_text(state.verdicts[name]))}</span>' if name in state.verdicts else ""
    current = attributes(class_="current" if now else None)
    if not live:
        return f"<li{current}><span>{rich(HABITS[name].label)}: {'on' if on else 'off'}</span>{found}</li>"
    switch = control_html(Control("switch", "flip", HABITS[name].label, name, pressed=on, push=asks))
    if asks:
        found = control_html(Control("button", "commit", "Commit", main=True, disabled=not state.draft))
    elif name in state.asked and tip_of(name) is not None:  # before a prediction it would tell the answer
        tip = attributes(
            type="button", class_="link", data_act="tip", data_value=name, aria_label=f"tip: {tip_of(name).title}",
            aria_expanded=str(state.tip == name).lower(),
        )  # fmt: skip
        found += f"<button{tip}>tip</button>"
    return f"<li{current}>{switch}{found}</li>"
