"""Every text can be read where it stands: on what lies under it, and beside others; in both themes, in many states."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.views.test_tokens import contrast
from tests.views.twin import collisions
from tests.widgets.test_every_widget import STATES, reach
from tinygrad_edu.views.frame import Figure
from tinygrad_edu.views.tokens import MARKS


def fill(classes: str) -> str | None:
    """The token that fills a mark of these classes."""
    found = [MARKS[name]["fill"] for name in classes.split() if "fill" in MARKS.get(name, {})]
    return found[-1] if found and found[-1] != "none" else None


def hard_to_read(figure: Figure) -> set[tuple[str, str, str]]:
    """Texts with too little contrast to the rectangle that lies under them: text token, ground token, text."""
    rects: list[tuple[float, float, float, float, str]] = []
    found = set()
    for element in ET.fromstring(figure.svg()).iter():
        classes = element.get("class") or ""
        if element.tag == "rect" and (ground := fill(classes)):
            x, y, w, h = (float(element.get(side) or 0) for side in ("x", "y", "width", "height"))
            rects.append((x, y, x + w, y + h, ground))
        if element.tag == "text" and element.text:
            x, y = float(element.get("x") or 0), float(element.get("y") or 0) - 4
            x += {"end": -3, "middle": 0}.get(element.get("text-anchor") or "", 3)
            under = [ground for x0, y0, x1, y1, ground in rects if x0 <= x <= x1 and y0 <= y <= y1]
            colour = fill(f"text {classes}") or "ink"
            ground = "ink" if colour == "paper" else under[-1] if under else "paper"
            pair = ("paper", "ink") if colour == "paper" else (colour, ground)
            if min(contrast(*pair, theme) for theme in (0, 1)) < 4.5:
                found.add((colour, ground, element.text))
    return found


@pytest.mark.parametrize("name, path", STATES)
def test_every_text_can_be_read_where_it_stands(name: str, path: list[tuple[str, object]]) -> None:
    widget = reach(name, path)
    acts = [("step", None)] * 14 if name == "GraphStepper" else [("down", None)] * 3 if name == "GuardLens" else []
    for act, value in [(None, None), *acts]:
        if act is not None:
            widget.act(act, value)
        frame = widget.frame()
        for figure in (frame.wide, frame.narrow):
            assert hard_to_read(figure) == set()
            assert collisions(figure) == []
