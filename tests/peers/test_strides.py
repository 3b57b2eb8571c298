"""Views in PyTorch: the same ones are views, the same ones are refused, and strides count in the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.errors import ShapeError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

# Written once, run with either module.
VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "itself": lambda m, x: x,
    "part": lambda m, x: x[1:],
    "turned": lambda m, x: x.T,
    "turned part": lambda m, x: x.T[1:, 1:],
    "row": lambda m, x: x[1],
    "column": lambda m, x: x[:, 2],
    "number": lambda m, x: x[1, 2],
    "every other": lambda m, x: x[:, ::2],
    "windows": lambda m, x: x.unfold(1, 3, 1),
    "diagonal": lambda m, x: x.diagonal(1),
    "of a detached": lambda m, x: x.detach()[1:],
    "strided": lambda m, x: x.as_strided((2, 3), (4, 1), 1),
    "expanded": lambda m, x: x[:1].expand(2, 3, 4),
    "one axis more": lambda m, x: x.unsqueeze(1),
    "cloned": lambda m, x: x[1:].clone(),
}
STRIDES: tuple[tuple[tuple[int, ...], tuple[int, ...], int | None], ...] = (
    ((2, 2), (1, 2), None),
    ((2, 2), (1, 2), 0),
    ((2, 2), (1, 2), 3),
    ((3,), (0,), None),
    ((), (), 5),
    ((4, 3), (1, 4), 0),
    ((12,), (1,), 0),
    ((13,), (1,), 0),
    ((2,), (11,), 1),
    ((2,), (-1,), 3),
    ((2,), (1,), -1),
    ((0,), (3,), 99),
)


def memory(m: Any) -> Any:
    return m.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("strides", STRIDES, ids=str)
def test_as_strided(make: Callable[[Any, Any], Any], strides: Any) -> None:
    """Values, gradients and refusals.

    PyTorch hands gradients to those elements only that the view itself shows, ours to all that are seen.
    """
    (x, a), (y, b) = ((leaf, make(m, leaf)) for m in (tg, torch) for leaf in (memory(m),))
    assert (a.stride(), a.storage_offset()) == (b.stride(), b.storage_offset())
    try:
        theirs = b.as_strided(*strides)
    except RuntimeError:
        with pytest.raises(ShapeError):
            a.as_strided(*strides)
        return
    ours = a.as_strided(*strides)
    assert (ours.stride() if ours.numel() else ()) == (theirs.stride() if theirs.numel() else ())
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())
    assert ours.requires_grad == theirs.requires_grad
    if ours.requires_grad:
        (ours * ours).sum().backward()
        (theirs * theirs).sum().backward()
        shown = np.isin(np.arange(12.0).reshape(3, 4), a.detach().numpy())
        np.testing.assert_allclose(np.where(shown, x.grad.numpy(), 0), y.grad.numpy(), rtol=1e-14)


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_what_is_a_view_and_what_can_be_viewed(make: Callable[[Any, Any], Any]) -> None:
    """All shapes of up to four axes that the elements fill."""
    for shape in shapes(make(torch, memory(torch)).numel()):
        a, b = (make(m, memory(m)) for m in (tg, torch))
        assert (a.reshape(shape).origin is not None) == b.reshape(shape)._is_view(), shape
        try:
            b.view(shape)
        except RuntimeError:
            with pytest.raises(ShapeError):
                a.view(shape)
        else:
            assert a.view(shape).origin is not None, shape
        assert a.reshape(shape).is_contiguous() == b.reshape(shape).is_contiguous(), shape


def shapes(count: int) -> list[tuple[int, ...]]:
    divisors = [n for n in range(1, count + 1) if count % n == 0]
    found: list[tuple[int, ...]] = [()]
    for _ in range(4):
        found += [(*shape, n) for shape in found for n in divisors if count % (int(np.prod(shape)) * n) == 0]
    return sorted({shape for shape in found if int(np.prod(shape)) == count})
