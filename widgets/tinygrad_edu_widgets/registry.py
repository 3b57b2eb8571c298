"""The widgets, each declared once, by a class that names its room. Its other parts are found by its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Entry:
    """One widget, and where its parts are. Paths begin at the root of the repository."""

    widget: type
    room: ModuleType  # of tinygrad_edu.views: what it shows

    @property
    def name(self) -> str:
        """``BufferMap``: its class, the heading of its frame, and its rows among the keys in widgets/README.md."""
        return self.widget.__name__

    @property
    def slug(self) -> str:
        """``buffer_map``: its files."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.name).lower()

    @property
    def folder(self) -> str:
        """``buffers``: its room, as a folder of tinygrad_edu/views/."""
        return self.room.__name__.rpartition(".")[2]

    @property
    def picture(self) -> str:
        """The picture that ``tools/draw_widgets.py`` draws with the function of the same name."""
        return f"docs/widgets/{self.slug}.svg"

    @property
    def tests(self) -> tuple[str, str]:
        """The tests of its room, and of its acts."""
        return f"tests/views/{self.folder}", f"tests/widgets/test_{self.slug}.py"


WIDGETS: list[Entry] = []


def enter(widget: type, room: ModuleType) -> None:
    """Put a widget into the registry."""
    WIDGETS.append(Entry(widget, room))
