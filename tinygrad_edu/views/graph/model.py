"""A recorded run: the graph of one loss, forward and backward step by step, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ... import backends
from ...core.graph import Leaf, Node
from ...core.slow import Call, Interceptor
from ...core.storage import number
from ...errors import AutogradError
from ...settings import enable_grad, modes, no_grad
from ...tensor import Tensor
from . import source


@dataclass(frozen=True)
class Preview:
    """An array in a few words: its size as one number, and its elements when they are few."""

    shape: tuple[int, ...]
    norm: float  # the Euclidean norm; a single number is itself
    rows: tuple[tuple[float, ...], ...] | None

    @classmethod
    def of(cls, array: Any) -> Preview:
        """The preview of a raw array."""
        values = np.asarray(backends.of(array).to_numpy(array), dtype=np.float64)
        few = values.ndim <= 2 and 0 < values.size <= 12 and values.shape[-1:] <= (4,)
        rows = tuple(tuple(float(v) for v in row) for row in np.atleast_2d(values)) if few else None
        norm = values.ravel()[0] if values.size == 1 else np.linalg.norm(values)
        return cls(tuple(values.shape), float(norm), rows)


@dataclass(frozen=True)
class RunNode:
    """A leaf, or an operation and its result."""

    id: int
    op: str  # "" for a leaf
    name: str | None  # name of the variable that holds it
    note: str  # Python numbers that the op was given
    shape: tuple[int, ...]
    dtype: str
    value: Preview
    wants: bool  # a gradient
    row: int | None  # of the code that made it
    groups: tuple[tuple[int, str], ...]  # the module calls around it, outermost first
    saved: tuple[str, ...]  # what it keeps for backward
    operands: tuple[str, ...]  # their names in the op's own words
    aliases: tuple[str, ...] = ()  # further names under which a leaf was given
    mean: bool = False  # is the result a mean of what the op's formula describes?


@dataclass(frozen=True)
class Send:
    """A gradient on its way from a node to one operand."""

    target: int
    slot: int
    arriving: Preview
    held: Preview | None
    total: Preview
    summed: bool  # over axes that broadcasting had stretched


@dataclass(frozen=True)
class BackStep:
    """One node's backward."""

    node: int
    gradient: Preview
    sends: tuple[Send, ...]


@dataclass(frozen=True, eq=False)
class GraphRun:
    """All that a stepper needs: nodes, edges (source, target, slot), and both passes in order.

    Compared and hashed by identity: drawings of a run are cached under it.
    """

    nodes: tuple[RunNode, ...]
    edges: tuple[tuple[int, int, int], ...]
    forward: tuple[int, ...]
    backward: tuple[BackStep, ...]
    code: tuple[str, ...]
    result: int
    given: int = 0  # so many of the first nodes are the leaves that the function was given

    @property
    def steps(self) -> int:
        """The last step: every forward step, then every backward step. Step 0 has only the leaves."""
        return len(self.forward) + len(self.backward)

    def label(self, node: int) -> str:
        """A node's name, or its op's; with a number where several nodes would be called alike."""
        return self.nodes[node].name or self._labels[node]

    @cached_property
    def _labels(self) -> list[str]:
        kinds = [node.op or "leaf" for node in self.nodes]
        alike = Counter(node.name or kind for kind, node in zip(kinds, self.nodes, strict=True))
        so_far: Counter[str] = Counter()
        found = []
        for kind, node in zip(kinds, self.nodes, strict=True):
            so_far[kind] += not node.name
            found.append(f"{kind}{lowered(so_far[kind])}" if alike[kind] > 1 else kind)
        return found


def lowered(count: int) -> str:
    """A number as it stands after a name: x₂."""
    return str(count).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


