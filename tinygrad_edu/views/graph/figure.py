"""The figure of GraphStepper: one recorded run at one step."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from ...common.wording import number, shape_text
from ..formulas import formula
from ..frame import NARROW, WIDE, Control, Figure, Frame
from ..marks import MONO_12, Canvas, shorten, wrap_text
from .layout import Placed, layered
from .model import BackStep, GraphRun, Preview, RunNode, Send

CARD_H, CARD_W = 40.0, 95.0
SIDE = 256  # width of the panel beside the graph
WINDOW = 900.0  # of a tall graph, this much is drawn above and below the current step


@dataclass(frozen=True)
class GraphState:
    """Where one stands in a run."""

    step: int = 0
    collapsed: frozenset[int] = field(default_factory=frozenset)  # module calls drawn as one card
    message: str = ""  # why the last entry was refused


@dataclass(frozen=True)
class _Box:
    """A card in the figure: one node, a use of a leaf, or a collapsed module call."""

    key: str
    members: tuple[int, ...]
    label: str
    group: int | None = None

    @property
    def node(self) -> int:
        return self.members[-1]


@dataclass(frozen=True)
class _Scene:
    boxes: tuple[_Box, ...]
    edges: tuple[tuple[int, int, tuple[tuple[int, int, int], ...]], ...]  # box, box, the run's edges that it stands for
    placed: Placed
    modules: tuple[tuple[str, tuple[int, ...]], ...]  # open modules: label and boxes inside


@lru_cache(maxsize=64)
def scene(run: GraphRun, collapsed: frozenset[int]) -> _Scene:
    """Boxes and their places. Leaves with more than four users are drawn once per use."""
    closed = {node.id: next((g for g in node.groups if g[0] in collapsed), None) for node in run.nodes}
    members: dict[int, list[int]] = {}
    for node in run.nodes:
        if (group := closed[node.id]) is not None:
            members.setdefault(group[0], []).append(node.id)
    users: dict[int, int] = {}
    for source, _, _ in run.edges:
        users[source] = users.get(source, 0) + 1
    boxes: list[_Box] = []
    index: dict[object, int] = {}

    def box_of(node: int, edge: object = None) -> int:
        group = closed[node]
        often = not run.nodes[node].op and users.get(node, 0) > 4
        key: object = ("g", group[0]) if group else (("u", node, edge) if often else ("n", node))
        if key not in index:
            index[key] = len(boxes)
            if group:
                boxes.append(_Box(f"g{group[0]}", tuple(members[group[0]]), group[1], group[0]))
            else:
                boxes.append(_Box(f"n{node}u{len(boxes)}" if often else f"n{node}", (node,), run.label(node)))
        return index[key]

    bundles: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for node in run.nodes:
        if node.op or users.get(node.id, 0) <= 4:
            box_of(node.id)
    for edge in run.edges:
        source, target = box_of(edge[0], edge), box_of(edge[1])
        if source != target:
            bundles.setdefault((source, target), []).append(edge)
    sizes = [(_width(run, box), CARD_H) for box in boxes]
    placed = layered(sizes, list(bundles))
    return _Scene(tuple(boxes), tuple((s, t, tuple(e)) for (s, t), e in bundles.items()), placed, _modules(run, boxes))


def _modules(run: GraphRun, boxes: list[_Box]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    inside: dict[tuple[int, str], list[int]] = {}
    for i, box in enumerate(boxes):
        if box.group is None:
            for group in run.nodes[box.node].groups[-1:]:
                inside.setdefault(group, []).append(i)
    return tuple((label, tuple(members)) for (_, label), members in inside.items() if len(members) > 1)


def _width(run: GraphRun, box: _Box) -> float:
    node = run.nodes[box.node]
    head = len(_title(run, box)) + len(_corner(run, box)) + 1
    if not node.op:
        head += 2
    values = len(_value(node)) + 2 + _gradient_lengths(run).get(node.id, 3)
    return max(CARD_W, 16 + MONO_12 * max(head, values if node.wants else 0))


@lru_cache(maxsize=8)
def _gradient_lengths(run: GraphRun) -> dict[int, int]:
    """How many characters each node's gradient takes at the most, so that a card keeps its width through all steps."""
    longest: dict[int, int] = {}
    for step in run.backward:
        arrived = [(step.node, step.gradient), *((send.target, send.total) for send in step.sends)]
        for node, gradient in arrived:
            longest[node] = max(longest.get(node, 3), 1 + len(number(gradient.norm)))
    return longest


