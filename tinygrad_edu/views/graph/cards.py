"""The cards that a run is drawn as: which there are, their text and their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...common.wording import number, shape_text
from ..marks import MONO_12, shorten
from .layout import Chain, Placed, nested
from .model import GraphRun, Preview, RunNode

CARD_H, CARD_W, STUB_H = 40.0, 95.0, 20.0
NEAR = 6  # operations: a leaf's use that is farther than this from its first one gets a name tag instead of an edge
OFTEN = 4  # uses: of a leaf with more, only the first has an edge
MANY = 60  # cards: a graph with more begins with closed modules


@dataclass(frozen=True)
class Box:
    """A card in the figure: one node or a collapsed module call. Or a stub: a leaf's name where it is used far away."""

    key: str
    members: tuple[int, ...]
    label: str
    group: int | None = None
    stub: bool = False

    @property
    def node(self) -> int:
        """The node whose value is on the card."""
        return self.members[-1]


@dataclass(frozen=True)
class Room:
    """An open module: its number, its label, and the box around all that is inside."""

    group: int
    label: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Scene:
    """All cards with their places, the edges between them, and the modules around them."""

    boxes: tuple[Box, ...]
    edges: tuple[tuple[int, int, tuple[tuple[int, int, int], ...]], ...]  # box, box, the run's edges it represents
    placed: Placed
    sizes: tuple[tuple[float, float], ...]
    rooms: tuple[Room, ...]

    @property
    def cards(self) -> Iterator[tuple[int, Box]]:
        """The boxes that are no stubs, with their numbers."""
        return ((i, box) for i, box in enumerate(self.boxes) if not box.stub)


@lru_cache(maxsize=64)
def homes(run: GraphRun) -> tuple[tuple[tuple[int, str], ...], ...]:
    """The module calls around each node. A leaf that the function found itself is at home in the innermost one that
    holds all its uses, as a parameter is in its layer."""
    found = [node.groups for node in run.nodes]
    around: dict[int, tuple[tuple[int, str], ...]] = {}
    for source, target, _ in run.edges:
        if not run.nodes[source].op and source >= run.given:
            around[source] = _common(around.get(source, found[target]), found[target])
    return tuple(around.get(i, groups) for i, groups in enumerate(found))


def _common(one: tuple[tuple[int, str], ...], two: tuple[tuple[int, str], ...]) -> tuple[tuple[int, str], ...]:
    return tuple(a for a, b in zip(one, two, strict=False) if a == b)


def outermost(run: GraphRun, depth: int = 0) -> frozenset[int]:
    """The module calls at one depth, counted from outside."""
    return frozenset(groups[depth][0] for groups in homes(run) if len(groups) > depth)


def module_calls(run: GraphRun) -> frozenset[int]:
    """All module calls of a run, by their numbers."""
    return frozenset(group for groups in homes(run) for group, _ in groups)


def first_closed(run: GraphRun) -> frozenset[int]:
    """The modules of a large graph that are closed at first: as few as leave no more than `MANY` cards."""
    for depth in range(max((len(groups) for groups in homes(run)), default=0), -1, -1):
        closed = outermost(run, depth)
        if depth == 0 or len(_members(run, closed)) <= MANY:
            return closed if len(run.nodes) > MANY else frozenset()
    return frozenset()


def _members(run: GraphRun, closed: frozenset[int]) -> dict[tuple[str, int], list[int]]:
    """The nodes on each card: those of a closed module share one."""
    members: dict[tuple[str, int], list[int]] = {}
    for node, groups in enumerate(homes(run)):
        group = next((g for g, _ in groups if g in closed), None)
        members.setdefault(("n", node) if group is None else ("g", group), []).append(node)
    return members


@lru_cache(maxsize=64)
def scene(run: GraphRun, collapsed: frozenset[int]) -> Scene:
    """Boxes and their places. Each tensor is drawn once; far from a leaf, its uses have a tag with its name."""
    labels = {group: label for groups in homes(run) for group, label in groups}
    boxes: list[Box] = []
    box_of: dict[int, int] = {}
    for (kind, key), nodes in _members(run, collapsed).items():
        box_of |= dict.fromkeys(nodes, len(boxes))
        closed = kind == "g"
        boxes.append(
            Box(f"{kind}{key}", tuple(nodes), labels[key] if closed else run.label(key), key if closed else None)
        )
    chains = [_chain(homes(run)[box.node], box.group) for box in boxes]
    bundles: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    far = _far(run, box_of)
    stubs: dict[tuple[int, int], int] = {}
    for edge in run.edges:
        source, target = box_of[edge[0]], box_of[edge[1]]
        if source == target:
            continue
        if (edge[0], target) in far:
            if (edge[0], target) not in stubs:
                stubs[edge[0], target] = len(boxes)
                boxes.append(Box(f"n{edge[0]}to{boxes[target].key}", (edge[0],), run.label(edge[0]), stub=True))
                chains.append(chains[target])
            source = stubs[edge[0], target]
        bundles.setdefault((source, target), []).append(edge)
    sizes = tuple((width_of(run, box), STUB_H if box.stub else CARD_H) for box in boxes)
    placed = nested(sizes, chains, list(bundles))
    rooms = tuple(
        Room(room.chain[-1], labels[room.chain[-1]], room.x, room.y, room.width, room.height) for room in placed.rooms
    )
    return Scene(tuple(boxes), tuple((s, t, tuple(e)) for (s, t), e in bundles.items()), placed, sizes, rooms)


