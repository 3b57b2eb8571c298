"""Counting what a program does to buffers and to the graph. Counts are exact, and the same in every run."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import backends
from ..backends.layout import inside
from ..common.wording import bytes_text, plural
from ..core.base import TensorBase
from ..core.graph import Node
from ..core.op import Op
from ..core.slow import Call, Interceptor
from ..core.storage import number
from ..errors import ArgumentError
from ..settings import modes

OWNERS = ("created", "activations", "gradients", "temporaries")
_OWNER_OF = {"created": "created", "saved": "activations", "passing": "temporaries", "gradient": "gradients"}


class Counters(Interceptor):
    """Counts while its ``with`` block runs: operations, new buffers, copies, graph nodes.

    ``calls``
        operations carried out, forward and backward.
    ``copies``, ``copied``
        how many of them only moved elements into a new buffer, and how many bytes. Old values that an in-place write
        had to keep for backward count as a copy too.
    ``allocated``
        bytes of all new buffers: results and whatever else backward will need, gradients and their sums, results of
        ``zeros`` and similar functions, and old values that were kept. Single numbers do not count as buffers.
    ``live``, ``peak``
        bytes of new buffers that are alive now, and the most that were alive at once.
    ``owners``
        what the bytes at the peak were: ``created`` (by ``zeros`` and similar functions), ``activations`` (results in
        the graph, and what else is kept for backward), ``gradients``, ``temporaries``.
    ``nodes``, ``kept``
        graph nodes made, and how many of them are alive now.
    ``locks``
        arrays that the memory guard made read-only, because the graph needs them.
    ``stride``
        bytes from one element to the next along the last axis of an operand; the largest over all operations.
    ``conversions``
        how often an operation laid images out anew inside, channels first or channels last, to compute.
    ``tries``
        ways of a convolution that were timed, to find the fastest: see `backends.autotune`.

    A compiled program counts as it runs: each of its kernels as one operation, and its results as new buffers. Those
    that it works in are new when it is made.

    Memory that an operation needs only while it runs is not seen. Nor is work on arrays instead of tensors: by NumPy,
    by the steps of an optimiser (the first one makes its state), and by ``deepcopy``. Only the thread that entered
    the block is counted. `observe.memory.Memory` sees all of these, and takes more time.

    >>> import tinygrad_edu as tg
    >>> x = tg.ones(1000)
    >>> with Counters() as counted:
    ...     y = (x + 1).add_(1)
    >>> counted
    Counters: 2 operations, 4.00 kB allocated in new buffers, 4.00 kB at the peak, 0 copies, 0 graph nodes made
    """

    keeps = False
    programs = True

    def __init__(self) -> None:
        self.calls = self.copies = self.copied = self.allocated = self.nodes = self.stride = self.peak = 0
        self.conversions = self.tries = 0
        self._locks: weakref.WeakSet[Any] = weakref.WeakSet()
        self.locks = 0
        self.owners = dict.fromkeys(OWNERS, 0)
        self._live = dict.fromkeys(OWNERS, 0)
        self._alive: dict[int, tuple[weakref.ref[Any], int, str]] = {}
        self._gone: deque[int] = deque()  # keys of buffers freed since the last look, in any thread
        self._seen: dict[int, weakref.ref[Node]] = {}  # the nodes that are counted, by number
        self._start = 0

    def __enter__(self) -> Counters:
        if self in modes().observers:
            why, mend = "everything inside would count twice", "use a second one: with Counters() as inner:"
            raise ArgumentError("Counters inside themselves", why, mend)
        self._start = number()  # older nodes have smaller numbers
        super().__enter__()
        return self

    @property
    def live(self) -> int:
        """Bytes of new buffers that are alive now."""
        self._forget()
        return sum(self._live.values())

    @property
    def kept(self) -> int:
        """Graph nodes that were made in the block and are alive now."""
        return sum(node() is not None for node in self._seen.values())

    def __repr__(self) -> str:
        copies = f"{self.copies} cop{'y' if self.copies == 1 else 'ies'}"
        copied = f" of {bytes_text(self.copied)}" if self.copied else ""
        made = f"{plural(self.nodes, 'graph node')} made" + (f", {self.kept} kept" if self.nodes else "")
        return (
            f"Counters: {plural(self.calls, 'operation')}, {bytes_text(self.allocated)} allocated in new buffers, "
            f"{bytes_text(self.peak)} at the peak, {copies}{copied}, {made}"
        )

    def facts(self) -> dict[str, int]:
        """The counts by name, without those that change after the block."""
        names = ("calls", "copies", "copied", "allocated", "peak", "nodes", "locks", "stride", "conversions", "tries")
        return {name: getattr(self, name) for name in names}

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Count one operation."""
        arrays = [o.array for o in call.operands if isinstance(o, TensorBase)]
        if call.op.computes:
            self.stride = max([self.stride, *map(_stride, arrays)])
        result = self._inside(proceed)
        self.calls += 1
        if isinstance(result, TensorBase):
            if call.target is None and self._is_new(result.array, arrays):
                self._add(result.array, "temporaries" if result.node is None else "activations")
                if _only_moves(call.op):
                    self.copies += 1
                    self.copied += bytes_of(result.array)
            for kept in () if result.node is None else arrays_in(result.node.saved):
                if self._is_new(kept, arrays):  # an index, or something an LSTM computed on the way
                    self._add(kept, "activations")
            bases = [] if result.origin is None else [result.origin.base]  # a write to a view gives it a node too
            self._count_nodes([tensor.node for tensor in (result, *bases)])
            self._count_locks(result.node)
        return result

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Count the backward of one node."""
        there = list(node.saved or ())
        grads: tuple[Any, ...] = self._inside(proceed)
        self.calls += 1
        for part in grads:
            if part is not None and self._is_new(part, [g, *there]):
                self._add(part, "gradients")
        self._count_nodes([node, *(part.node for part in grads if isinstance(part, TensorBase))])
        return grads

    def outside(self, what: str, *given: Any) -> None:
        """Count a compiled program: each of its kernels is an operation."""
        if what == "program":
            cost, arrays, *_ = given
            self.calls += cost.launches
            for array in arrays:
                if self._is_new(array, ()):
                    self._add(array, "temporaries")

    def _inside(self, proceed: Callable[[], Any]) -> Any:
        """Do it, and count what it does inside."""
        conversions, tries = inside.conversions, inside.tries
        result = proceed()
        self.conversions += inside.conversions - conversions
        self.tries += inside.tries - tries
        return result

    def made(self, array: Any, why: str) -> None:
        """Count a buffer that is not the result of an operation."""
        if not self._is_new(array, ()):
            return
        self._add(array, _OWNER_OF[why])
        if why == "saved":
            self.copies += 1
            self.copied += bytes_of(array)

    def _is_new(self, array: Any, others: Iterable[Any]) -> bool:
        """Whether the array's buffer is new: not that of an operand, and not counted already."""
        self._forget()  # or a new buffer at the address of an old one would be mistaken for it
        buffer = buffer_of(array)
        if buffer is None or id(buffer) in self._alive:
            return False
        return all(buffer_of(other) is not buffer for other in others)

    def _add(self, array: Any, owner: str) -> None:
        buffer, freed = buffer_of(array), self._gone
        key, size = id(buffer), bytes_of(buffer)
        self._alive[key] = (weakref.ref(buffer, lambda _: freed.append(key)), size, owner)
        self.allocated += size
        self._live[owner] += size
        now = self.live
        if now > self.peak:
            self.peak, self.owners = now, dict(self._live)

    def _forget(self) -> None:
        while self._gone:
            _, size, owner = self._alive.pop(self._gone.popleft())
            self._live[owner] -= size

    def _count_locks(self, node: Node | None) -> None:
        for lock in getattr(getattr(node, "extra", None), "locks", ()):  # a leaf saves nothing
            if lock not in self._locks:
                self._locks.add(lock)
                self.locks += 1

    def _count_nodes(self, waiting: list[Node | None]) -> None:
        """Count these nodes and all their ancestors, each once."""
        while waiting:
            node = waiting.pop()
            if node is not None and node.number > self._start and node.number not in self._seen:
                self._seen[node.number] = weakref.ref(node)
                self.nodes += 1
                waiting += node.parents


def bytes_of(array: Any) -> int:
    """How many bytes the elements of an array take, on any device."""
    return int(array.size) * int(array.dtype.itemsize)


def buffer_of(array: Any) -> Any:
    """The array that owns the memory of an array or a tensor; None for a single number, or anything else."""
    array = getattr(array, "array", array)
    if not getattr(array, "ndim", 0) or not hasattr(array, "__setitem__"):
        return None
    owner = backends.of(array).owner(array)
    return owner if owner.ndim else None


def _only_moves(op: Any) -> bool:
    """Whether an operation computes nothing. For a user's `Function` that is not known."""
    return isinstance(op, type) and issubclass(op, Op) and (op.view or not op.computes)


def arrays_in(tree: Any) -> Iterator[Any]:
    """The items of nested tuples and lists."""
    if isinstance(tree, (tuple, list)):
        for item in tree:
            yield from arrays_in(item)
    else:
        yield tree


def _stride(array: Any) -> int:
    """Bytes from one element to the next along the last axis, which is read first; 0 if there is no next element."""
    return abs(array.strides[-1]) if array.ndim and array.shape[-1] > 1 else 0
