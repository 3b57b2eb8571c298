"""Broadcasting in words: the question, a sentence for each number, and the text twin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...common.wording import brief, bytes_text, exact, plain
from .model import (
    AXES,
    LabState,
    Place,
    Shape,
    bases,
    c_shape,
    choices,
    clashes,
    columns,
    index_text,
    lines,
    picked_base,
    places,
    plan,
    reads,
    source,
    stretched,
    value_at,
)

WAITING = "The gradients wait for your prediction."


def added(terms: Sequence[float | None]) -> str:
    """``1+0−2``; None stands for terms that are not shown."""
    joined = "+".join("…" if term is None else brief(term) for term in terms)
    return joined.replace("+−", "−") or "nothing"


def tell(state: LabState, which: int, base: Place) -> str:
    """``a[1, 0] = 20, read 4 times``; once its gradient is known, also the sum that gives it."""
    reading, times = state.readings[which], reads(state, which)
    often = "once" if times == 1 else f"{times} times"
    number = index_text(reading.name, reading.shape, base)
    said = f"{number} = {brief(value_at(state, reading.values, base))}, read {often}"
    if state.backward is None:
        return said
    total = brief(value_at(state, state.backward.sums[which].values, base))
    terms = " ".join(equation(state, which, base))
    return f"{said}; ∂{number} = {terms}{'' if times == 1 else f' = {total}'}"


def equation(state: LabState, which: int, base: Place) -> Iterator[str]:
    """The terms of one number of a gradient, line by line, with the signs between the lines."""
    for i, line in enumerate(lines(state, which, base)):
        said = added(line)
        yield said if not i or said.startswith("−") else f"+{said}"


def facts(state: LabState, which: int) -> str:
    """How many bytes a, b (0, 1) or c (2) takes, read from its view."""
    reading, onto = state.readings[which], state.readings[2].shape
    size = bytes_text(reading.nbytes)
    if which == 2:
        return f"{size}, the result"
    again = stretched(reading.shape, onto)
    if not again:
        return f"{size}, each read once"
    which_axes = f"{'axis' if len(again) == 1 else 'axes'} {', '.join(map(str, again))}"
    stride = ", ".join(sorted({str(reading.strides[i]) for i in again}))
    more = "no extra bytes" if not reading.more else f"{bytes_text(reading.more)} extra"
    return f"{size}, {which_axes} stretched: stride {stride}, {more}"


def table(state: LabState) -> list[list[str]]:
    """Shapes aligned from the right: head, a, b and c, one word for each axis. A missing axis is a dot."""
    meeting = columns(*state.shapes)
    onto = c_shape(*state.shapes)
    bad = clashes(*state.shapes)
    first = -len(meeting) if bad else 0  # as the error counts them
    rows = [["", *(f"axis {i}" for i in range(first, first + len(meeting)))]]
    for which, shape in enumerate(state.shapes):
        lead = len(meeting) - len(shape)
        words = []
        for i, column in enumerate(meeting):
            own = "·" if i < lead else str(column[which])
            to = onto[i] if onto is not None else column[1 - which]
            grows = (i < lead or column[which] == 1) and to != 1
            words.append(f"{own} → {to}" if grows or i < lead else own)
        rows.append(["ab"[which], *words])
    result = ["▲" if i - len(meeting) in bad else str(max(m, n) if 0 not in (m, n) else 0)
              for i, (m, n) in enumerate(meeting)]  # fmt: skip
    return [*rows, ["c", *result]]


TERMS = {"+": ("∂c", "∂c"), "-": ("∂c", "−∂c"), "*": ("∂c · b", "∂c · a"), "/": ("∂c / b", "−∂c · a / b²")}


def sum_label(state: LabState, which: int) -> str:
    """``Σ ∂c · b over axis 1``: what one read sends back, and which axes backward sums over."""
    again, term = stretched(state.shapes[which], state.readings[2].shape), TERMS[state.op][which]
    axes = f"{'axis' if len(again) == 1 else 'axes'} {', '.join(map(str, again))}"
    return f"Σ {term} over {axes}" if again else f"{term}, no sum"


def ask(state: LabState) -> str:
    """The question."""
    a, b = state.shapes
    if state.refusal:
        return f"a is {a}, b is {b}. Which axis does not fit?"
    return f"a is {a}, b is {b}. What is the shape of a’s gradient?"


TIMES = ("", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def _times(count: int) -> str:
    return TIMES[count] if 2 <= count < len(TIMES) else brief(count)


def why(state: LabState) -> str:
    """The cause, in one sentence; before the prediction, only of the forward half."""
    if state.refusal:
        return "Only an axis of **length 1** can be read again: its stride becomes 0." * bool(state.refusal.axes)
    a, b = state.shapes
    onto = state.readings[2].shape
    if 0 in onto:
        return "c has **no elements**, so nothing is read, and a sum of nothing is 0."
    if state.backward is not None:
        return " ".join(filter(None, (against(state), _reason(state))))
    row, column = ("a", "b") if len(a) < len(b) else ("b", "a")
    if sorted((a, b), key=len) == [onto[1:], (*onto[:1], 1)] and onto[0] == onto[1]:  # (n,) with (n, 1)
        size = bytes_text(state.readings[2].nbytes)
        return f"`{row}` counts as a row: **each number of `{column}` meets each of `{row}`**, and c takes {size}."
    if len(a) != len(b):
        return f"Shapes are aligned **from the right**: an axis that `{row}` lacks counts as 1."
    if any(stretched(shape, onto) for shape in (a, b)):
        return "A stretched axis has **stride 0**: the same bytes are read again, and none are copied."
    return "The shapes are equal: **no axis is stretched**, and each number is read once."


def _reason(state: LabState) -> str:
    """Where the numbers of the gradients come from."""
    for which, name in enumerate("ab"):
        count = reads(state, which)
        if count > 1:
            times = _times(count)
            return f"Each number of `{name}` was read **{times} times**, so its gradient is the sum of {times}."
    return "Each number was read **once**, so no sum is needed and each gradient has one term."


def against(state: LabState) -> str:
    """Why the predicted shape is not that of a's gradient; "" if it is, or if nothing was predicted."""
    (a, b), c, said = state.shapes, state.readings[2].shape, state.said
    if said is None or said == str(a):
        return ""
    if said == str(c):
        numbers, nudged = exact(math.prod(c)), exact(math.prod(a))
        return f"{said} is the shape of `c`, with {numbers} numbers; `a` has {nudged} to nudge."
    if said == str(b):
        return f"{said} is the shape of `b`, which has a gradient of its own."
    return "A gradient has the shape of its tensor: one number for each number of `a`, at the same place."


