"""Ctrl-C while the command line still loads: NumPy takes a moment, and nobody can catch anything yet.

Without this, an early Ctrl-C would print a traceback through the imports.
"""

from __future__ import annotations

import os
import sys


def is_command_line() -> bool:
    """Whether this process is ``tinygrad-edu`` or ``python -m tinygrad_edu``, and not somebody's program."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    if name == "-m":  # what `python -m` puts there while it looks for the module
        words = sys.orig_argv
        return words[words.index("-m") + 1 :][:1] == ["tinygrad_edu"] if "-m" in words else "-mtinygrad_edu" in words
    return os.path.splitext(name)[0] == "tinygrad-edu"


def end_at_once() -> None:
    """From now on, until `raise_again`, Ctrl-C ends the process without a word. One that is ignored stays so."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """From now on, Ctrl-C raises `KeyboardInterrupt`, as usual."""
    import signal

    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
