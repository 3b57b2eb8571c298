"""The simulated device's memory is counted to the byte here: first, what others have let go of is collected."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def collected() -> None:
    """Garbage in cycles, of other tests."""
    gc.collect()
