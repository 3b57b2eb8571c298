"""The cell magic ``%%memory``: whose the bytes are while a cell runs.

``%load_ext tinygrad_edu_widgets`` adds it. The cell runs as it would without the first line, only slower::

    %%memory
    loss = model(x).square().mean()
    loss.backward()

With ``-n`` and a name for both, the second cell is drawn under the first, on the same scale::

    %%memory -n lesson with the graph
    y = model(x)

    %%memory -n lesson no_grad
    with tg.no_grad():
        y = model(x)

What follows the name is the label of the run. A run with the same label as one before takes its place, so that a cell
can be run again. ``--shown`` asks nothing, and shows the river at once. The river stands where the value of the cell's
last line would.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from tinygrad_edu.errors import ArgumentError, EduError
from tinygrad_edu.observe.memory import Memory
from tinygrad_edu.views import river
from tinygrad_edu.views.river import River

from .memory_river import MemoryRiver

FIRST, SECOND = river.LETTERS


@magics_class
class MemoryMagics(Magics):
    """``%%memory``."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.kept: dict[str, list[River]] = {}  # by the name given with -n: the first run, and the last

    @cell_magic
    def memory(self, line: str, cell: str) -> MemoryRiver:
        """Run this cell, and show whose the bytes are at each event of it.

        %%memory                  this cell alone
        %%memory -n NAME label    the next cell of that name is drawn under this one
        %%memory --shown          without a question
        """
        assert self.shell is not None
        try:
            name, label, shown = read_line(line)
            code = compiled(self.shell, cell)
        except EduError as error:
            raise UsageError(error.sentence()) from None
        space = self.shell.user_ns
        gc.collect()  # so that what was garbage before is not given back during the run
        with Memory() as seen:
            exec(code, space)
        try:
            found = river.read(seen, label or FIRST, "after the cell", seen.kept(of=space))
        except EduError as error:
            raise UsageError(error.sentence()) from None
        if not name:
            return MemoryRiver(found, names=(found.name, SECOND), shown=shown)
        runs = self.kept[name] = joined(self.kept.get(name, []), found, label)
        return MemoryRiver(*runs, names=(runs[0].name, runs[1].name if len(runs) > 1 else SECOND), shown=shown)


def joined(before: list[River], found: River, label: str) -> list[River]:
    """The runs of one name: a run with the label of one before takes its place, any other is the second."""
    if not before or (label and label == before[0].name):
        return [found, *before[1:]]
    return [before[0], found if label else River(SECOND, found.events, found.pieces, found.names)]


def read_line(line: str, magic: str = "%%memory") -> tuple[str, str, bool]:
    """The name under which runs are compared, the label of this one, and whether it is shown at once."""
    words = line.split()
    shown = "--shown" in words
    words = [word for word in words if word != "--shown"]
    name = ""
    if words[:1] == ["-n"]:
        name = " ".join(words[1:2])
        words = words[2:]
    if any(word.startswith("-") for word in words) or (line.split()[:1] == ["-n"] and not name):
        why = "there are -n with a name, then a label, and --shown"
        raise ArgumentError(f"{magic} {line.strip()}", why, f"write {magic} -n lesson and a label")
    return name, " ".join(words), shown


def compiled(shell: Any, cell: str, magic: str = "%%memory") -> Any:
    """The cell's code, with the line numbers that the cell has, and so that its lines are found."""
    with readable(magic):
        return shell.compile(*parsed(shell, cell), "exec")


def compiled_alone(shell: Any, line: str, cell: str, magic: str) -> Any:
    """The same, for a magic that takes nothing after it. Raises UsageError where there is something."""
    try:
        if line.strip():
            raise ArgumentError(f"{magic} {line.strip()}", "it takes nothing after it", f"write {magic} alone")
        return compiled(shell, cell, magic)
    except EduError as error:
        raise UsageError(error.sentence()) from None


def parsed(shell: Any, cell: str) -> tuple[ast.Module, str]:
    """The cell's syntax, and the file name under which its lines are found."""
    source = "\n" + shell.transform_cell(cell)  # the line with the magic comes before
    name = shell.compile.cache(source, shell.execution_count, raw_code=cell)
    return ast.parse(source, name), name


@contextmanager
def readable(magic: str) -> Iterator[None]:
    """A block that parses and compiles a cell. Raises `ArgumentError` for one that cannot be read."""
    try:
        yield
    except SyntaxError as error:
        why = f"line {error.lineno} of the cell cannot be read: {error.msg}"
        raise ArgumentError(magic, why, "mend that line") from None
