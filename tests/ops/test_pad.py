"""Padding: against NumPy, with negative numbers, and what it says when it cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError, EduError, ShapeError

F = tg.nn.functional
NUMPY = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NUMPY)
@pytest.mark.parametrize("edges", [(1, 2), (0, 3), (3, 0, 1, 1), (0, 0, 0, 2)])
def test_against_numpy(mode: str, edges: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    widths = [(0, 0)] * (3 - len(edges) // 2) + [edges[i : i + 2] for i in range(0, len(edges), 2)][::-1]
    found = F.pad(tg.tensor(x), edges, mode=mode)
    np.testing.assert_array_equal(found.array, np.pad(x, widths, mode=NUMPY[mode]))
    assert found.is_contiguous()


@pytest.mark.parametrize(
    ("mode", "edges", "expected"),
    [
        ("constant", (-1, 2), [1.0, 2.0, 3.0, 9.0, 9.0]),
        ("constant", (-2, -2), []),
        ("constant", (-4, 2), [9.0, 9.0]),
        ("reflect", (-1, 2), [1.0, 2.0, 3.0, 2.0, 1.0]),
        ("reflect", (3, -3), [3.0, 2.0, 1.0, 0.0]),
        ("replicate", (-4, 5), [3.0] * 5),
        ("replicate", (2, -5), [0.0]),
        ("replicate", (-1, -3), []),
        ("reflect", (2, -6), []),
        ("circular", (-2, -2), []),
        ("circular", (-1, 2), [1.0, 2.0, 3.0, 1.0, 2.0]),
        ("circular", (2, -1), [1.0, 2.0, 0.0, 1.0, 2.0]),
        ("circular", (0, 0), [0.0, 1.0, 2.0, 3.0]),
    ],
)
def test_negative_numbers_cut_off(mode: str, edges: tuple[int, ...], expected: list[float]) -> None:
    x = tg.arange(4.0).reshape(1, 4)
    found = F.pad(x, edges, mode=mode, value=9.0 if mode == "constant" else None)
    assert found.tolist() == [expected]
    assert not np.shares_memory(found.array, x.array)


def test_the_gradient_comes_back_from_every_copy() -> None:
    x = tg.zeros(1, 3, requires_grad=True)
    g = tg.tensor([[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]])
    slopes = {mode: tg.autograd.grad(F.pad(x, (1, 2), mode=mode), x, g)[0].tolist()[0] for mode in NUMPY}
    assert slopes == {
        "constant": [2.0, 4.0, 8.0], "reflect": [34.0, 21.0, 8.0], "replicate": [3.0, 4.0, 56.0],
        "circular": [18.0, 36.0, 9.0],
    }  # fmt: skip


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16"])
def test_any_dtype(dtype: str) -> None:
    x = tg.ones(1, 2, dtype=dtype)
    assert F.pad(x, (1, 0)).tolist() == [[0, 1, 1]]
    assert F.pad(x, (0, 1), value=1.0).tolist() == [[1, 1, 1]]
    assert F.pad(x, (0, 1), "replicate").dtype == x.dtype


WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: F.pad(tg.ones(3), (1, 1, 1)),
        ShapeError,
        "pad((3,), (1, 1, 1), mode='constant')",
        "it takes two integers for each axis, from the last one on, and x has 1 axes",
        "give (before, after) of the last axis, then of the one before it",
    ),
    (
        lambda: F.pad(tg.ones(3), (-2, -2)),
        ShapeError,
        "pad((3,) float32, edges=((-2, -2),), value=0.0) on cpu",
        "it would cut off more than (3,) has",
        "cut off less: negative numbers shorten an axis",
    ),
    (
        lambda: F.pad(tg.ones(1, 3), (1, 1), mode="mirror"),
        ArgumentError,
        "pad((1, 3), (1, 1), mode='mirror')",
        "there is no such mode",
        "use 'constant', 'reflect', 'replicate' or 'circular'",
    ),
    (
        lambda: F.pad(tg.ones(1, 3), (1, 1), "reflect", 2.0),
        ArgumentError,
        "pad((1, 3), (1, 1), mode='reflect')",
        "mode 'reflect' takes its values from x",
        "leave value out",
    ),
    (
        lambda: F.pad(tg.ones(3), (1, 1), "reflect"),
        ShapeError,
        "pad((3,), (1, 1), mode='reflect')",
        "only the constant mode pads all axes; the others leave those in front as they are",
        "add a first axis: x.unsqueeze(0)",
    ),
    (
        lambda: F.pad(tg.ones(1, 3), (3, 0), "reflect"),
        ShapeError,
        "pad((1, 3), (3, 0), mode='reflect')",
        "axis 1 has 3 elements, too few to give 3 more",
        "pad less, or in several steps",
    ),
    (
        lambda: F.pad(tg.ones(1, 3), (0, 4), "circular"),
        ShapeError,
        "pad((1, 3), (0, 4), mode='circular')",
        "axis 1 has 3 elements, too few to give 4 more",
        "pad less, or in several steps",
    ),
    (
        lambda: F.pad(tg.ones(1, 0), (1, 0), "replicate"),
        ShapeError,
        "pad((1, 0), (1, 0), mode='replicate')",
        "axis 1 has 0 elements, too few to give 1 more",
        "pad less, or in several steps",
    ),
    (
        lambda: F.pad(tg.ones(3), (-4, 2)),
        ShapeError,
        "pad((3,) float32, edges=((-4, 2),), value=0.0) on cpu",
        "it would cut off more than (3,) has",
        "cut off less: negative numbers shorten an axis",
    ),
    (
        lambda: F.pad(tg.ones(1, 3), (-2, -2), "reflect"),
        ShapeError,
        "pad((1, 3), (-2, -2), mode='reflect')",
        "axis 1 has 3 elements, and with -2 and -2 more none are left",
        "cut off less: negative numbers shorten an axis",
    ),
    (
        lambda: F.pad(tg.ones(1, 3), (-3, 2), "circular"),
        ShapeError,
        "pad((1, 3), (-3, 2), mode='circular')",
        "axis 1 has 3 elements, and with -3 and 2 more none are left",
        "cut off less: negative numbers shorten an axis",
    ),
]


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[3][:40] for w in WRONG])
def test_text(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend, "lambda: F."):
        call()
