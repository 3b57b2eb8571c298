"""A program and its kernels in words: what merging saves, why a seam stays open, and the text twin."""

from __future__ import annotations

from ...common.wording import bytes_text, exact, listed, plain, ratio_text, seconds_text
from ...compiler.cost import Cost
from ...compiler.ir import Equation, Program, show
from ...compiler.passes import ELEMENTWISE, REDUCTIONS, VIEWS
from .model import FusionState, barrier, elements, groups, handed_on

CACHE = 1 << 20  # bytes of an array that a processor keeps near, about

BARS = ("allocated", "moved", "launches")
LABELS = {"allocated": "allocated for results", "moved": "moved to and from memory", "launches": "launches on a device"}


def question(state: FusionState) -> str:
    """The question, that of the notebook or the usual one."""
    return state.ask or "Which of these operations could run as one kernel, and what would that save?"


def amount(bar: str, cost: Cost) -> str:
    """What a bar says: bytes, or a count."""
    value = getattr(cost, bar)
    return str(value) if bar == "launches" else bytes_text(value)


def operation(equation: Equation) -> str:
    """``mul(v0, 2)``."""
    return f"{equation.name}({', '.join(map(show, equation.args))})"


def why(state: FusionState) -> str:
    """What the closed seams save, in one sentence."""
    costs = state.costs
    written = costs["as written"]
    if state.stuck is not None:
        return f"This seam **stays open**: {barrier(state.program, state.stuck)}."
    if state.timing is not None and "compiler" in costs:
        ratio = state.timing.written[0] / state.timing.compiler[0]
        moved = written.moved / max(costs["compiler"].moved, 1)
        if 4 * elements(state) < CACHE:
            return (
                "Arrays this small stay in the cache, and a kernel is still **a NumPy call for each operation** here: "
                "a device would launch it once."
            )
        if ratio < 1.3 or ratio < 0.8 * moved:
            return (
                "Fewer bytes go to memory, but there is still **a NumPy call for each operation**, on one piece of the "
                "array after the other, in the cache."
            )
        return "The time falls with the bytes: **moving them** was what took it."
    if through := went_through(state):
        return (
            f"The compiler goes **on through {listed(through)}**: it takes a few rows at a time, and has theirs when "
            "the next operation needs them."
        )
    if not state.closed:
        return "Each operation reads its operands from memory and **writes its result back**, for the next one to read."
    inside, kept = handed_on(state)
    if not inside and not kept:
        return "Neither reads the other's result: merging them saves **a launch** on a device, and what both read."
    if not inside:
        return "The value between them is **needed outside the kernel** too: it is written, but it is read once less."
    rest = ", but for what others need" if kept else ""
    return (
        f"What one operation hands to the next **stays in the processor**: it is neither written nor read again{rest}."
    )


def seam(state: FusionState, place: int) -> str:
    """Whether a seam is closed or open; of one that was pressed in vain, why it stays open."""
    if place in state.tried:
        return f"stays open, as {barrier(state.program, place)}"
    return "closed" if place in state.closed else "open"


def stays(program: Program, seam: int) -> str:
    """Why a seam stays open, in the room between two operations."""
    pair = program.equations[seam : seam + 2]
    if any(one.name in VIEWS for one in pair):
        return "stays open: a view costs nothing"
    one = next((one for one in pair if one.name not in ELEMENTWISE), None)
    if one is None and pair[0].outs[0].shape == ():
        return "stays open: a single number"
    return "stays open: another shape" if one is None else f"stays open: {one.name} needs many numbers"


def verdict(state: FusionState) -> str:
    """How far the learner came, beside the compiler."""
    if not state.revealed:
        return ""
    yours, compiler = state.costs["yours"], state.costs["compiler"]
    if yours.launches == compiler.launches and yours.moved == compiler.moved:
        return f"The compiler chose the same: {launches(compiler)}."
    return (
        f"The compiler needs {launches(compiler)} and moves {bytes_text(compiler.moved)}; "
        f"yours needs {launches(yours)} and moves {bytes_text(yours.moved)}."
    )


def went_through(state: FusionState) -> list[str]:
    """The reductions in kernels of the compiler's, once they are shown: it has some over large arrays."""
    bodies = [equation.body for equation in state.compiled.equations if equation.body] if state.revealed else []
    return sorted({one.name for body in bodies for one in body.equations if one.name in REDUCTIONS})


def launches(cost: Cost) -> str:
    """``3 launches``."""
    return f"{cost.launches} launch{'' if cost.launches == 1 else 'es'}"


def timing_text(state: FusionState) -> list[tuple[str, str]]:
    """Times by name, with their middle half."""
    if state.timing is None:
        return []
    rows = {"as written": state.timing.written, "yours": state.timing.yours, "compiler": state.timing.compiler}
    return [
        (name, f"{seconds_text(m)} ({seconds_text(low)}–{seconds_text(high)})") for name, (m, low, high) in rows.items()
    ]


def conditions(state: FusionState) -> str:
    """How the figures came about."""
    counted = "bytes and launches counted from shapes, float32 has 4 bytes"
    if state.timing is None:
        return counted
    return f"{state.timing.conditions} · {state.timing.runs} runs in turns, the median · {counted}"


def text(state: FusionState) -> str:
    """The text twin."""
    lines = [f"FusionBuilder: {plain(question(state))}"]
    if state.example:
        lines.append(f"example: {state.example}, {exact(state.numbers)} numbers")
    lines += [f"{var} is given, {var.type}" for var in state.program.inputs]
    place = 0
    for number, group in enumerate(groups(state.program, state.closed), 1):
        lines.append(f"kernel {number}" if len(group) > 1 else "by itself")
        for one in group:
            lines.append(f"  {place + 1}. {one.outs[0]} = {operation(one)}, {one.outs[0].type}")
            place += 1
            if place < len(state.program.equations):
                lines.append(f"  seam {place}: {seam(state, place - 1)}")
    for bar in BARS:
        told = ", ".join(f"{name} {amount(bar, cost)}" for name, cost in state.costs.items())
        lines.append(f"{LABELS[bar]}: {told}")
    lines += [f"time {name}: {told}" for name, told in timing_text(state)]
    return "\n".join([*lines, *filter(None, [verdict(state)])])


def told(state: FusionState) -> str:
    """What is read aloud after an act."""
    return plain(why(state)) if state.stuck is not None else verdict(state) or describe(state)


def summary(state: FusionState) -> str:
    """In place of the text in a saved notebook, where times would differ."""
    return "" if state.timing is None else "FusionBuilder: measured"


def describe(state: FusionState) -> str:
    """The one fact of the figure."""
    written, yours = state.costs["as written"], state.costs["yours"]
    saved = ratio_text(written.moved / max(yours.moved, 1))
    return (
        f"{launches(written)} as written, {launches(yours)} in yours, which moves {bytes_text(yours.moved)} instead of "
        f"{bytes_text(written.moved)} ({saved})."
    )
