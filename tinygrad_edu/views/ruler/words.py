"""Numbers on a ruler in words: what becomes of them, why, and the text twin."""

from __future__ import annotations

import numpy as np

from ...common.wording import exact, number, plain, plural
from .model import BY_NAME, FORMATS, HIGH, LOW, Counts, Format, RulerState

_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def power_text(power: int) -> str:
    """``2⁻¹⁴``; ``1`` for the power 0."""
    return f"2{str(power).translate(_RAISED)}" if power else "1"


def share_text(part: int, whole: int) -> str:
    """``42 %``, ``0.013 %``; a share that is not 0 is never told as 0."""
    if part == whole:
        return "all"
    share = 100 * part / max(whole, 1)
    if part > 0 and share < 0.01:
        return "less than 0.01 %"
    told = f"{share:.2g}" if share < 9.95 else f"{share:.0f}"
    return f"{'less than 100' if told == '100' else told} %"


def question(state: RulerState) -> str:
    """The question, that of the notebook or the usual one."""
    return (
        state.ask or f"Which of the {state.sample.name} become 0 in {state.format}, and which scale brings them back?"
    )


def range_text(kind: Format, state: RulerState) -> str:
    """From where to where a format reaches, and how precise it is."""
    if kind.dtype:
        full = f" ({kind.digits} fraction bits from {power_text(kind.normal)})"
        most = exact(kind.largest) if kind.largest < 1e6 else number(kind.largest)
        return f"{kind.name}: from {power_text(kind.smallest)}{full} to {most}"
    largest = float(np.abs(state.sample.values).max()) * 2.0**state.power
    return f"int8: 127 equal steps of {number(largest / 127)}, to the largest number, {number(largest)}"


def count_text(found: Counts) -> str:
    """What becomes of the numbers: ``42 % become 0, 31 % are off by more than 1 %, none are too large``."""
    parts = [f"{share_text(found.zero, found.whole)} become 0" if found.zero else "none become 0"]
    parts += [f"{share_text(found.off, found.whole)} are off by more than 1 %"] if found.off else []
    parts += [f"{share_text(found.over, found.whole)} are too large"] if found.over else []
    return ", ".join(parts)


def lines(state: RulerState) -> list[tuple[str, str]]:
    """The numbers as they are, and as they are once they are multiplied: names for these, and what becomes of them."""
    found = [("as they are", count_text(state.before))]
    return [*found, (f"× {power_text(state.power)}", count_text(state.now))] if state.power else found


def step_text(state: RulerState) -> str:
    """What a step rounds away."""
    found = state.before
    if found.changed is None or state.sample.rate is None:
        return ""
    rate = f"{state.sample.rate:g}"
    kept = f"{exact(found.changed)} weights if they are kept in {state.format}, and {exact(found.possible)} in float32."
    told = f"A plain step of {rate} × gradient changes {kept}"
    return told + " No loss scale helps here: the gradient is divided by it before the step." * bool(state.power)


def heading(state: RulerState) -> str:
    """What the histogram counts."""
    sample, outside = state.sample, _outside(state)
    zeros = f" ({exact(sample.zeros)} more are 0)" if sample.zeros else ""
    after = f", after {plural(state.steps, 'step')} here" if state.steps else ""
    beyond = f"; {exact(outside)} beyond the ends counted in the last bar" if outside else ""
    many = exact(sample.values.size)
    name = sample.name if sample.values.size > 1 else sample.name.removesuffix("s")
    return f"sizes of {many} {name}{zeros}{after}; a bar for each doubling{beyond}"


def _outside(state: RulerState) -> int:
    shifted = ((k + state.power, many) for k, many in state.sample.bins.items())
    return sum(many for k, many in shifted if not LOW <= k < HIGH)


def why(state: RulerState) -> str:
    """What the format, or the scale, does to the numbers."""
    kind, found = BY_NAME[state.format], state.now
    most = exact(kind.largest) if kind.largest < 1e6 else number(kind.largest)
    times, gradients = power_text(state.power), state.sample.name == "gradients"
    if not kind.dtype and state.power:
        return "int8 takes **its step from the largest number**, so a scale changes nothing."
    if not kind.dtype:
        return "int8 has **equal steps**, 127 from 0 to the largest number: anything up to half a step rounds to 0."
    if found.over and state.power and gradients:
        skipped = "and the scaler skips the step and halves its scale"
        return f"{kind.name} ends at {most}: **what is larger overflows**, {skipped}."
    if found.over:
        return f"{kind.name} ends at {most}: **anything larger overflows**."
    if state.power and found.zero:
        still, least = share_text(found.zero, found.whole), power_text(kind.smallest)
        return f"{kind.name} has **nothing between 0 and {least}**: {still} still become 0, even times {times}."
    if state.power:
        moved = f"moves every {state.sample.name.removesuffix('s')} {plural(state.power, 'doubling')} to the right"
        return f"Multiplying {'the loss ' if gradients else ''}by {times} **{moved}**; their digits do not change."
    if found.zero:
        least = power_text(kind.smallest)
        return f"{kind.name} has **no number between 0 and {least}**: anything up to half of that rounds to 0."
    if kind.name == "bfloat16":
        return "bfloat16 has **the exponents of float32**, so almost nothing becomes 0; it keeps 7 of 23 fraction bits."
    return f"All of them lie **within the range** of {kind.name}, from {power_text(kind.smallest)} to {most}."


def scale_name(state: RulerState) -> str:
    """What the slider is called."""
    return "loss scale" if state.sample.name == "gradients" else "scale"


def describe(state: RulerState) -> str:
    """The one fact of the figure."""
    said = "; ".join(f"{name}, {told}" for name, told in lines(state))
    return f"{heading(state)}. In {state.format}: {said}."


def summary(state: RulerState) -> str:
    """What is shown, for a saved notebook: counts of computed numbers may differ from machine to machine."""
    size = state.sample.values.size + state.sample.zeros
    return f"PrecisionRuler: {exact(size)} {state.sample.name} in {state.format}, scale {power_text(state.power)}"


def text(state: RulerState) -> str:
    """The text twin of the widget."""
    kind = BY_NAME[state.format]
    told = [f"PrecisionRuler: {plain(question(state))}", heading(state)]
    told += [f"format: {state.format}, {scale_name(state)}: {power_text(state.power)}"]
    told += [f"  {name}: {what}" for name, what in lines(state)]
    told += [range_text(one, state) for one in FORMATS]
    bins = sorted(state.sample.bins.items())
    told += [
        "sizes: " + ", ".join(f"{power_text(k)} {exact(many)}" for k, many in bins),
        step_text(state),
        f"becomes 0: up to {power_text(kind.smallest - 1)}" if kind.dtype else "",
    ]
    return "\n".join(filter(None, told))
