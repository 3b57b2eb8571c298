"""What the tests of observers share."""

from __future__ import annotations

import pytest

from tests.observe.clock import Clock
from tinygrad_edu.observe import timing


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "_clock", clock)
    return clock