class _Recorder(Interceptor):
    """Notes each operation with its result, then each gradient on its way."""

    def __init__(self) -> None:
        self.begin = number()  # nodes with a higher one are made in this run
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[tuple[int, int, int]] = []
        self.forward_order: list[int] = []
        self.backward_steps: list[BackStep] = []
        self.by_tensor: dict[tuple[int, int], int] = {}
        self.by_node: dict[Node, int] = {}
        self.keep: list[Any] = []  # tensors whose identity is a key above
        self.gradients: dict[int, Any] = {}
        self.last_pass = False  # the backward pass that is stepped through

    @property
    def differentiates(self) -> bool:  # type: ignore[override]  # asked anew for each backward
        """Whether the operations of a backward are forward steps: those of one inside the function that records them,
        ``create_graph=True``, are."""
        return not self.last_pass and modes().grad

    def add(self, tensor: Tensor, **fields: Any) -> int:
        """A new record for a tensor."""
        index, shape, dtype = len(self.nodes), tuple(tensor.shape), tensor.dtype.name
        record = {"id": index, "op": "", "name": None, "note": "", "shape": shape, "dtype": dtype, "row": None}
        record |= {"value": Preview.of(tensor.array), "wants": tensor.requires_grad}
        self.nodes.append({**record, "groups": (), "saved": (), "operands": (), **fields})
        self.by_tensor[_key(tensor)] = index
        self.keep.append(tensor)
        if tensor.node is not None:
            self.by_node[tensor.node] = index
        return index

    def find(self, tensor: Tensor) -> int:
        """The record of an operand; one not seen before is a leaf."""
        if tensor.node is not None and tensor.node in self.by_node:
            return self.by_node[tensor.node]
        found = self.by_tensor.get(_key(tensor))
        if found is None:
            self.check(tensor.node)
            found = self.add(tensor)
        return found

    def check(self, node: Node | None) -> None:
        """Refuse a node of this run that was not reported: it comes from a write through a view."""
        if node is not None and node.number > self.begin and node not in self.by_node:
            raise AutogradError(
                f"stepping through a function that writes through a view ({node.op.name})",
                "the write changes the history of the whole tensor, and that is not one step",
                "compute a new tensor instead, with where() or cat()",
                node.line,
            )

    def put_name(self, tensor: Tensor, name: str) -> None:
        """The name that the program has for a tensor; the first one stays."""
        index = self.by_node.get(tensor.node) if tensor.node is not None else self.by_tensor.get(_key(tensor))
        if index is not None and self.nodes[index]["name"] is None:
            self.nodes[index]["name"] = name

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """One operation of the forward pass."""
        sources = [self.find(o) if isinstance(o, Tensor) else None for o in call.operands]
        numbers = [f"{o:g}" for o in call.operands if isinstance(o, (int, float))]
        result = proceed()
        kept = zip(call.op.save_plan, (result.node.saved if result.node is not None else ()) or (), strict=False)
        words = (*call.op.operands, "out")
        saved = tuple(s.source for s, value in kept if not s.part and value is not None and s.source in words)
        index = self.add(
            result, op=call.op.name, note=" ".join(numbers), line=call.line, scope=call.modes.scope,
            saved=saved, operands=call.op.operands, mean=call.params.get("reduction") == "mean",
        )  # fmt: skip
        self.forward_order.append(index)
        self.edges += [(source, index, slot) for slot, source in enumerate(sources) if source is not None]
        return result

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """One node of the backward pass. One inside the function is not ours: see `differentiates`."""
        grads = proceed()
        made = self.by_node.get(node) if self.last_pass else None
        if made is None or not self.nodes[made]["op"]:
            return grads  # made before this run: drawn as a leaf
        sends = []
        for slot, (parent, part) in enumerate(zip(node.parents, grads, strict=False)):
            if parent is None or part is None or parent not in self.by_node:
                continue
            target = self.by_node[parent]
            held = self.gradients.get(target)
            total = part if held is None else held + part
            self.gradients[target] = total
            sends.append(
                Send(target, slot, Preview.of(part), None if held is None else Preview.of(held), Preview.of(total),
                     node.shapes is not None and node.shapes[slot] != tuple(g.shape))
            )  # fmt: skip
        self.backward_steps.append(BackStep(made, Preview.of(g), tuple(sends)))
        return grads


def _key(tensor: Tensor) -> tuple[int, int]:
    """Which tensor, and since which write: a write changes its values."""
    return id(tensor), 0 if tensor.storage is None else tensor.storage.stamp


@dataclass(frozen=True)
class Recording:
    """A run, and the tensors it began with, by name: those it was given, and those that the function found itself."""

    run: GraphRun
    given: tuple[tuple[str, Tensor], ...]
    found: tuple[tuple[str, Tensor], ...]


def record(function: Callable[..., Any], leaves: dict[str, Tensor], by_position: int = 0) -> GraphRun:
    """The run of ``function(**leaves)``; see `recording`."""
    return recording(function, leaves, by_position).run


