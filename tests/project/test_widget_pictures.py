"""The pictures of the widgets are those that their tool draws, and stand alone on a page."""

from __future__ import annotations

import re
from xml.dom import minidom

import pytest
from tinygrad_edu_widgets.registry import WIDGETS

from tests.support import ROOT
from tinygrad_edu.views.tokens import dark_style
from tools.draw_widgets import FOLDER, PICTURES, draw

GUIDE = ROOT / "widgets" / "README.md"
MARKED = re.compile(r"<[^>]*>")
NUMBER = re.compile(r"-?\d+\.\d+")  # coordinates have a point
each_picture = pytest.mark.parametrize("name", PICTURES)


@each_picture
def test_a_picture_is_up_to_date(name: str) -> None:
    there = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert close(draw(name), draw(name))
    assert close(there, draw(name)), "run python tools/draw_widgets.py"


def close(one: str, other: str) -> bool:
    """The same text, and coordinates within half a pixel: a measured number of bytes may differ by a page."""

    def without(svg: str) -> str:
        return MARKED.sub(lambda found: NUMBER.sub("#", found[0]), svg)

    def numbers(svg: str) -> list[float]:
        return [float(number) for mark in MARKED.findall(svg) for number in NUMBER.findall(mark)]

    if without(one) != without(other):
        return False
    return all(abs(a - b) <= 0.5 for a, b in zip(numbers(one), numbers(other), strict=True))


def test_what_is_close() -> None:
    there = '<path d="M601.5 192.3H603.7"/><text>1.5 MB</text>'
    assert close(there, there.replace("192.3", "192.1"))
    for changed in (there.replace("192.3", "193.0"), there.replace("1.5", "1.6"), there + "<path/>"):
        assert not close(there, changed)


@each_picture
def test_a_picture_needs_nothing_from_outside(name: str) -> None:
    """As a web page shows it in an image: no script, no style sheet, no variable, both themes."""
    svg = draw(name)
    root = minidom.parseString(svg.encode()).documentElement
    assert [node.tagName for node in root.childNodes[:4]] == ["title", "desc", "style", "rect"]
    assert svg.count("<style>") == 1 and dark_style() in svg
    assert not re.search(r"var\(|<script|<foreignObject|href=(?!.data:image/png;)|url\(|@import| on\w+=", svg)
    for element in root.getElementsByTagName("*"):
        drawn = element.tagName in ("path", "rect", "line", "circle", "text")
        assert not drawn or element.getAttribute("fill") or element.getAttribute("stroke"), element.toxml()


def test_every_widget_has_a_picture_and_every_picture_is_shown() -> None:
    assert {one.slug for one in WIDGETS} | {"key"} == set(PICTURES)
    assert {file.stem for file in FOLDER.glob("*.svg")} == set(PICTURES)
    shown = re.findall(r"!\[([^\]]+)\]\(\.\./docs/widgets/(\w+)\.svg\)", GUIDE.read_text(encoding="utf-8"))
    assert sorted(name for _, name in shown) == sorted(PICTURES)
    assert all(len(words) > 20 for words, _ in shown)  # a picture is described


@each_picture
def test_no_time_in_a_picture_is_made_up(name: str) -> None:
    """A picture may hold only counts, virtual times, which are exact, or times that are recorded and say so."""
    frame = PICTURES[name]()
    assert frame.badge in (None, "recorded", "simulated"), "virtual time is exact"
    if frame.badge == "recorded":
        assert re.match(r"20\d\d-\d\d-\d\d · .* cores?, .*Python .*NumPy", frame.conditions)
