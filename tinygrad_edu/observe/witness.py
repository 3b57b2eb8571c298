"""What a program did, line by line, as evidence: which operations ran where and how often, what came before each, what
was read by the host, copied, loaded and recorded. `tips.advise` asks it for habits that cost time or memory.

>>> import tinygrad_edu as tg
>>> with Witness() as seen:
...     for row in tg.ones(100, 3):
...         y = row * 2
>>> [(place.op, place.count) for place in seen.places if place.came_from(0, "getitem")]
[('mul', 100)]
"""

from __future__ import annotations

import os
import sys
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import backends, sim
from ..amp.autocast import autocast
from ..autograd.anomaly import detect_anomaly
from ..backends.sim.schedule import Work
from ..common.lines import PACKAGE, Line, describe_line, own, resolve_line, user_line
from ..core.base import TensorBase
from ..core.graph import Leaf, Node
from ..core.slow import Call, Interceptor
from ..data.timeline import Timeline, passes
from ..dtypes import is_float
from ..optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from .counters import buffer_of, bytes_of
from .profiler.profile import profile

Tree = tuple[Any, ...]  # an operation and the trees of its operands: ("relu", ("matmul", (), ()))
DEEP, NOTHING = 6, ()
_DATA = os.path.join(PACKAGE, "data") + os.sep
_MODULE, _LAYERS, _SCALER = (os.path.join(PACKAGE, part) for part in (os.path.join("nn", "module.py"), "nn", "amp"))
_VIEWS = ("reshape", "unsqueeze", "squeeze", "view", "flatten", "permute", "transpose", "expand", "transfer")
BEGUN_WITH = 4096  # bytes of a tensor that say whether the same one is moved again


@dataclass(eq=False)
class Place:
    """All runs of one operation at one line of the program.

    ``most`` is how often it ran in one step: between two steps of an optimiser, or in the whole program. ``shape``,
    ``given`` and ``tree`` are those of the last run: the result's shape, the operands' shapes, and what led to them.
    ``graph`` counts results in the graph, ``walked`` those that backward has come back to. ``by_itself`` holds if one
    operand was computed from another, as in ``x * x.sigmoid()``.
    """

    op: str
    line: Line
    device: str
    count: int = 0
    most: int = 0
    seconds: float = 0.0
    nbytes: int = 0
    shape: tuple[int, ...] = ()
    given: tuple[tuple[int, ...], ...] = ()
    dtype: str = ""
    tree: Tree = NOTHING
    params: dict[str, Any] = field(default_factory=dict)
    strides: tuple[int, ...] = ()  # of the last axis of each operand, in bytes
    graph: int = 0
    walked: int = 0
    inference: int = 0  # runs of a module in eval mode, or outside the graph
    by_itself: bool = False
    inside: int = 0  # runs within a module
    sources: set[tuple[int, str]] = field(default_factory=set)  # which operands came from which operations
    _step: int = -1
    _in_step: int = 0

    def ran(self, step: int) -> None:
        """One more time."""
        if step != self._step:
            self._step, self._in_step = step, 0
        self.count, self._in_step = self.count + 1, self._in_step + 1
        self.most = max(self.most, self._in_step)

    def came_from(self, operand: int, *ops: str) -> bool:
        """Whether this operand was, at some time, the result of one of these operations, a view of it, or moved."""
        return any((operand, op) in self.sources for op in ops)

    @property
    def where(self) -> str:
        """The line in words."""
        return describe_line(self.line)


@dataclass
class Moved:
    """All copies to another device at one line. ``same`` counts those of bytes that had been moved before."""

    line: Line
    count: int = 0
    nbytes: int = 0
    same: int = 0
    back: int = 0  # of arrays like one that had just come from a device
    created: int = 0  # of tensors that were made on the host and not touched since
    pageable: int = 0


