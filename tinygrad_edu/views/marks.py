"""Drawing in the visual language: text, cards, tags, cells, arrows. Python measures text, so nothing is clipped."""

from __future__ import annotations

import html
import math
import re
from typing import Any

from ..common.wording import MARKUP
from .tokens import dark_style, presentation

MONO_12, MONO_13 = 7.23, 7.83  # advance of one monospaced character
PITCH = 5.0  # from one line of a hatch to the next
UI_12 = 6.9  # a generous average for the UI face; text set in it always has room to spare


def wrap_text(text: str, characters: int) -> list[str]:
    """Words in lines of at most so many characters."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > characters:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def shorten(text: str, characters: int) -> str:
    """The text; if too long, cut and ended with an ellipsis."""
    return text if len(text) <= characters else text[: max(characters - 1, 1)] + "…"


def rich(markup: str) -> str:
    """``code`` in backticks and **bold** as HTML; everything else escaped."""
    parts, end = [], 0
    for match in MARKUP.finditer(markup):
        inside = f"<code>{escape(match[1])}</code>" if match[1] else f"<b>{rich(match[2])}</b>"
        parts += [escape(markup[end : match.start()]), inside]
        end = match.end()
    return "".join([*parts, escape(markup[end:])])


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def escape(text: str) -> str:
    """Text for HTML and SVG, quotes too. A control character, which XML does not allow, becomes a question mark."""
    return html.escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text))


def attributes(**values: Any) -> str:
    """HTML attributes. A trailing underscore is dropped, other underscores become hyphens, None is left out."""
    parts = []
    for key, value in values.items():
        if value is None or value is False:
            continue
        name = key.rstrip("_").replace("_", "-")
        parts.append(f" {name}" if value is True else f' {name}="{escape(str(value))}"')
    return "".join(parts)


class Canvas:
    """An SVG figure of a fixed width, drawn top to bottom. Every mark is recorded in order; `text_items` for tests."""

    def __init__(self, width: float) -> None:
        self.width, self.height = width, 0.0
        self.items: list[str] = []
        self.text_items: list[str] = []

    def _add(self, tag: str, cls: str, body: str | None = None, bottom: float = 0, **attrs: Any) -> None:
        self.height = max(self.height, bottom)
        rounded = {k: round(v, 2) if isinstance(v, float) else v for k, v in attrs.items()}
        head = f"<{tag}{attributes(class_=cls or None, **rounded)}"
        self.items.append(f"{head}/>" if body is None else f"{head}>{body}</{tag}>")

    def text(self, x: float, y: float, content: str, cls: str = "", anchor: str | None = None, **attrs: Any) -> None:
        """One line of text; ``y`` is its baseline."""
        self.text_items.append(content)
        preserve = "preserve" if "  " in content else None
        self._add(
            "text",
            cls,
            escape(content),
            y + 4,
            x=x,
            y=y,
            text_anchor=anchor,
            xml__space=preserve,
            **attrs,
        )
        if preserve:
            self.items[-1] = self.items[-1].replace("xml--space", "xml:space")

    def rect(self, x: float, y: float, w: float, h: float, cls: str, rx: float | None = None, **attrs: Any) -> None:
        """A rectangle."""
        self._add("rect", cls, None, y + h + 2, x=x, y=y, width=w, height=h, rx=rx, **attrs)

    def line(self, x1: float, y1: float, x2: float, y2: float, cls: str) -> None:
        """A straight line."""
        self._add("line", cls, None, max(y1, y2) + 1, x1=x1, y1=y1, x2=x2, y2=y2)

    def path(self, d: str, cls: str, bottom: float = 0, **attrs: Any) -> None:
        """A path."""
        self._add("path", cls, None, bottom, d=d, **attrs)

    def circle(self, x: float, y: float, r: float, cls: str, **attrs: Any) -> None:
        """A circle."""
        self._add("circle", cls, None, y + r, cx=x, cy=y, r=r, **attrs)

    def image(self, x: float, y: float, w: float, h: float, address: str) -> None:
        """An image of few pixels, shown as squares."""
        self._add(
            "image", "", None, y + h, x=x, y=y, width=w, height=h, href=address, preserveAspectRatio="none",
            style="image-rendering:pixelated",
        )  # fmt: skip

    def open(self, **attrs: Any) -> None:
        """Begin a group: what follows belongs together until `close`."""
        valued = {key: "true" if value is True else value for key, value in attrs.items()}  # XML has no bare attribute
        self.items.append(f"<g{attributes(**valued)}>")

    def close(self) -> None:
        """End the group."""
        self.items.append("</g>")

    def tag(self, x: float, y: float, label: str, height: float = 20) -> float:
        """A name: a filled tag whose point shows what it names. Returns its right end."""
        body = x + 14 + len(label) * MONO_12
        tip = body + height * 0.4
        self.path(
            f"M{x:.2f} {y:.2f}H{body:.2f}L{tip:.2f} {y + height / 2:.2f}L{body:.2f} {y + height:.2f}H{x:.2f}Z",
            "name",
            y + height,
        )
        self.text(x + 7, y + height / 2 + 4.3, label, "m b tp")
        return tip

    def padlock(self, x: float, y: float) -> None:
        """A closed lock, 13 wide."""
        self.rect(x, y + 6, 13, 9, "knob", rx=1.5)
        self.path(f"M{x + 3} {y + 6}v-2.5a3.5 3.5 0 0 1 7 0v2.5", "span", y + 15)

    def svg(self, title: str, description: str, cls: str | None = None, live: bool = True) -> str:
        """The element. A figure with things to press is a group to screen readers, a still one an image."""
        key = f"e{abs(hash_text(title + description + str(self.width))):x}"
        body = "".join(self.items)
        if not live:
            body = _ACTS.sub("", body)
        role = "group" if ' data-act="' in body else "img"
        return (
            f"<svg{attributes(class_=cls, width=round(self.width), height=round(self.height), role=role)}"
            f' viewBox="0 0 {round(self.width)} {round(self.height)}" aria-labelledby="{key}t {key}d">'
            f'<title id="{key}t">{escape(title)}</title><desc id="{key}d">{escape(description)}</desc>'
            f"{body}</svg>"
        )


def hatch(canvas: Canvas, x: float, y: float, width: float, height: float) -> None:
    """Slanted lines across what is there only for a moment, cut at its edges."""
    first, last = math.ceil((x - y - height) / PITCH), math.floor((x + width - y) / PITCH)
    ends = [(n, max(x, y + n * PITCH), min(x + width, y + height + n * PITCH)) for n in range(first, last + 1)]
    lines = [f"M{a:.1f} {a - n * PITCH:.1f}L{b:.1f} {b - n * PITCH:.1f}" for n, a, b in ends if b - a > 0.1]
    if lines:
        canvas.path("".join(lines), "hatch")


def hash_text(text: str) -> int:
    """A hash that is the same in every process."""
    import zlib

    return zlib.crc32(text.encode(errors="replace"))


_ACTS = re.compile(r' (data-[\w-]+|tabindex|role|aria-[\w-]+)="[^"]*"')  # what only a live figure has
_CLASS = re.compile(r"<(\w+) class=\"([^\"]+)\"")


def freeze(svg: str, theme: str | None = None) -> str:
    """A standalone figure: light values as attributes, an opaque background, dark values for dark systems; or all in
    one ``theme``, "light" or "dark"."""
    dark = int(theme == "dark")

    def with_attributes(match: re.Match[str]) -> str:
        tag, classes = match.groups()
        marks = presentation(("text " if tag == "text" else "") + classes, dark)
        return f'<{tag} class="{classes}"{attributes(**{k.replace("-", "_"): v for k, v in marks.items()})}'

    body = re.sub(r"<text x=", '<text class="f12" x=', svg)
    body = _CLASS.sub(with_attributes, body)
    head, rest = body.split(">", 1)
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" class="edu-static"', 1)
    background = f'<rect class="paper" width="100%" height="100%"{attributes(**presentation("paper", dark))}/>'
    end = rest.index("</desc>") + len("</desc>")
    style = f"<style>{dark_style()}</style>" if theme is None else ""
    return f"{head}>{rest[:end]}{style}{background}{rest[end:]}"