def describe(state: LabState) -> str:
    """What is drawn, then the main fact."""
    if state.refusal:
        return f"The shapes {state.shapes[0]} and {state.shapes[1]}, aligned from the right. {state.refusal.why}."
    said = []
    for which, name in enumerate("ab"):
        again = reads(state, which)
        often = "once" if again == 1 else f"{again} times"
        said.append(f"each number of {name}, of shape {state.shapes[which]}, is read {often}")
    return f"{'; '.join(said).capitalize()}. " + (
        WAITING if state.backward is None else "Backward sums the gradient of c over the same reads."
    )


def spoken(state: LabState) -> str:
    """What is read aloud once a prediction is committed."""
    if state.locked:
        return ""
    if state.said is None or state.backward is None:
        return describe(state)
    found = f"You predicted {state.said}. The gradient of a has the shape {state.shapes[0]}."
    return f"{found} {plain(why(state))} {describe(state)}"


def text(state: LabState) -> str:
    """The text twin."""
    said = [f"BroadcastLab: c = a {state.op} b" + f", {state.dtype}" * bool(state.dtype)]
    remarks = ["", *(facts(state, which) for which in range(3))] if state.readings else [""] * 4
    for row, remark in zip(table(state), remarks, strict=True):
        said.append(f"  {row[0]:<2}" + "".join(f"{word:>12}" for word in row[1:]) + f"   {remark}")
    if state.refusal:
        r = state.refusal
        said += ["▲ ShapeError", f"  tried  {r.tried}", f"  why    {r.why}", f"  mend   {r.mend}"]
    elif 0 in state.readings[2].shape:
        said.append(NO_ELEMENTS)
    else:
        said += _forward_text(state) + _backward_text(state)
    if state.picked and state.readings:
        name, _, position = state.picked.partition(":")
        base = picked_base(state)
        said.append("picked: " + (tell(state, "ab".index(name), base) if base else f"number {position} of {name}"))
    said += [f"▲ {state.message}"] * bool(state.message)
    return "\n".join(line.rstrip() for line in said)


