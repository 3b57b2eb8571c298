"""Checks that many tests share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu.errors import EduError

ROOT = Path(__file__).parents[1]
FAILED = pytest.StashKey[bool]()  # whether a test has failed, in its stash


@contextmanager
def teaches(kind: type[EduError], tried: str, why: str, mend: str, line: str = "") -> Iterator[None]:
    """The block raises ``kind`` with exactly these words, and with a line of the test that holds the text ``line``."""
    with pytest.raises(kind) as caught:
        yield
    error = caught.value
    assert type(error) is kind
    assert (error.tried, error.why, error.mend) == (tried, why, mend)
    assert re.match(r"test_\w+\.py, line \d+: ", error.line), error.line
    assert line in error.line
    assert str(error) == f"{tried}\n  why:  {why}\n  line: {error.line}\n  mend: {mend}"


def run_python(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh interpreter, at the root of the repository. Warnings are errors there too."""
    command = [sys.executable, "-W", "error", *flags, "-c", code]
    alone = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}  # IPython warns of another's
    return subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=100, check=False)


def same(a: Any, b: Any) -> bool:
    """Equal in structure, types, order, dtypes, shapes and bits; nan is nan."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tg.Tensor):
        return (a.dtype, a.shape, a.array.tobytes()) == (b.dtype, b.shape, b.array.tobytes())
    if isinstance(a, dict):
        return [(type(k), str(k)) for k in a] == [(type(k), str(k)) for k in b] and same([*a.values()], [*b.values()])
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b) or (a != a and b != b)
