"""The programs of the lesson on broadcasting and dtypes: houses and their prices, and points with their centres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..common.wording import listed
from ..errors import EduError
from ..observe.memory import Memory
from ..settings import promotion
from ..tensor import Tensor
from ..tensor.random import rand, randn, seeded
from ..views.promotion.words import FRAMEWORKS

HOUSES, FEATURES = 1000, 8
POINTS, CENTRES, AXES = 2000, 200, 16
LIMIT = 6_000_000  # bytes, chosen for the last task


def houses(count: int = HOUSES) -> tuple[Tensor, Tensor]:
    """Features of houses (count, 8) and their prices (count,), float32, with mean 0 and deviation 1; invented."""
    with seeded(2):
        x = randn(count, FEATURES)
        price = (x[:, 0] * 2.0 + x[:, 1]).tanh() + 0.5 * x[:, 2] + 0.1 * randn(count)
    return x, (price - price.mean()) / price.std()


class Table(NamedTuple):
    """A table as NumPy reads it: float64. ``year`` is the year of each sale."""

    features: np.ndarray[Any, Any]
    price: np.ndarray[Any, Any]
    year: np.ndarray[Any, Any]


def read_table(count: int = 400) -> Table:
    """Houses that were sold between 2015 and 2024; invented."""
    x, price = houses(count)
    with seeded(4):
        year = 2015 + (10 * rand(count)).numpy().astype(np.int64)
    return Table(3.0 + 2.0 * x.numpy().astype(np.float64), price.numpy().astype(np.float64), year)


def points() -> tuple[Tensor, np.ndarray[Any, Any]]:
    """Points (2000, 16) in 200 heaps, float32, and the middle of each heap (200, 16), as NumPy reads it; invented."""
    with seeded(6):
        middles = 4.0 * randn(CENTRES, AXES)
        found = middles[[i % CENTRES for i in range(POINTS)]] + 0.3 * randn(POINTS, AXES)
    return found, middles.numpy().astype(np.float64)


def peak(program: Callable[..., Any], *given: Any) -> tuple[Any, int]:
    """What a program returns, and how many bytes of tensors are alive at its fullest moment."""
    with Memory() as seen:
        found = program(*given)
    return found, seen.peak - seen.owners["elsewhere"]


def right_by_product(given: Tensor, middles: np.ndarray[Any, Any]) -> int:
    """How many points get their own centre, if squared distances are multiplied out in float32."""
    centres = middles.astype(np.float32)
    x = given.numpy()
    found = ((x * x).sum(1, keepdims=True) - 2 * x @ centres.T + (centres * centres).sum(1)).argmin(1)
    return int((found == np.arange(len(x)) % CENTRES).sum())


def dtype_by(table: str, expression: Callable[[], Any]) -> str:
    """The dtype of an expression by the rules of "torch", "numpy" or "jax", or "refused"."""
    with promotion(table):
        try:
            return str(expression().dtype)
        except EduError:
            return "refused"


def who_widens(expression: Callable[[], Any]) -> str:
    """Under whose rules an expression is float64."""
    wide = [f"{name}'s" for table, name in FRAMEWORKS.items() if dtype_by(table, expression) == "float64"]
    if len(wide) == len(FRAMEWORKS):
        return "under all three"
    return f"under {listed(wide)}" if wide else "under none"


def what_is_lost(found: Tensor, x: Tensor) -> str:
    """Which means the numbers of a square x have lost."""
    n = len(x)
    means = [sum(x[i, j].item() for j in range(n)) / n for i in range(n)]
    lost = (x - found).tolist()
    if np.allclose(lost, [[means[i]] * n for i in range(n)], atol=1e-5):
        return "each row loses its own mean"
    fits = np.allclose(lost, [means] * n, atol=1e-5)
    return "column j loses the mean of row j" if fits else "something else"
