"""How a run is drawn: the graph at one step, and beside it the code and how a gradient adds up."""

from __future__ import annotations

import math

from ...common.wording import number
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, Canvas, shorten
from .cards import CARD_H, Box, Scene, corner_of, scene, title_of, value_of, width_of
from .model import GraphRun, GraphState, Moment, Preview, Send, moment
from .words import describe, interesting, position, spoken, step_lines, text, why

SIDE = 256  # width of the panel beside the graph
WINDOW = 900.0  # how much of a tall graph is drawn above and below the current step


def draw(run: GraphRun, state: GraphState, width: int) -> Figure:
    """The graph, with the panel beside it if there is room, else below it."""
    now = moment(run, state.step)
    canvas = Canvas(width)
    needed = scene(run, state.collapsed).placed.width + 4
    beside = width >= WIDE and needed <= width - SIDE - 24
    draw_graph(canvas, run, state, now, width - SIDE - 24 if beside else width)
    if beside:
        draw_panel(canvas, run, now, width - SIDE, 1, SIDE)
    else:
        if needed > width:
            canvas.width = needed
        draw_panel(canvas, run, now, 1, canvas.height + 18, min(width, WIDE) - 2)
    return Figure(canvas, "Autograd graph", describe(run, now))


# The graph ---------------------------------------------------------------------------------------------------------


def draw_graph(canvas: Canvas, run: GraphRun, state: GraphState, now: Moment, room: float) -> None:
    """Modules, edges and cards, in the middle of ``room``. A very tall graph shows the part around the current step."""
    s = scene(run, state.collapsed)
    corners = s.placed.corners
    shown = _window(s, now)
    offset = min((corners[i][1] for i in shown), default=0.0)
    top = 8 + (20 if len(shown) < len(s.boxes) else 0) - offset
    left = max(1.0, (room - s.placed.width) / 2)
    if len(shown) < len(s.boxes):
        canvas.text(1, 12, f"{len(shown)} of {len(s.boxes)} cards around this step; step on to see the others", "t2")
    for label, members in s.modules:
        if all(m in shown for m in members):
            places = [(corners[m], width_of(run, s.boxes[m])) for m in members]
            others = [(corners[o], width_of(run, s.boxes[o])) for o in shown - set(members)]
            _module_box(canvas, label, places, others, left, top)
    for (source, target, edges), route in zip(s.edges, s.placed.routes, strict=True):
        if source in shown and target in shown:
            _edge(canvas, run, now, edges, [(x + left, y + top) for x, y in route])
    for i in sorted(shown):
        _card(canvas, run, s.boxes[i], now, corners[i][0] + left, corners[i][1] + top)


def _window(s: Scene, now: Moment) -> set[int]:
    everything = set(range(len(s.boxes)))
    if s.placed.height <= 2 * WINDOW or now.now is None:
        return (
            everything
            if s.placed.height <= 2 * WINDOW
            else {i for i in everything if s.placed.corners[i][1] <= 2 * WINDOW}
        )
    middle = next(s.placed.corners[i][1] for i in everything if now.now in s.boxes[i].members)
    return {i for i in everything if abs(s.placed.corners[i][1] - middle) <= WINDOW}


Place = tuple[tuple[float, float], float]


def _module_box(canvas: Canvas, label: str, inside: list[Place], others: list[Place], left: float, top: float) -> None:
    """A hairline around a module's cards, unless it would run through another module's."""
    x0, y0 = min(x for (x, _), _ in inside) - 7, min(y for (_, y), _ in inside) - 7
    x1, y1 = max(x + w for (x, _), w in inside) + 7, max(y for (_, y), _ in inside) + CARD_H + 7
    if not any(x < x1 and x + w > x0 and y < y1 and y + CARD_H > y0 for (x, y), w in others):
        x0 = max(x0, 0.5 - left)
        canvas.rect(x0 + left, y0 + top, x1 - x0, y1 - y0, "module", rx=10)
        canvas.text(x1 + left + 5, y0 + top + 13, label, "t2")


