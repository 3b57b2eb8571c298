"""Text for a terminal: its width, its colours, and the signs it can show."""

from __future__ import annotations

import json
import math
import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

NARROWEST, WIDEST = 40, 120  # columns; with longer lines, the eye loses its place
FALLBACK = 100  # columns, if there is no terminal but a pipe or a file
GAP = "  "
STYLES = {"bold": "1", "dim": "2", "red": "31", "blue": "34", "yellow": "33"}

# What replaces a sign that the stream cannot encode; one character each where columns depend on it.
ASCII = {
    "●": "*", "○": "o", "▲": "!", "×": "x", "–": "-", "−": "-", "—": "-", "·": "-", "…": "...", "→": "->", "←": "<-",
    "≥": ">=", "≤": "<=", "≈": "~", "µ": "u", "∂": "d", "’": "'", "‘": "'", "“": '"', "”": '"', "\u2009": " ",
    "\u202f": " ", "\xa0": " ",
}  # fmt: skip
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def display_width(text: str) -> int:
    """How many columns a terminal needs for ``text``: two for wide signs, none for accents and for colours."""
    return sum(_columns(sign) for sign in ESCAPES.sub("", text))


def _columns(sign: str) -> int:
    if unicodedata.combining(sign) or unicodedata.category(sign) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def wrap(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` columns, broken between words; a longer word is cut."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and display_width(lines[-1]) + 1 + display_width(word) <= width:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for sign in word:
            if display_width(lines[-1]) + _columns(sign) > width:
                lines.append("")
            lines[-1] += sign
    return lines


@dataclass(frozen=True)
class Terminal:
    """How to write to one stream. ``width`` counts columns; ``encoding`` decides which signs can be used."""

    width: int = FALLBACK
    colour: bool = False
    encoding: str = "utf-8"

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str] = os.environ) -> Terminal:
        """The terminal behind ``stream``. ``environ`` gives COLUMNS, NO_COLOR, FORCE_COLOR and TERM."""
        columns = environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() and int(columns) else _columns_of(stream)
        return cls(min(max(width, NARROWEST), WIDEST), _takes_colour(stream, environ), stream.encoding or "utf-8")

    def paint(self, text: str, *styles: str) -> str:
        """``text`` in these `STYLES`, or unchanged if there is no colour."""
        if not self.colour or not styles or not text:
            return text
        return f"\x1b[{';'.join(STYLES[style] for style in styles)}m{text}\x1b[0m"

    def spell(self, text: str) -> str:
        """``text`` in signs that the stream can encode."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return "".join(self._spell(sign) for sign in text)
        return text

    def _spell(self, sign: str) -> str:
        try:
            sign.encode(self.encoding)
        except UnicodeEncodeError:
            letter = unicodedata.normalize("NFKD", sign)[0]
            return ASCII.get(sign) or (letter if letter.isascii() else "?")
        return sign

    def prose(self, text: str, indent: str = "") -> str:
        """``text`` in lines that fit, each behind ``indent``. Its line breaks stay."""
        room = max(self.width - len(indent), NARROWEST // 2)
        lines = [line for part in self.spell(text).split("\n") for line in wrap(part, room)]
        return "\n".join((indent + line).rstrip() for line in lines)

    def section(self, title: str, body: str) -> str:
        """``body`` below a title in bold."""
        return "\n".join([*(self.paint(line, "bold") for line in self.prose(title).split("\n")), body])

    def table(
        self,
        rows: Iterable[Sequence[str]],
        head: Sequence[str] = (),
        *,
        indent: str = "",
        right: Collection[int] = (),
        paint: Mapping[int, str] | None = None,
    ) -> str:
        """Aligned columns. The last one wraps; if too little room is left for it, it goes below the others.

        If those do not fit either, each cell gets its own line. ``right`` has the numbers of right-aligned columns, and
        ``paint`` gives columns a style, both from 0; the last column takes neither. Cells have no line breaks.
        """
        body = [[self.spell(cell) for cell in row] for row in rows]
        top = [[self.spell(cell) for cell in head]] if head else []
        if not body and not top:
            return ""
        widths = [max(map(display_width, column)) for column in zip(*top, *body, strict=True)]
        margin = len(indent) + sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
        if margin > self.width:
            return "\n".join(line for row in body for line in self._stacked(row, head, indent))
        beside = self.width - margin >= min(widths[-1], NARROWEST // 2)
        lines = []
        for row in top + body:
            is_head = bool(top) and row is top[0]
            styles = dict.fromkeys(range(len(row)), "bold") if is_head else paint or {}
            cells = [self.paint(cell, *styles.get(place, "").split()) for place, cell in enumerate(row[:-1])]
            fixed = [_aligned(c, width, i in right) for i, (c, width) in enumerate(zip(cells, widths, strict=False))]
            start = indent + "".join(cell + GAP for cell in fixed)
            if beside:
                texts = [self.paint(text, *["bold"] * is_head) for text in wrap(row[-1], self.width - margin)]
                lines += [start + texts[0], *(" " * margin + text for text in texts[1:])]
            else:  # a head is above its column, or nowhere
                lines += [start, *([] if is_head else self._hanging(row[-1], indent))]
        return "\n".join(line.rstrip() for line in lines)

    def _hanging(self, text: str, indent: str) -> list[str]:
        return [f"{indent}    {line}" for line in wrap(text, self.width - len(indent) - 4)]

    def _stacked(self, row: Sequence[str], head: Sequence[str], indent: str) -> Iterator[str]:
        """The cells one below the other, each after its head."""
        names = [f"{self.spell(name)}: " if name else "" for name in head] or [""] * len(row)
        for line in wrap(names[0] + row[0], self.width - len(indent)):
            yield indent + line
        for name, cell in zip(names[1:], row[1:], strict=True):
            yield from self._hanging(name + cell, indent) if cell else ()

    def json(self, data: Any) -> str:
        """``data`` as JSON in ASCII, so every stream accepts it. Infinities and NaN become null."""
        return json.dumps(_strict(data), indent=2, allow_nan=False)


def _aligned(text: str, width: int, right: bool) -> str:
    room = " " * (width - display_width(text))
    return room + text if right else text + room


def _strict(data: Any) -> Any:
    """``data`` without infinities and NaN, which JSON cannot express."""
    if isinstance(data, Mapping):
        return {str(key): _strict(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_strict(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _columns_of(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or FALLBACK
    except (OSError, ValueError, AttributeError):  # a pipe, a file, or a stream without a number
        return FALLBACK


def _takes_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """As Python itself decides for its tracebacks (no-color.org, force-color.org)."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()


class Progress:
    """One line that shows what is going on, if a person is watching; otherwise nothing."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._shown = stream.isatty() and environ.get("TERM") != "dumb"
        self._terminal = Terminal.of(stream, environ)

    def show(self, text: str) -> None:
        """Replace the line with ``text``."""
        if self._shown:
            line = wrap(self._terminal.spell(f"{text} …"), self._terminal.width - 1)[0]
            self._stream.write(f"\r\x1b[K{line}")
            self._stream.flush()

    def clear(self) -> None:
        """Clear the line."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
