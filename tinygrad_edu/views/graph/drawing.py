"""How a run is drawn: modules, edges and cards; whole for a page, and the part around one step in a still picture."""

from __future__ import annotations

from functools import cached_property

from ..frame import WIDE, Figure
from ..marks import Canvas, attributes
from ..reel import Track, fill, hole, literal, moving, opening
from .cards import CARD_H, STUB_H, Box, Room, Scene, corner_of, scene, titles_of
from .model import GraphRun, GraphState, moment
from .panel import draw_panel
from .tracks import CARD, steps_of, tracks
from .words import describe, size_of, spoken

SIDE = 264  # width of the panel beside the graph
TALL = 1000.0  # the most that a still picture shows of a graph from top to bottom
MARGIN = 8.0


class Picture(Figure):
    """A still picture at one step, drawn when somebody asks for it."""

    def __init__(self, run: GraphRun, state: GraphState, width: int) -> None:
        super().__setattr__("__dict__", {"_of": (run, state, width)})

    @cached_property
    def canvas(self) -> Canvas:
        """The graph, with the panel beside it if there is room, else below it."""
        return _still(*self._of)  # type: ignore[attr-defined]

    title = "Autograd graph"

    @property
    def description(self) -> str:
        """How far the run has come."""
        run, state, _ = self._of  # type: ignore[attr-defined]
        return describe(run, moment(run, state.step))


def _still(run: GraphRun, state: GraphState, width: int) -> Canvas:
    s, now = scene(run, state.collapsed), moment(run, state.step)
    canvas = Canvas(width)
    beside = width >= WIDE and s.placed.width + 2 * MARGIN <= width - SIDE - 24
    room = width - SIDE - 24 if beside else width
    shown = _window(s, now.now, room)
    corners = [s.placed.corners[i] for i in shown]
    left, top = min((x for x, _ in corners), default=0.0), min((y for _, y in corners), default=0.0)
    right = max((s.placed.corners[i][0] + s.sizes[i][0] for i in shown), default=0.0)
    bottom = max((s.placed.corners[i][1] + s.sizes[i][1] for i in shown), default=0.0)
    across, down = MARGIN + max(0.0, (room - 2 * MARGIN - (right - left)) / 2) - left, MARGIN - top
    cards, all_cards = sum(not s.boxes[i].stub for i in shown), sum(1 for _ in s.cards)
    whole = len(shown) == len(s.boxes)
    if whole:
        down = MARGIN
    else:
        canvas.text(1, 12, f"{cards} of {all_cards} cards around this step; step on to see the others", "t2")
        down += 24 + 14
    clip = (-1e9, -1e9, 1e9, 1e9) if whole else (left - 12, top - 28, right + 12, bottom + 12)
    _graph(canvas, run, state, s, across, down, shown, clip)
    if beside:
        draw_panel(canvas, run, now, width - SIDE, 1, SIDE)
    else:
        draw_panel(canvas, run, now, 1, canvas.height + 18, min(width, WIDE) - 2)
    return canvas


def _window(s: Scene, current: int | None, room: float) -> list[int]:
    """The boxes of a still picture: all, or those that stand wholly in a window around the current card."""
    wide, tall = room - 2 * MARGIN, TALL
    if s.placed.width <= wide and s.placed.height <= tall:
        return list(range(len(s.boxes)))
    at = next((i for i, box in s.cards if current in box.members), 0)
    (x, y), (w, h) = s.placed.corners[at], s.sizes[at]
    left = min(max(x + w / 2 - wide / 2, 0), max(s.placed.width - wide, 0))
    top = min(max(y + h / 2 - tall / 2, 0), max(s.placed.height - tall, 0))
    return [
        i
        for i, ((u, v), (a, b)) in enumerate(zip(s.placed.corners, s.sizes, strict=True))
        if i == at or (left <= u and u + a <= left + wide and top <= v and v + b <= top + tall)
    ]


def live(run: GraphRun, state: GraphState) -> str:
    """The whole graph as a page has it, to be scrolled and stepped."""
    s = scene(run, state.collapsed)
    canvas = Canvas(s.placed.width + 2 * MARGIN)
    canvas.height = s.placed.height + 2 * MARGIN
    _graph(canvas, run, state, s, MARGIN, MARGIN, list(range(len(s.boxes))), (-1e9, -1e9, 1e9, 1e9))
    return canvas.svg(Picture.title, f"{size_of(run)} Inputs are at the top, the result at the bottom.")


def overview(run: GraphRun, state: GraphState) -> str:
    """The whole graph as a small map: a dot marks the current card, a frame the part in sight."""
    s = scene(run, state.collapsed)
    width, height = s.placed.width + 2 * MARGIN, s.placed.height + 2 * MARGIN
    cards = "".join(
        f"M{x + MARGIN:.0f} {y + MARGIN:.0f}h{w:.0f}v{h:.0f}h{-w:.0f}z"
        for (x, y), (w, h) in zip(s.placed.corners, s.sizes, strict=True)
    )
    here = tracks(run, state.collapsed)["here"].at(state.step)
    head = attributes(
        class_="edu-map across" if width > 1.5 * height else "edu-map", viewBox=f"0 0 {width:.0f} {height:.0f}",
        preserveAspectRatio="none", role="img", data_map=True,
        aria_label="the whole graph, small; press it to go there",
    )  # fmt: skip
    return (
        f'<svg{head}><path class="all" d="{cards}"/><rect class="view" data-view/>'
        f"{moving('path', 'here', here, {}, class_='here', d=hole(0))}</svg>"
    )


# The graph ---------------------------------------------------------------------------------------------------------

Clip = tuple[float, float, float, float]  # left, top, right, bottom, in the scene's own coordinates


