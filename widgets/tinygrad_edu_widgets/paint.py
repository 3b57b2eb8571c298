"""Pictures as files for slides and papers: SVG as it is, PNG and PDF drawn by matplotlib with fonts that it brings."""

from __future__ import annotations

import base64
import io
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinygrad_edu.common.wording import shown
from tinygrad_edu.errors import ArgumentError, MissingPackageError
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import finite, refusal

ENDINGS = (".svg", ".png", ".pdf")
THEMES = ("light", "dark")
FONTS = ["DejaVu Sans", "DejaVu Sans Mono"]  # every matplotlib has them, so a file looks the same on each machine
POINTS = 0.75  # in a CSS pixel
MOST = 20_000  # pixels wide


def save(caller: str, frame: Frame, path: Any, width: Any = None, theme: Any = "light") -> None:
    """Write the picture of a frame. ``width`` is in CSS pixels; a PNG has twice the picture's own width by default.

    Raises `ArgumentError` for an ending that is none of the three, for a theme or a width that cannot be, and where
    nothing can be written; `MissingPackageError` for a PNG or a PDF without matplotlib.
    """
    if not isinstance(path, (str, Path)) or Path(path).suffix.lower() not in ENDINGS:
        why = f"the ending says what is written: {', '.join(ENDINGS)}"
        raise refusal(caller, "path", path, why, f'write {caller}("figure.svg")')
    if not isinstance(theme, str) or theme not in THEMES:
        raise refusal(caller, "theme", theme, f"there are the themes {' and '.join(THEMES)}", 'write theme="dark"')
    if width is not None and not 1 <= finite(caller, "width", width) <= MOST:
        raise refusal(caller, "width", width, f"a picture is 1 to {MOST} pixels wide", "write width=1600")
    file, kind = Path(path), Path(path).suffix.lower()
    svg = frame.svg(theme)
    try:
        if kind == ".svg":
            file.write_text(svg if width is None else _resized(svg, width), encoding="utf-8")
        else:
            _paint(caller, svg, file, kind[1:], width)
    except OSError as error:
        why = f"nothing can be written there: {error.strerror or error}"
        raise ArgumentError(
            f"{caller}({shown(str(path))})", why, "name a file in a folder that you may write"
        ) from None


def _resized(svg: str, width: float) -> str:
    """The same picture at another width; its view box stays."""
    root = ET.fromstring(svg)
    height = float(root.attrib["height"]) * width / float(root.attrib["width"])
    return re.sub(r' width="[^"]*" height="[^"]*"', f' width="{width:g}" height="{height:g}"', svg, count=1)


def _paint(caller: str, svg: str, file: Path, kind: str, width: float | None) -> None:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        why, mend = f"a {kind.upper()} is drawn by matplotlib, which is not installed", "pip install matplotlib"
        raise MissingPackageError(f"{caller}({shown(str(file))})", why, mend) from None
    root = ET.fromstring(svg)
    own = float(root.attrib["width"])
    scale = width / own if width is not None else 2.0 if kind == "png" else 1.0
    size = (own * scale / 96, float(root.attrib["height"]) * scale / 96)  # inches
    words = {_tag(child): child.text or "" for child in root if _tag(child) in ("title", "desc")}
    with matplotlib.rc_context({"lines.scale_dashes": False, "pdf.fonttype": 42, "path.simplify": False}):
        figure = Figure(figsize=size, dpi=96)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, own)
        axes.set_ylim(float(root.attrib["height"]), 0)  # as in SVG, y goes down
        axes.axis("off")
        _Painter(axes, scale).all(root, _Place())
        known = {"png": {"Title": words["title"], "Description": words["desc"], "Software": None},
                 "pdf": {"Title": words["title"], "Subject": words["desc"], "CreationDate": None}}  # fmt: skip
        figure.savefig(file, format=kind, dpi=96, metadata=known[kind])


@dataclass(frozen=True)
class _Place:
    """Where a group's marks go, and how opaque they are."""

    x: float = 0.0
    y: float = 0.0
    opacity: float = 1.0


