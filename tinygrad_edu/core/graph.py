"""The graph of recorded operations, and the walk back through it.

Edges point from a result's node to its operands' nodes. A leaf refers to its tensor weakly, so a graph never keeps a
parameter alive and there are no cycles: memory is freed when the last name goes, even with the garbage collector off.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from heapq import heappop, heappush, heappushpop
from sys import getrefcount
from typing import Any

from .. import backends
from ..common.lines import Line
from ..common.locks import Lock
from ..errors import AutogradError, ShapeError
from ..settings import MODES, modes
from .above import above
from .storage import clock, find

Array = Any


class Extra:
    """What few nodes have: guard locks, checksums of saved arrays, hooks."""

    __slots__ = ("after", "checks", "hooks", "locks")

    locks: tuple[Any, ...]  # tuples and None, not lists and a dict: most of these records hold one lock and no more
    checks: tuple[tuple[Any, int], ...]
    hooks: dict[Any, Any] | None
    after: dict[Any, Any] | None  # of a leaf: called with its tensor once the gradient is in .grad

    def __init__(self, *locks: Any) -> None:
        self.locks, self.checks, self.hooks, self.after = locks, (), None, None


class Node:
    """One recorded operation. It keeps what backward needs, and nothing else."""

    __slots__ = ("__weakref__", "extra", "line", "number", "op", "parents", "saved", "scope", "shapes")

    op: Any  # the Op, or None for a leaf
    parents: tuple[Node | None, ...]  # one per operand; None where no gradient is wanted
    saved: tuple[Any, ...] | None  # by the op's `saves`; None once freed
    shapes: tuple[tuple[int, ...], ...] | None  # of the operands, where they were broadcast
    number: int  # later than all parents; leaves are 0
    line: Line  # code object and instruction offset: resolved only when somebody asks
    scope: Any  # the nn.Module call that it was made in
    extra: Extra | None

    def __repr__(self) -> str:
        return f"<{self.op.name}>"

    def extras(self) -> Extra:
        """The node's `Extra`, made now if need be."""
        if self.extra is None:
            self.extra = Extra()
        return self.extra

    def hooks(self) -> dict[Any, Any]:
        """The node's hooks, to add to."""
        extra = self.extras()
        if extra.hooks is None:
            extra.hooks = {}
        return extra.hooks


class Leaf(Node):
    """Where a gradient arrives: a tensor with ``requires_grad`` that no operation made."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.op, self.parents, self.saved, self.shapes = None, (), (), None
        self.number, self.line, self.scope, self.extra = 0, None, None, None
        self.tensor: weakref.ref[Any] = weakref.ref(tensor)

    def __repr__(self) -> str:
        return "<leaf>"


def unbroadcast(xp: Any, g: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting: sum over each axis along which it stretched ``shape``. It is undone nowhere else."""
    extra = g.ndim - len(shape)
    if extra > 0:
        g = xp.sum(g, 0 if extra == 1 else tuple(range(extra)), False)
    stretched = tuple(i for i, size in enumerate(shape) if size == 1 and g.shape[i] != 1)
    return xp.sum(g, stretched, True) if stretched else g


def folded(xp: Any, grads: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...]) -> tuple[Any, ...]:
    """The gradients of a node's operands, in the operands' own shapes."""
    return tuple([
        part if part is None or part.shape == shape else unbroadcast(xp, part, shape)
        for part, shape in zip(grads, shapes, strict=True)
    ])  # fmt: skip


