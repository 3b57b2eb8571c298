"""The five guides, heading by heading: which tips show what is said there, and each block of code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_NO_TIP = "-title"


class Section(NamedTuple):
    """A heading of a guide: the slugs of the tips for each of its blocks of code, and for its text.

    ``bare`` is a title, a table of contents or a list of plans, which advises nothing.
    """

    guide: str  # a letter of `tip.GUIDES`
    heading: str
    blocks: tuple[tuple[str, ...], ...]
    text: tuple[str, ...]
    bare: bool

    @property
    def slugs(self) -> set[str]:
        """All tips of this section."""
        return {*self.text, *[slug for block in self.blocks for slug in block]}


def _read() -> Iterator[Section]:
    for line in Path(__file__).with_name("guides.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            guide, heading, blocks, text = (part.strip() for part in f"{line} ".split("|"))
            of_blocks = tuple(tuple(block.split()) for block in blocks.split(";") if block.strip())
            bare = text == _NO_TIP
            yield Section(guide, heading, of_blocks, () if bare else tuple(text.split()), bare)


SECTIONS = tuple(_read())