def _graph(
    canvas: Canvas, run: GraphRun, state: GraphState, s: Scene, left: float, top: float, shown: list[int], clip: Clip
) -> None:
    """Modules, edges and cards, moved by (left, top)."""
    found, inside = tracks(run, state.collapsed), set(shown)
    for room in s.rooms:
        _room(canvas, room, left, top, clip)
    canvas.items.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    for i, ((source, target, _), route) in enumerate(zip(s.edges, s.placed.routes, strict=True)):
        if source in inside and target in inside:
            _edge(canvas, i, found[f"e{i}"], state.step, route)
    canvas.close()
    for i in shown:
        box = s.boxes[i]
        x, y = s.placed.corners[i][0] + left, s.placed.corners[i][1] + top
        if box.stub:
            _stub(canvas, run, box, x, y)
        else:
            _card(canvas, run, box, s.sizes[i][0], found[box.key], state.step, x, y)


def _room(canvas: Canvas, room: Room, left: float, top: float, clip: Clip) -> None:
    """A hairline around a module's cards; its name closes it."""
    x0, y0 = max(room.x, clip[0]), max(room.y, clip[1])
    x1, y1 = min(room.x + room.width, clip[2]), min(room.y + room.height, clip[3])
    if x1 - x0 < 20 or y1 - y0 < 20:
        return
    canvas.rect(x0 + left, y0 + top, x1 - x0, y1 - y0, "module", rx=10)
    if y0 == room.y:
        words = f"close {literal(room.label)}"
        canvas.open(tabindex=0, role="button", aria_label=words, data_act="toggle", data_value=room.group)
        canvas.rect(x0 + left + 4, y0 + top + 2, min(x1 - x0 - 8, 28 + 7 * len(room.label)), 20, "hit", rx=4)
        canvas.path(f"M{x0 + left + 9:.1f} {y0 + top + 9:.1f}h8l-4 5z", "dot")
        canvas.text(x0 + left + 22, y0 + top + 16, room.label, "t2")
        canvas.close()


def _edge(canvas: Canvas, i: int, track: Track, step: int, route: tuple[tuple[float, float], ...]) -> None:
    values = track.at(step)
    (x, y), (line, head, tip, way) = route[-1], map(hole, range(4))
    path = {"d": _smooth([*route[:-1], (x, y - 2)])}
    canvas.items.append(moving("path", f"e{i}", values, path, class_=line, data_way=way))
    canvas.items.append(moving("path", f"e{i}", values, {}, class_=head, d=tip))


def _smooth(points: list[tuple[float, float]]) -> str:
    """A path through the points that leaves and arrives vertically."""
    (x, y), path = points[0], f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for nx, ny in points[1:]:
        bend = (ny - y) * 0.5
        path += f"C{x:.1f} {y + bend:.1f} {nx:.1f} {ny - bend:.1f} {nx:.1f} {ny:.1f}"
        x, y = nx, ny
    return path


def _stub(canvas: Canvas, run: GraphRun, box: Box, x: float, y: float) -> None:
    """A leaf's name at a use far away from its card."""
    words = literal(f"{run.label(box.node)}, used here")
    canvas.open(
        tabindex=0, role="button", aria_label=words, data_link=f"n{box.node}", data_tip=words, data_act="jump",
        data_value=box.node, data_walk="{} {}".format(*steps_of(run, box.node)),
    )  # fmt: skip
    canvas.tag(x, y, titles_of(run, box)[0], STUB_H)
    canvas.close()


def _card(canvas: Canvas, run: GraphRun, box: Box, width: float, track: Track, step: int, x: float, y: float) -> None:
    node, values = run.nodes[box.node], track.at(step)
    words = literal(spoken(run, box)) + f", {CARD.computed}, " + (CARD.arrived if node.wants else "no gradient wanted")
    act = {"data_act": "jump", "data_value": node.id, "data_walk": "{} {}".format(*steps_of(run, node.id))}
    if box.group is not None:
        act = {"data_act": "toggle", "data_value": box.group}
    fixed = {"tabindex": 0, "role": "button", "data_link": f"n{box.node}", "data_tip": "", **act}
    canvas.items.append(opening("g", box.key, values, fixed, aria_label=words, data_current=CARD.current))
    if box.group is not None:
        canvas.rect(x + 3.5, y + 3.5, width - 1.5, CARD_H, "card", rx=8)
    place = {"x": round(x + 0.75, 1), "y": round(y + 0.75, 1), "width": round(width - 1.5, 1), "height": CARD_H - 0.5}
    _set(canvas, "rect", box.key, values, {**place, "rx": 8}, None, class_=CARD.look)
    canvas.height = max(canvas.height, y + CARD_H + 4)
    tag, what = titles_of(run, box)
    at = x + 8
    if tag:
        at = canvas.tag(x, y + 5, tag, 16) + 6
    if what:
        canvas.text(at, y + 17, what, "m b")
    if corner := corner_of(run, box):
        canvas.text(x + width - 8, y + 17, corner, "m t2", "end")
    low = {"y": round(y + 33, 1)}
    _set(canvas, "text", box.key, values, {"x": round(x + 8, 1), **low}, CARD.value, class_=CARD.value_class)
    if node.wants:
        right = {"x": round(x + width - 8, 1), **low, "text_anchor": "end"}
        _set(canvas, "text", box.key, values, right, CARD.gradient, class_=CARD.gradient_class)
    canvas.close()


def _set(
    canvas: Canvas, tag: str, track: str, values: tuple[str, ...], fixed: dict[str, object], body: str | None,
    **templates: str,
) -> None:  # fmt: skip
    """A mark of a card that its track sets."""
    canvas.items.append(moving(tag, track, values, fixed, body, **templates))
    if body is not None:
        canvas.text_items.append(fill(body, values))