def _title(run: GraphRun, box: _Box) -> str:
    node = run.nodes[box.node]
    return shorten(_heading(run, box), 21 if node.op and box.group is None else 14)


def _heading(run: GraphRun, box: _Box) -> str:
    """A card's first words: the module's name, the leaf's, or the op with the Python number that it was given."""
    node = run.nodes[box.node]
    if box.group is not None:
        return box.label
    return f"{node.op} {node.note}".strip() if node.op else run.label(node.id)


def _value(node: RunNode) -> str:
    """The norm of an array, a single number as it is; of integers with a shape (labels, indices) only the kind."""
    counted = node.shape and not node.dtype.startswith(("float", "bfloat"))
    return node.dtype if counted else number(node.value.norm)


def _corner(run: GraphRun, box: _Box) -> str:
    return (
        f"▸{sum(bool(run.nodes[m].op) for m in box.members)}"
        if box.group is not None
        else shape_text(run.nodes[box.node].shape)
    )


@dataclass(frozen=True)
class Moment:
    """What is known at one step: which nodes are computed, which gradients have arrived, what just happened."""

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


# The graph -----------------------------------------------------------------------------------------------------


def draw_graph(canvas: Canvas, run: GraphRun, state: GraphState, now: Moment, room: float) -> None:
    """Modules, edges, cards, in the middle of ``room``; of a very tall graph the part around the current step."""
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
            places = [(corners[m], _width(run, s.boxes[m])) for m in members]
            others = [(corners[o], _width(run, s.boxes[o])) for o in shown - set(members)]
            _module_box(canvas, label, places, others, left, top)
    for (source, target, edges), route in zip(s.edges, s.placed.routes, strict=True):
        if source in shown and target in shown:
            _edge(canvas, run, now, edges, [(x + left, y + top) for x, y in route])
    for i in sorted(shown):
        _card(canvas, run, s.boxes[i], now, corners[i][0] + left, corners[i][1] + top)


def _window(s: _Scene, now: Moment) -> set[int]:
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
    """A hairline around a module's cards, unless it would run through somebody else's."""
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


def _card(canvas: Canvas, run: GraphRun, box: _Box, now: Moment, x: float, y: float) -> None:
    node, width = run.nodes[box.node], _width(run, box)
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
    words = _spoken(run, box, computed, gradient)
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
    title = _title(run, box)
    if not node.op and box.group is None:
        canvas.tag(x, y + 5, title, 16)
    else:
        canvas.text(x + 8, y + 17, title, "m b")
    canvas.text(x + width - 8, y + 17, _corner(run, box), "m t2", "end")
    canvas.text(x + 8, y + 33, _value(node) if computed else "–", "m tv" if computed else "m t2")
    if node.wants:
        text = "∂" + number(gradient.norm) if gradient else "∂ –"
        bold = " b" if receives or here else ""
        canvas.text(x + width - 8, y + 33, text, f"m tg{bold}" if gradient else "m t2", "end")
    canvas.close()
    if node.id == run.result and box.group is None and node.name:
        canvas.tag(x, y + CARD_H + 8, node.name)


def _spoken(run: GraphRun, box: _Box, computed: bool, gradient: Preview | None) -> str:
    node = run.nodes[box.node]
    kind = f"module {box.label}" if box.group is not None else f"{node.op} {node.note}".strip() if node.op else "leaf"
    name = f" {node.name}" if node.name and box.group is None else ""
    size = shape_text(node.shape) or "one number"
    value = f"value {_value(node)}" if computed else "not computed yet"
    if not node.wants:
        return f"{kind}{name}, {size}, {value}, no gradient wanted"
    return f"{kind}{name}, {size}, {value}, gradient {number(gradient.norm) if gradient else 'not yet'}"


