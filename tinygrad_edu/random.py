"""Random numbers. One generator per thread, and one call to seed them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from . import backends
from .arguments import sizes
from .dtypes import as_dtype
from .settings import modes
from .tensor import Tensor, wrap


class _State:
    """The seed that everybody starts from, and each thread's own generator."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.local = threading.local()
        self.epoch = 0  # raised by manual_seed, so that other threads start anew too


_state = _State()


def manual_seed(seed: int) -> None:
    """Start the random streams of every thread from ``seed``: the same program then gives the same numbers."""
    _state.seed, _state.epoch = int(seed) % 2**64, _state.epoch + 1  # PyTorch takes negative seeds too


def generator() -> np.random.Generator:
    """This thread's generator. The main thread's stream depends on the seed alone, others' on their name too."""
    local = _state.local
    if getattr(local, "epoch", None) != _state.epoch or not hasattr(local, "generator"):
        local.epoch = _state.epoch
        if _state.seed is None:
            local.generator = np.random.default_rng()
        else:
            main = threading.current_thread() is threading.main_thread()
            salt = [] if main else [int.from_bytes(threading.current_thread().name.encode(), "big")]
            local.generator = np.random.default_rng([_state.seed, *salt])
    found: np.random.Generator = local.generator
    return found


def _finish(values: Any, dtype: Any, device: str | None, requires_grad: bool) -> Tensor:
    array = np.asarray(values, dtype=as_dtype(dtype or modes().dtype))
    result = wrap(backends.get(device or modes().device).from_numpy(array))
    return result.requires_grad_() if requires_grad else result


def randn(*size: Any, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed numbers, mean 0 and standard deviation 1."""
    return _finish(generator().standard_normal(sizes(size)), dtype, device, requires_grad)


def rand(*size: Any, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """Numbers spread evenly over [0, 1)."""
    dtype = as_dtype(dtype or modes().dtype)
    steps = 2.0 ** _BITS.get(dtype.name, 53)  # numbers that the dtype holds exactly: rounding would reach 1
    return _finish(np.floor(generator().random(sizes(size)) * steps) / steps, dtype, device, requires_grad)


_BITS = {"bfloat16": 8, "float16": 11, "float32": 24}  # of the significand


def randint(low: int, high: int, size: tuple[int, ...], *, dtype: Any = "int64", device: str | None = None) -> Tensor:
    """Integers from ``low`` up to but without ``high``."""
    return _finish(generator().integers(low, high, size), dtype, device, False)


def randperm(n: int, *, dtype: Any = "int64", device: str | None = None) -> Tensor:
    """The integers 0 to n - 1 in random order."""
    return _finish(generator().permutation(n), dtype, device, False)
