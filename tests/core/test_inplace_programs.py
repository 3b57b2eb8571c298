"""Random programs of views and in-place writes, against an oracle that knows no graph.

The oracle carries derivatives forward: with each element it keeps the gradient with respect to every leaf element.
A view is a set of positions in its base's memory, and a write stores numbers there. There is no node, no version and
no replay in it, so it can only be right by being simple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu import backends
from tinygrad_edu.errors import InplaceError

LEAVES = (np.array([[0.5, -1.0, 2.0], [1.5, 0.7, -0.3]]), np.array([0.9, -0.4, 1.2]), np.array(1.1))
CONSTANT = np.array([[1.3, 0.2, -0.8], [0.4, -1.1, 0.6]])
COUNT = sum(leaf.size for leaf in LEAVES)


@dataclass
class History:
    """What a base and its views share in the graph: derivatives (elements, COUNT), and whether any are wanted."""

    slopes: np.ndarray
    tracked: bool
    leaf: bool = False
    overlaps: bool = False  # is the base itself a detached tensor that shows some place twice?


@dataclass
class Slow:
    """A tensor of the oracle: positions in a flat memory."""

    memory: np.ndarray
    history: History
    where: np.ndarray

    @property
    def values(self) -> np.ndarray:
        return self.memory[self.where]

    @property
    def slopes(self) -> np.ndarray:
        return self.history.slopes[self.where]

    def write(self, values: np.ndarray, slopes: np.ndarray | None, tracked: bool) -> None:
        """Store values, and derivatives unless gradients are off."""
        self.memory[self.where] = values
        if slopes is not None:
            self.history.slopes[self.where] = slopes
            if tracked and not self.history.tracked:
                self.history.tracked, self.history.leaf = True, False


def fresh(values: Any, slopes: Any, tracked: bool, leaf: bool = False, like: Any = None) -> Slow:
    """New memory. The positions lie in it as the elements of ``like`` do, so that reshape copies both or neither."""
    values = np.array(values, dtype=float)
    where = np.arange(values.size).reshape(values.shape)
    if like is not None:
        where = np.lib.stride_tricks.as_strided(root(where), values.shape, like.array.strides)
    memory, history = np.empty(values.size), History(np.empty((values.size, COUNT)), tracked, leaf)
    memory[where], history.slopes[where] = values, slopes
    return Slow(memory, history, where)


def root(where: Any) -> Any:
    """The positions of the whole memory that these are a view of."""
    while getattr(where, "base", None) is not None:
        where = where.base
    return where


def start() -> tuple[list[Slow], list[Any], list[Any]]:
    """The same four tensors in both worlds: the oracle's, ours, and our leaves."""
    slow, ours, at = [], [], 0
    for values in LEAVES:
        slopes = np.zeros((values.size, COUNT))
        slopes[np.arange(values.size), at + np.arange(values.size)] = 1
        slow.append(fresh(values, slopes.reshape(*values.shape, COUNT), True, leaf=True))
        ours.append(tg.tensor(values, requires_grad=True))
        at += values.size
    slow.append(fresh(CONSTANT, 0.0, False))
    return slow, [*ours, tg.tensor(CONSTANT)], ours


# One function per step: (values, slopes) of the operands in, (values, slopes) out.


def _add(x: Any, dx: Any, y: Any, dy: Any) -> Any:
    ex, ey = np.expand_dims(x, -1) * 0 + 1, np.expand_dims(y, -1) * 0 + 1
    return x + y, _spread(dx, x, y) * ey + _spread(dy, y, x) * ex


def _mul(x: Any, dx: Any, y: Any, dy: Any) -> Any:
    return x * y, _spread(dx, x, y) * np.expand_dims(y, -1) + _spread(dy, y, x) * np.expand_dims(x, -1)


def _spread(slopes: Any, own: Any, other: Any) -> Any:
    """Slopes with as many axes as the broadcast result, so that the last one stays the last."""
    missing = max(np.ndim(other) - np.ndim(own), 0)
    return slopes.reshape((1,) * missing + slopes.shape)


