"""Numbers on a ruler in words: what becomes of them, why, and the text twin."""

from __future__ import annotations

import math

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
    told = f"{share:.2g}" if share < 1 else f"{share:.0f}"
    return f"{'less than 100' if told == '100' else told} %"


def question(state: RulerState) -> str:
    """The question, that of the notebook or the usual one."""
    return (
        state.ask or f"Which of the {state.sample.name} become 0 in {state.format}, and which scale brings them back?"
    )


def range_text(kind: Format, state: RulerState) -> str:
    """From where to where a format reaches, and with how many digits."""
    if kind.dtype:
        full = f", with all {kind.digits} bits of digits from {power_text(kind.normal)}"
        most = exact(kind.largest) if kind.largest < 1e6 else power_text(math.ceil(math.log2(kind.largest)))
        return f"{kind.name}: from {power_text(kind.smallest)}{full}, to {most}"
    largest = float(np.abs(state.sample.values).max()) * 2.0**state.power
    return f"int8: 127 equal steps of {number(largest / 127)}, up to the largest number, {number(largest)}"


def count_text(found: Counts, kind: Format) -> str:
    """What becomes of the numbers: ``42 % become 0, 31 % lose digits, none are too large``."""
    parts = [f"{share_text(found.zero, found.whole)} become 0" if found.zero else "none become 0"]
    parts += [f"{share_text(found.coarse, found.whole)} lose digits"] if found.coarse else []
    parts += [f"{share_text(found.over, found.whole)} are too large"] if found.over else []
    return ", ".join(parts)


def lines(state: RulerState) -> list[tuple[str, str]]:
    """The numbers as they are, and as they are once they are multiplied: names for these, and what becomes of them."""
    kind = BY_NAME[state.format]
    found = [("as they are", count_text(state.before, kind))]
    return [*found, (f"× {power_text(state.power)}", count_text(state.now, kind))] if state.power else found


def step_text(state: RulerState) -> str:
    """What a step rounds away."""
    found = state.before
    if found.lost is None or state.sample.rate is None:
        return ""
    left = found.weights - found.lost
    told = f"all but {exact(left)}" if 0 < left <= 0.01 * found.weights else share_text(found.lost, found.weights)
    step = f"A step of {exact(state.sample.rate)} × gradient"
    return (
        f"{step} leaves {told} of the {exact(found.weights)} weights as they were, if they are kept in {state.format}."
    )


def heading(state: RulerState) -> str:
    """What the histogram counts."""
    sample, outside = state.sample, _outside(state)
    zeros = f", and {exact(sample.zeros)} that are 0 already" if sample.zeros else ""
    after = f" after {plural(state.steps, 'step')} here" if state.steps else ""
    beyond = f"; {exact(outside)} stand beyond the ends, in the last bars" if outside else ""
    return f"size of {exact(sample.values.size)} {sample.name}{after}{zeros}{beyond}"


def _outside(state: RulerState) -> int:
    shifted = ((k + state.power, many) for k, many in state.sample.bins.items())
    return sum(many for k, many in shifted if not LOW <= k < HIGH)


def why(state: RulerState) -> str:
    """What the format, or the scale, does to the numbers."""
    kind, found = BY_NAME[state.format], state.now
    most = exact(kind.largest) if kind.largest < 1e6 else power_text(128)
    if not kind.dtype and state.power:
        return "int8 takes **its step from the largest number**, so a scale changes nothing."
    if not kind.dtype:
        return "int8 has **steps of one size**, 127 up to the largest number: what is under half a step becomes 0."
    if found.over:
        return f"{kind.name} ends at {most}: **what is larger has no place**, so the scale has to be smaller."
    if state.power:
        places = plural(state.power, "place")
        times = power_text(state.power)
        return (
            f"To multiply the loss by {times} **moves every gradient right** by {places}; their order and digits stay."
        )
    if found.zero:
        least = power_text(kind.smallest)
        return f"{kind.name} has **no number between 0 and {least}**: what is under half of that becomes 0."
    if kind.name == "bfloat16":
        return "bfloat16 has **the exponents of float32**, so little becomes 0; of 23 bits of digits it keeps 7."
    return f"All of them lie **within the range** of {kind.name}, from {power_text(kind.smallest)} to {most}."


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
    told += [f"format: {state.format}, loss scale: {power_text(state.power)}"]
    told += [f"  {name}: {what}" for name, what in lines(state)]
    told += [range_text(one, state) for one in FORMATS]
    bins = sorted(state.sample.bins.items())
    told += [
        "sizes: " + ", ".join(f"{power_text(k)} {exact(many)}" for k, many in bins),
        step_text(state),
        f"becomes 0: below {power_text(kind.smallest - 1)}" if kind.dtype else "",
    ]
    return "\n".join(filter(None, told))
