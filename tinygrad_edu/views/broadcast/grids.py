"""What all grids of a broadcast figure share: measures, cells and places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...common.wording import brief
from ..frame import WIDE
from ..marks import MONO_12, MONO_13, Canvas
from . import model, words
from .model import LabState, Place, Shape

GAP = 22.0  # between grids, with room for a sign


@dataclass(frozen=True)
class Grid:
    """The measures that all grids of a figure share."""

    shown: model.Plan
    solid: bool  # three axes: each block has a head
    cell: float  # width of a cell with its gap
    row: float
    face: str  # the classes of a number

    @property
    def baseline(self) -> float:
        """The baseline of a number, below the top of its cell."""
        return self.row / 2 + 4.5

    @property
    def width(self) -> float:
        """Of one grid."""
        return len(self.shown[2]) * self.cell

    def rows(self) -> list[tuple[int | None, int | None, float]]:
        """Block, row and top of each drawn row; None where some are left out."""
        found: list[tuple[int | None, int | None, float]] = []
        y = 0.0
        for i in self.shown[0]:
            y += 0 if not self.solid else 24 if i != 0 else 18
            for j in self.shown[1] if i is not None else ():
                found.append((i, j, y))
                y += self.row if j is not None else 18
        return found

    @property
    def height(self) -> float:
        """Of one grid."""
        rows = self.rows()
        return rows[-1][2] + self.row if rows else 0.0


def measure(state: LabState, width: int) -> Grid:
    """Cells as wide as the longest number needs."""
    onto = state.readings[2].shape
    shown = model.plan(onto)
    values = [v for r in state.readings for v in r.values]
    if state.backward is not None:
        values += [v for s in state.backward.sums for v in s.values + s.terms] + list(state.backward.upstream)
    longest = max((len(brief(v)) for v in values), default=1)
    narrow = width < WIDE
    cell = 30.0 if narrow and longest <= 3 else 44.0 if len(shown[2]) < 5 else 42.0
    face = "m f13" if longest * MONO_13 + 6 <= cell else "m"
    return Grid(shown, len(onto) == model.AXES, cell, 30.0 if narrow else 34.0, face)


def flow(sizes: Sequence[tuple[float, float]], left: float, width: float) -> list[tuple[float, float]]:
    """The left and top of three blocks: spread over one row where they fit, else one after another."""
    step = (width - left - sizes[2][0]) / 2
    if all(w + GAP <= step for w, _ in sizes[:2]):
        return [(left + i * step, 0.0) for i in range(3)]
    found, x, y, tallest = [], left, 0.0, 0.0
    for w, h in sizes:
        if x > left and x + w > width:
            x, y, tallest = left, y + tallest + 12, 0.0
        found.append((x, y))
        x, tallest = x + w + GAP, max(tallest, h)
    return found


def head_width(name: str, shape: Shape) -> float:
    """Of a name with a shape beside it."""
    return len(name) * MONO_13 + 8 + len(str(shape)) * MONO_12


def head(canvas: Canvas, name: str, shape: Shape, x: float, y: float, room: float) -> None:
    """A name, and its shape if there is room: the table below has it anyway."""
    canvas.text(x, y, name, "m b f13")
    if head_width(name, shape) <= room:
        canvas.text(x + len(name) * MONO_13 + 8, y, str(shape), "m t2")


def drawn_places(canvas: Canvas, grid: Grid, x: float, top: float) -> Iterator[tuple[Place, float, float]]:
    """Each drawn place of c, with the left and top of its cell. What is around the cells is drawn on the way."""
    for i, j, y in grid.rows():
        for column, k in enumerate(grid.shown[2]):
            at = x + column * grid.cell
            if i is None or j is None or k is None:
                canvas.text(at + grid.cell / 2, top + y + (grid.baseline if j is not None else 10), "…", "t2", "middle")
            else:
                yield (i, j, k), at, top + y
    _block_heads(canvas, grid, x, top)


def cell(canvas: Canvas, grid: Grid, x: float, y: float, style: str, value: float, tone: str) -> None:
    """One number in its card; ``tone`` is the class of its colour."""
    canvas.rect(x + 1, y + 1, grid.cell - 2, grid.row - 2, style, rx=4)
    canvas.text(x + grid.cell / 2, y + grid.baseline, brief(value), f"{grid.face} {tone}", "middle")


def _block_heads(canvas: Canvas, grid: Grid, x: float, top: float) -> None:
    if not grid.solid:
        return
    seen = 0.0
    for i in grid.shown[0]:
        seen += 6 if i != 0 else 0
        canvas.text(x, top + seen + 12, words.block_text(i), "m t2")
        rows = [y for block, _, y in grid.rows() if block == i and i is not None]
        seen = rows[-1] + grid.row if rows else seen + 18