class Witness(Interceptor):
    """Watches a program while its ``with`` block runs, in the thread that entered it.

    ``places`` are the operations by line, ``reads`` how often the host read a tensor's number at a line, ``moved`` the
    copies to devices, ``works`` what simulated devices did, ``loaders`` the passes over data sets. ``steps`` counts the
    steps of optimisers, ``roots`` how many losses were alive at once with which the program should have been done.
    """

    keeps = False
    programs = True

    def __init__(self) -> None:
        self._places: dict[Any, Place] = {}
        self.reads: Counter[Any] = Counter()  # by file and row
        self.read_in_step: Counter[Line] = Counter()  # the most in one step
        self.grads_read: Counter[Any] = Counter()  # by file and row
        self.singles: Counter[tuple[str, Line]] = Counter()  # functions by name, called for a single row
        self.moved: dict[Line, Moved] = {}
        self.clones: dict[Line, list[int]] = {}  # how many there were, their bytes, and how many were written to
        self.zeroed: Counter[Line] = Counter()
        self.widened: dict[Line, list[Any]] = {}  # the name of the operation, how often, bytes
        self.vanished: dict[Line, list[float]] = {}  # shares of gradients that are 0 in float16, by line of the step
        self.works: list[Work] = []
        self.loaders: list[Timeline] = []
        self.steps = self.roots = self.parameters = 0
        self.modules: dict[int, Any] = {}  # that were called, the outermost ones
        self.aids: Counter[str] = Counter()  # operations under a debugging aid
        self.bad: Line = None  # where the first nan came out
        self.has_bad = False
        self.error: BaseException | None = None
        self.seconds = 0.0
        self.root_line: Line = None
        self.total_line: Line = None  # where losses of several steps are added up
        self._step = 0
        self._reads_now: Counter[Line] = Counter()
        self._trees: dict[int, tuple[weakref.ref[Any], Tree, list[int]]] = {}  # of a result; and its operands' ids
        self._open_nodes: dict[int, Place] = {}
        self._losses: dict[Place, list[tuple[weakref.ref[Node], int]]] = {}  # nodes of single numbers, and their steps
        self._came: set[Any] = set()  # shapes and dtypes of what was copied from devices
        self._looking = False
        self._host_data = False
        self._grads: set[int] = set()
        self._moved_bytes: set[int] = set()
        self._created: dict[int, weakref.ref[Any]] = {}
        self._cloned: dict[int, tuple[weakref.ref[Any], Line]] = {}
        self._half = False
        self._rows: dict[tuple[int, int], tuple[Any, Any]] = {}
        self._stack = ExitStack()

    # The block ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Witness:
        sim.finish()  # what was asked for before is none of this program's
        self.works = self._stack.enter_context(sim.log())
        self.loaders = self._stack.enter_context(passes())
        handle = register_optimizer_step_pre_hook(self._before_step)
        self._stack.callback(handle.remove)
        self._began = time.perf_counter()
        super().__enter__()
        return self

    def _leave(self, kind: Any = None, error: Any = None, traceback: Any = None) -> None:
        super()._leave(kind, error, traceback)
        self.seconds = time.perf_counter() - self._began
        self.error = error
        for place in self._losses:  # without an optimiser, those are kept that backward has not come to
            self._count_losses(place, lambda node, step: not self.steps and node.number in self._open_nodes)
        self._end_step()
        self._stack.close()
        for held in (self._trees, self._open_nodes, self._created, self._cloned):
            held.clear()

    @property
    def places(self) -> list[Place]:
        """All operations by line, those that took longest first."""
        return sorted(self._places.values(), key=lambda place: -place.seconds)

    def at(self, *ops: str) -> Iterator[Place]:
        """The places of these operations."""
        return (place for place in self.places if place.op in ops)

    @property
    def virtual(self) -> int:
        """Virtual nanoseconds from the first to the last work of a simulated device."""
        return max((w.end for w in self.works), default=0) - min((w.start for w in self.works), default=0)

    def row(self, line: Line) -> Any:
        """The file and the row of a line: one row has several instructions, and Python may run the same work by any."""
        if line is None:
            return None
        key = id(line[0]), line[1]
        if key not in self._rows:
            self._rows[key] = line[0], resolve_line(line)  # with its code, or another one could have the same id
        return self._rows[key][1]

    def works_at(self, line: Line) -> list[Work]:
        """What simulated devices, and the host for them, did for this row."""
        row = self.row(line)
        return [work for work in self.works if self.row(work.line) == row]

    # What is seen ---------------------------------------------------------------------------------------------------

    def given(self, name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Note what is called for a single row, and floats of two widths that meet."""
        line = user_line()
        first = next((o.array for o in operands if isinstance(o, TensorBase)), None)
        if first is not None and first.size <= (first.shape[-1] if first.ndim else 1):
            self.singles[name, line] += 1
        floats = {o.array.dtype: o for o in operands if isinstance(o, TensorBase) and is_float(o.array.dtype)}
        if len(floats) > 1 and {"float32", "float64"} <= {str(dtype) for dtype in floats}:
            narrow, wide = floats[np.dtype("float32")], floats[np.dtype("float64")]
            if wide.array.ndim and narrow.array.ndim:
                found = self.widened.setdefault(line, [name, 0, 0])
                found[1] += 1
                found[2] += bytes_of(narrow.array)
        return operands

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Note one operation."""
        tensors = [o for o in call.operands if isinstance(o, TensorBase)]
        trees = tuple([self._tree_of(o) for o in call.operands])
        name = "piece" if call.op.name == "getitem" and _within(_LAYERS) else call.op.name  # a layer's own doing
        began = time.perf_counter()
        result = proceed()
        seconds = time.perf_counter() - began
        if not isinstance(result, TensorBase):
            return result
        if call.target is not None:
            self._written(call)
        device = str(result.device)
        if call.op.name == "getitem" and _within(_DATA):
            return result  # which reads a data set as it likes
        key = (call.op.name, self.row(call.line), device)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = Place(call.op.name, call.line, device)
        place.ran(self._step)
        place.seconds += seconds
        place.nbytes += bytes_of(result.array)
        place.shape, place.dtype = tuple(result.array.shape), result.array.dtype.name
        place.given = tuple([tuple(o.array.shape) for o in tensors])
        place.params, place.tree = call.params, (name, *trees)
        place.strides = tuple([_last_stride(o.array) for o in tensors])
        module = _module(call)
        if module is not None:
            place.inside += 1
            root = _root(call)
            self.modules[id(root)] = root
        if not call.modes.grad or (module is not None and not module.training):
            place.inference += 1
        place.sources |= {(i, op) for i, tree in enumerate(trees) for op in _roots(tree)}
        ids = [id(o) for o in tensors]
        parts = [self._trees[one][2] for one in ids if one in self._trees]
        place.by_itself = any(one in part for one in ids for part in parts)
        self._trees[id(result)] = weakref.ref(result), place.tree, ids
        if result.node is not None and not isinstance(result.node, Leaf):
            place.graph += 1
            self._open_nodes[result.node.number] = place
            if not result.array.ndim:
                self._count_losses(place, lambda node, step: step < self._step or node.number not in self._open_nodes)
                self._losses.setdefault(place, []).append((weakref.ref(result.node), self._step))
        self._note(call, tensors, result, place)
        return result

    def _note(self, call: Call, tensors: list[TensorBase], result: TensorBase, place: Place) -> None:
        self.aids["checking the guard's arrays"] += call.modes.guard == "verify"
        for one in call.modes.observers:
            if isinstance(one, detect_anomaly):
                self.aids["anomaly detection"] += 1
            elif isinstance(one, profile):
                self.aids["the profiler"] += 1
            elif isinstance(one, autocast) and one.enabled and one.dtype == np.float16:
                self._half = True
        if call.op.name == "transfer":
            self._transfer(call, tensors[0])
        elif call.op.name == "clone" and not getattr(tensors[0], "parameter", False):
            found = self.clones.setdefault(call.line, [0, 0, 0])
            found[0], found[1] = found[0] + 1, found[1] + bytes_of(result.array)
            for one in (tensors[0], result):
                if (buffer := buffer_of(one)) is not None:
                    self._cloned[id(buffer)] = weakref.ref(buffer), call.line
        home = backends.of(result.array)
        in_graph = result.node is not None and not result.array.ndim and is_float(result.array.dtype)
        if in_graph and home.readable and not self.has_bad:
            self.has_bad = bool(np.isnan(np.asarray(home.peek(result.array), dtype=np.float64)))
            self.bad = call.line

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Note which results backward comes back to, and the time it takes there."""
        began = time.perf_counter()
        found = proceed()
        place = self._open_nodes.pop(node.number, None)
        if place is not None:
            place.walked += 1
            place.seconds += time.perf_counter() - began
        return found

    def outside(self, what: str, *given: Any) -> None:
        """Note what the host reads, and which data come from it."""
        self._host_data = what == "data"
        if what == "tensor" and given and isinstance(given[0], TensorBase) and given[0].array.size == 1:
            line = user_line()
            if not _within(_SCALER):
                self.reads[self.row(line)] += 1
                self._reads_now[line] += 1
        elif what == "grad" and not self._looking:
            self.grads_read[self.row(user_line())] += 1
            self._looking = True  # it is read again here
            self._grads.add(id(given[0].grad))
            self._looking = False

    def made(self, array: Any, why: str) -> None:
        """Note what was made on the host."""
        data, self._host_data = self._host_data, False
        if why == "created" and not data and (buffer := buffer_of(array)) is not None and type(buffer) is np.ndarray:
            self._created[id(buffer)] = weakref.ref(buffer)

    # How it is noted ------------------------------------------------------------------------------------------------

    def _tree_of(self, operand: Any) -> Tree:
        """What led to an operand, as far as that was seen."""
        found = self._trees.get(id(operand))
        if found is None or found[0]() is not operand:
            return NOTHING
        return _cut(found[1], DEEP - 1)

    def _written(self, call: Call) -> None:
        """An operation writes into a tensor: it is not as it was made, and a clone of it, or from it, was needed."""
        buffer = buffer_of(call.target)
        self._created.pop(id(buffer), None)
        cloned = self._cloned.pop(id(buffer), None)
        if cloned is not None and cloned[0]() is buffer:
            self.clones[cloned[1]][2] += 1
        value = call.operands[-1]
        if id(call.target) in self._grads and call.op.name in ("put", "mul"):
            number = backends.of(value.array).peek(value.array) if isinstance(value, TensorBase) else value
            if getattr(number, "ndim", 0) == 0 and number == 0:
                self.zeroed[call.line] += bytes_of(call.target.array)

    def _transfer(self, call: Call, x: TensorBase) -> None:
        kind = x.array.shape, str(x.array.dtype)
        if type(x.array) is not np.ndarray:
            self._came.add(kind)
        if type(x.array) is not np.ndarray or x.array.size < 2 or _within(_MODULE):
            return  # a parameter goes there once, with its module
        found = self.moved.setdefault(call.line, Moved(call.line))
        array, buffer = x.array, buffer_of(x)
        found.count, found.nbytes = found.count + 1, found.nbytes + array.nbytes
        found.pageable += not backends.get(call.params["device"]).pinned(array)
        flat = array.reshape(-1)[: BEGUN_WITH // array.itemsize]
        key = hash((array.shape, array.dtype.str, zlib.crc32(np.ascontiguousarray(flat).tobytes())))
        made = self._created.get(id(buffer))
        same = key in self._moved_bytes and bool((flat != flat[0]).any())  # a constant is not known by its values
        found.same += same
        if kind in self._came:
            self._came.discard(kind)
            found.back += 1
        found.created += not same and made is not None and made() is buffer and bytes_of(buffer) == array.nbytes
        self._moved_bytes.add(key)

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        grads = [p.grad for p in parameters if p.grad is not None]
        self._grads, self.parameters = {id(g) for g in grads}, max(self.parameters, len(grads))
        if self._half and grads:
            zeros = sum(int((np.asarray(backends.of(g.array).peek(g.array)) == 0).sum()) for g in grads)
            share = zeros / max(1, sum(g.array.size for g in grads))
            self.vanished.setdefault(user_line(), []).append(share)
        self.steps += 1
        self._end_step()

    def _count_losses(self, place: Place, done: Callable[[Node, int], bool]) -> None:
        """How many graphs of single numbers from this line are alive that should be ``done`` with."""
        there = self._losses.get(place, [])
        there[:] = [one for one in there if one[0]() is not None]
        alive = sum(done(node, step) for ref, step in there if (node := ref()) is not None)
        if alive > self.roots:
            self.roots, self.root_line = alive, place.line
        made = {node: step for ref, step in there if (node := ref()) is not None}
        chained = (made.get(parent, step) < step for node, step in made.items() for parent in node.parents if parent)
        if any(chained):
            self.total_line = place.line  # each comes from the one before it, of an earlier step

    def _end_step(self) -> None:
        self._step += 1
        for line, count in self._reads_now.items():
            self.read_in_step[line] = max(self.read_in_step[line], count)
        self._reads_now.clear()
        if len(self._trees) > 10_000:
            self._trees = {key: found for key, found in self._trees.items() if found[0]() is not None}


def _roots(tree: Tree) -> list[str]:
    """The operation that a tree ends with, and those that it is a view of."""
    found = []
    while tree:
        found.append(tree[0])
        if tree[0] not in _VIEWS:
            break
        tree = tree[1] if len(tree) > 1 else NOTHING
    return found


def _cut(tree: Tree, depth: int) -> Tree:
    """The tree, no deeper than this."""
    return (tree[0], *[_cut(part, depth - 1) for part in tree[1:]]) if tree and depth > 0 else NOTHING


def _within(path: str) -> bool:
    """Whether a function in this file or folder of the package is at work."""
    frame: Any = sys._getframe(2)
    while frame is not None and own[frame.f_code.co_filename]:
        if frame.f_code.co_filename.startswith(path):
            return True
        frame = frame.f_back
    return False


def _module(call: Call) -> Any:
    """The innermost module in which an operation runs; None outside."""
    return getattr(call.modes.scope, "module", None)


def _root(call: Call) -> Any:
    """The outermost module in which an operation runs."""
    scope: Any = call.modes.scope
    while scope.parent is not None:
        scope = scope.parent
    return scope.module


def _last_stride(array: Any) -> int:
    strides = getattr(array, "strides", ())
    return abs(strides[-1]) if strides and array.shape[-1] > 1 else 0
