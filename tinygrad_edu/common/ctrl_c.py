"""Ctrl-C while the command line still loads: NumPy takes a moment, and nobody can catch anything yet.

Without this, an early Ctrl-C would print a traceback through the imports.
"""

from __future__ import annotations

import os
import sys


def command() -> list[str] | None:
    """The words of the command, if this is ``tinygrad-edu`` or ``python -m tinygrad_edu``; None in a program."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    if name == "-m":  # what `python -m` puts there while it looks for the module
        words = sys.orig_argv
        if "-mtinygrad_edu" in words:
            return words[words.index("-mtinygrad_edu") + 1 :]
        after = words[words.index("-m") + 1 :] if "-m" in words else []
        return after[1:] if after[:1] == ["tinygrad_edu"] else None
    return sys.argv[1:] if os.path.splitext(name)[0] == "tinygrad-edu" else None


def is_command_line() -> bool:
    """Whether this process is a command of this package, and not somebody's program."""
    return command() is not None


def lists_tips() -> bool:
    """Whether the command is ``tips list``."""
    return (command() or [])[:2] == ["tips", "list"]


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
