"""A trace of dtypes in words: each row, why the first one is wide, what that costs, and the text twin."""

from __future__ import annotations

import numpy as np

from ...common.wording import bytes_text, listed, plain, plural, ratio_with_spread, shape_text
from ...dtypes import as_dtype, is_float
from ...observe.promotion import Operand, Step
from .model import AS_GIVEN, PromotionState, Row, fix, rows, suspect

FRAMEWORKS = {"torch": "PyTorch", "numpy": "NumPy", "jax": "JAX"}
CONDITIONS = {"jax": " (jax_enable_x64 is on; without it, JAX turns 64-bit types into 32-bit ones)"}
EMPTY = "No operation has run."


def question(state: PromotionState) -> str:
    """The question, that of the notebook or the usual one."""
    return state.ask or "Which operation first makes floats wider, and why?"


# Rows ---------------------------------------------------------------------------------------------------------------


def name_text(state: PromotionState, row: Row) -> str:
    """What stands in the tree: an operation, a name, a number, or what a fold stands for."""
    if row.key[0] == "m":
        return f"{row.folded} more row{'s' * (row.folded != 1)}"
    above = ", above" * (row.key[0] == "a")
    if row.leaf is not None:
        leaf = row.leaf
        number = leaf.origin.rpartition("the Python number ")[2] if leaf.plain else ""
        return (leaf.name or number or ("array" if leaf.origin.startswith("a NumPy array") else "tensor")) + above
    if row.step is None:
        assert state.trace.refused is not None
        return state.trace.refused[0]
    name = state.trace.steps[row.step].name
    return f"{name} and {row.folded - 1} more" if row.folded else name + above


def size_of(state: PromotionState, row: Row) -> tuple[str, tuple[int, ...], int, int]:
    """Dtype, shape, bytes, and how many of the bytes are more than needed.

    A number has no dtype. A fold has that of its head, and no bytes.
    """
    trace = state.trace
    if row.key[0] == "a" and row.leaf is not None:
        return row.leaf.dtype, row.leaf.shape, 0, 0
    if row.folded and row.step is not None:
        return trace.steps[row.step].dtype.name, (), 0, 0
    if row.leaf is not None:
        dtype, shape, nbytes, wide = row.leaf.dtype, row.leaf.shape, row.leaf.nbytes, row.leaf.wide
        width = as_dtype(dtype).itemsize if nbytes else 0
    elif row.step is not None:
        step = trace.steps[row.step]
        dtype, shape, nbytes, width = step.dtype.name, step.shape, step.nbytes, step.dtype.itemsize
        wide = trace.wide(step.dtype, step.place)
    else:
        return "", (), 0, 0
    extra = nbytes * (width - (trace.narrow or 0)) // width if wide and width else 0
    return dtype, shape, nbytes, extra


def narrow_name(state: PromotionState) -> str:
    """What floats were before the culprit: ``float32``."""
    other = state.trace.other
    return "float32" if other is None else other.dtype.name


def mark_text(state: PromotionState, row: Row) -> str:
    """What is marked: the first that widened, and what was refused."""
    first = row.step is not None and row.step == state.trace.first and row.key[0] == "s"
    return "first to widen" if first else "refused" if row.key == "x" else ""


def row_text(state: PromotionState, row: Row) -> str:
    """``mul, 256×512 float64, 1.05 MB, 524 kB more than needed, first to widen``."""
    dtype, shape, nbytes, extra = size_of(state, row)
    parts = [name_text(state, row)]
    if row.folded and dtype:
        parts += [f"all as wide as {dtype} or less"]
    elif dtype:
        parts += [f"{shape_text(shape) or 'scalar'} {dtype}", bytes_text(nbytes) if nbytes or row.key[0] != "a" else ""]
    elif row.leaf is not None:
        parts += ["a number without a dtype"]
    parts += [f"{bytes_text(extra)} more than needed"] if extra else []
    return ", ".join(filter(None, [*parts, mark_text(state, row)]))


