"""Writes to tensors that show one place in memory several times: what PyTorch allows is allowed, and comes out alike.

PyTorch sees a stride of 0 and refuses most writes there. Windows that overlap it does not see; then the result is
whatever the order of the elements makes of it, or nothing in particular, and ours refuses.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

# Each is made of a vector of five, by either module.
MEMORY: dict[str, Callable[[Any], Any]] = {
    "expanded": lambda x: x[:3].expand(2, 3),
    "expanded number": lambda x: x[1].expand(3),
    "expanded detached": lambda x: x[:3].expand(2, 3).detach(),
    "expanded to as many": lambda x: x[:3].expand(1, 3),
    "expanded column": lambda x: x[::2].reshape(3, 1).expand(3, 2),
    "expanded part": lambda x: x.expand(2, 5)[:, 1:4],
    "windows": lambda x: x.unfold(0, 3, 1),
    "windows detached": lambda x: x.unfold(0, 3, 1).detach(),
    "strided": lambda x: x.as_strided((2, 3), (1, 1)),
    "strided, stretched too": lambda x: x.as_strided((2, 2, 2), (1, 1, 0)),
}


def like(m: Any, v: Any) -> Any:
    return m.tensor(np.arange(1.0, 1 + v.numel()).reshape(tuple(v.shape)))


def ids(m: Any, *positions: int) -> Any:
    return m.tensor(positions, dtype=m.int64)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "row = number": lambda m, v: v.__setitem__(0, 7.0),
    "row = tensor": lambda m, v: v.__setitem__(0, like(m, v[0])),
    "element = number": lambda m, v: v.__setitem__((0,) * v.ndim, 7.0),
    "short slice = number": lambda m, v: v.__setitem__(slice(0, 1), 7.0),
    "long slice = number": lambda m, v: v.__setitem__(slice(0, 2), 7.0),
    "last column = number": lambda m, v: v.__setitem__((..., -1), 7.0),
    "all = number": lambda m, v: v.__setitem__(slice(None), 7.0),
    "all = 0-d tensor": lambda m, v: v.__setitem__(..., m.tensor(7.0, dtype=m.float64)),
    "position = number": lambda m, v: v.__setitem__(ids(m, 0), 7.0),
    "position = tensor": lambda m, v: v.__setitem__(ids(m, 0), like(m, v[:1])),
    "mask = number": lambda m, v: v.__setitem__(v > 1.5, 7.0),
    "no such row": lambda m, v: v.__setitem__(9, 7.0),
    "no such position": lambda m, v: v.__setitem__(ids(m, 9), 7.0),
    "row in place": lambda m, v: v[0].mul_(3.0),
    "element in place": lambda m, v: v[(0,) * v.ndim].add_(3.0),
    "zero_": lambda m, v: v.zero_(),
    "fill_": lambda m, v: v.fill_(7.0),
    "fill_ with a tensor": lambda m, v: v.fill_(m.tensor(7.0, dtype=m.float64)),
    "copy_ of a number": lambda m, v: v.copy_(m.tensor(7.0, dtype=m.float64)),
    "copy_": lambda m, v: v.copy_(like(m, v)),
    "add_": lambda m, v: v.add_(1.0),
    "mul_ itself": lambda m, v: v.mul_(v.clone()),
    "exp_": lambda m, v: v.exp_(),
    "masked_fill_": lambda m, v: v.masked_fill_(v > 1.5, 7.0),
    "masked_fill_ a row": lambda m, v: v.masked_fill_(v[0] > 1.5, 7.0),
    "index_fill_": lambda m, v: v.index_fill_(0, ids(m, 0), 7.0),
    "index_fill_ along the last": lambda m, v: v.index_fill_(-1, ids(m, 1, 0), 7.0),
    "index_put_": lambda m, v: v.index_put_((ids(m, 0),), m.tensor(7.0, dtype=m.float64)),
    "index_copy_": lambda m, v: v.index_copy_(0, ids(m, 0), like(m, v[:1])),
    "scatter_add_": lambda m, v: v.scatter_add_(0, m.zeros_like(v).long(), like(m, v)),
    "tril_": lambda m, v: v.tril_(),
    "out=": lambda m, v: m.add(like(m, v), 1.0, out=v),
}
# What ours refuses and PyTorch does: there a place would be given several results, of which it keeps one or another, as
# the order has it; where it warns of that, it calls the call deprecated.
STRETCHED = {"expanded", "expanded number", "expanded detached", "expanded column", "expanded part"}
MEETING = {
    **{write: set(MEMORY) - STRETCHED for write in ("copy_", "add_", "mul_ itself", "exp_", "scatter_add_", "out=")},
    "index_copy_": set(MEMORY) - STRETCHED,
    "position = tensor": {"expanded column", "strided, stretched too"},
    "tril_": set(MEMORY),
}
WEIGHTS = [1.0, 10.0, 100.0, 1e3, 1e4]


def outcome(m: Any, memory: str, write: str, tracked: bool) -> Any:
    """Values of the whole memory, and the leaf's gradient or None where it raises; or the word for a refusal."""
    leaf = m.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=m.float64)
    if tracked:
        leaf.requires_grad_()
    x = leaf * 1
    view = MEMORY[memory](x)
    try:
        WRITES[write](m, view)
    except IndexError:
        return "no such place", None
    except RuntimeError:
        return "refused", None
    values = [x.tolist(), view.tolist()]
    if not tracked:
        return values, None
    try:
        loss(m, x, view).backward()
    except RuntimeError:
        return values, None
    return values, leaf.grad.tolist()


def loss(m: Any, x: Any, view: Any) -> Any:
    return (x * m.tensor(WEIGHTS, dtype=m.float64)).sum() + (view * view).sum()


@pytest.mark.parametrize("tracked", [False, True], ids=["without a graph", "in a graph"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("memory", MEMORY)
def test_writes(memory: str, write: str, tracked: bool) -> None:
    """PyTorch's gradients may be wrong or missing here. Those of its values, which ours must have, are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, gradient = outcome(torch, memory, write, tracked)
    ours, found = outcome(tg, memory, write, tracked)
    if memory in MEETING.get(write, ()) and ours == "refused":
        return
    assert ours == theirs
    if tracked and isinstance(theirs, list):
        expected = gradient if "detached" in memory else slopes(memory, write)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def slopes(memory: str, write: str) -> Any:
    """The gradient of PyTorch's values, by differences."""

    def at(values: Any) -> float:
        x = torch.tensor(values, dtype=torch.float64)
        view = MEMORY[memory](x)
        WRITES[write](torch, view)
        return float(loss(torch, x, view))

    start = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(at(start + step) - at(start - step)) / 2e-4 for step in np.eye(5) * 1e-4]
