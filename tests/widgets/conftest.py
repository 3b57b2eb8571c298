"""Widgets live until they are closed: what the tests of a file made goes with it, and the tensors that it holds."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from comm.base_comm import BaseComm
from ipywidgets.widgets import widget


@pytest.fixture(autouse=True, scope="module")
def closed() -> Iterator[None]:
    """Close them; those that have a stand-in for the way to the browser are only forgotten."""
    before = set(widget._instances)
    yield
    for key in set(widget._instances) - before:
        one = widget._instances.pop(key)
        if isinstance(one.comm, BaseComm):
            one.close()
    gc.collect()
