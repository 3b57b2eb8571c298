"""The cell magic ``%%advise``: which tips apply to what a cell does.

``%load_ext tinygrad_edu_widgets`` adds it. The cell runs as it would without the first line, only slower::

    %%advise
    for data, target in loader:
        ...

The report stands where the value of the cell's last line would: each tip that applies, with the line, what was found
there, and what it cost. After an error in the cell, what was seen until then is printed before the traceback.
"""

from __future__ import annotations

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from tinygrad_edu.errors import ArgumentError, EduError
from tinygrad_edu.tips import advise
from tinygrad_edu.tips.advice import Report

from .memory_magic import compiled

MAGIC = "%%advise"


@magics_class
class AdviceMagics(Magics):
    """``%%advise``."""

    @cell_magic
    def advise(self, line: str, cell: str) -> Report:
        """Run this cell, and tell which tips apply to it."""
        assert self.shell is not None
        try:
            if line.strip():
                raise ArgumentError(f"{MAGIC} {line.strip()}", "it takes nothing after it", f"write {MAGIC} alone")
            code = compiled(self.shell, cell, MAGIC)
        except EduError as error:
            raise UsageError(error.sentence()) from None
        try:
            with advise() as report:
                exec(code, self.shell.user_ns)
        except Exception:
            print(report)
            raise
        return report
