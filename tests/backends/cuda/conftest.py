"""The devices ``cuda`` and ``cuda:1``, by the stand-in for CuPy."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests import cupy_standin
from tinygrad_edu import backends
from tinygrad_edu.backends import cuda


def _registered(name: str) -> backends.Backend:
    made = cuda.make(name, cupy_standin.cupy, cupy_standin.cupyx)
    assert made is not None
    return backends.register(made)


@pytest.fixture(scope="module")
def gpus() -> Iterator[list[backends.Backend]]:
    """Both, for the tests of a module."""
    found = [_registered("cuda"), _registered("cuda:1")]
    yield found
    gc.collect()
    for one in found:
        backends.unregister(one)


@pytest.fixture
def gpu(gpus: list[backends.Backend]) -> Iterator[backends.Backend]:
    """The first."""
    gc.collect()
    yield gpus[0]
    gpus[0].allow(1.0)
    gpus[0].scalars = True