def _copy(x: Any, dx: Any, y: Any, dy: Any) -> Any:
    return np.broadcast_to(y, x.shape), np.broadcast_to(_spread(dy, y, x), dx.shape)


BINARY: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "add": (_add, lambda x, y: x + y, lambda x, y: x.add_(y)),
    "mul": (_mul, lambda x, y: x * y, lambda x, y: x.mul_(y)),
    "copy": (_copy, lambda x, y: x * 0 + y, lambda x, y: x.copy_(y)),
}
UNARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "exp": (lambda x, dx: (np.exp(x * 0.1), np.exp(x * 0.1)[..., None] * dx * 0.1), lambda x: (x * 0.1).exp()),
    "sum": (lambda x, dx: (x.sum(), dx.reshape(-1, COUNT).sum(0)), lambda x: x.sum()),
    "clone": (lambda x, dx: (x, dx), lambda x: x.clone()),
}


def writable_diagonal(w: np.ndarray) -> np.ndarray:
    """NumPy hands out a read-only one."""
    diagonal = w.diagonal()
    diagonal.flags.writeable = w.flags.writeable
    return diagonal


def windows(w: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(w, 2, -1, writeable=True)


def every_other(w: np.ndarray) -> np.ndarray:
    return root(w)[::2]


def strided(x: Any) -> Any:
    """Every other element of the whole memory; None where it does not lie in row-major order, or x shows only part."""
    base = x if x.origin is None else x.origin.base
    count = backends.CPU.owner(base.array).size
    if not base.is_contiguous() or count != base.numel():
        return None
    return x.as_strided(((count + 1) // 2,), (2,), 0)


VIEWS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "flat": (lambda w: w.reshape(-1), lambda x: x.flatten()),
    "transpose": (lambda w: w.T, lambda x: x.T),
    "unsqueeze": (lambda w: w[None], lambda x: x.unsqueeze(0)),
    "first": (lambda w: w[0, ...] if w.ndim else w, lambda x: x[0] if x.ndim else x[...]),
    "tail": (lambda w: w[..., 1:] if w.ndim else w, lambda x: x[..., 1:] if x.ndim else x[...]),
    "reversed": (lambda w: w[::-1] if w.ndim else w, lambda x: x[::-1] if x.ndim else x[...]),
    "expand": (lambda w: np.broadcast_to(w, (2, *w.shape)), lambda x: x.expand(2, *x.shape)),
    "diagonal": (lambda w: writable_diagonal(w) if w.ndim > 1 else w, lambda x: x.diagonal() if x.ndim > 1 else x[...]),
    "narrow": (lambda w: w[:1] if w.ndim else w, lambda x: x.narrow(0, 0, 1) if x.ndim else x[...]),
    "select": (lambda w: w[..., -1] if w.ndim else w, lambda x: x.select(-1, -1) if x.ndim else x[...]),
    "split": (lambda w: w[:, -1:] if w.ndim > 1 else w, lambda x: x.split(1, 1)[-1] if x.ndim > 1 else x[...]),
    "unbind": (lambda w: w[:, 0] if w.ndim > 1 else w, lambda x: x.unbind(1)[0] if x.ndim > 1 else x[...]),
    "unfold": (
        lambda w: windows(w) if w.ndim and w.shape[-1] > 1 else w,
        lambda x: x.unfold(-1, 2, 1) if x.ndim and x.shape[-1] > 1 else x[...],
    ),
    "as_strided": (every_other, strided),
}
KINDS = ("op", "op", "view", "view", "view", "inplace", "inplace", "inplace", "set", "detach", "no_grad inplace")
Step = tuple[str, int, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 11), st.integers(0, 11), st.integers(0, 13)),
    min_size=1,
    max_size=14,
)


def pick(table: dict[str, Any], n: int) -> Any:
    return table[list(table)[n % len(table)]]


def shows_twice(target: Slow) -> bool:
    """Are there two elements at one place?"""
    return np.unique(target.where).size < target.where.size