def _chain(groups: tuple[tuple[int, str], ...], closed: int | None) -> Chain:
    """The open modules around a card."""
    numbers = tuple(number for number, _ in groups)
    return numbers if closed is None else numbers[: numbers.index(closed)]


def _far(run: GraphRun, box_of: dict[int, int]) -> set[tuple[int, int]]:
    """Pairs of a leaf and a box that uses it too far from its first use, or once too often, to draw an edge."""
    depth = [0] * len(run.nodes)
    for source, target, _ in run.edges:  # in the order in which operations ran
        depth[target] = max(depth[target], depth[source] + 1)
    users: dict[int, dict[int, int]] = {}
    for source, target, _ in run.edges:
        if not run.nodes[source].op and box_of[source] != box_of[target]:
            at = users.setdefault(source, {})
            at.setdefault(box_of[target], depth[target])
    far = set()
    for leaf, at in users.items():
        near = min(at.values()) + NEAR
        first = min(at, key=lambda box: at[box])
        far |= {(leaf, box) for box, place in at.items() if box != first and (place > near or len(at) > OFTEN)}
    return far


def width_of(run: GraphRun, box: Box) -> float:
    """The width for all that is written on the card, at any step."""
    tag, what = titles_of(run, box)
    head = 8 + MONO_12 * (len(what) + len(corner_of(run, box)) + 1) + (24 + MONO_12 * len(tag) if tag else 0)
    if box.stub:
        return 22 + MONO_12 * len(tag)  # as wide as the tag
    node = run.nodes[box.node]
    values = len(value_of(node)) + 2 + _gradient_lengths(run).get(node.id, 3)
    return max(CARD_W, 8 + head, 16 + MONO_12 * values if node.wants else 0)


@lru_cache(maxsize=8)
def _gradient_lengths(run: GraphRun) -> dict[int, int]:
    """The most characters that each node's gradient takes, so that a card keeps its width through all steps."""
    longest: dict[int, int] = {}
    for step in run.backward:
        arrived = [(step.node, step.gradient), *((send.target, send.total) for send in step.sends)]
        for node, gradient in arrived:
            longest[node] = max(longest.get(node, 3), 1 + len(in_short(gradient)))
    return longest


def titles_of(run: GraphRun, box: Box) -> tuple[str, str]:
    """The name on its tag, and its first words, both cut to fit; either may be empty."""
    node = run.nodes[box.node]
    if box.group is not None:
        return "", shorten(box.label, 18)
    if not node.op:
        return shorten(leaf_name(run, box), 16), ""
    return shorten(node.name or "", 16), shorten(heading_of(run, box), 21)


def leaf_name(run: GraphRun, box: Box) -> str:
    """A leaf's name, or all that it was given under. In its module's box, a parameter goes by its last name."""
    node, label = run.nodes[box.node], run.label(box.node)
    if homes(run)[node.id] and not box.stub:
        return label.rpartition(".")[2]
    return ", ".join((label, *node.aliases))


def heading_of(run: GraphRun, box: Box) -> str:
    """A card's first words in the text: the module's name, the leaf's, or the op with its Python number."""
    node = run.nodes[box.node]
    if box.group is not None:
        return box.label
    what = node.op if node.name else run.label(node.id)
    return f"{what} {node.note}".strip() if node.op else leaf_name(run, box)


def value_of(node: RunNode) -> str:
    """A node's value in short; for an array of integers (labels, indices) only the kind."""
    counted = node.shape and not node.dtype.startswith(("float", "bfloat"))
    return node.dtype if counted else in_short(node.value)


def in_short(p: Preview) -> str:
    """A single number as it is, and two in brackets; the norm of a larger array."""
    if p.rows is not None and p.shape == (2,):
        return f"[{' '.join(number(v) for v in p.rows[0])}]"
    return number(p.norm)


def corner_of(run: GraphRun, box: Box) -> str:
    """The shape; of a closed module, how many operations it holds."""
    return (
        f"▸{sum(bool(run.nodes[m].op) for m in box.members)}"
        if box.group is not None
        else shape_text(run.nodes[box.node].shape)
    )
