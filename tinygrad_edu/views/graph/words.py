"""A run in words: what each step does and why, and the text twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...common.wording import listed, number, shape_text
from ..marks import shorten, wrap_text
from ..reel import fill, literal
from .cards import Box, corner_of, heading_of, homes, scene
from .formulas import formula
from .model import GraphRun, GraphState, Moment, Preview, RunNode, Send, moment
from .tracks import CARD, ROW, tracks


def size_of(run: GraphRun) -> str:
    """How many nodes and edges it has."""
    return f"{len(run.nodes)} nodes, {len(run.edges)} edges."


def describe(run: GraphRun, now: Moment) -> str:
    """How far the run has come, in one sentence."""
    size = size_of(run)
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
            return f"`{node.op}` has no operand that wants a gradient, so the graph **keeps nothing** for it."
        if not node.saved:
            return f"`{node.op}` saves no values: its gradient **does not depend on them**."
        kept = saved(run, node)
        what = " and ".join(f"`{name}`" for name in kept) if node.saved != ("out",) else "its result"
        them = "them" if len(kept) > 1 else "it"
        return f"`{node.op}` needs {what} again on the way back, so **the graph keeps {them}**."
    added = next((send for send in now.back.sends if send.held is not None), None)
    if added is not None:
        return (
            f"`{run.label(added.target)}` is used more than once, so several gradients arrive; the graph **adds** them."
        )
    summed = next((send for send in now.back.sends if send.summed), None)
    if summed is not None:
        return f"`{run.label(summed.target)}` was stretched to fit, so its gradient is **the sum** over all its uses."
    if now.backward_step == 1:
        return f"`{run.label(node.id)}` is where backward starts: **its gradient with respect to itself is 1**."
    if node.op == "sub" and any(send.slot == 1 for send in now.back.sends):
        return "`sub` passes the gradient on, **with its sign turned** for what is taken away: the result moves as far."
    if node.op in ("add", "sub"):
        return f"`{node.op}` passes the gradient on: move an operand, and the result moves **just as far**."
    if node.op in ("sum", "mean"):
        share = "an equal share of" if node.op == "mean" else "a copy of"
        return f"Every number counts alike in `{node.op}`, so **each gets {share}** the gradient."
    if node.op == "getitem":
        return "`getitem` sends the gradient back to where each number was read, and **adds** where one was read twice."
    if node.op in ("reshape", "permute", "expand", "view"):
        return f"`{node.op}` only rearranges, so **the gradient goes back to where each number came from**."
    if node.op in ("mul", "matmul"):
        return f"`{node.op}` sends each operand the gradient that arrived, times **the other operand**."
    return f"`{node.op}` multiplies the gradient that arrived by **its own derivative** and hands it on."


def position(run: GraphRun, now: Moment) -> str:
    """``forward 3 of 18`` or ``backward 15 of 18``."""
    if now.back is not None:
        return f"backward {now.backward_step} of {len(run.backward)}"
    return f"forward {now.forward_step} of {len(run.forward)}"


def spoken(run: GraphRun, box: Box) -> str:
    """What a card is, for screen readers: all that no step changes."""
    node = run.nodes[box.node]
    kind = f"module {box.label}" if box.group is not None else heading_of(run, box) if node.op else "leaf"
    name = f" {node.name}" if node.name and box.group is None else ""
    return f"{kind}{name}, {shape_text(node.shape) or 'one number'}"


def step_lines(run: GraphRun, now: Moment, characters: int) -> list[tuple[str, str]]:
    """What this step computes, line by line, each with its style."""
    if now.now is None:
        return [("before the first step: only leaves", "t2")]
    node = run.nodes[now.now]
    what = f"{node.op if node.name else run.label(node.id)} {node.note}".strip()
    if now.back is None:
        kept = ", ".join(saved(run, node)) or "nothing"
        saves = [(line, "t2") for line in wrap_text(f"saves {kept} for backward", characters)]
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


def saved(run: GraphRun, node: RunNode) -> list[str]:
    """What an operation keeps for backward, by name."""
    return list(dict.fromkeys(_operand_name(run, node, s) for s in node.saved))


def _operands(run: GraphRun, node: RunNode) -> list[str]:
    """The operands' names in order; a Python number for an operand without an edge."""
    sources = {slot: source for source, target, slot in run.edges if target == node.id}
    numbers = iter(node.note.split())
    places = range(max(len(node.operands), *(slot + 1 for slot in sources), 0))
    return [run.label(sources[i]) if i in sources else next(numbers, node.operands[i]) for i in places]


