"""Sizes that no machine has room for are refused at once, by an error that says how many bytes were asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import metrics, nn
from tinygrad_edu.backends import room
from tinygrad_edu.errors import EduError, OutOfMemoryError

F, X, IMAGE = nn.functional, tg.ones(3), tg.ones(1, 1, 3, 3)

# Each would take more than 2**50 bytes: more than any machine has, and less than overflows.
TOO_MUCH: dict[str, Callable[[], Any]] = {
    "zeros": lambda: tg.zeros(2**63),
    "ones": lambda: tg.ones(10**15),
    "empty": lambda: tg.empty(2**40, 2**40),
    "full": lambda: tg.full((2**62,), 1.0),
    "new_zeros": lambda: X.new_zeros(2**60),
    "Tensor": lambda: tg.Tensor(2**60),
    "eye": lambda: tg.eye(10**8),
    "arange": lambda: tg.arange(1e18),
    "arange of integers": lambda: tg.arange(2**64),
    "arange in small steps": lambda: tg.arange(0, 1e18, 1e-9),
    "linspace": lambda: tg.linspace(0, 1, 10**15),
    "rand": lambda: tg.rand(10**15),
    "randn": lambda: tg.randn(2**62),
    "randint": lambda: tg.randint(0, 5, (10**15,)),
    "randperm": lambda: tg.randperm(10**15),
    "normal": lambda: tg.normal(0.0, 1.0, (2**50,)),
    "multinomial": lambda: tg.multinomial(X, 10**15, True),
    "Linear": lambda: nn.Linear(2**40, 2**40),
    "Embedding": lambda: nn.Embedding(2**50, 8),
    "Conv2d": lambda: nn.Conv2d(2**30, 2**30, 3),
    "LSTM": lambda: nn.LSTM(2**40, 2**20),
    "clone of an expanded": lambda: tg.ones(1).expand(2**40, 2**10).clone(),
    "repeat": lambda: X.repeat(10**8, 10**8),
    "tile": lambda: X.tile(10**15),
    "repeat_interleave": lambda: X.repeat_interleave(10**15),
    "repeat_interleave by a tensor": lambda: X.repeat_interleave(tg.tensor([10**15, 1, 1])),
    "one_hot": lambda: F.one_hot(tg.tensor([1]), 2**50),
    "one_hot of a large class": lambda: F.one_hot(tg.tensor([2**60])),
    "pad": lambda: F.pad(X, (2**50, 0)),
    "pad by edges": lambda: F.pad(IMAGE, (2**40,) * 4, mode="replicate"),
    "interpolate": lambda: F.interpolate(IMAGE, size=(2**25, 2**25)),
    "interpolate by a factor": lambda: F.interpolate(IMAGE, scale_factor=1e15),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(IMAGE, 2**40),
    "conv2d": lambda: F.conv2d(IMAGE, tg.ones(1, 1, 1, 1), padding=2**25),
    "conv_transpose2d": lambda: F.conv_transpose2d(IMAGE, tg.ones(1, 1, 1, 1), stride=2**25),
    "unfold": lambda: F.unfold(IMAGE, 1, padding=2**25),
    "product": lambda: tg.ones(1).expand(2**26, 1) * tg.ones(1).expand(2**26),
    "outer": lambda: tg.outer(tg.ones(1).expand(2**26), tg.ones(1).expand(2**26)),
    "matmul": lambda: tg.ones(1).expand(2**26, 1) @ tg.ones(1).expand(1, 2**26),
    "cat": lambda: tg.cat([tg.ones(1).expand(2**50)] * 2),
    "diag": lambda: tg.diag(tg.ones(1).expand(2**26)),
    "confusion_matrix": lambda: metrics.confusion_matrix(tg.tensor([0]), tg.tensor([0]), 2**28),
}
# Beyond what a number of 64 bits can count.
BEYOND: dict[str, Callable[[], Any]] = {
    "zeros of nothing": lambda: tg.zeros(0, 2**63),
    "axes": lambda: tg.zeros([1] * 65),
    "one axis more": lambda: tg.zeros([1] * 64).unsqueeze(0),
    "expand": lambda: X.expand(2**62, 3),
    "expand further": lambda: X.expand(2**64, 3),
    "reshape": lambda: X.reshape(2**70),
    "view": lambda: X.view(2**63, -1),
    "pad": lambda: F.pad(X, (2**62, 2**62)),
    "diag": lambda: tg.diag(X, 2**40),
    "conv2d": lambda: F.conv2d(IMAGE, tg.ones(1, 1, 1, 1), padding=2**40),
    "arange": lambda: tg.arange(0, 1e308, 1e-308),
    "interpolate": lambda: F.interpolate(IMAGE, scale_factor=float("inf")),
}


def seen_of_one() -> Any:
    x = tg.ones(1, requires_grad=True)
    return x.expand(2**50)[7]


def squared_slope() -> Any:
    x = tg.ones(1, requires_grad=True)
    (slope,) = tg.autograd.grad(x.expand(2**50)[7], x, create_graph=True)
    return slope


TOO_MUCH |= {
    "backward": lambda: seen_of_one().backward(),
    "backward, recorded": lambda: seen_of_one().backward(create_graph=True),
    "grad": squared_slope,
}


def resident() -> int:
    """The bytes of main memory that this process has taken."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def refused(call: Callable[[], Any]) -> EduError:
    known = os.path.exists("/proc/self/statm")
    before, began = resident() if known else 0, time.perf_counter()
    with pytest.raises(EduError) as caught:
        call()
    assert time.perf_counter() - began < 20
    assert not known or resident() - before < 100_000_000
    return caught.value


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much(name: str) -> None:
    error = refused(TOO_MUCH[name])
    assert isinstance(error, OutOfMemoryError), error
    assert isinstance(error, RuntimeError), "which it is in PyTorch"
    assert isinstance(error, MemoryError)
    assert error.why.startswith("it asks for "), error
    assert " bytes, but this machine has " in error.why
    assert error.line.startswith("test_room.py")


@pytest.mark.parametrize("name", BEYOND)
def test_beyond_all_arrays(name: str) -> None:
    assert isinstance(refused(BEYOND[name]), (RuntimeError, ValueError))


def test_what_it_says() -> None:
    has = f"but this machine has {room.memory():,}: out of memory"
    mend = "make it smaller, or work on one part at a time"
    with teaches(
        OutOfMemoryError, "ones((1000000000000000,))", f"it asks for 4,000,000,000,000,000 bytes, {has}", mend
    ):
        tg.ones(10**15)
    with teaches(OutOfMemoryError, f"empty(({2**80},))", f"it asks for 10**24 bytes, {has}", mend):
        tg.empty(2**80)


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    room.memory.cache_clear()
    with monkeypatch.context() as patched:
        patched.delattr(os, "sysconf")
        assert room.memory() == 2**63 - 1
        with pytest.raises(OutOfMemoryError, match="it asks for 10"):
            tg.zeros(2**80)
    room.memory.cache_clear()


def test_the_systems_own_refusals() -> None:
    why, _ = room.refused(MemoryError()) or ("", "")
    assert why == "the system gave no more memory"
    assert room.refused(ValueError("operands could not be broadcast")) is None
    with pytest.raises(MemoryError) as caught:
        np.empty(2**58)
    why, _ = room.refused(caught.value) or ("", "")
    assert why.startswith(f"it asks for {2**61:,} bytes")
