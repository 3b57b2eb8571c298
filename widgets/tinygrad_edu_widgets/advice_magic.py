"""The cell magic ``%%advise``: which tips apply to what a cell does.

``%load_ext tinygrad_edu_widgets`` adds it. The cell runs as it would without the first line, only slower::

    %%advise
    for data, target in loader:
        ...

The report stands where the value of the cell's last line would: each tip that applies, with the line, what was found
there, and what it cost. With ``%%advise --measure`` the cell runs several times more, without each of the habits that
can be left out, and what it prints then is not shown. After an error in the cell, what was seen until then is printed
before the traceback.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout

from IPython.core.magic import Magics, cell_magic, magics_class

from tinygrad_edu.tips import advise

from .advice_report import AdviceReport
from .memory_magic import compiled_alone

MAGIC = "%%advise"


@magics_class
class AdviceMagics(Magics):
    """``%%advise``."""

    @cell_magic
    def advise(self, line: str, cell: str) -> AdviceReport:
        """Run this cell, and tell which tips apply to it."""
        assert self.shell is not None
        measured = line.strip() == "--measure"
        code = compiled_alone(self.shell, "" if measured else line, cell, MAGIC)
        try:
            with advise() as report:
                exec(code, self.shell.user_ns)
        except Exception:
            print(report)
            raise
        if measured:
            names = self.shell.user_ns
            with redirect_stdout(io.StringIO()):
                report.measure(lambda: exec(code, names))
        return AdviceReport(report)
