"""The tips that are still to come, each with how it will be said. A tip that is there leaves this list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# What a tip may need beyond two ways, their counts and the time.
NEEDS = {
    "facts": "facts of its own, with a unit and how they are known",
    "outcome": "a way that raises an error or gives other numbers, as the tip says",
    "ways": "more than two ways, and mistakes as ways of their own",
    "workers": "threads and processes, and how many there are",
}


class Planned(NamedTuple):
    """A tip to come: A is the way to leave, B the way to take, and ``claim`` what is to be checked."""

    slug: str
    theme: str
    a: str
    b: str
    claim: str
    needs: tuple[str, ...] = ()


def _read() -> Iterator[Planned]:
    """The rows of planned.txt: a theme in brackets, then a tip in each line, its parts between bars."""
    theme = ""
    for line in Path(__file__).with_name("planned.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            theme = line.strip("[]")
        elif line and not line.startswith("#"):
            slug, a, b, claim, needs = (part.strip() for part in line.split("|"))
            yield Planned(slug, theme, a, b, claim, tuple(needs.split()))


PLANNED = tuple(_read())
