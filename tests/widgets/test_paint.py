"""Pictures as files: every mark of every state is painted where the SVG has it, in either theme and at any size."""

from __future__ import annotations

import itertools
import math
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest
from matplotlib.figure import Figure
from tinygrad_edu_widgets import GuardLens
from tinygrad_edu_widgets.paint import _Painter, _Place, outline

from tests.widgets.test_every_widget import STATES, reach
from tinygrad_edu.errors import ArgumentError, MissingPackageError
from tinygrad_edu.views.marks import Canvas
from tinygrad_edu.views.tokens import TOKENS

IMAGE = "{http://www.w3.org/2000/svg}"


def size_of(svg: str) -> tuple[float, float]:
    root = ET.fromstring(svg)
    return float(root.attrib["width"]), float(root.attrib["height"])


@pytest.mark.parametrize(("name", "path"), STATES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(STATES)])
def test_every_mark_and_every_text_is_painted(name: str, path: Any) -> None:
    root = ET.fromstring(reach(name, path)._framed().svg("dark"))
    axes = Figure().add_axes((0, 0, 1, 1))
    before = len(axes.texts)
    painter = _Painter(axes, 1.0)
    painter.all(root, _Place())
    count = {tag: len(list(root.iter(f"{IMAGE}{tag}"))) for tag in ("rect", "line", "path", "circle", "text")}
    count["path"] -= sum("d" not in path.attrib for path in root.iter(f"{IMAGE}path"))  # these draw nothing
    assert len(axes.texts) - before == count["text"]
    assert len(axes.patches) == sum(count.values()) - count["text"] - 1  # the paper is the figure's own colour
    drawn = sorted((round(t.get_position()[0], 3), t.get_text()) for t in axes.texts)
    places = sorted((round(x, 3), words) for x, words in texts(root, 0.0))
    assert drawn == places


def texts(parent: ET.Element, left: float) -> list[tuple[float, str]]:
    """Each text with its place from the left edge."""
    found: list[tuple[float, str]] = []
    for element in parent:
        if element.tag == f"{IMAGE}text":
            found.append((left + float(element.get("x", 0)), element.text or ""))
        moved = re.findall(r"-?[\d.]+", element.get("transform", ""))
        own = float(moved[0]) if moved else 0.0
        if element.tag == f"{IMAGE}svg":
            own = float(element.get("x", 0)) - float(element.attrib["viewBox"].split()[0])
        found += texts(element, left + own)
    return found


@pytest.mark.parametrize(("width", "pixels"), [(None, 1720), (430, 430), (2000, 2000)])
def test_a_png_has_the_width_that_is_asked_for(tmp_path: Path, width: int | None, pixels: int) -> None:
    lens, file = GuardLens(), tmp_path / "lens.png"
    lens.save(file, width=width)
    found = matplotlib.image.imread(file)
    own = size_of(lens.svg())
    assert found.shape[1] == pixels
    assert found.shape[0] == pytest.approx(own[1] * pixels / own[0], abs=1)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_has_the_colours_of_its_theme(tmp_path: Path, theme: str) -> None:
    file = tmp_path / "lens.png"
    GuardLens().save(str(file), theme=theme)
    found = (matplotlib.image.imread(file)[..., :3] * 255).round().astype(int)
    seen = {f"#{r:02x}{g:02x}{b:02x}" for r, g, b in found.reshape(-1, 3).tolist()}
    index = int(theme == "dark")
    for token in ("paper", "ground", "ink", "ochre", "vermilion", "wash-vermilion"):
        assert TOKENS[token][index] in seen, token
    assert TOKENS["paper"][1 - index] not in seen or TOKENS["paper"][1 - index] == "#ffffff"


def test_a_pdf_holds_text_and_fonts_that_can_be_read(tmp_path: Path) -> None:
    lens, file = GuardLens(), tmp_path / "lens.pdf"
    lens.save(file, width=600)
    found = file.read_bytes()
    own = size_of(lens.svg())
    assert found.startswith(b"%PDF")
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", found)
    assert box is not None
    assert float(box[1]) == pytest.approx(600 * 0.75) and float(box[2]) == pytest.approx(
        450 * own[1] / own[0], rel=1e-3
    )
    fonts = set(re.findall(rb"/BaseFont /(?:[A-Z]+\+)?([\w-]+)", found))
    assert {b"DejaVuSans", b"DejaVuSansMono", b"DejaVuSans-Bold"} <= fonts
    assert b"/FontFile2" in found and b"/Subtype /Image" not in found


