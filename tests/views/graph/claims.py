"""The claims of the stepper's picture, each against the engine and NumPy.

1. A card's value is what NumPy computes from the cards that its edges come from.
2. *saves a, b* names what the engine's node holds after the forward pass, and nothing else.
3. Backward starts with 1 at the result, and visits each node after all nodes that its result went into.
4. A formula, read as NumPy with the values of the cards it names, gives the gradient that arrives, once summed over
   what was stretched. ``=`` stands where nothing was held, ``+=`` where something was.
5. Held + arriving = the sum; the sum of all that is sent to a node is the gradient it has when its own turn comes.
6. At the end, each leaf's gradient is the ``.grad`` that the engine gives it in a plain run.
7. No two nodes have the same label.
8. A card is current at exactly the steps that work on it. An arrow goes back at exactly the step that sends along it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tinygrad_edu.views.graph import GraphRun, Preview, moment
from tinygrad_edu.views.graph.cards import scene
from tinygrad_edu.views.graph.panel import terms
from tinygrad_edu.views.graph.tracks import CardAt, EdgeAt, tracks
from tinygrad_edu.views.graph.words import interesting, saved, step_lines

FORWARD: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0), "sin": np.sin, "exp": np.exp, "matmul": np.matmul, "pow": np.power,
}  # fmt: skip
NAMES = {"sin": np.sin, "cos": np.cos, "log": np.log, "sign": np.sign}


def array(p: Preview) -> Any:
    """The array of a preview that holds all its numbers."""
    assert p.rows is not None
    return np.array(p.rows, dtype=np.float64).reshape(p.shape)


def python(text: str) -> str:
    """A formula as Python can read it."""
    digits = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
    return re.sub(r"\b(\w+?)([₀-₉]+)", lambda m: f"{m[1]}_{m[2].translate(digits)}", text.replace("∂", "d_"))


def close(one: Any, two: Any) -> None:
    np.testing.assert_allclose(one, two, rtol=2e-4, atol=1e-5)


def assert_claims(run: GraphRun, leaves: dict[str, Any]) -> None:
    """All claims of a run. ``leaves`` are the leaves as the engine has them after a plain run."""
    labels = [run.label(node.id) for node in run.nodes]
    assert len(set(labels)) == len(labels)
    values = {label: array(node.value) for label, node in zip(labels, run.nodes, strict=True)}
    sources: dict[int, dict[int, int]] = {}
    for source, target, slot in run.edges:
        sources.setdefault(target, {})[slot] = source
    for index in run.forward:
        node = run.nodes[index]
        assert all(
            source in (*run.forward[: run.forward.index(index)],) or not run.nodes[source].op
            for source in sources[index].values()
        )
        if node.op in FORWARD:
            numbers = iter(node.note.split())
            operands = [
                values[labels[sources[index][i]]] if i in sources[index] else float(next(numbers))
                for i in range(len(node.operands))
            ]
            close(array(node.value), FORWARD[node.op](*operands))
    _backward(run, labels, values)
    last = {send.target: send.total for back in run.backward for send in back.sends}
    for name, leaf in leaves.items():
        index = labels.index(name)
        if leaf.grad is not None:
            close(array(last[index]), leaf.grad.numpy())
        else:
            assert index not in last
    _tracks(run)


def _backward(run: GraphRun, labels: list[str], values: dict[str, Any]) -> None:
    arrived: dict[int, Any] = {run.result: np.ones(run.nodes[run.result].shape)}
    users = {source: {target for s, target, _ in run.edges if s == source} for source in range(len(labels))}
    seen: set[int] = set()
    for step, back in enumerate(run.backward, len(run.forward) + 1):
        node = run.nodes[back.node]
        close(array(back.gradient), arrived[back.node])
        going = {b.node for b in run.backward}
        assert users[back.node] & going <= seen
        seen.add(back.node)
        said = [line for line, style in step_lines(run, moment(run, step), 10_000) if "tg" in style]
        assert len(said) == len(back.sends)
        gradient = {f"∂{labels[back.node]}": array(back.gradient)}
        for line, send in zip(said, back.sends, strict=True):
            left, sign, right = re.fullmatch(r"∂(.+?) (\+?=) (.+)", line).groups()  # type: ignore[union-attr]
            assert left == labels[send.target]
            assert (sign == "+=") is (send.held is not None) is (send.target in arrived)
            target = run.nodes[send.target].shape
            count = {"n": np.prod(target) / np.prod(node.shape)}  # how many numbers a mean is made of
            if (expected := _evaluate(right, {**values, **gradient, **count})) is not None:
                close(
                    array(send.arriving),
                    _fold(np.broadcast_to(expected, np.broadcast_shapes(np.shape(expected), target)), target),
                )
            if send.held is not None:
                close(array(send.held), arrived[send.target])
            arrived[send.target] = arrived.get(send.target, 0) + array(send.arriving)
            close(array(send.total), arrived[send.target])
        *parts, total = terms(run, interesting(moment(run, step))) or [None]
        if total is not None:  # what is printed beside the graph: all that arrives at one operand, and their sum
            [target] = {send.target for send in back.sends if f"∂{labels[send.target]}" == total.label}
            close(array(total.value), arrived[target])
            if parts:
                close(sum(array(part.value) for part in parts), array(total.value))
        assert node.wants


def _evaluate(right: str, values: dict[str, Any]) -> Any:
    """What a formula says, before the words after its comma; None for one that is only words."""
    if right.startswith("from ") or re.search(r", (reshaped|axes back|put back|cast back)", right):
        return None
    scope = {**NAMES, **{python(name): value for name, value in values.items()}}
    return eval(python(right.partition(",")[0]), {"__builtins__": {}}, scope)


def _fold(value: Any, shape: tuple[int, ...]) -> Any:
    """Summed over what broadcasting had stretched."""
    value = value.sum(axis=tuple(range(value.ndim - len(shape))))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and value.shape[i] != 1)
    return value.sum(axis=stretched, keepdims=True)


def _tracks(run: GraphRun) -> None:
    s, found = scene(run, frozenset()), tracks(run, frozenset())
    order = [*run.forward, *(back.node for back in run.backward)]
    for step in range(run.steps + 1):
        now = moment(run, step)
        current = [box.node for _, box in s.cards if CardAt(*found[box.key].at(step)).current]
        assert current == ([order[step - 1]] if step else [])
        for _, box in s.cards:
            card, gradient = CardAt(*found[box.key].at(step)), now.gradients.get(box.node)
            assert (card.value == "–") is (box.node not in now.computed)
            assert (card.gradient == "∂ –") is (gradient is None)
        for i, (_, _, edges) in enumerate(s.edges):
            edge = EdgeAt(*found[f"e{i}"].at(step))
            assert edge.line.startswith("bwd") is any(e in now.done_edges for e in edges)
            sent = now.back is not None and any(e[1] == now.back.node and e in now.done_edges for e in edges)
            assert (edge.line == "bwd-now") is sent is (edge.way == "-1")
            assert (edge.way == "1") is (now.back is None and step > 0 and any(e[1] == order[step - 1] for e in edges))
            assert (edge.tip == "") is (edges[0][1] not in now.computed)


def names_saved(run: GraphRun) -> dict[str, list[str]]:
    """What each operation is said to save, by label."""
    return {run.label(node): saved(run, run.nodes[node]) for node in run.forward}