def refused(target: Slow, grad: bool) -> bool:
    """The rules: no write to a leaf that requires grad or to a view of one; none to what was expanded or overlaps."""
    overlaps = target.history.overlaps or shows_twice(target)
    return overlaps or not target.where.flags.writeable or (grad and target.history.leaf)


def fits(target: np.ndarray, other: np.ndarray) -> bool:
    try:
        return np.broadcast_shapes(target.shape, other.shape) == target.shape
    except ValueError:
        return False


def do(step: Step, slow: list[Slow], ours: list[Any]) -> None:
    """One step in both worlds. What cannot be (shapes, for one) is left out."""
    kind, i, j, n = step
    x, y = slow[i % len(slow)], slow[j % len(slow)]
    a, b = ours[i % len(slow)], ours[j % len(slow)]
    if kind == "op" and n % 2:
        rule, call = pick(UNARY, n // 2)
        ours.append(call(a))
        slow.append(fresh(*rule(x.values, x.slopes), x.history.tracked, like=ours[-1]))
    elif kind == "op":
        rule, call, _ = pick(BINARY, n // 2)
        if fits(x.values, y.values):
            tracked = x.history.tracked or y.history.tracked
            ours.append(call(a, b))
            slow.append(fresh(*rule(x.values, x.slopes, y.values, y.slopes), tracked, like=ours[-1]))
    elif kind == "view":
        positions, call = pick(VIEWS, n)
        where, found = positions(x.where), call(a)
        if not where.size or found is None:
            return
        if root(where) is root(x.where):
            slow.append(Slow(x.memory, x.history, where))
        else:
            slow.append(fresh(x.memory[where], x.history.slopes[where], x.history.tracked, like=found))
        ours.append(found)
    elif kind == "detach":
        history = History(np.zeros_like(x.history.slopes), False, overlaps=shows_twice(x))
        slow.append(Slow(x.memory, history, x.where))
        ours.append(a.detach())
    elif kind == "set":
        index: Any = (0, (..., slice(1, None)))[n % 2] if x.where.ndim else ...
        part = Slow(x.memory, x.history, x.where[index])
        if fits(part.values, y.values) and part.where.size:
            write(x, part, y, _copy, lambda: a.__setitem__(index, b), True)
    elif fits(x.values, y.values):
        rule, _, call = pick(BINARY, n)
        if kind == "inplace":
            write(x, x, y, rule, lambda: call(a, b), True)
        else:
            with tg.no_grad():
                write(x, x, y, rule, lambda: call(a, b), False)


def write(target: Slow, part: Slow, y: Slow, rule: Any, call: Any, grad: bool) -> None:
    """Write to ``part`` of ``target``, or see that both worlds refuse."""
    if refused(target, grad):
        try:
            call()
        except InplaceError:
            return
        raise AssertionError("the write should have been refused")
    values, slopes = rule(part.values, part.slopes, y.values, y.slopes)
    part.write(np.array(values), np.array(slopes) if grad else None, y.history.tracked)
    call()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(STEPS)
def test_programs_agree_with_the_oracle(program: list[Step]) -> None:
    slow, ours, leaves = start()
    for step in program:
        do(step, slow, ours)
    for expected, tensor in zip(slow, ours, strict=True):
        np.testing.assert_allclose(tensor.tolist(), expected.values, rtol=1e-9)
        assert tensor.requires_grad == expected.history.tracked
    tracked = [k for k, tensor in enumerate(ours) if tensor.requires_grad]
    total = sum((ours[k] * (1 + 0.1 * k)).sum() for k in tracked)
    gradient = sum((slow[k].slopes.reshape(-1, COUNT).sum(0) * (1 + 0.1 * k) for k in tracked), np.zeros(COUNT))
    try:
        total.backward()
    except InplaceError:
        event("a saved tensor was overwritten")
        return
    event("gradients compared")
    found = np.concatenate([np.ravel(leaf.grad.tolist()) for leaf in leaves])
    np.testing.assert_allclose(found, gradient, rtol=1e-9, atol=1e-9)
