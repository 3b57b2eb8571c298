"""How results lie in memory: strides as in PyTorch, so that `view` works where it works there, and shares what it does.

The values of two libraries may agree while ``reshape(-1)`` is a view in one and a copy in the other: a program that
writes through it then does two different things. So strides are compared, and what a write reaches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case, is_float

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

Call = Callable[[Any, Any], Any]


# The same numbers, differently laid out, by views of either library -------------------------------------------------


def turned(order: Callable[[int], tuple[int, ...]]) -> Call:
    """In memory the axes follow each other as ``order`` says, outermost first."""

    def lay(m: Any, a: Any) -> Any:
        axes = order(a.ndim)
        return m.from_numpy(a.transpose(axes).copy()).permute(tuple(np.argsort(axes).tolist()))

    return lay


def sliced(m: Any, a: Any) -> Any:
    return m.from_numpy(np.repeat(a, 2, -1))[..., ::2] if a.ndim else m.from_numpy(a.copy())


def narrowed(m: Any, a: Any) -> Any:
    return m.from_numpy(np.concatenate((a, a), 1))[:, : a.shape[1]] if a.ndim > 1 else sliced(m, a)


def turned_and_sliced(m: Any, a: Any) -> Any:
    return turned(backwards)(m, np.repeat(a, 2, 0))[::2] if a.ndim else m.from_numpy(a.copy())


def stretched(m: Any, a: Any) -> Any:
    return m.from_numpy(a[:1].copy()).expand(*a.shape) if a.ndim and a.shape[0] else m.from_numpy(a.copy())


def stretched_behind(m: Any, a: Any) -> Any:
    return m.from_numpy(a[..., :1].copy()).expand(*a.shape) if a.ndim and a.shape[-1] else m.from_numpy(a.copy())


def backwards(ndim: int) -> tuple[int, ...]:
    return tuple(reversed(range(ndim)))


def rotated(ndim: int) -> tuple[int, ...]:
    return (*range(1, ndim), 0) if ndim else ()


def channels_last(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim), 1) if ndim > 1 else tuple(range(ndim))


LAYOUTS: dict[str, Call] = {
    "contiguous": turned(lambda ndim: tuple(range(ndim))),
    "transposed": turned(backwards),
    "rotated": turned(rotated),
    "channels last": turned(channels_last),
    "sliced": sliced,
    "narrowed": narrowed,
    "turned and sliced": turned_and_sliced,
    "stretched": stretched,
    "stretched behind": stretched_behind,
}


# What is compared ---------------------------------------------------------------------------------------------------


def strides(x: Any) -> tuple[int, ...]:
    """Those that matter. Along axes of length 1, and where there are no elements, PyTorch's follow no rule."""
    return () if 0 in x.shape else tuple(step for step, n in zip(x.stride(), x.shape, strict=True) if n != 1)


def values(x: Any) -> Any:
    return x.detach().numpy()


def flat(results: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(results, (tuple, list)):
        return [x for part in results for x in flat(part)]
    return [results]


def written(run: Callable[[list[Any]], Any], operands: list[Any]) -> list[Any]:
    """What operands and results hold after a write through each result, flattened."""
    with_results = [*operands, *flat(run(operands))]
    for x in with_results[len(operands) :]:
        x.detach().reshape(-1).zero_()
    return [values(x) for x in with_results if hasattr(x, "shape")]


def difference(ours: Callable[[list[Any]], Any], theirs: Callable[[list[Any]], Any], make: Call) -> str | None:
    """How a call differs from PyTorch's. ``make(module, 0)`` gives the operands."""
    a, b = flat(ours(make(tg, 0))), flat(theirs(make(torch, 0)))
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        if str(x.dtype) != str(y.dtype).removeprefix("torch."):
            return f"{x.dtype}, not {y.dtype}"
        np.testing.assert_allclose(values(x), values(y), rtol=1e-5, atol=1e-5)
        if strides(x) != strides(y):
            return f"strides {x.stride()}, not {y.stride()} of {tuple(x.shape)}"
    expands = any(0 in strides(x) for x in flat(make(torch, 0)) + b if hasattr(x, "stride"))
    if not expands:  # no write where several elements are one
        pairs = zip(written(ours, make(tg, 0)), written(theirs, make(torch, 0)), strict=True)
        if not all(np.allclose(x, y, rtol=1e-5, atol=1e-5, equal_nan=True) for x, y in pairs):
            return "a write reaches something else"
    return None
