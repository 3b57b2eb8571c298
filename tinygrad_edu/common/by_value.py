"""Functions, classes and values of a program or a notebook as bytes, for a process that has not run it."""

from __future__ import annotations

import io
from collections import ChainMap
from types import CodeType
from typing import Any, ClassVar


def pickled(value: Any) -> bytes:
    """``value`` by cloudpickle, which sends a notebook's functions and classes as they are. `pickle` reads it.

    Raises ImportError without cloudpickle, and whatever a value raises that cannot be sent.
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table: ClassVar[Any] = ChainMap({CodeType: _code_with_file}, cloudpickle.Pickler.dispatch_table)

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def _code_with_file(code: CodeType) -> Any:
    """As cloudpickle sends code, which forgets the file: it stays, for tracebacks."""
    import cloudpickle

    make, parts = cloudpickle.Pickler.dispatch_table[CodeType](code)
    return make, tuple(code.co_filename if part == "<dynamic-code>" else part for part in parts)