class _Painter:
    """Draws the few elements that `Canvas` makes. Anything else is an error: it would be missing in the file."""

    def __init__(self, axes: Any, scale: float) -> None:
        self.axes, self.scale, self.order = axes, scale, 0

    def all(self, parent: ET.Element, place: _Place) -> None:
        """What an element holds, in order."""
        for element in parent:
            tag = _tag(element)
            if tag not in ("title", "desc", "style"):  # for screen readers, and for dark systems
                getattr(self, f"_{tag}")(element, place)

    def _g(self, element: ET.Element, place: _Place) -> None:
        moved = re.fullmatch(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", "translate(0 0)"))
        assert moved is not None, element.attrib
        opacity = place.opacity * float(element.get("opacity", 1))
        self.all(element, _Place(place.x + float(moved[1]), place.y + float(moved[2]), opacity))

    def _svg(self, element: ET.Element, place: _Place) -> None:
        left, top, width, _ = map(float, element.attrib["viewBox"].split())
        assert width == float(element.attrib["width"]), "a picture inside a picture is not scaled"
        x, y = float(element.get("x", 0)) - left, float(element.get("y", 0)) - top
        self.all(element, _Place(place.x + x, place.y + y, place.opacity))

    def _rect(self, element: ET.Element, place: _Place) -> None:
        if element.attrib["width"] == "100%":
            self.axes.figure.set_facecolor(element.attrib["fill"])
            return
        x, y, w, h, r = (float(element.get(name, 0)) for name in ("x", "y", "width", "height", "rx"))
        r = min(r, w / 2, h / 2)
        k = r * 0.4477  # how far a curve's handles are from the corner
        round_ = (
            f"M{x + r} {y}h{w - 2 * r}C{x + w - k} {y} {x + w} {y + k} {x + w} {y + r}v{h - 2 * r}"
            f"C{x + w} {y + h - k} {x + w - k} {y + h} {x + w - r} {y + h}h{2 * r - w}"
            f"C{x + k} {y + h} {x} {y + h - k} {x} {y + h - r}v{2 * r - h}C{x} {y + k} {x + k} {y} {x + r} {y}z"
        )
        self._outline(round_ if r else f"M{x} {y}h{w}v{h}h{-w}z", element, place)

    def _circle(self, element: ET.Element, place: _Place) -> None:
        x, y, r = (float(element.attrib[name]) for name in ("cx", "cy", "r"))
        self._outline(f"M{x - r} {y}a{r} {r} 0 0 1 {2 * r} 0a{r} {r} 0 0 1 {-2 * r} 0z", element, place)

    def _line(self, element: ET.Element, place: _Place) -> None:
        x1, y1, x2, y2 = (element.attrib[name] for name in ("x1", "y1", "x2", "y2"))
        self._outline(f"M{x1} {y1}L{x2} {y2}", element, place)

    def _path(self, element: ET.Element, place: _Place) -> None:
        if d := element.get("d"):  # a head that has not arrived yet has none
            self._outline(d, element, place)

    def _outline(self, d: str, element: ET.Element, place: _Place) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Outline

        points, codes = outline(d)
        moved = [(x + place.x, y + place.y) for x, y in points]
        dashes = [float(n) * POINTS * self.scale for n in re.findall(r"[\d.]+", element.get("stroke-dasharray", ""))]
        if len(dashes) % 2:
            dashes *= 2
        stroke = element.get("stroke", "none")
        width = 0.0 if stroke == "none" else float(element.get("stroke-width", 1)) * POINTS * self.scale
        opacity = place.opacity * float(element.get("opacity", 1))
        self.order += 1
        patch = PathPatch(
            Outline(moved, codes), facecolor=element.attrib["fill"], edgecolor=stroke, linewidth=width,
            linestyle=(0, tuple(dashes)) if dashes else "-", alpha=opacity if opacity < 1 else None,
            joinstyle="miter", capstyle="butt", zorder=self.order,
        )  # fmt: skip
        self.axes.add_artist(patch)

    def _image(self, element: ET.Element, place: _Place) -> None:
        from matplotlib.image import imread

        x, y, w, h = (float(element.attrib[name]) for name in ("x", "y", "width", "height"))
        pixels = imread(io.BytesIO(base64.b64decode(element.attrib["href"].partition(",")[2])))
        left, top = x + place.x, y + place.y
        self.order += 1
        self.axes.imshow(
            pixels, extent=(left, left + w, top + h, top), interpolation="nearest", aspect="auto", zorder=self.order
        )

    def _text(self, element: ET.Element, place: _Place) -> None:
        mono = "monospace" in element.get("font-family", "")
        size = float(element.get("font-size", "12px").removesuffix("px")) * POINTS * self.scale
        side = {"start": "left", "middle": "center", "end": "right"}[element.get("text-anchor", "start")]
        self.order += 1
        words = self.axes.text(
            float(element.get("x", 0)) + place.x, float(element.get("y", 0)) + place.y, element.text or "",
            family=FONTS[::-1] if mono else FONTS, fontsize=size, color=element.get("fill"), alpha=place.opacity,
            weight="bold" if element.get("font-weight") == "600" else "normal", ha=side, va="baseline",
            parse_math=False, zorder=self.order, clip_on=False,
        )  # fmt: skip
        room = element.get("textLength")
        if room is not None:  # it has to fit into so many pixels
            taken = words.get_window_extent().width / self.scale
            words.set_fontsize(size * min(1.0, float(room) / taken))


def _tag(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


_WORD = re.compile(r"[A-Za-z]|-?\d*\.?\d+(?:e-?\d+)?")
_COUNT = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "A": 7, "Z": 0}


def outline(d: str) -> tuple[list[tuple[float, float]], list[int]]:
    """The points and matplotlib's codes of an SVG path: M, L, H, V, C, A of a circle, Z, absolute or relative."""
    words = _WORD.findall(d)
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    at = start = (0.0, 0.0)
    command, i = "", 0
    while i < len(words):
        if words[i].isalpha():
            command, i = words[i], i + 1
        kind = command.upper()
        numbers = [float(word) for word in words[i : i + _COUNT[kind]]]
        i += _COUNT[kind]
        base = at if command.islower() else (0.0, 0.0)
        if kind == "Z":
            new, code = [start], [79]
        elif kind == "H":
            new, code = [(base[0] + numbers[0], at[1])], [2]
        elif kind == "V":
            new, code = [(at[0], base[1] + numbers[0])], [2]
        elif kind == "A":
            new = _arc(at, (base[0] + numbers[5], base[1] + numbers[6]), numbers)
            code = [4] * len(new)
        else:
            new = [(base[0] + x, base[1] + y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            code = {"M": [1], "L": [2], "C": [4, 4, 4]}[kind]
        points, codes, at = points + new, codes + code, new[-1]
        if kind == "M":
            start = at
            command = "l" if command == "m" else "L"  # further pairs are lines
    return points, codes


def _arc(start: tuple[float, float], end: tuple[float, float], numbers: list[float]) -> list[tuple[float, float]]:
    """Part of a circle as curves, each of a quarter at most."""
    radius, _, _, large, clockwise = numbers[:5]
    dx, dy = end[0] - start[0], end[1] - start[1]
    chord = math.hypot(dx, dy)
    radius = max(radius, chord / 2)
    off = math.sqrt(radius**2 - chord**2 / 4) * (1 if bool(large) == bool(clockwise) else -1)
    x, y = (start[0] + end[0]) / 2 + off * dy / chord, (start[1] + end[1]) / 2 - off * dx / chord
    first, last = math.atan2(start[1] - y, start[0] - x), math.atan2(end[1] - y, end[0] - x)
    turn = (last - first) % math.tau if clockwise else -((first - last) % math.tau)
    count = max(1, math.ceil(abs(turn) / (math.pi / 2) - 1e-9))
    step = turn / count
    k = 4 / 3 * math.tan(step / 4) * radius
    found: list[tuple[float, float]] = []
    for n in range(count):
        a, b = first + n * step, first + (n + 1) * step
        ends = [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in (a, b)]
        found += [
            (ends[0][0] - k * math.sin(a), ends[0][1] + k * math.cos(a)),
            (ends[1][0] + k * math.sin(b), ends[1][1] - k * math.cos(b)),
            ends[1],
        ]
    return found