NO_ELEMENTS = "c has no elements: there is nothing to draw."


def gap_note(state: LabState) -> str:
    """How much of c is left out of the picture."""
    shape = state.readings[2].shape
    count, drawn = math.prod(shape), len(places(plan(shape)))
    return f"{drawn} of {exact(count)} places of c are shown." if drawn < count else ""


def _forward_text(state: LabState) -> list[str]:
    onto = state.readings[2].shape
    said = ["forward, " + FORWARD[any(stretched(shape, onto) for shape in state.shapes)]]
    for reading in state.readings:
        name = f"c = a {state.op} b" if reading.name == "c" else reading.name
        bracket = " (in brackets: read again)" if stretched(reading.shape, onto) else ""
        said.append(f"  {name} {reading.shape}{bracket}")
        said += _rows(state, reading.values, reading.shape)
    return [*said, gap_note(state)] if gap_note(state) else said


FORWARD = ("each number is read once", "read again and again")
BACKWARD = ("one term each", "sum over the reads")


def _rows(state: LabState, values: Sequence[float], shape: Shape) -> list[str]:
    onto = state.readings[2].shape
    shown, known = plan(onto), dict(zip(places(plan(onto)), values, strict=True))
    said = []
    for i in shown[0]:
        said += [f"    {block_text(i)}"] if len(onto) == AXES else []
        for j in shown[1] if i is not None else ():
            words = []
            for k in shown[2]:
                if i is None or j is None or k is None:
                    words.append("…")
                else:
                    word = brief(known[i, j, k])
                    words.append(word if source(shape, (i, j, k)) == (i, j, k) else f"({word})")
            said.append("    " + "".join(f"{word:>8}" for word in words))
    return said


def block_text(place: int | None) -> str:
    """The head of one block of three axes."""
    return "…" if place is None else f"[{place}]"


def _backward_text(state: LabState) -> list[str]:
    if state.backward is None:
        offered = choices(state)
        mine = f", not committed: {state.draft}" if state.draft else ""
        return [WAITING, f"choices: {', '.join(offered)}", *([f"you{mine}"] if mine else [])]
    onto = state.readings[2].shape
    said = ["backward, " + BACKWARD[any(stretched(shape, onto) for shape in state.shapes)]]
    if state.said is not None:
        said.append(f"  you: {state.said}   ∂a: {state.shapes[0]}")
    for which, name in enumerate("ab"):
        said.append(f"  ∂{name} {state.shapes[which]} {sum_label(state, which)}")
        for base in bases(state, which):
            number = brief(value_at(state, state.backward.sums[which].values, base))
            terms = " ".join(equation(state, which, base))
            once = reads(state, which) == 1
            said.append(f"    ∂{index_text(name, state.shapes[which], base)} {number}" + f" = {terms}" * (not once))
    return [*said, f"  ∂c {onto}", *_rows(state, state.backward.upstream, onto)]