def recording(function: Callable[..., Any], leaves: dict[str, Tensor], by_position: int = 0) -> Recording:
    """Run ``function(**leaves)`` forward and backward on copies of ``leaves``, and note every step.

    The first ``by_position`` leaves are passed without their names; a tensor given under two names stays one. The
    function returns a single number (a loss). Gradients of other tensors that it reaches, such as a model's
    parameters, are put back as they were. Raises `AutogradError` if the result is not one number that wants a
    gradient, or if a tensor was written to through a view on the way.
    """
    recorder = _Recorder()
    copies: dict[int, Tensor] = {id(tensor): _copy(tensor) for tensor in leaves.values()}
    for key, copy in copies.items():
        first, *others = [name for name, tensor in leaves.items() if id(tensor) == key]
        recorder.add(copy, name=first, aliases=tuple(others))
    own = set(map(id, copies.values()))
    found: dict[str, Any] = {}
    with enable_grad(), np.errstate(all="ignore"), recorder:  # the picture shows what came out: ∞ or nan
        loss = source.call(function, {name: copies[id(t)] for name, t in leaves.items()}, by_position, found)
        _check_loss(recorder, loss)
        before = [(tensor, tensor.grad) for tensor in _reached(recorder, loss)]
        for tensor, _ in before:
            tensor.grad = None  # or backward would add to the values that must be put back
        recorder.last_pass = True
        try:
            loss.backward(retain_graph=True)  # a part of the graph may be older than this run, and needed after it
        finally:
            for tensor, grad in before:
                tensor.grad = grad
    for name, tensor in (*source.tensors_in(found), *source.outside(function), ("loss", loss)):
        recorder.put_name(tensor, name)
    names: Counter[str] = Counter()
    for fields in recorder.nodes:  # one variable may have held several tensors: each has a name of its own
        name = fields["name"]
        names[name] += 1
        fields["name"] = f"{name}{lowered(names[name])}" if name is not None and names[name] > 1 else name
    code, start, filename = source.lines_of(function)
    groups: dict[int, int] = {}
    nodes = []
    for fields in recorder.nodes:
        line, scope = fields.pop("line", None), fields.pop("scope", None)
        fields["row"] = source.row_of(line, scope, start, len(code), filename)
        fields["groups"] = source.groups_of(scope, groups)
        nodes.append(RunNode(**fields))
    result = recorder.find(loss)
    run = GraphRun(
        tuple(nodes), tuple(recorder.edges), tuple(recorder.forward_order), tuple(recorder.backward_steps),
        code, result, len(copies),
    )  # fmt: skip
    found_itself = tuple(
        (run.label(node.id), tensor)
        for node, tensor in zip(nodes, recorder.keep, strict=True)
        if not node.op and id(tensor) not in own
    )
    return Recording(run, tuple(leaves.items()), found_itself)


def _check_loss(recorder: _Recorder, loss: Any) -> None:
    """Refuse what backward cannot start from, each with its own reason."""
    what = f"a tensor {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
    if not isinstance(loss, Tensor):
        why, mend = "backward starts from a tensor that holds a single number", "return the loss, a tensor"
    elif loss.numel() != 1:
        why = f"backward starts from a single number, and this has {loss.numel()} elements"
        mend = "return the loss, reduced to one number: (…).sum() or .mean()"
    elif loss.requires_grad:
        return
    elif any(node["wants"] for node in recorder.nodes):
        why = "it does not depend on any tensor that requires a gradient: the graph was cut on the way"
        mend = "leave out what cuts it: detach(), no_grad(), item(), or a result of whole numbers such as argmax()"
    else:
        why = "none of the tensors in the run requires a gradient, so there is nothing to step back to"
        mend = "ask for one where a leaf is made: tensor(2.0, requires_grad=True)"
    raise AutogradError(f"stepping through a function that returns {what}", why, mend)


def _reached(recorder: _Recorder, loss: Tensor) -> list[Tensor]:
    """The leaves that backward will give a gradient, even through a graph older than this run."""
    waiting: list[Node | None] = [loss.node]
    seen: set[Node] = set()
    leaves = []
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, Leaf):
            leaves += [tensor for tensor in (node.tensor(),) if tensor is not None]
        else:
            recorder.check(node)
            waiting += node.parents
    return leaves


def _copy(tensor: Tensor) -> Tensor:
    with no_grad():
        copy = tensor.detach().clone()
    return copy.requires_grad_() if tensor.requires_grad else copy


# The learner's place -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphState:
    """The learner's place in a run."""

    step: int = 0
    collapsed: frozenset[int] = field(default_factory=frozenset)  # module calls drawn as one card
    message: str = ""  # why the last entry was refused


@dataclass(frozen=True)
class Moment:
    """What is known at one step: the nodes computed, the gradients that have arrived, and what just happened."""

    computed: frozenset[int]
    gradients: dict[int, Preview]
    now: int | None
    back: BackStep | None
    done_edges: frozenset[tuple[int, int, int]]  # that a gradient has gone back along
    forward_step: int
    backward_step: int


def moment(run: GraphRun, step: int) -> Moment:
    """The state of the run after ``step`` steps."""
    step = max(0, min(step, run.steps))
    ahead = min(step, len(run.forward))
    behind = step - ahead
    leaves = {node.id for node in run.nodes if not node.op}
    gradients: dict[int, Preview] = {}
    edges = set()
    if behind:
        gradients[run.backward[0].node] = run.backward[0].gradient
    for taken in run.backward[:behind]:
        for send in taken.sends:
            gradients[send.target] = send.total
            edges.add((send.target, taken.node, send.slot))
    back = run.backward[behind - 1] if behind else None
    now = back.node if back else (run.forward[ahead - 1] if ahead else None)
    return Moment(frozenset(leaves | set(run.forward[:ahead])), gradients, now, back, frozenset(edges), ahead, behind)
