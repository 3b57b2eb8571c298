"""A trace of dtypes in words: each row, why the first one is wide, what that costs, and the text twin."""

from __future__ import annotations

import numpy as np

from ...common.wording import bytes_text, listed, plain, plural, ratio_with_spread, shape_text
from ...observe.promotion import Operand, Step
from .model import AS_GIVEN, PromotionState, Row, rows, suspect

FRAMEWORKS = {"torch": "PyTorch", "numpy": "NumPy", "jax": "JAX"}
EMPTY = "No operation has run."


def question(state: PromotionState) -> str:
    """The question, that of the notebook or the usual one."""
    return state.ask or "Which operation is the first to make floats wider, and because of what?"


# Rows ---------------------------------------------------------------------------------------------------------------


def name_text(state: PromotionState, row: Row) -> str:
    """What stands in the tree: an operation, a name, a number, or what a fold stands for."""
    if row.key == "m":
        return f"{plural(row.folded, 'row')} more, not shown"
    if row.key == "x":
        assert state.trace.refused is not None
        return state.trace.refused[0]
    if row.leaf is not None:
        leaf = row.leaf
        number = leaf.origin.rpartition("the Python number ")[2] if leaf.plain else ""
        return leaf.name or number or ("array" if leaf.origin.startswith("a NumPy array") else "tensor")
    assert row.step is not None
    name = state.trace.steps[row.step].name
    return f"{name} and {row.folded - 1} more" if row.folded else f"{name}, above" if row.key[0] == "a" else name


def size_of(state: PromotionState, row: Row) -> tuple[str, tuple[int, ...], int, int]:
    """Dtype, shape, bytes, and how many of the bytes are too many. A number has no dtype, and a fold has that of its
    head."""
    trace = state.trace
    if row.leaf is not None:
        dtype, shape, nbytes, wide = row.leaf.dtype, row.leaf.shape, row.leaf.nbytes, row.leaf.wide
        width = nbytes // _count(shape) if nbytes else 0
    elif row.step is not None:
        step = trace.steps[row.step]
        dtype, shape, nbytes, width = step.dtype.name, step.shape, step.nbytes, step.dtype.itemsize
        wide = trace.wide(step.dtype, step.place)
    else:
        return "", (), 0, 0
    extra = nbytes * (width - (trace.narrow or 0)) // width if wide and width else 0
    return dtype, shape, nbytes, extra


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for length in shape:
        count *= length
    return max(count, 1)


def narrow_name(state: PromotionState) -> str:
    """What floats were before the culprit: ``float32``."""
    return {1: "8 bits", 2: "16 bits", 4: "float32", 8: "float64"}[state.trace.narrow or 4]


def mark_text(state: PromotionState, row: Row) -> str:
    """What is marked: the first that widened, and what was refused."""
    first = row.step is not None and row.step == state.trace.first and row.key[0] == "s"
    return "first to widen" if first else "refused" if row.key == "x" else ""


def row_text(state: PromotionState, row: Row) -> str:
    """``mul, 256×512 float64, 1.05 MB, of which 524 kB are too many, first to widen``."""
    dtype, shape, nbytes, extra = size_of(state, row)
    parts = [name_text(state, row)]
    if dtype:
        parts += [f"{shape_text(shape) or 'scalar'} {dtype}", bytes_text(nbytes)]
    elif row.leaf is not None:
        parts += ["a number without a dtype"]
    parts += [f"of which {bytes_text(extra)} are too many"] if extra else []
    return ", ".join(filter(None, [*parts, mark_text(state, row)]))


# What is known of one row -------------------------------------------------------------------------------------------


def operand_text(operand: Operand) -> str:
    """``float32 256×512``; ``0.5``, a number."""
    if operand.plain:
        return operand.origin.rpartition("the Python number ")[2] or "a number"
    return f"{operand.dtype.name} {shape_text(operand.shape) or 'scalar'}"


def details(state: PromotionState, row: Row | None) -> list[str]:
    """What is known of the picked row: what met, what came out, and where."""
    if row is None or row.key == "m":
        return []
    if row.leaf is not None:
        leaf, prefix = row.leaf, f"{row.leaf.name}, "
        return [leaf.origin.removeprefix(prefix) if leaf.origin not in ("", leaf.name) else "given to the function"]
    if row.step is None:
        assert state.trace.refused is not None
        name, operands, line = state.trace.refused
        return [f"{name}: {listed([operand_text(one) for one in operands])} cannot meet", line]
    step = state.trace.steps[row.step]
    met = listed([operand_text(one) for one in step.operands])
    where = f"in {'.'.join(step.module)}, " if step.module else ""
    return [f"{step.name}: {met} gave {step.dtype.name} {shape_text(step.shape) or 'scalar'}", f"{where}{step.line}"]


# The culprit --------------------------------------------------------------------------------------------------------


