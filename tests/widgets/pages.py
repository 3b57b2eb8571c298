"""Reading what a widget puts into a page: well formed, named, and every control understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"input", "meta", "br", "img", "wbr"}
CONTROLS = {"button", "input", "select", "textarea"}
ACTIVE = ("tabindex", "onclick", "data-act", "data-key", "data-draw", "data-value", "data-link", "data-tip")


@dataclass
class Element:
    """A tag with its attributes and the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What a screen reader calls it."""
        return (self.attributes.get("aria-label") or self.text).strip()


class Page(HTMLParser):
    """Parses strictly: tags have to close in the order in which they opened, and no attribute comes twice."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[Element] = []
        self.elements: list[Element] = []
        self.feed(html)
        self.close()
        assert self.open == [], f"never closed: {self.open[-1]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of <{tag}> comes twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if self.open:
            self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def active(self) -> list[Element]:
        """Everything that can be pressed, set or drawn on."""
        named = [e for e in self.elements if e.tag != "pre"]  # a text that scrolls takes the focus, and does nothing
        return [e for e in named if e.tag in CONTROLS or any(name in e.attributes for name in ACTIVE)]

    def acts(self) -> list[tuple[str, str | None]]:
        """The messages that its controls can send."""
        given = [e.attributes for e in self.elements if "data-act" in e.attributes]
        return [(attributes["data-act"], attributes.get("data-value")) for attributes in given]


def check(html: str, live: bool) -> Page:
    """A page that is well formed, has a name for every control, and no control where nobody would answer."""
    page = Page(html)
    for element in page.elements:
        if "data-act" in element.attributes or element.tag in CONTROLS:
            assert live, f"a control without a kernel: {element}"
            assert element.name, f"a control without a name: {element}"
        if not live:
            allowed = ("tabindex",) if element.tag == "pre" else ()  # a text that scrolls takes the focus
            wrong = [n for n in element.attributes if (n in ACTIVE and n not in allowed) or n.startswith("on")]
            assert not wrong, f"{wrong} in a still page"
            assert element.attributes.get("role") in (None, "img")
        if element.attributes.get("role") == "radiogroup":
            stops = [c for c in element.children if c.attributes.get("tabindex") == "0"]
            assert len(stops) == 1
            assert element.name
        if element.tag == "svg":
            named = element.attributes.get("aria-labelledby", element.attributes.get("aria-label"))
            assert named or element.attributes.get("aria-hidden") == "true"
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    keys = [e.attributes["data-key"] for e in page.elements if "data-key" in e.attributes]
    assert len(keys) == len(set(keys))
    return page