def test_an_svg_is_as_it_is_shown_or_has_another_size(tmp_path: Path) -> None:
    lens, file = GuardLens(), tmp_path / "lens.svg"
    own = size_of(lens.svg())
    for width in (None, 430):
        lens.save(file, width=width)
        found = file.read_text(encoding="utf-8")
        assert size_of(found)[0] == (width or own[0])
        assert f'viewBox="0 0 {own[0]:g} {own[1]:g}"' in found and "prefers-color-scheme" not in found
    lens.save(file, theme="dark")
    assert TOKENS["paper"][1] in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": "lens.jpg"}, "the ending says what is written: .svg, .png, .pdf"),
        ({"path": "lens"}, "the ending says what is written"),
        ({"path": 3}, "GuardLens.save(path=3)"),
        ({"path": "no/such/folder/lens.png"}, "nothing can be written there: No such file"),
        ({"path": "no/such/folder/lens.svg"}, "nothing can be written there: No such file"),
        ({"path": "lens.svg", "width": 0}, "a picture is 1 to 20000 pixels wide"),
        ({"path": "lens.svg", "width": math.inf}, "width is a finite number"),
        ({"path": "lens.svg", "width": "wide"}, "width is a finite number"),
        ({"path": "lens.svg", "theme": "blue"}, "there are the themes light and dark"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=re.escape(words)):
        GuardLens().save(**given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    lens = GuardLens()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match="pip install matplotlib"):
        lens.save(tmp_path / f"lens.{ending}")
    lens.save(tmp_path / "lens.svg")


def test_paths_are_read_as_svg_means_them() -> None:
    points, codes = outline("M10 20h5v-5H0V1Lz".replace("L", "l2 3"))
    assert points == [(10, 20), (15, 20), (15, 15), (0, 15), (0, 1), (2, 4), (10, 20)]
    assert codes == [1, 2, 2, 2, 2, 2, 79]
    assert outline("m1 1 2 2L3-4")[0] == [(1, 1), (3, 3), (3, -4)]
    assert outline("M0 0c1 0 2 1 2 2")[0] == [(0, 0), (1, 0), (2, 1), (2, 2)]


@pytest.mark.parametrize("flags", ["0 0", "0 1", "1 0", "1 1"])
def test_an_arc_lies_on_its_circle(flags: str) -> None:
    points, codes = outline(f"M3 0a5 5 0 {flags} 4 4")
    assert points[-1] == pytest.approx((7, 4)) and set(codes[1:]) == {4}
    on_it = [points[0]]
    for i in range(0, len(points) - 1, 3):  # the middle of each curve, and its end
        p, q, r, s = points[i : i + 4]
        on_it += [((p[0] + 3 * q[0] + 3 * r[0] + s[0]) / 8, (p[1] + 3 * q[1] + 3 * r[1] + s[1]) / 8), s]
    off = math.sqrt(17 / 2)
    centres = [(5 + sign * off, 2 - sign * off) for sign in (1, -1)]  # of both circles through (3, 0) and (7, 4)
    (centre,) = [c for c in centres if all(math.dist(p, c) == pytest.approx(5, rel=1e-3) for p in on_it)]
    angles = [math.atan2(y - centre[1], x - centre[0]) for x, y in on_it]
    turns = [math.remainder(b - a, math.tau) for a, b in itertools.pairwise(angles)]
    large, clockwise = (flag == "1" for flag in flags.split())
    assert all((turn > 0) == clockwise for turn in turns)  # y goes down
    assert (abs(sum(turns)) > math.pi) == large


def test_what_the_painter_does_not_know_is_an_error() -> None:
    canvas = Canvas(10)
    canvas.items.append("<ellipse/>")
    with pytest.raises(AttributeError, match="_ellipse"):
        _Painter(Figure().add_axes((0, 0, 1, 1)), 1.0).all(ET.fromstring("<svg><ellipse/></svg>"), _Place())
