"""Whether a text twin says what a picture shows: every drawn text has to stand in it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from tinygrad_edu.views.frame import Figure, Frame
from tinygrad_edu.views.marks import MONO_12, MONO_13

# What figures say that is no value: captions, and where one stands in a picture that is too large for the page.
CAPTIONS = [
    r"from before|from this op|after this step|[=…]",  # beside gradients that are added
    r"byte address.*",
    r"holds",
    r"you|what happens",  # the key under a choice
    r"Draw your prediction here, from left to right\.",
    r"\d+ of \d+ cards around this step; step on to see the others",
    r"loss|epoch",  # axes
]


def normal(text: str) -> str:
    """Text without what two layouts may do differently: space, line ends, commas and colons."""
    return re.sub(r"[\s,:]+", " ", text).strip()


def missing(drawn: Iterable[str], twin: str, captions: Iterable[str] = ()) -> list[str]:
    """The drawn texts that neither the twin nor a caption accounts for. One that was cut stands for what it begins."""
    said = normal(twin)
    known = re.compile("|".join((*CAPTIONS, *captions)))
    lost = []
    for item in drawn:
        text = normal(item)
        if not text or known.fullmatch(item.strip()):
            continue
        cut = text.endswith("…")
        pattern = re.escape(text[:-1].rstrip() if cut else text)
        before = r"(?<![\w.])" if text[0].isalnum() else ""
        after = r"(?!\.?\w)" if text[-1].isalnum() and not cut else ""
        if not re.search(before + pattern + after, said):
            lost.append(item)
    return lost


def assert_twin(frame: Frame, captions: Iterable[str] = ()) -> None:
    """Both widths draw nothing that the twin does not say, and nothing over something else."""
    for figure in (frame.wide, frame.narrow):
        assert collisions(figure) == []
        assert missing(figure.canvas.text_items, frame.text, captions) == [], frame.text


def collisions(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of monospaced texts that run into each other. Their widths are known without a browser."""
    boxes = []
    for element in ET.fromstring(figure.svg()).iter("text"):
        classes = (element.get("class") or "").split()
        if "m" not in classes or not (element.text or "").strip():
            continue
        text = element.text or ""
        x, y = float(element.get("x") or 0), float(element.get("y") or 0)
        width = len(text) * (MONO_13 if "f13" in classes else MONO_12)
        left = x - {"end": width, "middle": width / 2}.get(element.get("text-anchor") or "", 0)
        boxes.append((left, left + width, y, text))
    return [
        (one, two)
        for i, (l1, r1, y1, one) in enumerate(boxes)
        for l2, r2, y2, two in boxes[i + 1 :]
        if abs(y1 - y2) < 10 and l1 < r2 - 1 and l2 < r1 - 1
    ]
