"""What print shows of a tensor. The layout is PyTorch's: `tests/peers/test_printing.py` compares the two."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    yield
    tg.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1e5, 1.0], "tensor([1.0000e+05, 1.0000e+00])"),
        ([1000.0, 1.0], "tensor([1000.,    1.])"),
        ([math.nan, 1.0], "tensor([nan, 1.])"),
        ([math.inf, 0.5, -2.0], "tensor([    inf,  0.5000, -2.0000])"),
        ([-0.0, 0.5], "tensor([-0.0000, 0.5000])"),
        ([0.0, 0.0], "tensor([0., 0.])"),
        (1e-5, "tensor(1.0000e-05)"),
        ([True, False], "tensor([ True, False])"),
        ([5, -10], "tensor([  5, -10])"),
        ([], "tensor([])"),
        ([[], []], "tensor([], size=(2, 0))"),
        (range(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    ],
)
def test_numbers(values: Any, text: str) -> None:
    assert repr(tg.tensor(values)) == text


def test_lines_end_before_column_80() -> None:
    lines = repr(tg.arange(20.0) / 8).splitlines()
    assert [len(line) for line in lines] == [79, 79, 24]
    assert lines[1].startswith("        1.1250, 1.2500")
    noted = repr(tg.ones(9, requires_grad=True) / 8)
    assert noted.endswith("0.1250],\n       grad_fn=<div>)")


def test_every_axis_is_shortened() -> None:
    text = repr(tg.zeros(10, 2, 200))
    assert text.count("[0., 0., 0.,  ..., 0., 0., 0.]") == 12
    assert text.count("\n\n        ...,\n\n") == 1


def test_an_empty_tensor_says_its_dtype() -> None:
    assert repr(tg.zeros(0, dtype="int64")) == "tensor([], dtype=int64)"


def test_options() -> None:
    x = tg.tensor([1 / 3, 2 / 3, 1e-5])
    assert repr(x[:2]) == "tensor([0.3333, 0.6667])"
    tg.set_printoptions(precision=2)
    assert repr(x[:2]) == "tensor([0.33, 0.67])"
    tg.set_printoptions(sci_mode=False)
    assert repr(x) == "tensor([0.33, 0.67, 0.00])"
    tg.set_printoptions(edgeitems=1, threshold=2)
    assert repr(x) == "tensor([3.33e-01,  ..., 1.00e-05])"
    tg.set_printoptions(profile="short", linewidth=20)
    assert repr(x[:2]) == "tensor([0.33, 0.67])"
    tg.set_printoptions(profile="full")
    assert "..." not in repr(tg.arange(2000))


def test_options_that_do_not_exist() -> None:
    with teaches(
        ArgumentError, "set_printoptions(profile='long')", "the profiles are default, short, full",
        "name one of them",
    ):  # fmt: skip
        tg.set_printoptions(precision=1, profile="long")
    with teaches(ArgumentError, "set_printoptions(edgeitems=-1)", "it is a count", "use 0 or more"):
        tg.set_printoptions(precision=1, edgeitems=-1)
    assert repr(tg.tensor(0.5)) == "tensor(0.5000)"  # nothing was changed
