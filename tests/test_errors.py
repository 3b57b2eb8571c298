"""Errors carry their parts, read well, and are what Python programmers expect to catch."""

from __future__ import annotations

import pytest

from tinygrad_edu import errors
from tinygrad_edu.errors import EduError

KINDS = {
    "ArgumentError": ValueError,
    "KeywordError": TypeError,
    "ShapeError": ValueError,
    "NoAxisError": TypeError,
    "OutOfMemoryError": MemoryError,
    "DtypeError": TypeError,
    "DeviceError": RuntimeError,
    "RaceError": RuntimeError,
    "AutogradError": RuntimeError,
    "InplaceError": errors.AutogradError,
    "ModuleError": AttributeError,
    "MemoryGuardError": ValueError,
    "IndexRangeError": IndexError,
    "LinAlgError": ValueError,
    "StateFileError": ValueError,
    "TrainingError": RuntimeError,
    "WorkerError": RuntimeError,
    "TimingError": RuntimeError,
    "MissingPackageError": ImportError,
}


def test_every_error_is_listed_here() -> None:
    found = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, EduError)}
    assert found == {"EduError", *KINDS}


@pytest.mark.parametrize(("name", "base"), KINDS.items())
def test_errors_are_ours_and_pythons(name: str, base: type[Exception]) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, EduError)
    assert issubclass(kind, base)
    assert kind.__doc__


def test_the_four_parts() -> None:
    error = EduError("add (2,) and (3,)", "sizes differ", "reshape one", "here, line 3: x + y")
    assert str(error) == "add (2,) and (3,)\n  why:  sizes differ\n  line: here, line 3: x + y\n  mend: reshape one"
    assert (error.tried, error.why, error.mend, error.line) == (
        "add (2,) and (3,)", "sizes differ", "reshape one", "here, line 3: x + y",
    )  # fmt: skip
    assert error.sentence() == "add (2,) and (3,): sizes differ. Reshape one."


def test_an_unknown_line_is_left_out() -> None:
    assert str(EduError("a", "b", "c", "")) == "a\n  why:  b\n  mend: c"
