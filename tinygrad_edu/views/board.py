"""A frame of several sections, with a list to choose from beside them: for widgets that lead through steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .frame import Control, Figure, Frame, Progress, control_html
from .marks import attributes, escape, rich


@dataclass(frozen=True)
class Words:
    """A paragraph. ``kind`` is "", "quiet", "verdict" (large), "hole" (something is held back here) or "error"."""

    text: str
    kind: str = ""

    def html(self, live: bool) -> str:
        """The paragraph."""
        if self.kind == "error":
            alert = attributes(class_="edu-error", role="alert" if live else None)
            return f"<p{alert}><b>▲</b> {rich(self.text)}</p>"
        return f"<p{attributes(class_=f'edu-words {self.kind}'.strip())}>{rich(self.text)}</p>"


@dataclass(frozen=True)
class Code:
    """Lines of code under a label."""

    label: str
    source: str

    def html(self, live: bool) -> str:
        """The label, and the lines with their numbers."""
        rows = "".join(f"<li>{_breakable(line) or ' '}</li>" for line in self.source.split("\n"))
        return f'<div class="edu-code"><p>{rich(self.label)}</p><ol{_scrolls(live, self.label)}>{rows}</ol></div>'


def _breakable(line: str) -> str:
    """A line that is broken between names, where it has to be, and not in the middle of one."""
    return re.sub(r"(?<=[(\[,])(?=\S)", "<wbr>", escape(line))


@dataclass(frozen=True)
class Editor:
    """Lines of code that can be changed."""

    label: str
    source: str
    act: str
    name: str  # for screen readers

    def html(self, live: bool) -> str:
        """A text area; without a kernel, the code."""
        if not live:
            return Code(self.label, self.source).html(live)
        area = Control("area", self.act, "", self.source, hint=self.name)
        return f'<div class="edu-code"><p>{rich(self.label)}</p>{control_html(area)}</div>'


@dataclass(frozen=True)
class Row:
    """Blocks side by side, or one below the other where there is no room."""

    blocks: tuple[Words | Code | Editor, ...]

    def html(self, live: bool) -> str:
        """The blocks."""
        return f'<div class="edu-row">{"".join(block.html(live) for block in self.blocks)}</div>'


@dataclass(frozen=True)
class Chips:
    """Findings in a row: a name in bold, and what was found about it."""

    found: tuple[tuple[str, str], ...]

    def html(self, live: bool) -> str:
        """The row."""
        chips = "".join(f"<li><b>{escape(name)}</b> {escape(words)}</li>" for name, words in self.found)
        return f'<ul class="edu-chips">{chips}</ul>'


@dataclass(frozen=True)
class Controls:
    """Something to press or to set, in a line. Absent without a kernel."""

    controls: tuple[Control, ...]

    def html(self, live: bool) -> str:
        """The controls."""
        return f'<div class="edu-controls">{"".join(map(control_html, self.controls))}</div>' if live else ""


@dataclass(frozen=True)
class Drawing:
    """A figure of the narrow width, which fits into every section, under a caption."""

    figure: Figure
    caption: str = ""

    def html(self, live: bool) -> str:
        """The figure. Nothing in it can be pressed, unlike in the widget it comes from."""
        caption = f"<figcaption>{rich(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure class="edu-stage">{caption}{self.figure.svg(live=False)}</figure>'


@dataclass(frozen=True)
class Fold:
    """Blocks that open when pressed."""

    summary: str
    blocks: tuple[Words | Code | Drawing, ...]

    def html(self, live: bool) -> str:
        """The blocks, closed; open on a page without a kernel."""
        inside = "".join(block.html(live) for block in self.blocks)
        return f'<details class="edu-fold"><summary>{escape(self.summary)}</summary>{inside}</details>'


@dataclass(frozen=True)
class Folds:
    """Folds in one line; one that is open takes the width."""

    folds: tuple[Fold, ...]

    def html(self, live: bool) -> str:
        """The line."""
        return f'<div class="edu-folds">{"".join(fold.html(live) for fold in self.folds)}</div>'


@dataclass(frozen=True)
class One:
    """The one number of a result, large, and what it says."""

    number: str
    words: str

    def html(self, live: bool) -> str:
        """The number and the words."""
        return f'<div class="edu-one"><b>{escape(self.number)}</b><p>{rich(self.words)}</p></div>'


@dataclass(frozen=True)
class Beside:
    """Words and a picture: side by side, or the picture below where there is no room."""

    words: tuple[Block, ...]
    picture: tuple[Block, ...]

    def html(self, live: bool) -> str:
        """Both."""
        halves = (f"<div>{blocks_html(half, live)}</div>" for half in (self.words, self.picture) if half)
        return f'<div class="edu-beside">{"".join(halves)}</div>'


Block = Words | Code | Editor | Row | Chips | Controls | Drawing | Fold | Folds | One | Beside | Progress


def blocks_html(blocks: Sequence[Block], live: bool) -> str:
    """Blocks one below the other."""
    return "".join(block.html() if isinstance(block, Progress) else block.html(live) for block in blocks)


@dataclass(frozen=True)
class Section:
    """One step: a numbered heading, what stands in its line, and the blocks below. A folded step has only the line.

    ``state`` is "done", "now" or "later"; ``hand`` marks the step in hand. In the line come words, controls, and
    ``links``, which are controls too, but smaller.
    """

    heading: str
    blocks: tuple[Block, ...] = ()
    number: int | None = None
    state: str = "now"
    hand: bool = False
    line: str = ""
    controls: tuple[Control, ...] = ()
    links: tuple[Control, ...] = ()

    def html(self, live: bool) -> str:
        """The section."""
        number = "" if self.number is None else f'<span class="edu-number">{self.number}</span>'
        said = f"<span>{rich(self.line)}</span>" if self.line else ""
        said += Controls(self.controls).html(live) if self.controls else ""
        parts = [
            f"<h4>{number}{escape(self.heading)}</h4>" if self.heading else "",
            f'<div class="edu-said">{said}</div>' if said else "",
            _links(self.links, live),
        ]
        head = f'<div class="edu-line">{"".join(parts)}</div>' if any(parts) else ""
        kind = f"edu-step {self.state}{' hand' if self.hand else ''}"
        current = "step" if self.hand else None
        opened = f"<section{attributes(class_=kind, aria_current=current)}>"
        return f"{opened}{head}{blocks_html(self.blocks, live)}</section>"


def _links(controls: Sequence[Control], live: bool) -> str:
    inside = "".join(map(control_html, controls))
    return f'<span class="edu-links">{inside}</span>' if live and controls else ""


@dataclass(frozen=True)
class Item:
    """A line of the list. ``state`` is the word beside it: "not yet", "predicted", "run", "explained"."""

    value: str
    words: str
    state: str


@dataclass(frozen=True)
class Board(Frame):
    """A frame whose middle is ``sections``; a picture shows the figure instead of them."""

    sections: tuple[Section, ...] = ()
    finders: tuple[Control, ...] = ()
    lists: tuple[tuple[str, tuple[Item, ...]], ...] = ()  # a heading and its lines
    chosen: str = ""
    kicker: str = ""  # above the question
    tools: tuple[Control, ...] = ()  # beside it, as links
    empty: str = ""  # shown instead of empty lists

    def middle(self, live: bool) -> list[str]:
        """List and sections."""
        name = f'<p class="edu-kicker">{escape(self.kicker)}</p>' if self.kicker else ""
        kicker = f'<div class="edu-line">{name}{_links(self.tools, live)}</div>' if name else ""
        message = [Words(self.message, "error").html(live)] if self.message else []
        main = [kicker, f'<p class="edu-ask">{rich(self.ask)}</p>', *message, *(s.html(live) for s in self.sections)]
        beside = self._beside() if live and (self.finders or self.lists) else ""
        kind = attributes(class_="edu-board" if beside else "edu-board alone")
        return [f'<div{kind}>{beside}<div class="edu-main">', *main, "</div></div>"]

    def _beside(self) -> str:
        finders = f'<div class="edu-finders">{"".join(map(control_html, self.finders))}</div>' if self.finders else ""
        parts = ['<nav class="edu-nav" aria-label="find">', finders, '<div class="edu-lists">']
        for heading, items in self.lists:
            group = attributes(role="radiogroup", aria_label=heading)
            lines = "".join(self._line(item, place) for place, item in enumerate(items))
            parts.append(f'<p class="edu-nav-head">{escape(heading)}</p><div{group}>{lines}</div>')
        parts.append(f'<p class="edu-words quiet">{escape(self.empty)}</p>' if not self.lists else "")
        return "".join([*parts, "</div></nav>"])

    def _line(self, item: Item, place: int) -> str:
        chosen = item.value == self.chosen
        group = next(items for _, items in self.lists if item in items)
        stop = 0 if chosen or (not place and all(i.value != self.chosen for i in group)) else -1
        head = attributes(
            type="button", role="radio", aria_checked=str(chosen).lower(), tabindex=stop, data_act="pick",
            data_value=item.value,
        )  # fmt: skip
        return f"<button{head}>{_sign(item.state)}{escape(item.words)}</button>"


_SIGNS: dict[str, Sequence[str]] = {
    "not yet": ('<circle cx="7" cy="7" r="5.5" class="rule"/>',),
    "predicted": ('<circle cx="7" cy="7" r="5.5" class="ringline"/>', '<path d="M7 1.5a5.5 5.5 0 0 0 0 11z"/>'),
    "run": ('<circle cx="7" cy="7" r="5.5" class="ringline"/>', '<path d="M7 7V1.5A5.5 5.5 0 1 1 1.5 7z"/>'),
    "explained": ('<circle cx="7" cy="7" r="6"/>', '<path d="M4 7.2l2.2 2.2L10 5.4" class="tickline"/>'),
}


def _sign(state: str) -> str:
    drawn = "".join(_SIGNS[state])
    return f'<svg width="14" height="14" viewBox="0 0 14 14" role="img" aria-label="{escape(state)}">{drawn}</svg>'


def _scrolls(live: bool, label: str) -> str:
    return attributes(tabindex=0, aria_label=label.replace("**", "")) if live else ""
