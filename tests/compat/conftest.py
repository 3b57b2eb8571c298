"""PyTorch's names, for one test; afterwards "cuda" is what it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from tinygrad_edu import backends


@pytest.fixture
def torch() -> Iterator[Any]:
    from tinygrad_edu.compat import torch

    end = backends.simulate_cuda()
    yield torch
    torch.cuda.set_per_process_memory_fraction(1.0)
    gc.collect()
    end()
