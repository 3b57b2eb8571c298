"""What a browser does with a reel, in Python: elements, and the changes of a step applied to them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

EMPTY = {"input", "br", "meta", "wbr"}


@dataclass
class Element:
    """An element of a page. Two are equal if a reader could not tell them apart."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def all(self) -> Iterator[Element]:
        """It and all elements inside."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.all()


class _Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root")
        self.open = [self.root]
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in EMPTY:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if data:
            self.open[-1].children.append(data)


def read(html: str) -> Element:
    """The elements of a page."""
    return _Reader(html).root


def walk(page: Element, told: dict[str, Any], chunk: dict[str, Any], step: int) -> None:
    """Change a page as the browser does to show another step. ``told`` and ``chunk`` are what was sent to it."""
    for element in page.all():
        given = element.attributes
        if "data-at" in given:
            given["data-at"] = str(step)
        if "data-track" in given:
            _set(element, _values(told["tracks"][given["data-track"]], told["words"], step))
        if "data-part" in given:
            versions = chunk["parts"][given["data-part"]]
            assert chunk["from"] <= step <= chunk["to"]
            inside = versions[bisect_right([at for at, _ in versions], step) - 1][1]
            element.children = read(inside).children
        if element.tag == "input" and "data-walk" in given:
            given["value"] = str(step)
            given["style"] = re.sub(r"--at:\d+", f"--at:{step}", given["style"])


def _values(versions: list[list[int]], words: list[str], step: int) -> list[str]:
    values = [""] * (len(versions[0]) - 1)
    for at, *places in versions:
        if at <= step:
            values = [old if place < 0 else words[place] for place, old in zip(places, values, strict=True)]
    return values


def _set(element: Element, values: list[str]) -> None:
    for one in element.attributes["data-set"].split("\ue0ff"):
        name, _, template = one.partition("=")
        value = re.sub("[\ue000-\ue0fe]", lambda found: values[ord(found[0]) - 0xE000], template)
        if not name:
            element.children = [value] if value else []
        elif value:
            element.attributes[name] = value
        else:
            element.attributes.pop(name, None)
