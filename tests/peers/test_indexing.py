"""``x[index]`` and ``x[index] = values`` against PyTorch, on indices of every kind, drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.errors import EduError, IndexRangeError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

SHAPES = ((4,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0, 3), ())


def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index for ``shape``. Now and then it is wrong: then both must refuse it."""
    left, parts, length = list(shape), [], int(rng.integers(1, 4))
    if rng.random() < 0.4:
        parts.append(...)
    while left and rng.random() < 0.8:
        size = left.pop(0)
        kind = rng.choice(["int", "slice", "tensor", "tensor", "matrix", "mask", "none", "list", "scalar", "bool"])
        if kind == "mask" and left and rng.random() < 0.5:
            parts.append(rng.random((size, left.pop(0))) < 0.5)
        elif kind == "mask":
            mask = np.zeros(size, np.bool_)  # as many as the index tensors are long, or they could not meet
            mask[rng.permutation(size)[:length]] = True
            parts.append(mask)
        elif kind in ("none", "bool"):
            parts.append(None if kind == "none" else bool(rng.random() < 0.8))
            left.insert(0, size)
        elif kind == "slice":
            parts.append(slice(*(int(n) for n in rng.integers(-size - 1, size + 2, 2)), int(rng.integers(1, 3))))
        else:
            high = size + int(rng.random() < 0.03)  # a little too far
            one = {"int": (), "scalar": (), "matrix": (2, length), "list": (length,), "tensor": (length,)}[kind]
            found = rng.integers(-size, max(high, 1 - size), one)
            parts.append(int(found) if kind == "int" else found.tolist() if kind == "list" else np.asarray(found))
    if parts and parts[0] is ... and rng.random() < 0.7:
        parts.insert(int(rng.integers(0, len(parts))) + 1, parts.pop(0))
    return tuple(parts)


def each(index: tuple[Any, ...], make: Any) -> tuple[Any, ...]:
    return tuple(make(part) if isinstance(part, np.ndarray) else part for part in index)


def test_reading_and_its_gradient() -> None:
    rng, done = np.random.default_rng(1), 0
    for _ in range(2000):
        shape = SHAPES[rng.integers(len(SHAPES))]
        values, index = rng.normal(size=shape), draw(rng, shape)
        theirs = torch.tensor(values, requires_grad=True)
        ours = tg.tensor(values, requires_grad=True)
        try:
            expected = theirs[each(index, torch.from_numpy)]
        except (IndexError, RuntimeError):
            with pytest.raises(EduError):
                ours[each(index, tg.tensor)]
            continue
        try:
            found = ours[each(index, tg.tensor)]
        except IndexRangeError:
            assert not expected.numel(), (shape, index)  # PyTorch looks at no position when nothing is read
            continue
        assert tuple(found.shape) == tuple(expected.shape), (shape, index)
        np.testing.assert_array_equal(found.array, expected.detach().numpy())
        assert (found.origin is not None) == expected._is_view(), (shape, index)
        g = rng.normal(size=tuple(expected.shape))
        expected.backward(torch.from_numpy(g))
        found.backward(tg.tensor(g))
        np.testing.assert_allclose(ours.grad.array, theirs.grad.numpy(), rtol=1e-12, atol=1e-14)
        done += 1
    assert done > 1200


def test_writing_and_its_gradient() -> None:
    """Places that are written twice are left out: there PyTorch promises nothing, neither value nor gradient."""
    rng, done = np.random.default_rng(2), 0
    for _ in range(2000):
        shape = SHAPES[rng.integers(len(SHAPES))]
        values, index = rng.normal(size=shape), draw(rng, shape)
        count = np.zeros(shape)
        try:
            region = tuple(torch.zeros(shape)[each(index, torch.from_numpy)].shape)
        except (IndexError, RuntimeError):
            with pytest.raises(EduError):
                tg.zeros(shape)[each(index, tg.tensor)] = 1.0
            continue
        where = torch.arange(count.size).reshape(shape)[each(index, torch.from_numpy)].reshape(-1).tolist()
        if len(set(where)) < len(where):
            continue
        try:
            tg.zeros(shape)[each(index, tg.tensor)] = 1.0
        except IndexRangeError:
            assert not where, (shape, index)  # as above
            continue
        cut = int(rng.integers(0, len(region) + 1))
        given = rng.normal(size=tuple(1 if rng.random() < 0.3 else size for size in region[cut:]))
        results = []
        for package, convert in ((torch, torch.from_numpy), (tg, tg.tensor)):
            x, v = (package.tensor(a, requires_grad=True) for a in (values, given))
            y = x.clone()
            y[each(index, convert)] = v * 2
            weights = package.tensor(np.arange(count.size, dtype=np.float64).reshape(shape))
            (y * weights).sum().backward()
            results.append([t.array if package is tg else t.detach().numpy() for t in (y, x.grad, v.grad)])
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
        done += 1
    assert done > 800
