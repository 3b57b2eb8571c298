"""A recorded run: the graph of one loss, forward and backward step by step, as plain data."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np

from .. import backends
from ..core.dispatch import Call, Interceptor
from ..core.graph import Leaf, Node, resolve_line
from ..errors import AutogradError
from ..nn.module import Module, Scope
from ..settings import enable_grad, no_grad
from ..tensor import Tensor


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
        few = values.ndim <= 2 and values.size <= 12 and (values.ndim < 2 or values.shape[1] <= 4) and values.shape[-1:] <= (4,)
        rows = tuple(tuple(float(v) for v in row) for row in np.atleast_2d(values)) if few and values.size else None
        return cls(tuple(values.shape), float(values.ravel()[0]) if values.size == 1 else float(np.linalg.norm(values)), rows)


@dataclass(frozen=True)
class RunNode:
    """A leaf, or an operation and its result."""

    id: int
    op: str  # "" for a leaf
    name: str | None  # of the variable that holds it
    note: str  # Python numbers that the op was given
    shape: tuple[int, ...]
    dtype: str
    value: Preview
    wants: bool  # a gradient
    row: int | None  # of the code that made it
    groups: tuple[tuple[int, str], ...]  # the module calls around it, outermost first
    saved: tuple[str, ...]  # what it keeps for backward
    operands: tuple[str, ...]  # their names in the op's own words


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


@dataclass(frozen=True)
class GraphRun:
    """All that a stepper needs: nodes, edges (source, target, slot), and both passes in order."""

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
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[tuple[int, int, int]] = []
        self.forward_order: list[int] = []
        self.backward_steps: list[BackStep] = []
        self.by_tensor: dict[int, int] = {}
        self.by_node: dict[Node, int] = {}
        self.keep: list[Any] = []  # tensors whose identity is a key above
        self.gradients: dict[int, Any] = {}
        self.unsummed: dict[tuple[int, int], bool] = {}

    def add(self, tensor: Tensor, **fields: Any) -> int:
        """A new record for a tensor."""
        index = len(self.nodes)
        self.nodes.append(
            {
                "id": index, "op": "", "name": None, "note": "", "shape": tuple(tensor.shape), "dtype": tensor.dtype.name,
                "value": Preview.of(tensor.array), "wants": tensor.requires_grad, "row": None, "groups": (), "saved": (),
                "operands": (), **fields,
            }
        )  # fmt: skip
        self.by_tensor[id(tensor)] = index
        self.keep.append(tensor)
        if tensor.node is not None:
            self.by_node[tensor.node] = index
        return index

    def find(self, tensor: Tensor) -> int:
        """The record of an operand; one not seen before is a leaf."""
        if tensor.node is not None and tensor.node in self.by_node:
            return self.by_node[tensor.node]
        if id(tensor) in self.by_tensor:
            return self.by_tensor[id(tensor)]
        return self.add(tensor)

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """One operation of the forward pass."""
        sources = [self.find(o) if isinstance(o, Tensor) else None for o in call.operands]
        numbers = [f"{o:g}" for o in call.operands if isinstance(o, (int, float))]
        result = proceed()
        saved = tuple(save.source for save in call.op.save_plan if not save.part and save.source in (*call.op.operands, "out"))
        index = self.add(
            result, op=call.op.name, note=" ".join(numbers), line=call.line, scope=call.modes.scope,
            saved=saved if result.node is not None else (), operands=call.op.operands,
        )  # fmt: skip
        self.forward_order.append(index)
        self.edges += [(source, index, slot) for slot, source in enumerate(sources) if source is not None]
        return result

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """One node of the backward pass."""
        grads = proceed()
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
        self.backward_steps.append(BackStep(self.by_node[node], Preview.of(g), tuple(sends)))
        return grads


def record(function: Callable[..., Any], leaves: dict[str, Tensor]) -> GraphRun:
    """Run ``function(**leaves)`` forward and backward on copies of ``leaves``, and note every step.

    The function returns a single number (a loss). Gradients of tensors that it reaches otherwise, such as a model's
    parameters, are put back as they were. Raises `AutogradError` when the result is not one number that wants a gradient.
    """
    recorder = _Recorder()
    copies = {name: _copy(tensor) for name, tensor in leaves.items()}
    for name, tensor in copies.items():
        recorder.add(tensor, name=name)
    found: dict[str, Any] = {}
    with enable_grad(), recorder:
        loss = _call(function, copies, found)
        if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.requires_grad:
            what = f"a tensor {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            raise AutogradError(
                f"stepping through a function that returns {what}",
                "backward starts from a single number that was computed from tensors with requires_grad",
                "return the loss, reduced to one number: (…).sum() or .mean()",
            )
        reached = [t for node in recorder.by_node if isinstance(node, Leaf) and (t := node.tensor()) is not None]
        before = [(t, t.grad) for t in reached]
        try:
            loss.backward()
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


def _copy(tensor: Tensor) -> Tensor:
    with no_grad():
        copy = tensor.detach().clone()
    return copy.requires_grad_() if tensor.requires_grad else copy


def _call(function: Callable[..., Any], arguments: dict[str, Any], found: dict[str, Any]) -> Any:
    """Call the function, and read its local names as it returns."""
    code: CodeType | None = getattr(function, "__code__", None)

    def profile(frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code is code:
            found.update(frame.f_locals)

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        return function(**arguments)
    finally:
        sys.setprofile(previous)


def _name(recorder: _Recorder, function: Any, found: dict[str, Any], loss: Tensor) -> None:
    """Give the records the names that the program has for their tensors."""
    outside = inspect.getclosurevars(function) if inspect.isfunction(function) else None
    scopes = [found] if outside is None else [found, dict(outside.nonlocals), dict(outside.globals)]
    for scope in scopes:
        for name, value in scope.items():
            if isinstance(value, Module):
                for path, parameter in value.named_parameters():
                    _put_name(recorder, parameter, path)
            elif isinstance(value, Tensor):
                _put_name(recorder, value, name)
    _put_name(recorder, loss, "loss")


def _put_name(recorder: _Recorder, tensor: Tensor, name: str) -> None:
    index = recorder.by_node.get(tensor.node) if tensor.node is not None else recorder.by_tensor.get(id(tensor))
    if index is not None and recorder.nodes[index]["name"] is None:
        recorder.nodes[index]["name"] = name


def _source(function: Any) -> tuple[tuple[str, ...], int, str]:
    """The function's body, the row of its first line, and its file; nothing where the source is not to be had."""
    try:
        lines, start = inspect.getsourcelines(function)
        filename = inspect.getsourcefile(function) or ""
    except (OSError, TypeError):
        return (), 0, ""
    text = textwrap.dedent("".join(lines)).rstrip().split("\n")
    if text[0].startswith("def "):
        header = next((i for i, line in enumerate(text) if line.rstrip().endswith(":")), 0) + 1
        body = textwrap.dedent("\n".join(text[header:])).split("\n")
        return tuple(body), start + header, filename
    return tuple(text), start, filename


def _row(line: Any, scope: Scope | None, start: int, count: int, filename: str) -> int | None:
    """Which line of the code an operation belongs to: its own, or that of the module call it was made in."""
    for candidate in (line, scope.line if scope is not None else None):
        place = resolve_line(candidate)
        if place is not None and 0 <= place[1] - start < count and (place[0] == filename or place[0].startswith("<")):
            return place[1] - start
    return None


def _groups(scope: Scope | None, known: dict[int, int]) -> tuple[tuple[int, str], ...]:
    chain: list[tuple[int, str]] = []
    while scope is not None:
        chain.append((known.setdefault(id(scope), len(known)), scope.module.label))
        scope = scope.parent
    return tuple(reversed(chain))