# The panel beside it -------------------------------------------------------------------------------------------


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
    for text, cls in _lines(run, now, int(width / MONO_12)):
        canvas.text(x, y, text, cls)
        y += 18
    send = _interesting(now)
    if send is not None:
        y = _addition(canvas, run, send, x, y + 6, width)
    return y


def _lines(run: GraphRun, now: Moment, characters: int) -> list[tuple[str, str]]:
    if now.now is None:
        return [("before the first step: only leaves", "t2")]
    node = run.nodes[now.now]
    what = node.op + (f" {node.note}" if node.note else "")
    if now.back is None:
        saved = ", ".join(dict.fromkeys(_operand_name(run, node, s) for s in node.saved)) or "nothing"
        saves = [(line, "t2") for line in wrap_text(f"saves {saved} for backward", characters)]
        return [(f"now: {what} forward", "t2"), *saves]
    names = _operands(run, node)
    lines = [(f"now: {what} backward", "t2")]
    for send in now.back.sends:
        text = formula(node.op, send.slot, node.mean).format(*names, g="∂" + run.label(node.id), out=run.label(node.id))
        sign = "+=" if send.held is not None else "="
        summed = ", summed" if send.summed else ""
        lines.append((shorten(f"∂{run.label(send.target)} {sign} {text}{summed}", characters), "m tg"))
    if not now.back.sends:
        lines.append(("no operand wants a gradient", "t2"))
    return lines


def _operands(run: GraphRun, node: RunNode) -> list[str]:
    """The operands' names, each in its place; a Python number stands where no edge comes from."""
    sources = {slot: source for source, target, slot in run.edges if target == node.id}
    numbers = iter(node.note.split())
    places = range(max(len(node.operands), *(slot + 1 for slot in sources), 0))
    return [run.label(sources[i]) if i in sources else next(numbers, node.operands[i]) for i in places]


def _operand_name(run: GraphRun, node: RunNode, operand: str) -> str:
    if operand == "out":
        return f"its result {run.label(node.id)}" if node.name else "its result"
    return _operands(run, node)[node.operands.index(operand)]


def _interesting(now: Moment) -> Send | None:
    """The gradient worth a closer look: one that is added to another, else one that is small enough to print."""
    if now.back is None:
        return None
    sends = sorted(now.back.sends, key=lambda send: (send.held is None, send.arriving.rows is None))
    return sends[0] if sends else None


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
    """An array between brackets, or its norm where it is large; ``label`` and ``caption`` beside it."""
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
        for j, text in enumerate(row):
            at += widths[j]
            canvas.text(at, y + 14 + 18 * i, text, f"m tg{weight}", "end")
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


# The frame -----------------------------------------------------------------------------------------------------


def figure(run: GraphRun, state: GraphState, width: int) -> Figure:
    """The graph, with the panel beside it when there is room and below it when not."""
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


def describe(run: GraphRun, now: Moment) -> str:
    """One sentence on where the run stands."""
    size = f"{len(run.nodes)} nodes, {len(run.edges)} edges."
    if now.now is None:
        return f"{size} Nothing is computed yet."
    what = run.nodes[now.now].op
    if now.back is None:
        return f"{size} Forward step {now.forward_step} of {len(run.forward)}, {what}."
    last = {send.target: send.total for send in now.back.sends}
    targets = ", ".join(f"{run.label(target)} {number(total.norm)}" for target, total in last.items()) or "no operand"
    return f"{size} Backward step {now.backward_step} of {len(run.backward)}, {what}: gradients to {targets}."


