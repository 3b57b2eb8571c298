"""What a watch over memory finds: buffers with their owners, events, and names that keep buffers alive."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.lines import Line, describe_line
from ...common.wording import bytes_text, plural

OWNERS = ("parameter", "optimiser", "gradient", "activation", "data", "temporary")
BANDS = (*OWNERS, "workspace", "elsewhere")


@dataclass(frozen=True)
class Held:
    """One buffer: whose it is, how large, and the operation and line that made it."""

    owner: str
    nbytes: int
    shape: tuple[int, ...]
    dtype: str
    op: str
    line: Line
    module: str

    @property
    def where(self) -> str:
        """``lesson.py, line 7: y = x * w``."""
        return describe_line(self.line)

    def __repr__(self) -> str:
        made = f" of {self.op}" if self.op else ""
        return f"{self.owner} {bytes_text(self.nbytes)} {self.shape} {self.dtype}{made}, {self.where or 'there before'}"


@dataclass(eq=False)
class Life:
    """How long a buffer lived, in pages of the books: made after page ``born``, last seen on page ``died``."""

    held: Held
    born: int  # 0: it was there before
    died: int | None = None  # None: it is alive

    def during(self, pages: tuple[int, int]) -> bool:
        """Whether it was there at a `Moment` with these pages."""
        first, last = pages
        return self.born < last and (self.died is None or self.died >= first)


@dataclass(frozen=True)
class Moment:
    """An event, and the bytes of each of `BANDS`: after it, and when memory was fullest in it.

    Both without what was there before the watch began: `Memory.by_owner` adds that. ``pages`` tells which buffers
    were there when it was fullest: `Memory.alive_at` lists them.
    """

    phase: str  # "forward", "backward", "step", "between" two events, or "mark"
    op: str  # the operation, the optimiser, or the name of a mark
    line: Line  # that did it; of what was between two events, the line of the later one
    module: str
    after: tuple[int, ...]
    most: tuple[int, ...]
    pages: tuple[int, int] = (0, 0)

    @property
    def where(self) -> str:
        """``lesson.py, line 7: loss.backward()``; between two events, that of the next one after the word "before"."""
        found = describe_line(self.line)
        return f"before {found}" if found and self.phase == "between" else found

    @property
    def what(self) -> str:
        """``backward of exp``."""
        return {"backward": f"backward of {self.op}", "between": "between operations"}.get(self.phase, self.op)


@dataclass(frozen=True)
class Keeper:
    """A name in the program, and the buffers that live because of it."""

    name: str
    nbytes: int
    buffers: int
    graph: int  # of these bytes, those that the graph behind it has saved for backward
    alone: int  # of these bytes, those that no other name keeps: what would be free without it

    def __repr__(self) -> str:
        share = "all" if self.graph == self.nbytes else bytes_text(self.graph)
        behind = f", {share} through its graph" if self.graph else ""
        rest = "" if self.alone == self.nbytes else f"; it alone {bytes_text(self.alone)}"
        return f"{self.name} keeps {bytes_text(self.nbytes)} in {plural(self.buffers, 'buffer')}{behind}{rest}"
