"""The frame of a run: a page on which each step plays in the browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..frame import NARROW, WIDE, Control, Frame, control_html
from ..marks import attributes, escape, rich
from ..reel import Reel, moving, part
from .drawing import Picture, live, overview
from .model import GraphRun, GraphState, Moment, moment
from .panel import code_html, steps_html
from .tracks import tracks
from .words import describe, ending, lines, size_of, text, title, why


@dataclass(frozen=True)
class Walk(Frame):
    """One step of a run."""

    run: GraphRun = field(kw_only=True)
    state: GraphState = field(kw_only=True)
    settings: tuple[Control, ...] = field(kw_only=True, default=())  # controls that no step changes

    @property
    def reel(self) -> Reel:
        """All steps of this run, with these modules closed."""
        return reel(self.run, self.state.collapsed)

    @property
    def standing(self) -> tuple[Any, ...]:
        """What the page shows beside its step: pages that differ in nothing else differ only by the reel."""
        return (
            self.reel, self.ask, self.conditions, self.message, self.progress, self.stale, self.settings,
        )  # fmt: skip

    def _part(self, tag: str, name: str, **fixed: Any) -> str:
        return part(tag, name, parts(self.run, self.state.step)[name], **fixed)

    def body(self) -> dict[str, Any]:
        """Attributes of the page: at which step it stands."""
        return {"data_at": self.state.step}

    def _status(self, live: bool) -> str:
        return self._part("p", "status", class_="edu-status", role="status") if live else ""

    def middle(self, live: bool) -> list[str]:
        """Question, graph, panel and controls."""
        stale = " stale" if self.progress is not None or self.stale else ""
        parts = [f'<p class="edu-ask">{rich(self.ask)}</p>', *self._stage(live, stale)]
        if self.stale:
            since = attributes(class_="edu-since", role="status" if live else None)
            parts.append(f"<p{since}>{escape(self.stale)}</p>")
        if live:
            tip = escape(self.tip or "")
            parts.append(f'<p class="edu-tip" data-rest="{tip}">{tip}</p>')
        if self.message:
            alert = attributes(class_="edu-error", role="alert" if live else None)
            parts.append(f"<p{alert}><b>▲</b> {escape(self.message)}</p>")
        if live and self.progress is not None:
            parts.append(self.progress.html())
        if live:
            inside = f"{self._part('span', 'buttons', class_='edu-buttons')}{self._slider()}"
            settings = "".join(map(control_html, self.settings))
            parts.append(f'<div class="edu-controls">{inside}{settings}</div>')
        return parts

    def _stage(self, alive: bool, stale: str) -> list[str]:
        rows = tracks(self.run, self.state.collapsed)
        stage = attributes(class_=f"edu-stage edu-walk{stale}", tabindex=-1 if alive else None)
        if not alive:
            figures = f"{self.wide.svg('w', False)}{self.narrow.svg('n', False)}"
            return [f"<figure{attributes(class_=f'edu-stage{stale}')}>{figures}</figure>"]
        view = f'<div class="edu-view" data-follow>{live(self.run, self.state)}</div>'
        code = code_html(self.run, rows, self.state.step)
        panel = f'<div class="edu-aside">{code}{self._part("div", "steps", class_="edu-now")}</div>'
        return [f"<figure{stage}>{overview(self.run, self.state)}{view}{panel}</figure>"]

    def _slider(self) -> str:
        """The slider in two halves, forward solid and backward dashed."""
        run, step = self.run, self.state.step
        style = f"--at:{step};--turn:{len(run.forward)};--last:{max(run.steps, 1)}"
        head = attributes(
            type="range", data_act="goto", data_walk="=", value=step, min=0, max=run.steps, step=1, style=style,
            aria_label="step", autocomplete="off",
        )  # fmt: skip
        words = f'<span class="turn" style="{style.partition(";")[2]}">backward</span>' if run.backward else ""
        ahead = f"<span>forward, {len(run.forward)} steps</span>"
        return f'<span class="edu-halves"><input{head}><span>{ahead}{words}{self._part("b", "position")}</span></span>'

    def _why(self, live: bool) -> str:
        if not live:
            return super()._why(live)
        return self._part("p", "why", class_="edu-why")

    def _twin(self, live: bool) -> str:
        if not live:
            return super()._twin(live)
        step, moves = self.state.step, self.reel.tracks
        said = [
            moving("code", line.track, moves[line.track].at(step), {}, f"{line.template}\n")
            if line.track
            else f"<code>{escape(line.template)}\n</code>"
            for line in lines(self.run, self.state.collapsed)
        ]
        message = f"\n▲ {escape(self.message)}" if self.message else ""
        stale = f"{escape(self.stale)}\n" if self.stale else ""
        return f"{stale}{self._part('code', 'title')}\n{''.join(said)}{self._part('code', 'ending')}{message}"


@lru_cache(maxsize=8)
def reel(run: GraphRun, collapsed: frozenset[int]) -> Reel:
    """All steps of a run, as the browser plays them."""
    return Reel(run.steps, len(run.forward), tracks(run, collapsed), lambda step: parts(run, step))


@lru_cache(maxsize=64)
def parts(run: GraphRun, step: int) -> dict[str, str]:
    """All that is another sentence, sum or button at each step."""
    now = moment(run, step)
    return {
        "status": escape(describe(run, now).removeprefix(f"{size_of(run)} ")),
        "steps": steps_html(run, now),
        "buttons": "".join(map(control_html, buttons(run, step))),
        "position": escape(short_position(run, now)),
        "why": rich(why(run, now)),
        "title": escape(title(run, now)),
        "ending": escape(ending(run, now)),
    }


def short_position(run: GraphRun, now: Moment) -> str:
    """``15 of 18``, in the half that the slider's knob is in."""
    done, steps = (now.backward_step, len(run.backward)) if now.back else (now.forward_step, len(run.forward))
    return f"{done} of {steps}"


