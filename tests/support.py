"""Checks that many tests share."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

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
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
