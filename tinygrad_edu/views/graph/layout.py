"""Where the boxes of a graph go, module inside module. One function hides the layout engine, so it can be exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Point = tuple[float, float]
Chain = tuple[int, ...]  # the open modules around a box, outermost first

PAD, HEADER = 10.0, 24.0  # inside a module's box: at its sides, and above, where its name stands
BESIDE = 20.0  # how far the cards of a row reach above and below its middle


@dataclass(frozen=True)
class Room:
    """The box of an open module."""

    chain: Chain  # its own number is the last
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Placed:
    """Top left corners of the boxes, the path of each edge from source to target, the modules, and the total size."""

    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float
    rooms: tuple[Room, ...] = ()


_OPTIONS: dict[str, Any] = {
    "direction": "topbottom",
    "routing": {"style": "diagonal"},
    "spacing": {"layer_gap": 26, "node_gap": 16, "dummy_gap": 14},
}


def layered(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> Placed:
    """Boxes in layers from top to bottom, few crossings, the same result each time.

    Needs graphlay, which the extra ``widgets`` installs.
    """
    if not sizes:
        return Placed((), (), 0, 0)
    import graphlay

    nodes = [{"size": {"width": w, "height": h}, "shape": "box", "key": str(i)} for i, (w, h) in enumerate(sizes)]
    graph = {"nodes": nodes, "edges": [{"source": s, "target": t, "weight": 1.0} for s, t in edges]}
    drawn = graphlay.layout(graph, options=_OPTIONS)
    corners = [
        (node["center"]["x"] - w / 2, node["center"]["y"] - h / 2)
        for node, (w, h) in zip(drawn.nodes, sizes, strict=True)
    ]
    routes = [[(p["x"], p["y"]) for p in edge["points"]] for edge in drawn.edges]
    xs = [x for x, _ in corners] + [x for route in routes for x, _ in route]
    ys = [y for _, y in corners]
    left, top = min(xs), min(ys)
    right = max([x + w for (x, _), (w, _) in zip(corners, sizes, strict=True)] + xs)
    bottom = max(y + h for (_, y), (_, h) in zip(corners, sizes, strict=True))
    return Placed(
        tuple((x - left, y - top) for x, y in corners),
        tuple(tuple((x - left, y - top) for x, y in route) for route in routes),
        right - left,
        bottom - top,
    )


Item = tuple[str, int]  # ("box", i), ("room", module), ("in", box) or ("out", box): where an edge crosses a room's wall


def nested(sizes: Sequence[Point], chains: Sequence[Chain], edges: Sequence[tuple[int, int]]) -> Placed:
    """As `layered`, where the boxes with a chain stand inside their modules, and each module's box holds only its own.

    A module is laid out by itself, and then stands among its neighbours like one large box. An edge that leaves it
    crosses its wall at one place for each source.
    """
    inside: dict[Chain, dict[Item, None]] = {(): {}}  # what stands directly in each module
    for i, chain in enumerate(chains):
        for depth in range(len(chain)):
            inside.setdefault(chain[: depth + 1], {})
            inside[chain[:depth]][("room", chain[depth])] = None
        inside[chain][("box", i)] = None
    links: dict[Chain, dict[tuple[Item, Item], None]] = {chain: {} for chain in inside}
    legs: list[list[tuple[Chain, tuple[Item, Item]]]] = []  # of each edge, from source to target
    for source, target in edges:
        legs.append(_legs(source, target, chains[source], chains[target]))
        for chain, link in legs[-1]:
            inside[chain] |= dict.fromkeys(link)
            links[chain][link] = None
    placed: dict[Chain, tuple[dict[Item, Point], dict[tuple[Item, Item], tuple[Point, ...]], Point]] = {}
    for chain in sorted(inside, key=len, reverse=True):
        items = list(inside[chain])
        place = {item: at for at, item in enumerate(items)}
        extents = [_extent(item, chain, sizes, placed) for item in items]
        level = layered(extents, [(place[s], place[t]) for s, t in links[chain]])
        corners = dict(zip(items, level.corners, strict=True))
        placed[chain] = corners, dict(zip(links[chain], level.routes, strict=True)), (level.width, level.height)
    origins: dict[Chain, Point] = {(): (0.0, 0.0)}
    for chain in sorted(inside, key=len)[1:]:
        (x, y), (u, v) = origins[chain[:-1]], placed[chain[:-1]][0][("room", chain[-1])]
        origins[chain] = x + u + PAD, y + v + HEADER
    places = [_moved(placed[chain][0][("box", i)], origins[chain]) for i, chain in enumerate(chains)]
    rooms = [
        Room(chain, origins[chain][0] - PAD, origins[chain][1] - HEADER, w + 2 * PAD, h + HEADER + PAD)
        for chain, (_, _, (w, h)) in sorted(placed.items(), key=lambda found: len(found[0]))
        if chain
    ]
    routes = [
        tuple(_joined([_leg(placed, origins, *leg) for leg in path], sum(link[1][0] == "out" for _, link in path)))
        for path in legs
    ]
    return Placed(tuple(places), tuple(routes), *placed[()][2], tuple(rooms))


def _legs(source: int, target: int, one: Chain, two: Chain) -> list[tuple[Chain, tuple[Item, Item]]]:
    """An edge as links inside modules: out of the source's, across what both are in, into the target's."""
    common = next((d for d, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    outward = [
        (one[:d], (("box", source) if d == len(one) else ("room", one[d]), ("out", source)))
        for d in range(len(one), common, -1)
    ]
    inward = [
        (two[:d], (("in", source), ("box", target) if d == len(two) else ("room", two[d])))
        for d in range(common + 1, len(two) + 1)
    ]
    start: Item = ("box", source) if len(one) == common else ("room", one[common])
    end: Item = ("box", target) if len(two) == common else ("room", two[common])
    return [*outward, (one[:common], (start, end)), *inward]


def _extent(item: Item, chain: Chain, sizes: Sequence[Point], placed: dict[Chain, Any]) -> Point:
    if item[0] == "box":
        return sizes[item[1]]
    if item[0] == "room":
        w, h = placed[(*chain, item[1])][2]
        return w + 2 * PAD, h + HEADER + PAD
    return 12.0, 1.0


def _leg(placed: dict[Chain, Any], origins: dict[Chain, Point], chain: Chain, link: tuple[Item, Item]) -> list[Point]:
    """One link's route. From a wall it runs straight past the cards beside its place, and so it does to a wall."""
    corners, routes, (_, height) = placed[chain]
    route = [_moved(point, origins[chain]) for point in routes[link]]
    x, y = origins[chain]
    if link[0][0] == "in":
        u, v = _moved(corners[link[0]], (x + 6, y))
        route[:1] = [(u, y - HEADER), (u, min(v + BESIDE, route[1][1]))]
    if link[1][0] == "out":
        u, v = _moved(corners[link[1]], (x + 6, y))
        route[-1:] = [(u, max(v - BESIDE, route[-2][1])), (u, y + height + PAD)]
    return route


def _joined(legs: list[list[Point]], outward: int) -> list[Point]:
    """The legs as one path. Where two meet, the inner one says where the wall is crossed: the first ``outward`` legs
    end at a wall that the next one begins at, the others begin at one that the last one ended at."""
    path = legs[0]
    for place, leg in enumerate(legs[1:], 1):
        path = [*path, *leg[1:]] if place <= outward else [*path[:-1], *leg]
    return path


def _moved(point: Point, by: Point) -> Point:
    return point[0] + by[0], point[1] + by[1]
