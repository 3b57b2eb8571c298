"""The cell magic ``%%timeline``: what the simulated device does while a cell runs.

``%load_ext tinygrad_edu_widgets`` adds it. The cell runs as it would without the first line::

    %%timeline
    y = x.to("sim") @ w

With ``-n`` and a name for both, the second cell is drawn under the first, on the same scale; what follows the name is
the label of the run. ``--shown`` asks nothing, and shows the timeline at once. A cell runs once, so the first one also
shows how memory is reserved; run it again to see it as in a loop.
"""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.display import display

from tinygrad_edu import sim
from tinygrad_edu.errors import EduError

from .memory_magic import compiled, read_line
from .queue_timeline import QueueTimeline

MAGIC = "%%timeline"


@magics_class
class TimelineMagics(Magics):
    """``%%timeline``."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.kept: dict[str, dict[str, sim.Timeline]] = {}  # by the name given with -n: at most two runs, by label

    @cell_magic
    def timeline(self, line: str, cell: str) -> QueueTimeline:
        """Run this cell, and show what host, copies and streams of the simulated device do.

        %%timeline                  this cell alone
        %%timeline -n NAME label    the next cell of that name is drawn under this one
        %%timeline --shown          without a question
        """
        assert self.shell is not None
        try:
            name, label, shown = read_line(line, MAGIC)
            code = compiled(self.shell, cell, MAGIC)
        except EduError as error:
            raise UsageError(error.sentence()) from None
        sim.restart(keep=False)  # each cell reserves its own memory: else the first would pay for the second
        with sim.timeline() as seen:
            try:
                exec(code, self.shell.user_ns)
            except Exception:
                if so_far := seen.so_far():  # what led to the error can be seen
                    display(QueueTimeline(so_far, shown=shown))  # type: ignore[no-untyped-call]
                raise
            sim.finish()
        try:
            return self._drawn(name, label, seen, shown)
        except EduError as error:
            raise UsageError(error.sentence()) from None

    def _drawn(self, name: str, label: str, seen: sim.Timeline, shown: bool) -> QueueTimeline:
        runs = self.kept.setdefault(name, {}) if name else {}
        label = label or ("B" if runs else "A")
        if label not in runs and len(runs) == 2:
            del runs[list(runs)[1]]
        runs[label] = seen
        labels = (*runs, "B")[:2]
        return QueueTimeline(*runs.values(), names=labels, shown=shown)