def _operand_name(run: GraphRun, node: RunNode, operand: str) -> str:
    if operand == "out":
        return f"its result {run.label(node.id)}" if node.name else "its result"
    return _operands(run, node)[node.operands.index(operand)]


def interesting(now: Moment) -> tuple[Send, ...]:
    """All that this step sends to the operand worth a closer look: one where gradients are added, else one with a
    gradient small enough to print. An operand that is used twice, as in ``x * x``, is sent two."""
    if now.back is None or not now.back.sends:
        return ()
    chosen = min(now.back.sends, key=lambda send: (send.held is None, send.arriving.rows is None))
    return tuple(send for send in now.back.sends if send.target == chosen.target)


@dataclass(frozen=True)
class Line:
    """A line of the text: a template for the values of a track."""

    track: str
    template: str


def lines(run: GraphRun, collapsed: frozenset[int]) -> list[Line]:
    """The code and the cards, line by line; what no other step changes is in the templates."""
    found = [Line(f"r{i}", literal(f"\0 {i + 1} {line}").replace("\0", ROW.mark)) for i, line in enumerate(run.code)]
    s, around = scene(run, collapsed), homes(run)
    uses = Counter(source for source, _, _ in run.edges)
    tagged = {box.node for box in s.boxes if box.stub}
    for _, box in s.cards:
        node = run.nodes[box.node]
        named = node.name if box.group is None and node.name not in (None, heading_of(run, box)) else None
        name = f" = {node.name}" if named and not node.aliases else ""
        groups = around[node.id]
        within = [label for number, label in groups if number not in collapsed]
        place = f"  in {within[-1]}" if within else ""
        times = f"  used {uses[node.id]} times" if node.id in tagged and box.group is None else ""
        head = literal(f"{heading_of(run, box)}{name} {corner_of(run, box)}")
        gradient = f"  {CARD.gradient}" if node.wants else ""
        found.append(Line(box.key, f"{CARD.mark} {head}  {CARD.value}{gradient}{literal(place + times)}"))
    if s.rooms:
        found.append(Line("", literal("open modules: " + ", ".join(dict.fromkeys(room.label for room in s.rooms)))))
    return found


def stale_sentence(names: Sequence[str]) -> str:
    """That these tensors are not what they were when the run was recorded."""
    has = "has" if len(names) == 1 else "have"
    return f"{listed(names)} {has} changed since this picture was made: it still shows that moment." if names else ""


def title(run: GraphRun, now: Moment) -> str:
    """The first line of the text."""
    return f"GraphStepper: {position(run, now)}"


def ending(run: GraphRun, now: Moment) -> str:
    """The last lines of the text: what this step computes."""
    found = [line for line, _ in step_lines(run, now, 10_000)]
    sends = interesting(now)
    if sends:
        held = sends[0].held
        found += [] if held is None else [f"held {_values(held)}"]
        if held is not None or len(sends) > 1:
            plus = ["+ " * bool(held or place) for place in range(len(sends))]
            found += [f"{sign}arriving {_values(send.arriving)}" for sign, send in zip(plus, sends, strict=True)]
        found.append(f"∂{run.label(sends[-1].target)} {_values(sends[-1].total)}")
    return "\n".join(found)


def text(run: GraphRun, state: GraphState) -> str:
    """The text twin: every value of the figure."""
    now, moves = moment(run, state.step), tracks(run, state.collapsed)
    said = [
        fill(line.template, moves[line.track].at(state.step) if line.track else ())
        for line in lines(run, state.collapsed)
    ]
    message = [f"▲ {state.message}"] if state.message else []
    return "\n".join([title(run, now), *said, ending(run, now), *message])


def _values(p: Preview) -> str:
    norm = f"‖·‖ {number(p.norm)}"
    if p.rows is not None and len(p.rows) == len(p.rows[0]) == 1:
        return number(p.norm)
    return norm if p.rows is None else f"{norm} [{'; '.join(' '.join(number(v) for v in row) for row in p.rows)}]"