def _edge(
    canvas: Canvas,
    run: GraphRun,
    now: Moment,
    edges: tuple[tuple[int, int, int], ...],
    route: list[tuple[float, float]],
) -> None:
    went_back = [edge for edge in edges if edge in now.done_edges]
    active = now.back is not None and any(e[1] == now.back.node and e in now.done_edges for e in edges)
    computed = any(edge[1] in now.computed for edge in edges)
    if went_back:
        (x, y), (x2, y2) = route[0], route[1]
        canvas.path(_smooth(route), "bwd-now" if active else "bwd")
        _head(canvas, x, y + 1, x2 - x, y2 - y, "bh", 5.5 if not active else 7.5)
    else:
        wanted = any(run.nodes[edge[0]].wants for edge in edges)
        style, head = ("fwd", "fh") if computed and wanted else ("idle", "ih")
        x, y = route[-1]
        canvas.path(_smooth([*route[:-1], (x, y - 5)]), style)
        if computed:
            canvas.path(f"M{x:.1f} {y:.1f}l-3.4 -6.2h6.8z", head)


def _head(canvas: Canvas, x: float, y: float, dx: float, dy: float, cls: str, size: float) -> None:
    """An open arrow head with its tip at (x, y), pointing away from (dx, dy)."""
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    a = (x + size * (ux - 0.55 * uy), y + size * (uy + 0.55 * ux))
    b = (x + size * (ux + 0.55 * uy), y + size * (uy - 0.55 * ux))
    canvas.path(f"M{a[0]:.1f} {a[1]:.1f}L{x:.1f} {y:.1f}L{b[0]:.1f} {b[1]:.1f}", cls)


def _smooth(points: list[tuple[float, float]]) -> str:
    """A path through the points that leaves and arrives vertically."""
    (x, y), path = points[0], f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for nx, ny in points[1:]:
        bend = (ny - y) * 0.5
        path += f"C{x:.1f} {y + bend:.1f} {nx:.1f} {ny - bend:.1f} {nx:.1f} {ny:.1f}"
        x, y = nx, ny
    return path


def _card(canvas: Canvas, run: GraphRun, box: Box, now: Moment, x: float, y: float) -> None:
    node, width = run.nodes[box.node], width_of(run, box)
    computed = box.node in now.computed
    here = now.now in box.members
    receives = now.back is not None and any(send.target in box.members for send in now.back.sends)
    cls = (
        ("now-backward" if now.back else "now-forward")
        if here
        else "receives"
        if receives
        else "card"
        if computed
        else "later"
    )
    gradient = now.gradients.get(box.node)
    words = spoken(run, box, computed, gradient)
    act = (
        {"data_act": "toggle", "data_value": box.group}
        if box.group is not None
        else {"data_act": "jump", "data_value": node.id}
    )
    canvas.open(
        tabindex=0, role="button", aria_label=words, data_link=f"n{box.node}", data_tip=words,
        data_current="true" if here else None, **act,
    )  # fmt: skip
    if box.group is not None:
        canvas.rect(x + 3.5, y + 3.5, width - 1.5, CARD_H, "card", rx=8)
    canvas.rect(x + 0.75, y + 0.75, width - 1.5, CARD_H - 0.5, cls, rx=8)
    title = title_of(run, box)
    if not node.op and box.group is None:
        canvas.tag(x, y + 5, title, 16)
    else:
        canvas.text(x + 8, y + 17, title, "m b")
    canvas.text(x + width - 8, y + 17, corner_of(run, box), "m t2", "end")
    canvas.text(x + 8, y + 33, value_of(node) if computed else "–", "m tv" if computed else "m t2")
    if node.wants:
        text = "∂" + number(gradient.norm) if gradient else "∂ –"
        bold = " b" if receives or here else ""
        canvas.text(x + width - 8, y + 33, text, f"m tg{bold}" if gradient else "m t2", "end")
    canvas.close()
    if node.id == run.result and box.group is None and node.name:
        canvas.tag(x, y + CARD_H + 8, node.name)


# The panel beside it -----------------------------------------------------------------------------------------------


def draw_panel(canvas: Canvas, run: GraphRun, now: Moment, x: float, y: float, width: float) -> float:
    """Code with the current line, what is computed, and how a gradient adds up. Returns the lower edge."""
    characters = int((width - 44) / MONO_12)
    row = run.nodes[now.now].row if now.now is not None else None
    code = list(enumerate(run.code))
    if len(code) > 14 and row is not None:
        code = code[max(0, row - 6) : row + 8]
    code = code[:14]
    if code:
        canvas.rect(x, y, width, len(code) * 20 + 16, "floor")
        for i, (line_number, line) in enumerate(code):
            base = y + 8 + 20 * i
            if line_number == row:
                canvas.rect(x, base, width, 20, "on")
                canvas.rect(x, base, 3, 20, "knob")
            canvas.text(x + 24, base + 14, str(line_number + 1), "m" if line_number == row else "m t2", "end")
            canvas.text(x + 34, base + 14, shorten(line, characters), "m b" if line_number == row else "m")
        y += len(code) * 20 + 16 + 22
    for line, cls in step_lines(run, now, int(width / MONO_12)):
        canvas.text(x, y, line, cls)
        y += 18
    send = interesting(now)
    if send is not None:
        y = _addition(canvas, run, send, x, y + 6, width)
    return y


