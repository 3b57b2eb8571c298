"""The cell magic ``%%loader``: who reads the batches of a loop while a cell runs, and where the loop waits for them.

``%load_ext tinygrad_edu_widgets`` adds it. The cell runs as it would without the first line::

    %%loader
    for batch in loader:
        train(batch)

Every pass over a `DataLoader` that begins in the cell, and ends in it, is drawn. The picture stands where the value of
the cell's last line would.
"""

from __future__ import annotations

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from tinygrad_edu.data.timeline import passes
from tinygrad_edu.observe.machine import conditions
from tinygrad_edu.views import loading

from .loader_gantt import LoaderGantt
from .memory_magic import compiled_alone

MAGIC = "%%loader"


@magics_class
class LoaderMagics(Magics):
    """``%%loader``."""

    @cell_magic
    def loader(self, line: str, cell: str) -> LoaderGantt:
        """Run this cell, and show who read each batch of its loops, and where they waited."""
        assert self.shell is not None
        code = compiled_alone(self.shell, line, cell, MAGIC)
        with passes() as seen:
            exec(code, self.shell.user_ns)
        done = [one for one in seen if one.ended is not None and one.batches]
        if not done:
            why = "no pass over a DataLoader has begun and ended in it"
            raise UsageError(f"{MAGIC}: {why}. Put the whole loop into the cell, without a break.")
        return LoaderGantt.of(loading.read(done, conditions(None).text()))
