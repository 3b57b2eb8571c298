"""Every operation has the faces that PyTorch gives it (function, method, in-place twin, ``out=``), or says why not."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu.tensor.absent import NAMES

torch = pytest.importorskip("torch")

FUNCTIONS = sorted(name for name in tg._HOME if callable(getattr(tg, name)) and callable(getattr(torch, name, None)))
METHODS = sorted(name for name in dir(tg.ones(1)) if name[0] != "_" and callable(getattr(tg.Tensor, name)))

# What is left out, and why.
NO_TWIN = {
    "as_strided": "it shows other memory, and a tensor keeps its own: use as_strided()",
    "swapaxes": "PyTorch has three names for it: transpose_",
}
FRESH = "it makes a tensor: there is nothing to save by writing it into another"
NO_OUT = {
    **dict.fromkeys(
        "arange empty eye full linspace logspace normal ones rand randint randn randperm zeros".split(), FRESH
    ),
    "multinomial": FRESH,
    **dict.fromkeys("std_mean svd var_mean".split(), "it has several results"),
}
NO_FUNCTION = {"detach": "it is no operation"}


def takes_out(function: Any) -> bool:
    return "out" in inspect.signature(function).parameters


def theirs_takes_out(name: str) -> bool:
    first = (getattr(torch, name).__doc__ or "").split("\n\n")[0]
    return re.search(r"\bout=None", first) is not None


def test_enough_is_compared() -> None:
    assert len(FUNCTIONS) > 200
    assert sum(map(theirs_takes_out, FUNCTIONS)) > 80


def test_methods() -> None:
    assert not [name for name in FUNCTIONS if hasattr(torch.Tensor, name) and not hasattr(tg.Tensor, name)]


def test_methods_that_are_not_there_say_so() -> None:
    """The list of what PyTorch's tensors have and these do not: it changes with every method that is added."""
    x = tg.ones(1, 1)
    assert {name for name in dir(torch.Tensor) if name[0] != "_" and not hasattr(x, name)} == set(NAMES.split())


def test_functions() -> None:
    plain = [name for name in METHODS if not name.endswith("_")]
    found = {name for name in plain if callable(getattr(torch, name, None)) and not hasattr(tg, name)}
    assert found == set(NO_FUNCTION)


def test_twins() -> None:
    found = {
        name for name in METHODS
        if not name.endswith("_") and hasattr(torch.Tensor, f"{name}_") and not hasattr(tg.Tensor, f"{name}_")
    }  # fmt: skip
    assert found == set(NO_TWIN)


def test_out() -> None:
    assert {name for name in FUNCTIONS if theirs_takes_out(name) and not takes_out(getattr(tg, name))} == set(NO_OUT)
