"""What each card, edge and line of code shows at every step, as tracks."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

from ..reel import Track, Values, hole
from .cards import CARD_H, Box, Scene, in_short, scene, value_of
from .model import GraphRun

Edge = tuple[int, int, int]


class CardAt(NamedTuple):
    """A card at one step. As the values of its track, in this order."""

    look: str
    value: str
    value_class: str
    gradient: str
    gradient_class: str
    current: str
    mark: str  # before its line in the text
    computed: str  # its value in words
    arrived: str  # its gradient in words


CARD = CardAt(*map(hole, range(len(CardAt._fields))))  # where a card's values go in templates


class EdgeAt(NamedTuple):
    """An edge at one step."""

    line: str
    head: str
    tip: str  # the head's path
    way: str  # of what moves along it in this step: "1" forward, "-1" back


class RowAt(NamedTuple):
    """A line of code at one step."""

    current: str
    mark: str


ROW = RowAt(*map(hole, range(len(RowAt._fields))))


class Times:
    """At which steps of a run each node was worked on."""

    def __init__(self, run: GraphRun) -> None:
        ahead = len(run.forward)
        self.computed = {node.id: 0 for node in run.nodes if not node.op}
        self.now: dict[int, list[int]] = defaultdict(list)  # steps at which a node is the current one
        self.received: dict[int, list[int]] = defaultdict(list)
        self.gradients: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.went: dict[Edge, int] = {}  # the step at which a gradient went back along an edge
        for step, node in enumerate(run.forward, 1):
            self.computed[node] = step
            self.now[node].append(step)
        for step, back in enumerate(run.backward, ahead + 1):
            self.now[back.node].append(step)
            if step == ahead + 1:
                self.gradients[back.node].append((step, in_short(back.gradient)))
            for send in back.sends:
                self.received[send.target].append(step)
                self.gradients[send.target].append((step, in_short(send.total)))
                self.went[send.target, back.node, send.slot] = step


@lru_cache(maxsize=8)
def times(run: GraphRun) -> Times:
    """The times of a run, worked out once."""
    return Times(run)


@lru_cache(maxsize=16)
def tracks(run: GraphRun, collapsed: frozenset[int]) -> dict[str, Track]:
    """All tracks of the live figure and of the text, by name."""
    s = scene(run, collapsed)
    found = {box.key: _card(run, box) for _, box in s.cards}
    found |= {f"e{i}": _edge(run, s, i) for i in range(len(s.edges))}
    found |= {f"r{row}": track for row, track in enumerate(_rows(run))}
    found["here"] = _here(run, s)
    return found


def _card(run: GraphRun, box: Box) -> Track:
    t, node, ahead = times(run), run.nodes[box.node], len(run.forward)
    now = {step for member in box.members for step in t.now[member]}
    receives = {step for member in box.members for step in t.received[member]}
    steps = {0, *now, *receives, *(step + 1 for step in (*now, *receives)), t.computed[node.id]}
    value = value_of(node)
    found: dict[int, Values] = {}
    gradients = t.gradients[node.id]
    for step in sorted(steps):
        if step > run.steps:
            continue
        here, computed = step in now, step >= t.computed[node.id]
        gradient = next((text for at, text in reversed(gradients) if at <= step), "")
        look = "card" if computed else "later"
        if here:
            look = "now-backward" if step > ahead else "now-forward"
        elif step in receives:
            look = "receives"
        bold = " b" if here or step in receives else ""
        found[step] = CardAt(
            look, value if computed else "–", "m tv" if computed else "m t2",
            f"∂{gradient}" if gradient else "∂ –", f"m tg{bold}" if gradient else "m t2",
            "true" if here else "", ">" if here else " ",
            f"value {value}" if computed else "not computed yet", f"gradient {gradient or 'not yet'}",
        )  # fmt: skip
    return Track.of(found)


def _edge(run: GraphRun, s: Scene, i: int) -> Track:
    edges, route, t = s.edges[i][2], s.placed.routes[i], times(run)
    computed = min(t.computed[target] for _, target, _ in edges)
    wanted = any(run.nodes[source].wants for source, _, _ in edges)
    went = sorted({t.went[edge] for edge in edges if edge in t.went})
    (x, y), (u, v) = route[0], route[-1]
    forward = f"M{u:.1f} {v:.1f}l-3.4 -6.2h6.8z"
    line, head = ("fwd", "fh") if wanted else ("idle", "ih")
    found: dict[int, Values] = {0: EdgeAt("idle", "ih", "", "")}
    if computed > 0:
        found[computed] = EdgeAt(line, head, forward, "1")
        found[computed + 1] = EdgeAt(line, head, forward, "")
    for step in went:
        found[step] = EdgeAt("bwd-now", "bh", open_head(x, y + 1, 7.5), "-1")
        if step + 1 not in went:
            found[step + 1] = EdgeAt("bwd", "bh", open_head(x, y + 1, 5.5), "")
    return Track.of({step: values for step, values in found.items() if step <= run.steps})


def open_head(x: float, y: float, size: float) -> str:
    """An open arrow head with its tip at (x, y), pointing up: edges leave a card straight down."""
    side = 0.55 * size
    return f"M{x - side:.1f} {y + size:.1f}L{x:.1f} {y:.1f}L{x + side:.1f} {y + size:.1f}"


def _rows(run: GraphRun) -> list[Track]:
    order = [*run.forward, *(back.node for back in run.backward)]
    found: list[dict[int, Values]] = [{0: RowAt("", " ")} for _ in run.code]
    for step, node in enumerate(order, 1):
        row = run.nodes[node].row
        if row is not None:
            found[row][step] = RowAt("true", ">")
            if step < run.steps:
                found[row].setdefault(step + 1, RowAt("", " "))
                if run.nodes[order[step]].row != row:
                    found[row][step + 1] = RowAt("", " ")
    return [Track.of(steps) for steps in found]


def _here(run: GraphRun, s: Scene) -> Track:
    """The current card's middle, in the overview."""
    box_of = {member: i for i, box in s.cards for member in box.members}
    order = [*run.forward, *(back.node for back in run.backward)]
    found: dict[int, Values] = {0: ("",)}
    for step, node in enumerate(order, 1):
        (x, y), (w, _) = s.placed.corners[box_of[node]], s.sizes[box_of[node]]
        found[step] = (f"M{x + w / 2:.0f} {y + CARD_H / 2:.0f}h0.01",)
    return Track.of(found)


def steps_of(run: GraphRun, node: int) -> tuple[int, int]:
    """The step at which a node was computed, and the first at which it takes part in backward."""
    t = times(run)
    behind = [*t.now[node], *t.received[node]]
    ahead = len(run.forward)
    return t.computed[node], min((step for step in behind if step > ahead), default=t.computed[node])
