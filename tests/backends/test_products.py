"""Products of matrices: what NumPy's ``@`` says, by whatever way."""

from __future__ import annotations

import numpy as np
import pytest

from tinygrad_edu import backends

XP = backends.CPU.xp
RNG = np.random.default_rng(3)
SHAPES = [
    ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 6, 3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
    ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((2, 0, 4), (4, 5)),
    ((2, 3, 0), (0, 5)), ((2, 3, 4), (4, 0)), ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: str) -> None:
    x, y = (RNG.integers(-9 if dtype != "u1" else 0, 9, shape).astype(dtype) for shape in shapes)
    expected = x @ y
    for first in (x, np.asfortranarray(x), np.flip(np.flip(x, 0).copy(), 0)):
        for second in (y, np.asfortranarray(y)):
            found = XP.matmul(first, second)
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == dtype and found.flags.c_contiguous


@pytest.mark.parametrize("shapes", [((3, 4), (5, 6)), ((2, 3, 4), (5, 6)), ((), (4, 5)), ((2, 3), ())], ids=str)
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = (np.ones(shape) for shape in shapes)
    with pytest.raises(ValueError, match=r"align|mismatch|dimension"):
        XP.matmul(x, y)
    with pytest.raises((TypeError, ValueError)):
        XP.matmul(x, 2.0)
