"""How counts grow: each shape is told from the others, on sizes as tips have them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tinygrad_edu.tips.shapes import SHAPES, shape_of

SIZES = ([1, 2, 4, 8, 16], [16, 32, 64, 128, 256, 512], [1, 2, 3, 4, 5, 6, 7])
GROWTHS: dict[str, tuple[Callable[[float], float], ...]] = {
    "flat": (lambda n: 7, lambda n: 0, lambda n: 1000 + n / 100),
    "linear": (lambda n: n, lambda n: 3 * n + 5, lambda n: 4096 * n + 8192),
    "quadratic": (lambda n: n * n, lambda n: 4 * n * n + 2 * n + 1),
    "in another way": (lambda n: -n, lambda n: 1 / n, lambda n: n**5),
}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("shape", GROWTHS)
def test_shapes(shape: str, sizes: list[int]) -> None:
    for grows in GROWTHS[shape]:
        assert shape_of(sizes, [grows(n) for n in sizes]) == shape


def test_a_knee_rises_and_then_stays() -> None:
    assert shape_of([1, 2, 4, 8, 16, 32], [10, 20, 39, 55, 60, 61]) == "knee"
    assert shape_of([1, 2, 4, 8, 16, 32], [10, 8, 6, 5, 5, 5]) == "in another way"


def test_what_is_measured_may_be_farther_from_its_shape() -> None:
    noisy = [1.1, 1.9, 4.3, 7.7, 16.9]
    assert shape_of([1, 2, 4, 8, 16], noisy, within=0.2) == "linear"
    assert set(SHAPES) == {"flat", "linear", "quadratic", "knee"}