# What is known of one row -------------------------------------------------------------------------------------------


def operand_text(operand: Operand) -> str:
    """``float32 256×512``; ``0.5``, a number."""
    if operand.plain:
        return operand.origin.rpartition("the Python number ")[2] or "a number"
    return f"{operand.dtype.name} {shape_text(operand.shape) or 'scalar'}"


def details(state: PromotionState, row: Row | None) -> list[str]:
    """What is known of the picked row: what met, what came out, and where."""
    if row is None or row.key[0] == "m":
        return []
    if row.leaf is not None:
        leaf, prefix = row.leaf, f"{row.leaf.name}, "
        origin = (
            leaf.origin.removeprefix(prefix) if leaf.origin not in ("", leaf.name) else "an argument of the function"
        )
        return [f"{name_text(state, row)}: {origin}"]
    if row.step is None:
        assert state.trace.refused is not None
        name, operands, line = state.trace.refused
        return [f"{name}: {listed([operand_text(one) for one in operands])}", line]
    step = state.trace.steps[row.step]
    met = listed([operand_text(one) for one in step.operands])
    where = f"in {'.'.join(step.module)}, " if step.module else ""
    return [f"{step.name}: {met} gave {step.dtype.name} {shape_text(step.shape) or 'scalar'}", f"{where}{step.line}"]


# The culprit --------------------------------------------------------------------------------------------------------


def cost_text(state: PromotionState) -> str:
    """What is wide because of the first culprit: results, copies of operands, gradients."""
    trace = state.trace
    if trace.first is None:
        return ""
    cost, first = trace.cost, trace.steps[trace.first]
    results = cost.nbytes - cost.casts - cost.gradients
    needed = cost.nbytes - cost.extra - cost.narrower
    parts = [f"wide results take {bytes_text(results)} instead of {bytes_text(needed)}"]
    parts += [f"operands are copied to be as wide, {bytes_text(cost.casts)}"] if cost.casts else []
    if cost.gradients:
        parts += [f"wide gradients take {bytes_text(cost.gradients)} instead of {bytes_text(cost.narrower)}"]
    return f"From {first.name} on, {'; '.join(parts)}."


def fix_text(state: PromotionState) -> str:
    """One way to mend it: a line of code, or words where what is wide has no name."""
    found = fix(state)
    if found is None:
        return ""
    one, operand, to = suspect(state), found.operand, found.to
    if one is not None and one.kind == "model":
        return f'{one.name} = {one.name}.to("{to}")'
    name = operand.name if operand.name.isidentifier() else ""
    if not name:
        return f"make {operand.name or 'this'} {to}: {operand.origin.removeprefix(f'{operand.name}, ')}"
    if "a NumPy scalar" in operand.origin:
        return f"{name} = float({name})"
    array = "a NumPy array" in operand.origin
    line = f'{name} = {name}.astype("{to}")' if array else f'{name} = {name}.to("{to}")'
    return line + (f"  # or all others {found.others}" if found.others else "")


def time_text(state: PromotionState) -> str:
    """What was measured."""
    found = state.timing
    if found is None:
        return ""
    said = {
        "faster": f"{ratio_with_spread(found.ratio, found.middle)} faster",
        "slower": f"{ratio_with_spread(1 / found.ratio, [1 / one for one in reversed(found.middle)])} slower",
        "no difference": "no difference in time",
    }[found.verdict]
    times = "; ".join(f"{one.name}, {one.text()}" for one in (found.slow, found.fast))
    return f"The whole function, here: {times}: {said}."


def why(state: PromotionState) -> str:
    """Why the first wide result is wide."""
    trace = state.trace
    if trace.first is None:
        return _refusal(state) if trace.refused else _clean(state)
    step = trace.steps[trace.first]
    culprit = step.culprit
    assert culprit is not None
    source = "" if trace.source is None else trace.source.name
    name = f"`{source}`" if source and " " not in source else source[:1].upper() + source[1:]
    times = step.dtype.itemsize // (trace.narrow or 4)
    after = f"so what follows takes {times}× the bytes."
    return f"{name or 'An operand'} is **{culprit.dtype.name}**{_rule(state, step, culprit)}, {after}"


