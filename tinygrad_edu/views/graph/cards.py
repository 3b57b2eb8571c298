"""The cards that a run is drawn as: their text and their places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ...common.wording import number, shape_text
from ..marks import MONO_12, shorten
from .layout import Placed, layered
from .model import GraphRun, RunNode

CARD_H, CARD_W = 40.0, 95.0


@dataclass(frozen=True)
class Box:
    """A card in the figure: one node, a use of a leaf, or a collapsed module call."""

    key: str
    members: tuple[int, ...]
    label: str
    group: int | None = None

    @property
    def node(self) -> int:
        """The node whose value is on the card."""
        return self.members[-1]


@dataclass(frozen=True)
class Scene:
    """All cards with their places, the edges between them, and the modules around them."""

    boxes: tuple[Box, ...]
    edges: tuple[tuple[int, int, tuple[tuple[int, int, int], ...]], ...]  # box, box, the run's edges it represents
    placed: Placed
    modules: tuple[tuple[str, tuple[int, ...]], ...]  # open modules: label and boxes inside


@lru_cache(maxsize=64)
def scene(run: GraphRun, collapsed: frozenset[int]) -> Scene:
    """Boxes and their places. Leaves with more than four users are drawn once per use."""
    closed = {node.id: next((g for g in node.groups if g[0] in collapsed), None) for node in run.nodes}
    members: dict[int, list[int]] = {}
    for node in run.nodes:
        if (group := closed[node.id]) is not None:
            members.setdefault(group[0], []).append(node.id)
    users: dict[int, int] = {}
    for source, _, _ in run.edges:
        users[source] = users.get(source, 0) + 1
    boxes: list[Box] = []
    index: dict[object, int] = {}

    def box_of(node: int, edge: object = None) -> int:
        group = closed[node]
        often = not run.nodes[node].op and users.get(node, 0) > 4
        key: object = ("g", group[0]) if group else (("u", node, edge) if often else ("n", node))
        if key not in index:
            index[key] = len(boxes)
            if group:
                boxes.append(Box(f"g{group[0]}", tuple(members[group[0]]), group[1], group[0]))
            else:
                boxes.append(Box(f"n{node}u{len(boxes)}" if often else f"n{node}", (node,), run.label(node)))
        return index[key]

    bundles: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for node in run.nodes:
        if node.op or users.get(node.id, 0) <= 4:
            box_of(node.id)
    for edge in run.edges:
        source, target = box_of(edge[0], edge), box_of(edge[1])
        if source != target:
            bundles.setdefault((source, target), []).append(edge)
    sizes = [(width_of(run, box), CARD_H) for box in boxes]
    placed = layered(sizes, list(bundles))
    return Scene(tuple(boxes), tuple((s, t, tuple(e)) for (s, t), e in bundles.items()), placed, _modules(run, boxes))


def _modules(run: GraphRun, boxes: list[Box]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    inside: dict[tuple[int, str], list[int]] = {}
    for i, box in enumerate(boxes):
        if box.group is None:
            for group in run.nodes[box.node].groups[-1:]:
                inside.setdefault(group, []).append(i)
    return tuple((label, tuple(members)) for (_, label), members in inside.items() if len(members) > 1)


def width_of(run: GraphRun, box: Box) -> float:
    """The width for all that is written on the card, at any step."""
    node = run.nodes[box.node]
    head = len(title_of(run, box)) + len(corner_of(run, box)) + 1
    if not node.op:
        head += 2
    values = len(value_of(node)) + 2 + _gradient_lengths(run).get(node.id, 3)
    return max(CARD_W, 16 + MONO_12 * max(head, values if node.wants else 0))


@lru_cache(maxsize=8)
def _gradient_lengths(run: GraphRun) -> dict[int, int]:
    """The most characters that each node's gradient takes, so that a card keeps its width through all steps."""
    longest: dict[int, int] = {}
    for step in run.backward:
        arrived = [(step.node, step.gradient), *((send.target, send.total) for send in step.sends)]
        for node, gradient in arrived:
            longest[node] = max(longest.get(node, 3), 1 + len(number(gradient.norm)))
    return longest


def title_of(run: GraphRun, box: Box) -> str:
    """Its first words, cut to fit."""
    node = run.nodes[box.node]
    return shorten(heading_of(run, box), 21 if node.op and box.group is None else 14)


def heading_of(run: GraphRun, box: Box) -> str:
    """A card's first words: the module's name, the leaf's, or the op with the Python number that it was given."""
    node = run.nodes[box.node]
    if box.group is not None:
        return box.label
    return f"{node.op} {node.note}".strip() if node.op else run.label(node.id)


def value_of(node: RunNode) -> str:
    """The norm of an array; a single number as it is; for an array of integers (labels, indices) only the kind."""
    counted = node.shape and not node.dtype.startswith(("float", "bfloat"))
    return node.dtype if counted else number(node.value.norm)


def corner_of(run: GraphRun, box: Box) -> str:
    """The shape; of a closed module, how many operations it holds."""
    return (
        f"▸{sum(bool(run.nodes[m].op) for m in box.members)}"
        if box.group is not None
        else shape_text(run.nodes[box.node].shape)
    )