def _addition(canvas: Canvas, run: GraphRun, send: Send, x: float, y: float, width: float) -> float:
    name = run.label(send.target)
    parts = [(send.total, "", f"∂{name}", "after this step", True)]
    if send.held is not None:
        parts = [(send.held, "", "held", "from before", False), (send.arriving, "+", "arriving", "from this op", False),
                 (send.total, "=", f"∂{name}", "after this step", True)]  # fmt: skip
    for preview, sign, label, caption, bold in parts:
        if sign == "=":
            canvas.line(x, y - 4, x + width, y - 4, "rule")
            y += 6
        y = _matrix(canvas, preview, sign, shorten(label, 12), caption, bold, x, y, width)
    return y


def _matrix(
    canvas: Canvas, p: Preview, sign: str, label: str, caption: str, bold: bool, x: float, y: float, width: float
) -> float:
    """An array between brackets, or the norm of a large one; ``label`` and ``caption`` beside it."""
    weight = " b" if bold else ""
    rows = [[number(v) for v in row] for row in p.rows] if p.rows is not None else [[f"‖·‖ {number(p.norm)}"]]
    widths = [max(len(row[j]) for row in rows) * MONO_12 + 10 for j in range(len(rows[0]))]
    if sum(widths) > width - 120:
        rows, widths = [[f"‖·‖ {number(p.norm)}"]], [len(f"‖·‖ {number(p.norm)}") * MONO_12 + 10]
    left, height = x + 18, 18 * len(rows) + 2
    if sign:
        canvas.text(x + 8, y + height / 2 + 5, sign, "f16", "middle")
    for i, row in enumerate(rows):
        at = left
        for j, value in enumerate(row):
            at += widths[j]
            canvas.text(at, y + 14 + 18 * i, value, f"m tg{weight}", "end")
    right = left + sum(widths) + 6
    if p.shape:
        canvas.path(
            f"M{left + 5} {y}H{left}V{y + height}H{left + 5}M{right - 5} {y}H{right}V{y + height}H{right - 5}",
            "rule",
            y + height,
        )
    canvas.text(right + 12, y + height / 2 - (3 if caption else -4), label, "m b" if bold else "b")
    canvas.text(right + 12, y + height / 2 + 13, caption, "t2")
    return y + max(height, 34) + 12


# The frame ---------------------------------------------------------------------------------------------------------


def frame(run: GraphRun, state: GraphState, ask: str, editable: dict[str, str] | None = None) -> Frame:
    """The whole widget at one step."""
    now = moment(run, state.step)
    at_end = state.step >= run.steps
    controls = [
        Control("icon", "first", "First step", "first", disabled=state.step == 0, key="Home"),
        Control("icon", "back", "Step back", "back", disabled=state.step == 0, key="ArrowLeft"),
        Control("button", "step", "Step", "step", main=True, disabled=at_end, key="ArrowRight"),
        Control("icon", "last", "Last step", "last", disabled=at_end, key="End"),
        Control("range", "goto", value=state.step, options=(0, run.steps, 1), hint=position(run, now)),
    ]
    if any(node.groups for node in run.nodes):
        closed = bool(state.collapsed)
        controls.append(
            Control("button", "collapse", "Expand modules" if closed else "Collapse modules", push=True, key="m")
        )
    if editable:
        controls.append(Control("break"))
        controls += [Control("text", f"leaf:{name}", f"`{name}` =", value) for name, value in editable.items()]
    controls.append(Control("button", "reset", "Reset", push=True, key="r"))
    dtypes = ", ".join(sorted({node.dtype for node in run.nodes if node.wants}))
    size = f"{len(run.nodes)} nodes, {len(run.edges)} edges"
    return Frame(
        "GraphStepper", ("tensors",), ask, draw(run, state, WIDE), draw(run, state, NARROW), why(run, now),
        text(run, state), f"values of this run, {dtypes} · {position(run, now)} · {size} · arrays print their norm ‖·‖",
        None, tuple(controls), "Hover or focus a card to read it; press it to go to its step.", state.message,
    )  # fmt: skip