def buttons(run: GraphRun, step: int) -> list[Control]:
    """To the first step, back, on, and to the last."""
    first, last = step == 0, step >= run.steps
    return [
        Control("icon", "first", "First step", "first", disabled=first, key="Home", walk="0"),
        Control("icon", "back", "Step back", "back", disabled=first, key="ArrowLeft", walk="-1"),
        Control("button", "step", "Step", "step", main=True, disabled=last, key="ArrowRight", walk="+1"),
        Control("icon", "last", "Last step", "last", disabled=last, key="End", walk="last"),
    ]


def frame(run: GraphRun, state: GraphState, ask: str, editable: dict[str, str] | None = None, stale: str = "") -> Walk:
    """The whole widget at one step. ``stale``: why the picture no longer holds."""
    settings = []
    if any(node.groups for node in run.nodes):
        words = "Expand modules" if state.collapsed else "Collapse modules"
        settings.append(Control("button", "collapse", words, push=True, key="m"))
    settings.append(Control("button", "reset", "Reset", push=not settings, key="r"))
    if stale:
        settings.append(Control("button", "again", "Record again", main=True))
    elif editable:
        settings.append(Control("break"))
        settings += [Control("text", f"leaf:{name}", f"`{name}` =", value) for name, value in editable.items()]
    dtypes = ", ".join(sorted({node.dtype for node in run.nodes if node.wants}))
    now = moment(run, state.step)
    said = text(run, state)
    conditions = (
        f"values of this run, {dtypes} · {size_of(run).rstrip('.')} · "
        "arrays of more than two numbers print their norm ‖·‖"
    )
    tip = "Hover or focus a card to read it; press it to go to its step."
    return Walk(
        "GraphStepper", ("tensors",), ask, Picture(run, state, WIDE), Picture(run, state, NARROW), why(run, now),
        f"{stale}\n{said}" if stale else said, conditions, None, (*buttons(run, state.step), *settings), tip,
        state.message, stale=stale, run=run, state=state, settings=tuple(settings),
    )  # fmt: skip
