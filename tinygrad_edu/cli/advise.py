"""``tinygrad-edu advise script.py``: runs a script, watched, and tells which tips apply to it."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout

from ..compat.scripts import run
from ..errors import ArgumentError
from ..tips import advise as watched
from .terminal import Terminal


def advise(
    terminal: Terminal, script: str, arguments: Sequence[str], *, as_json: bool, measured: bool = False
) -> tuple[str, int]:
    """The report, and the exit status of the script: 1 after an error, whose traceback is printed.

    With JSON, what the script prints goes to standard error. ``measured``: it runs again, without each of the habits
    that can be left out, and what it prints then is not shown. Raises `ArgumentError` where there is no such file.
    """
    if not os.path.isfile(script):
        raise ArgumentError(f"advise {script}", "there is no such file", "name a Python script")
    status = 0
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        try:
            with watched() as report:
                run(script, arguments)
            if measured:
                with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
                    report.measure(lambda: run(script, arguments))
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception as error:
            own = error.__traceback__
            while own is not None and own.tb_frame.f_code.co_filename != script:
                own = own.tb_next
            traceback.print_exception(error.with_traceback(own))
            status = 1
    return report.json() if as_json else "\n" + terminal.spell(report.text()), status
