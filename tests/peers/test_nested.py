"""Nested lists of anything that is a number: the shape, dtype and values that PyTorch gives, or both refuse."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")
pytestmark = pytest.mark.peers

NUMBERS: list[Any] = [True, False, 0, 3, -2, 2**40, 0.5, -1.25, float("inf")]
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


class Both:
    """A tensor in both libraries, as a list is written for both."""

    def __init__(self, values: Any, dtype: str) -> None:
        self.array = np.array(values).astype(dtype)

    def of(self, library: Any) -> Any:
        return library.tensor(self.array)

    def __repr__(self) -> str:
        return f"tensor({self.array.tolist()}, {self.array.dtype})"


def element(draw: random.Random) -> Any:
    kind = draw.randrange(6)
    if kind < 2:
        return draw.choice(NUMBERS)
    value, dtype = draw.choice([0, 1, 3, 0.5]), draw.choice(DTYPES[1:])  # PyTorch puts a np.bool_ beside nothing else
    if kind < 4:
        return np.array(value).astype(dtype)[()]
    return Both(np.full((1,) * draw.randrange(3) if kind == 4 else draw.choice([(), (1, 1), (2,), (0,)]), value), dtype)


def nested(draw: random.Random, shape: tuple[int, ...], flaws: float) -> Any:
    """A list of this shape, seldom with a flaw in it, whose rows may be tuples, ranges or arrays."""
    if not shape:
        return element(draw)
    if draw.random() < flaws:
        return draw.choice(NUMBERS)
    if draw.random() < 0.15:
        return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(draw.choice(DTYPES[1:]))
    if len(shape) == 1 and draw.random() < 0.1:
        return range(shape[0])
    size = shape[0] + (draw.random() < flaws)
    return draw.choice([list, list, tuple])(nested(draw, shape[1:], flaws) for _ in range(size))


def written(data: Any, library: Any) -> Any:
    if isinstance(data, Both):
        return data.of(library)
    return type(data)(written(item, library) for item in data) if isinstance(data, (list, tuple)) else data


def outcome(library: Any, data: Any, dtype: str | None) -> Any:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a list of arrays takes PyTorch long
            found = library.tensor(written(data, library), dtype=dtype and getattr(library, dtype))
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        assert library is torch or isinstance(error, tg.errors.EduError), repr(error)
        return None
    return tuple(found.shape), str(found.dtype).removeprefix("torch."), found.tolist()


def check(seed: int, count: int) -> None:
    draw = random.Random(seed)
    for case in range(count):
        shape = tuple(draw.choice([1, 1, 2, 3, 0] if i else [1, 2, 3]) for i in range(draw.randrange(1, 4)))
        # Beside an empty row, PyTorch drops what the others hold; a flaw is to be refused.
        data = [nested(draw, shape, 0.0 if 0 in shape else 0.03)]
        dtype = draw.choice([None, None, None, "float64", "float32"])
        told = f"seed={seed} case={case} tensor({data!r}, dtype={dtype})"
        ours, theirs = outcome(tg, data, dtype), outcome(torch, data, dtype)
        assert repr(ours) == repr(theirs), f"{told}: {ours} and {theirs}"


def test_lists_of_anything() -> None:
    check(seed=4, count=4000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 106))
def test_many_more_lists(seed: int) -> None:
    check(seed, 20_000)


@pytest.mark.parametrize("value", [300.0, -300.0, math.nan, math.inf, 1e30, -300, 2**70])
@pytest.mark.parametrize("make", [lambda value: value, np.float64], ids=["Python's", "NumPy's"])
def test_what_an_integer_dtype_does_not_hold(value: float, make: Any) -> None:
    with pytest.raises((RuntimeError, ValueError)):
        torch.tensor([value], dtype=torch.int8)
    with pytest.raises(tg.errors.DtypeError):
        tg.tensor([make(value)], dtype="int8")
