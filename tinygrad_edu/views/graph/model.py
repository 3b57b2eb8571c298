"""A recorded run: the graph of one loss, forward and backward step by step, as plain data."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ... import backends
from ...common.lines import resolve_line
from ...core.graph import Leaf, Node
from ...core.slow import Call, Interceptor
from ...core.storage import number
from ...errors import AutogradError
from ...nn.module import Module, Scope
from ...settings import enable_grad, no_grad
from ...tensor import Tensor


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

    @property
    def steps(self) -> int:
        """The last step: every forward step, then every backward step. Step 0 has only the leaves."""
        return len(self.forward) + len(self.backward)

    def label(self, node: int) -> str:
        """A node's name, or its op's."""
        return self.nodes[node].name or self.nodes[node].op or "leaf"


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
        """One node of the backward pass."""
        grads = proceed()
        made = self.by_node.get(node)
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


def record(function: Callable[..., Any], leaves: dict[str, Tensor], by_position: int = 0) -> GraphRun:
    """Run ``function(**leaves)`` forward and backward on copies of ``leaves``, and note every step.

    The first ``by_position`` leaves are passed without their names. The function returns a single number (a loss).
    Gradients of other tensors that it reaches, such as a model's
    parameters, are put back as they were. Raises `AutogradError` if the result is not one number that wants a
    gradient, or if a tensor was written to through a view on the way.
    """
    recorder = _Recorder()
    copies = {name: _copy(tensor) for name, tensor in leaves.items()}
    for name, tensor in copies.items():
        recorder.add(tensor, name=name)
    found: dict[str, Any] = {}
    with enable_grad(), recorder:
        loss = _call(function, copies, by_position, found)
        _check_loss(recorder, loss)
        before = [(tensor, tensor.grad) for tensor in _reached(recorder, loss)]
        for tensor, _ in before:
            tensor.grad = None  # or backward would add to the values that must be put back
        try:
            loss.backward(retain_graph=True)  # a part of the graph may be older than this run, and needed after it
        finally:
            for tensor, grad in before:
                tensor.grad = grad
    _name(recorder, function, found, loss)
    code, start, filename = _source(function)
    groups: dict[int, int] = {}
    nodes = []
    for fields in recorder.nodes:
        line, scope = fields.pop("line", None), fields.pop("scope", None)
        fields["row"] = _row(line, scope, start, len(code), filename)
        fields["groups"] = _groups(scope, groups)
        nodes.append(RunNode(**fields))
    result = recorder.find(loss)
    return GraphRun(
        tuple(nodes), tuple(recorder.edges), tuple(recorder.forward_order), tuple(recorder.backward_steps), code, result
    )


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


def _call(function: Callable[..., Any], arguments: dict[str, Any], by_position: int, found: dict[str, Any]) -> Any:
    """Call the function, and read its local names as it returns."""
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is code:
            found.update(frame.f_locals)

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        items = list(arguments.items())
        return function(*(value for _, value in items[:by_position]), **dict(items[by_position:]))
    finally:
        sys.setprofile(previous)


def _name(recorder: _Recorder, function: Any, found: dict[str, Any], loss: Tensor) -> None:
    """Give the records the names that the program has for their tensors."""
    scopes = [found]
    program = inspect.unwrap(getattr(function, "__func__", function))
    if inspect.isfunction(program):
        outside = inspect.getclosurevars(program)
        scopes += [dict(outside.nonlocals), dict(outside.globals)]
    elif isinstance(function, Module):
        scopes.append({"model": function})
    for scope in scopes:
        for name, value in scope.items():
            if isinstance(value, Module):
                for path, parameter in value.named_parameters():
                    _put_name(recorder, parameter, path)
            elif isinstance(value, Tensor):
                _put_name(recorder, value, name)
    _put_name(recorder, loss, "loss")


def _put_name(recorder: _Recorder, tensor: Tensor, name: str) -> None:
    index = recorder.by_node.get(tensor.node) if tensor.node is not None else recorder.by_tensor.get(_key(tensor))
    if index is not None and recorder.nodes[index]["name"] is None:
        recorder.nodes[index]["name"] = name


def _source(function: Any) -> tuple[tuple[str, ...], int, str]:
    """The function's body, the row of its first line, and its file; empty if the source is not available."""
    try:
        lines, start = inspect.getsourcelines(function)
        filename = inspect.getfile(inspect.unwrap(function))
    except (OSError, TypeError):
        return (), 0, ""
    text = textwrap.dedent("".join(lines)).rstrip().split("\n")
    header = _header(text)
    return tuple(textwrap.dedent("\n".join(text[header:])).split("\n")), start + header, filename


def _header(lines: list[str]) -> int:
    """How many lines come before a function's body. None before a lambda, or a body beside its ``def``."""
    try:
        first = ast.parse("\n".join(lines)).body[0]
    except (SyntaxError, IndexError):  # a lambda inside a larger expression
        return 0
    if not isinstance(first, ast.FunctionDef):
        return 0
    statement = first.body[0]
    row = min(part.lineno for part in (statement, *getattr(statement, "decorator_list", ()))) - 1
    return 0 if lines[row][: statement.col_offset].strip(" @") else row


def _row(line: Any, scope: Scope | None, start: int, count: int, filename: str) -> int | None:
    """Which line of the code an operation belongs to: its own, or that of the module call it was made in."""
    for candidate in (line, scope.line if scope is not None else None):
        place = resolve_line(candidate)
        if place is not None and place[0] == filename and 0 <= place[1] - start < count:
            return place[1] - start
    return None


def _groups(scope: Scope | None, known: dict[int, int]) -> tuple[tuple[int, str], ...]:
    chain: list[tuple[int, str]] = []
    while scope is not None:
        chain.append((known.setdefault(id(scope), len(known)), scope.label))
        scope = scope.parent
    return tuple(reversed(chain))


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
