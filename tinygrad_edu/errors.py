"""Errors that teach: what was tried, why it cannot work, which line asked for it, and one way to fix it.

Where PyTorch raises a RuntimeError, ours is one too, so ``except RuntimeError`` carries over.
"""

from __future__ import annotations

from typing import Any

from .common.lines import Line, describe_line, user_line


class EduError(Exception):
    """Base of every error that this package raises about tensors.

    The parts are also kept as attributes, so a widget can lay them out without parsing text:
    ``tried`` (the operation with shapes, dtypes and device), ``why``, ``line`` (source) and ``mend``.

    An error finds the user's line by itself. Pass ``line`` when another one is to blame, such as the line whose node
    saved a value, and ``""`` when no line of a program caused the error.
    """

    made = 0  # so many, in all: also those that a program catches

    def __init__(self, tried: str, why: str, mend: str, line: str | Line = None) -> None:
        EduError.made += 1
        self.tried, self.why, self.mend = tried, why, mend
        self.line = line if isinstance(line, str) else describe_line(line or user_line())
        line = self.line
        parts = [tried, f"  why:  {why}", f"  line: {line}" if line else "", f"  mend: {mend}"]
        super().__init__("\n".join(part for part in parts if part))

    def __reduce__(self) -> Any:
        """For ``pickle``: an error of a worker process comes here with all its parts."""
        return type(self), (self.tried, self.why, self.mend, self.line)

    def sentence(self) -> str:
        """The error in one line, for places where four do not fit."""
        return f"{self.tried}: {self.why}. {self.mend[:1].upper()}{self.mend[1:]}."

    def report(self) -> str:
        """The error with its line, in one line of text: for a list of what was found."""
        return f"{self.sentence()} ({self.line})" if self.line else self.sentence()


class ShapeError(EduError, ValueError, RuntimeError):
    """Shapes do not fit the operation, or each other."""


class DtypeError(EduError, TypeError, RuntimeError):
    """A value's type or dtype cannot take part in the operation."""


class NoAxisError(ShapeError, TypeError):
    """A 0-d tensor was used as a sequence. Also a TypeError, as with numbers: libraries test for it before a loop."""


class ArgumentError(EduError, ValueError):
    """An argument has a value that it may not have: a name that does not exist, a fraction above 1."""


class KeywordError(ArgumentError, TypeError):
    """A call that does not fit: an unknown keyword, or too few or too many arguments. Also a TypeError."""


class DeviceError(EduError, RuntimeError):
    """Tensors that live on different devices met in one operation."""


class RaceError(EduError, RuntimeError):
    """Work of one stream met the bytes of another's, and nothing made one wait for the other."""


class AutogradError(EduError, RuntimeError):
    """The graph cannot give the gradient that was asked for."""


class ModuleError(EduError, AttributeError):
    """A module is used before its ``Module.__init__`` has run."""


class InplaceError(AutogradError):
    """An in-place write was refused, or has overwritten what backward needs."""


class MemoryGuardError(EduError, ValueError):
    """A NumPy array that the graph still needs was written to, or the write was stopped."""


class IndexRangeError(EduError, IndexError):
    """An index, or a class label, lies outside what it points into."""


class LinAlgError(EduError, ValueError, RuntimeError):
    """A matrix has no inverse, or no such factors."""


class StateFileError(EduError, ValueError, RuntimeError):
    """A file of tensors cannot be read or written: it is cut short, damaged, or in another format."""


class OutOfMemoryError(EduError, RuntimeError, MemoryError):
    """More memory was asked for than there is."""


class TrainingError(EduError, RuntimeError):
    """Training cannot go on: the loss is no longer a number, or no batch came."""


class WorkerError(EduError, RuntimeError):
    """A worker of a data loader, or of distributed training, is gone, gives no answer, or cannot be given its work."""


class TimingError(EduError, RuntimeError):
    """A function raised an error while it was timed, or timing was stopped before there was a result."""


class MissingPackageError(EduError, ImportError):
    """A package is needed that does not come with this one, and is not installed."""