def why(run: GraphRun, now: Moment) -> str:
    """The sentence under the figure: the cause of what this step did."""
    if now.now is None:
        return "A graph **begins with its leaves**: tensors that no operation made."
    node = run.nodes[now.now]
    if now.back is None:
        if not node.wants:
            return f"`{node.op}` has no operand that wants a gradient, so the graph **keeps nothing** of it."
        if not node.saved:
            return f"`{node.op}` saves no values: its gradient is **the same whatever they were**."
        what, it = ("its result", "it") if node.saved == ("out",) else ("its operands", "them")
        return f"`{node.op}` needs {what} again on the way back, so **the graph keeps {it}**."
    added = next((send for send in now.back.sends if send.held is not None), None)
    if added is not None:
        return (
            f"`{run.label(added.target)}` is used more than once, so several gradients arrive; the graph **adds** them."
        )
    summed = next((send for send in now.back.sends if send.summed), None)
    if summed is not None:
        return f"`{run.label(summed.target)}` was stretched to fit, so its gradient is **the sum** over all its copies."
    if now.backward_step == 1:
        return f"`{run.label(node.id)}` is the start: **its gradient with respect to itself is 1**."
    if node.op in ("add", "sub"):
        return f"`{node.op}` passes the gradient on, since an operand moves the result **one for one**."
    if node.op in ("sum", "mean"):
        share = "an equal share of" if node.op == "mean" else "a copy of"
        return f"Every number counts alike in `{node.op}`, so **each gets {share}** the gradient."
    if node.op in ("reshape", "permute", "getitem", "expand", "view"):
        return f"`{node.op}` only rearranges, so **the gradient goes back to where each number came from**."
    return f"`{node.op}` multiplies the gradient that arrived by **its own derivative** and hands it on."


def position(run: GraphRun, now: Moment) -> str:
    """``forward 3 of 18`` or ``backward 15 of 18``."""
    if now.back is not None:
        return f"backward {now.backward_step} of {len(run.backward)}"
    return f"forward {now.forward_step} of {len(run.forward)}"


def text(run: GraphRun, state: GraphState) -> str:
    """The text twin: every value of the figure."""
    now = moment(run, state.step)
    lines = [f"GraphStepper: {position(run, now)}"]
    for i, line in enumerate(run.code):
        mark = ">" if now.now is not None and run.nodes[now.now].row == i else " "
        lines.append(f"{mark} {i + 1} {line}")
    boxes = scene(run, state.collapsed).boxes
    uses = Counter((box.group, box.node) for box in boxes)
    for box in {(box.group, box.node): box for box in boxes}.values():
        node = run.nodes[box.node]
        mark = ">" if now.now in box.members else " "
        value = _value(node) if box.node in now.computed else "–"
        gradient = now.gradients.get(box.node)
        grad = f"  ∂{number(gradient.norm) if gradient else ' –'}" if node.wants else ""
        name = f" = {node.name}" if node.op and node.name and box.group is None else ""
        place = f"  in {node.groups[-1][1]}" if node.groups and box.group is None else ""
        times = f"  drawn {count} times" if (count := uses[box.group, box.node]) > 1 else ""
        lines.append(f"{mark} {_heading(run, box)}{name} {_corner(run, box)}  {value}{grad}{place}{times}")
    lines += [line for line, _ in _lines(run, now, 10_000)]
    send = _interesting(now)
    if send is not None:
        if send.held is not None:
            lines += [f"held {_values(send.held)}", f"+ arriving {_values(send.arriving)}"]
        lines.append(f"∂{run.label(send.target)} {_values(send.total)}")
    lines += [f"▲ {state.message}"] if state.message else []
    return "\n".join(lines)


def _values(p: Preview) -> str:
    norm = f"‖·‖ {number(p.norm)}"
    if p.rows is not None and len(p.rows) == len(p.rows[0]) == 1:
        return number(p.norm)
    return norm if p.rows is None else f"{norm} [{'; '.join(' '.join(number(v) for v in row) for row in p.rows)}]"


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
        "GraphStepper", ("tensors",), ask, figure(run, state, WIDE), figure(run, state, NARROW), why(run, now),
        text(run, state), f"values of this run, {dtypes} · {position(run, now)} · {size} · arrays print their norm ‖·‖",
        None, tuple(controls), "Hover or focus a card to read it; press it to go to its step.", state.message,
    )  # fmt: skip