def cost_text(state: PromotionState) -> str:
    """What is wide because of the first culprit."""
    trace = state.trace
    if trace.first is None:
        return ""
    cost, first = trace.cost, trace.steps[trace.first]
    return (
        f"From {first.name} on, {bytes_text(cost.nbytes)} of results, casts and gradients are wide: "
        f"{bytes_text(cost.extra)} more than if all were {narrow_name(state)}."
    )


def mend_text(state: PromotionState) -> str:
    """One way to mend it."""
    trace = state.trace
    if trace.source is None:
        return ""
    to, one, source = narrow_name(state), suspect(state), trace.source
    to = to if to.startswith("float") else "float16"
    if one is not None and one.kind == "model":
        return f'{one.name} = {one.name}.to("{to}")'
    name = source.name if source.name.isidentifier() else ""
    if source.origin.rpartition(", ")[2].startswith("a NumPy scalar") or (one is not None and one.kind == "scalar"):
        return f"{name or 'x'} = float({name or 'x'})"
    if "a NumPy array" in source.origin:
        return f'{name or "array"} = {name or "array"}.astype("{to}")'
    return f'{name or "x"} = {name or "x"}.to("{to}")'


def time_text(state: PromotionState) -> str:
    """What was measured."""
    found, one = state.timing, suspect(state)
    if found is None:
        return ""
    return (
        f"{found.slow.name} {found.slow.text()}, {found.fast.name} {found.fast.text()}: "
        f"{ratio_with_spread(found.ratio, found.middle)} as long" * (one is not None)
    )


def why(state: PromotionState) -> str:
    """Why the first wide result is wide."""
    trace = state.trace
    if trace.first is None:
        clean = "**No operand is wider** than the others: each result is as wide as what it comes from."
        return _refusal(state) if trace.refused else clean if trace.steps else ""
    step = trace.steps[trace.first]
    culprit = step.culprit
    assert culprit is not None
    source = "" if trace.source is None else trace.source.name
    name = f"`{source}`" if source and " " not in source else source[:1].upper() + source[1:]
    times = step.dtype.itemsize // (trace.narrow or 4)
    after = f"so what follows takes {times}× the bytes."
    return f"{name or 'An operand'} is **{culprit.dtype.name}**{_rule(state, step, culprit)}, {after}"


def _refusal(state: PromotionState) -> str:
    """Why the operation that ended the run was refused, where dtypes are the reason."""
    assert state.trace.refused is not None
    name, operands, _ = state.trace.refused
    dtypes = list(dict.fromkeys(one.dtype.name for one in operands if not one.plain))
    rules = f"and by {FRAMEWORKS[state.table]}'s rules they cannot meet there"
    return f"`{name}` is given **{listed(dtypes)}**, {rules}." if len(dtypes) > 1 else ""


def _rule(state: PromotionState, step: Step, culprit: Operand) -> str:
    others = [one for one in step.operands if one is not culprit and not one.plain]
    by = f"by {FRAMEWORKS[state.table]}'s table"
    if not others:
        return f", and {by} `{step.name}` makes {step.dtype.name} of it"
    met = min(others, key=lambda one: one.dtype.itemsize)
    return f", and {by} {met.dtype.name} with {culprit.dtype.name} gives {step.dtype.name}"


# The widget ---------------------------------------------------------------------------------------------------------


def describe(state: PromotionState) -> str:
    """The one fact of the figure."""
    trace = state.trace
    if trace.refused is not None and trace.first is None:
        return f"{trace.refused[0]} is refused: {listed([operand_text(one) for one in trace.refused[1]])} cannot meet."
    if not trace.steps:
        return EMPTY
    if trace.first is None:
        return f"{plural(len(trace.steps), 'operation')}, and none makes floats wider."
    step = trace.steps[trace.first]
    met = listed([operand_text(one) for one in step.operands])
    return f"{step.name} is the first to widen: {met} gave {step.dtype.name}. {cost_text(state)}"


def conditions(state: PromotionState) -> str:
    """How the figure came about."""
    told = f"this run, by {FRAMEWORKS[state.table]}'s table"
    return f"{told} · NumPy {np.__version__}" if state.timing is None else f"{state.timing.conditions.text()} · {told}"


def text(state: PromotionState, timed: bool = True) -> str:
    """The text twin of the widget."""
    shown = rows(state)
    lines = [f"PromotionTracer: {plain(question(state))}", f"table: {FRAMEWORKS[state.table]}"]
    lines += [
        f"{one.name}: {state.choice(one.name)}" + (f" (given: {one.given})" * (state.choice(one.name) != one.given))
        for one in state.inputs
        if one.options and state.choice(one.name) != AS_GIVEN
    ]
    lines += [
        f"{'>' if row.key == state.picked else ' '} {'  ' * row.depth}{row_text(state, row)}" for row in shown
    ] or [EMPTY]  # fmt: skip
    picked = next((row for row in shown if row.key == state.picked), None)
    mend = mend_text(state)
    lines += [*details(state, picked), cost_text(state), f"mend: {mend}" if mend else ""]
    lines += [time_text(state)] if timed else []
    lines += [f"▲ {state.trace.failure}"] if state.trace.failure else []
    return "\n".join(filter(None, lines))