class World:
    """How a run of backward handles values: as raw arrays, or as tensors when the gradient itself is recorded."""

    def namespace(self, g: Any) -> Any:
        """The ``xp`` for bodies that work on ``g``."""
        return backends.of(g).xp

    def saved(self, node: Node, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the node saved, ``arrays``, as values of this world."""
        return arrays


ARRAYS = World()
KEEP = "retain_grad"  # the key among a node's hooks of the one that fills .grad of a non-leaf tensor


def _alone() -> int:
    """The reference count of an object that only one slot refers to, as counted there. It differs between Pythons."""
    probe = Node()
    probe.saved = (object(),)
    return getrefcount(probe.saved)


_ALONE = _alone()


def _owns(held: Array, array: Array) -> bool:
    """May ``array`` be added into ``held``? Not if that is a view: nobody else may have the view, but its memory."""
    return held.base is None and held.dtype is array.dtype


_accumulating = Lock()  # two threads may add to one parameter's .grad


class Backward:
    """One walk through the graph, newest node first.

    A heap of creation numbers gives the order: a node is numbered after its parents, so when it comes off the heap
    all its gradients have arrived. Gradients wait in a dict of this run, so that two threads can share leaves.
    """

    def __init__(self, *, retain: bool, world: World = ARRAYS, only: Iterable[Node] | None = None) -> None:
        self.retain, self.world = retain, world
        self.waiting: dict[Node, Any] = {}
        self.heap: list[tuple[int, Node]] = []
        self.wanted = None if only is None else set(only)
        self.observers = modes().observers
        self.exposed = any(o.keeps for o in self.observers)  # has anybody else seen a gradient, and perhaps kept it?
        self.captured: dict[Node, Any] = {}

    def send(self, node: Node, g: Any) -> None:
        """Let a gradient wait at a node, added to what waits there already."""
        held = self.waiting.get(node)
        if held is not None:
            self.waiting[node] = total = held + g
            for observer in self.observers:
                observer.made(total, "gradient")
        else:
            self.waiting[node] = g
            if node.number:  # leaves have none: what arrives there waits until the end
                heappush(self.heap, (-node.number, node))

    def run(self) -> dict[Node, Any]:
        """Visit every node reachable from where gradients wait. Returns the gradients of the leaves."""
        observers = modes().observers
        if not observers and type(self) is Backward and self.world is ARRAYS:
            return self._plainly()
        step = self.visit if not observers else self.observed
        while self.heap:
            step(*self.next())
        return self.waiting

    def next(self) -> tuple[Node, Any]:
        """The newest node that a gradient waits at, and that gradient."""
        node = heappop(self.heap)[1]
        g = self.waiting.pop(node)
        if node.extra is not None and node.extra.hooks:
            g = run_hooks(node, g)
            self.exposed = True
        if self.wanted is not None and node in self.wanted:
            self.captured[node] = g
        return node, g

    def _plainly(self) -> dict[Node, Any]:
        """`run` where nobody watches and arrays are raw: `next`, `visit` and `pull` in one, for speed.

        A node with anything special about it is left to those. Along a chain the next node is known at once; only
        where paths part must the heap tell which comes first.
        """
        heap, waiting, retain, homes = self.heap, self.waiting, self.retain, backends.BY_TYPE
        kind = xp = following = None
        while heap or following is not None:
            if following is None:
                node = heappop(heap)[1]
            else:
                node = heappushpop(heap, (-following.number, following))[1] if heap else following
                following = None
            saved, extra = node.saved, node.extra
            if saved is None or clock.last_write > node.number or (extra and (extra.hooks or extra.checks)):
                heappush(heap, (-node.number, node))
                self.visit(*self.next())
                continue
            g, parents = waiting.pop(node), node.parents
            if type(g) is not kind:
                kind = type(g)
                xp = homes[kind].xp
            grads = node.op.backward(xp, g, parents, *saved)
            if not retain:
                frees = node.op.frees
                if frees or (frees is None and has_arrays(saved)):
                    node.saved = None
                if extra:
                    extra.locks = ()
            if type(grads) is not tuple:
                grads = (grads,)
            if node.shapes is not None:
                grads = folded(xp, grads, node.shapes)
            for parent, part in zip(parents, grads):  # noqa: B905  # a body may leave out the last ones
                if parent is None or part is None:
                    continue
                if parent in waiting:
                    waiting[parent] = waiting.pop(parent) + part  # popped, so NumPy may reuse its memory
                else:
                    waiting[parent] = part
                    if not parent.number:
                        continue
                    if following is None:
                        following = parent
                    else:
                        heappush(heap, (-parent.number, parent))
            saved = g = grads = part = None  # all that is no longer needed is freed before the next node computes
        return waiting

    def pull(self, node: Node, g: Any) -> tuple[Any, ...]:
        """One node's backward: check what it saved, compute, undo broadcasting, free. One gradient per parent."""
        if node.saved is None:
            raise above.freed(node)
        saved, world = node.saved, self.world
        if clock.last_write > node.number or (node.extra is not None and node.extra.checks):
            saved = check_saved(node, world is ARRAYS)
        xp = world.namespace(g)
        saved = saved if world is ARRAYS else world.saved(node, saved)
        grads = node.op.backward(xp, g, node.parents, *saved)
        if not self.retain:
            if node.op.frees or (node.op.frees is None and has_arrays(node.saved)):
                node.saved = None
            if node.extra is not None:
                node.extra.locks = node.extra.checks = ()
        if type(grads) is not tuple:
            grads = (grads,)
        return grads if node.shapes is None else folded(xp, grads, node.shapes)

    def visit(self, node: Node, g: Any) -> tuple[Any, ...]:
        """`pull`, and hand the gradients on to the parents."""
        grads = self.pull(node, g)
        for parent, part in zip(node.parents, grads, strict=False):
            if parent is not None and part is not None:
                self.send(parent, part)
        return grads

    def observed(self, node: Node, g: Any) -> None:
        """`visit` through the interceptors, outermost last; each runs with only those below it in force.

        Those that must see the operations of backward themselves are in force inside `visit`; where backward computes
        results again, that is all of them.
        """
        observers, all_inside = modes().observers, node.op.recomputes
        inside = tuple(observer for observer in observers if observer.differentiates or all_inside)
        watching = tuple(observer for observer in observers if observer not in inside)
        self.watched(node, g, watching, inside)

    def watched(self, node: Node, g: Any, watching: tuple[Any, ...], inside: tuple[Any, ...]) -> tuple[Any, ...]:
        """`visit`, with the last of those ``watching`` asked first."""
        before = modes()
        try:
            MODES.set(before.watched_by(watching[:-1] if watching else inside))
            if not watching:
                return self.visit(node, g)
            # A method: a closure that calls itself would be a cycle, and keep g until the garbage collector runs.
            rest = watching[:-1]
            found: tuple[Any, ...] = watching[-1].backward(node, g, lambda: self.watched(node, g, rest, inside))
            return found
        finally:
            MODES.set(before)


def run_hooks(node: Node, g: Any) -> Any:
    """Pass a gradient through the node's hooks, if there are any; each may replace it."""
    if node.extra is not None and node.extra.hooks:
        for hook in list(node.extra.hooks.values()):
            g = hook(g)
    return g


def has_arrays(saved: tuple[Any, ...]) -> bool:
    """Whether there are arrays in a saved index. A node without any can be visited again, as in PyTorch."""
    return any(hasattr(part, "dtype") for value in saved if type(value) is tuple for part in value)


def check_saved(node: Node, cached: bool) -> tuple[Any, ...]:
    """What the node saved, ready to compute with. Refuses an array that was written after the node saved it.

    With a cache at hand, what was saved only to compute that again may have been written.
    """
    assert node.saved is not None
    found = list(node.saved)
    for i, (save, value) in enumerate(zip(node.op.save_plan, node.saved, strict=False)):
        if not (save.part or (save.again and cached)) and hasattr(value, "dtype") and hasattr(value, "ndim"):
            found[i] = _current(node, save.source, value)
    if node.extra is not None and node.extra.checks:
        above.verify(node)
    return tuple(found)


def _current(node: Node, source: str, value: Array) -> Array:
    """A saved array; or what an operand shows now, if ``x.data = …`` has given it other memory since."""
    storage = find(value)
    if storage is None:
        return value
    if storage.stamp > node.number:
        raise above.overwritten(node, source, value, storage.writer)
    if storage.left and source in node.op.operands:
        parent = node.parents[node.op.operands.index(source)]
        for reference in storage.left.values():
            moves = reference()
            value, writer = (value, None) if moves is None else moves.follow(value, parent, node.number)
            if writer is not None:
                raise above.overwritten(node, source, value, writer)
    return value


def accumulate(leaf: Leaf, g: Any, array: Array, wrap: Any, shared: bool, create: bool) -> None:
    """Add a gradient to a leaf's ``.grad``, in place unless the gradient is recorded (``create``), as PyTorch does.

    ``array`` is the array of the tensor ``g``, or ``g`` itself. A shared one is copied, so no two leaves share memory.
    """
    tensor = leaf.tensor()
    if tensor is None:
        return  # nobody can read it any more
    if tensor.node is not None and tensor.node is not leaf:
        tried, why = f"a gradient for a leaf {tuple(tensor.array.shape)}", f"{tensor.node!r} has written to it since"
        raise AutogradError(tried, f"{why}, so it is no longer a leaf", "write to a clone, or call backward() first")
    world, home = backends.of(array), backends.of(tensor.array)
    if world is not home:
        tried = f"a gradient of {world.name} for a leaf {tuple(tensor.array.shape)} of {home.name}"
        why = "after a trace, .grad would hold a recording instead of numbers"
        raise AutogradError(tried, why, "pass the leaf to the traced function, as an input")
    with _accumulating:
        held = tensor.gradient
        if tensor.node is None:
            pass  # requires_grad was switched off since
        elif held is None:
            tensor.gradient = wrap(g, shared)
        elif tuple(held.array.shape) != tuple(g.shape):
            tried = f"adding a gradient {tuple(g.shape)} to .grad"
            why = f".grad was set to a tensor {tuple(held.array.shape)}"
            raise ShapeError(tried, why, "set .grad to None, or to a tensor of that shape")
        elif create:
            tensor.gradient = held + g
        elif getrefcount(held.array) == _ALONE and _owns(held.array, array) and not modes().observers:
            held.array += array  # nobody else has that memory, so no node can have saved it: there is no write to note
        else:
            before = modes()
            try:
                MODES.set(before.recording(False))
                held += wrap(g, False)
            finally:
                MODES.set(before)
    if leaf.extra is not None and leaf.extra.after is not None:
        for hook in list(leaf.extra.after.values()):
            hook(tensor)
