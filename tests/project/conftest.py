"""What tests of whole programs share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def hangup_is_heard() -> Iterator[None]:
    """Programs that tests start inherit what SIGHUP does, and under ``nohup`` it does nothing."""
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is None or signal.getsignal(hangup) is not signal.SIG_IGN:
        yield
        return
    signal.signal(hangup, signal.SIG_DFL)
    yield
    signal.signal(hangup, signal.SIG_IGN)
