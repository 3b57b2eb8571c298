"""Memory formats in PyTorch and here: the same strides, and the same tensors that stay themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

SHAPES = [(2, 3, 4, 5), (1, 3, 4, 5), (2, 1, 4, 5), (2, 3, 1, 1), (2, 3, 4), (6,), ()]
LIES: dict[str, Callable[[Any], Any]] = {
    "as made": lambda x: x,
    "permuted": lambda x: x.permute(tuple(range(x.ndim))[::-1]).contiguous().permute(tuple(range(x.ndim))[::-1]),
    "pixel by pixel": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
    "with gaps": lambda x: x[:, :, ::2],
    "pixel by pixel, with gaps": lambda x: x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)[:, :, ::2],
    "expanded": lambda x: x[:1].expand(3, *x.shape[1:]),
}
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "clone": lambda m, x, f: x.clone(memory_format=f),
    "function": lambda m, x, f: m.clone(x, memory_format=f),
    "contiguous": lambda m, x, f: x.contiguous(memory_format=f),
    "to": lambda m, x, f: x.to(memory_format=f),
    "a copy": lambda m, x, f: x.to(memory_format=f, copy=True),
    "to a dtype": lambda m, x, f: x.to(m.float64, memory_format=f),
    "empty_like": lambda m, x, f: m.empty_like(x, memory_format=f),
    "is_contiguous": lambda m, x, f: x.is_contiguous(memory_format=f),
}


def answer(m: Any, shape: tuple[int, ...], lie: str, call: str, name: str) -> Any:
    """Strides along axes with more than one element, and whether it is the tensor that was given."""
    try:
        x = LIES[lie](m.zeros(shape))
    except (IndexError, RuntimeError):  # fewer axes than that
        return "no such tensor"
    try:
        found = CALLS[call](m, x, getattr(m, name))
    except RuntimeError:
        return "refused"
    if isinstance(found, bool):
        return found
    return [step for step, size in zip(found.stride(), found.shape, strict=True) if size > 1], found is x


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["contiguous_format", "channels_last", "preserve_format"])
def test_strides(call: str, name: str) -> None:
    wrong, seen = [], set()
    for shape, lie in itertools.product(SHAPES, LIES):
        ours, theirs = (answer(m, shape, lie, call, name) for m in (tg, torch))
        seen.add(str(theirs))
        if ours != theirs:
            wrong.append((shape, lie, ours, theirs))
    assert not wrong
    assert len(seen) > 2