def _clean(state: PromotionState) -> str:
    """Why nothing widened."""
    steps = state.trace.steps
    if not steps:
        return ""
    floats = {one.dtype.name for step in steps for one in step.operands if is_float(one.dtype) and not one.plain}
    floats |= {step.dtype.name for step in steps if is_float(step.dtype)}
    if len(floats) == 1:
        return f"All floats here are **{floats.pop()}**, so every result is."
    single = [one for step in steps for one in step.operands if one.shape == () and not one.plain]
    if state.table == "torch" and any(is_float(one.dtype) and one.dtype.itemsize > 4 for one in single):
        return "Under PyTorch's rules **a single number does not widen** a tensor, whatever its own dtype."
    return "**No operation makes floats wider** than what it is given."


def _refusal(state: PromotionState) -> str:
    """Why the operation that ended the run was refused, where dtypes are the reason."""
    assert state.trace.refused is not None
    name, operands, _ = state.trace.refused
    dtypes = list(dict.fromkeys(one.dtype.name for one in operands if not one.plain))
    rules = f"and under {FRAMEWORKS[state.table]}'s rules it does not mix them"
    return f"`{name}` is given **{listed(dtypes)}**, {rules}." if len(dtypes) > 1 else ""


def _rule(state: PromotionState, step: Step, culprit: Operand) -> str:
    others = [one for one in step.operands if one is not culprit and not one.plain]
    by = f"under {FRAMEWORKS[state.table]}'s rules"
    if not others:
        return f", and {by} `{step.name}` makes {step.dtype.name} of it"
    met = min(others, key=lambda one: one.dtype.itemsize)
    return f", and {by} {met.dtype.name} with {culprit.dtype.name} gives {step.dtype.name}"


# The widget ---------------------------------------------------------------------------------------------------------


def describe(state: PromotionState) -> str:
    """The one fact of the figure."""
    trace = state.trace
    if trace.refused is not None and trace.first is None:
        return f"{trace.refused[0]} is refused: {listed([operand_text(one) for one in trace.refused[1]])}."
    if not trace.steps:
        return EMPTY
    if trace.first is None:
        return f"{plural(len(trace.steps), 'operation')}, and none makes floats wider."
    step = trace.steps[trace.first]
    met = listed([operand_text(one) for one in step.operands])
    return f"{step.name} is the first to widen: {met} gave {step.dtype.name}. {cost_text(state)}"


def conditions(state: PromotionState) -> str:
    """How the figure came about."""
    told = f"{FRAMEWORKS[state.table]}'s rules{CONDITIONS.get(state.table, '')}, this engine"
    return f"{told}, NumPy {np.__version__}" if state.timing is None else f"{told} · {state.timing.conditions.text()}"


def text(state: PromotionState, timed: bool = True) -> str:
    """The text twin of the widget."""
    shown = rows(state)
    lines = [f"PromotionTracer: {plain(question(state))}", f"rules: {FRAMEWORKS[state.table]}"]
    lines += [
        f"{one.name}: {state.choice(one.name)}" + (f" (given: {one.given})" * (state.choice(one.name) != one.given))
        for one in state.inputs
        if one.options and state.choice(one.name) != AS_GIVEN
    ]
    lines += [
        f"{'>' if row.key == state.picked else ' '} {'  ' * row.depth}{row_text(state, row)}" for row in shown
    ] or [EMPTY]  # fmt: skip
    picked = next((row for row in shown if row.key == state.picked), None)
    fixed = fix_text(state)
    lines += [*details(state, picked), cost_text(state), f"fix: {fixed}" if fixed else ""]
    lines += [time_text(state)] if timed else []
    lines += [f"▲ {state.trace.failure}"] if state.trace.failure else []
    return "\n".join(filter(None, lines))
