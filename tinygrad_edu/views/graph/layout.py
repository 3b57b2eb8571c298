"""Where the nodes of a graph go. One function hides the layout engine, so it can be exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Point = tuple[float, float]


@dataclass(frozen=True)
class Placed:
    """Top left corners of the boxes, the path of each edge from source to target, and the total size."""

    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


_OPTIONS: dict[str, Any] = {
    "direction": "topbottom",
    "routing": {"style": "diagonal"},
    "spacing": {"layer_gap": 26, "node_gap": 16, "dummy_gap": 14},
}


def layered(sizes: list[tuple[float, float]], edges: list[tuple[int, int]]) -> Placed:
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
