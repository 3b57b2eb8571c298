"""The guard in words: the remark beside each line, what was refused, both gradients, and the text twin."""

from __future__ import annotations

from ...common.wording import bytes_text
from ..marks import shorten, wrap_text
from .model import Holding, LensState, Story, at, calls_backward, failure, spans, writes

NO_ARRAY = "No NumPy array exists yet."


def remark(story: Story, row: int) -> tuple[str, str]:
    """The word beside a line of code, and its style."""
    moment = next((m for m in story.moments if m.row == row), None)
    if moment is None:
        return "", "t2"
    if moment.refused:
        return "refused", "ta b"
    if moment.error:
        return "error", "ta b"
    for name, start, end in spans(story):
        if start == row:
            return f"{name} locked", "b"
        if end == row:
            return f"{name} released", "b"
    return ("allowed", "t2") if writes(story.lines[row]) else ("", "t2")


def others_text(hold: Holding) -> str:
    """How many other operations hold the same array."""
    others = hold.nodes - 1
    return f", {others} more hold{'s' * (others == 1)} it" if others else ""


def free_text(state: LensState) -> str:
    """Why an array can be written to."""
    return "no operation holds it" if state.guard == "on" else "the guard is off"


def refusal(state: LensState) -> tuple[tuple[str, str], ...]:
    """What was tried, who holds the array, until when, and how to avoid it; empty if nothing failed."""
    moment = failure(state)
    if moment is None:
        return ()
    tried = ("tried", state.story.lines[moment.row].strip())
    if moment.error:
        return (tried, ("error", moment.error))
    hold = next((h for h in moment.holds if h.name == moment.target), next(iter(moment.holds), None))
    holder = hold.op if hold else "an operation"
    if hold and hold.row is not None:
        holder += f" since line {hold.row + 1}"
    return (
        tried,
        ("held by", f"{holder}: it needs the old values for its backward"),
        ("until", "backward() has run, or the loss is gone"),
        ("mend", "write after backward(), or write to a copy"),
    )


def failure_title(state: LensState) -> str:
    """``MemoryGuardError in line 4``."""
    moment = failure(state)
    assert moment is not None
    return f"{'MemoryGuardError' if moment.refused else 'Error'} in line {moment.row + 1}"


def verdict_lines(state: LensState) -> list[tuple[str, str]]:
    """Both gradients, that of the shown run first."""
    lines: list[tuple[str, str]] = []
    correct = dict(state.on.gradients)
    for name, values in state.story.gradients:
        right = correct.get(name)
        wrong = right is not None and right != values
        lines.append((f"{name}  [{', '.join(values)}]{'  wrong' if wrong else ''}", "m ta b" if wrong else "m b"))
        if wrong and right is not None:
            lines.append((f"correct {' ' * max(len(name) - 7, 0)} [{', '.join(right)}]", "m"))
    other = dict(state.off.gradients)
    if state.guard == "on" and any(other.get(name, values) != values for name, values in state.on.gradients):
        fine = not any(m.error for m in state.off.moments)
        lines.append((f"the same write, guard off: {'no error, and' if fine else 'it is done, and'}", "t2"))
        for name, values in state.off.gradients:
            wrong = correct.get(name, values) != values
            lines.append((f"{name}  [{', '.join(values)}]{'  wrong' if wrong else ''}", "m"))
    return lines or [(line, "t2") for line in wrap_text(no_gradient(state), 46)]


def no_gradient(state: LensState) -> str:
    """Why no tensor has a gradient; with the error, if another failure is shown above."""
    story = state.story
    ended = next((m for m in story.moments if m.error), None)
    if ended is not None and ended.in_backward:
        said = f": {shorten(ended.error, 160)}" if failure(state) is not ended else ""
        return f"no gradient: backward() failed in line {ended.row + 1}{said}"
    if ended is not None:
        return f"no gradient: the program ended in line {ended.row + 1}, with an error"
    if calls_backward(story):
        return "no gradient: no tensor that has a name received one"
    return "no gradient yet: the program has no backward()"


def describe(state: LensState) -> str:
    """Where each array was locked and released, and what was refused."""
    parts = [f"Guard {state.guard}."]
    for name, start, end in spans(state.story):
        until = f"until line {end + 1}" if end is not None else "to the end"
        parts.append(f"{name} is locked from line {start + 1} {until}.")
    parts += [f"The write in line {m.row + 1} is refused." for m in state.story.moments if m.refused]
    parts += [f"Line {m.row + 1} ends the program: {m.error}" for m in state.story.moments if m.error]
    return " ".join(parts)


def spoken(state: LensState) -> str:
    """What is read aloud when the line, the guard or the program has changed."""
    story, row = state.story, state.row
    said = remark(story, row)[0]
    line = f"Line {row + 1}: {story.lines[row]}{', ' * bool(said)}{said}. " if row < len(story.lines) else ""
    return line + describe(state)


def why(state: LensState) -> str:
    """Why the guard does what it does here."""
    moment = next((m for m in state.story.moments if m.holds), None)
    if state.guard == "off":
        right = dict(state.on.gradients)
        if any(right.get(name, values) != values for name, values in state.off.gradients):
            return "Nothing is locked, so backward computes with **values that were never used** forward."
        if any(m.error for m in state.off.moments):
            return "Nothing is locked: with the guard off, **no write to an array is refused**."
        if any(m.refused for m in state.on.moments):
            return "Nothing is locked, so a write changed **values that the graph still holds**."
        return "Nothing is locked, and **nothing was overwritten** while the graph needed it."
    if moment is None:
        return "No operation saves an array that you can reach, so **there is nothing to lock**."
    op = moment.holds[0].op
    return f"`{op}` needs **the values it saw**; the guard keeps them as they were until backward has used them."


def text(state: LensState) -> str:
    """The text twin."""
    story = state.story
    out = [f"GuardLens: guard {state.guard}"]
    for row, line in enumerate(story.lines):
        word, _ = remark(story, row)
        out.append(f"{'>' if row == state.row else ' '} {row + 1} {line}{'   # ' + word if word else ''}")
    moment = at(state)
    held = {h.name: h for h in moment.holds} if moment else {}
    arrays = moment.arrays if moment else ()
    for name, values, nbytes in arrays:
        if (h := held.get(name)) is None:
            status = f"writable, {free_text(state)}"
        else:
            status = f"read-only, {h.op} saved {name}{others_text(h)}"
            status += f"{', since' if h.nodes > 1 else ' in'} line {h.row + 1}" if h.row is not None else ""
        out.append(f"{name} [{', '.join(values)}] on cpu, {bytes_text(nbytes)}, {status} (line {state.row + 1})")
    if not arrays:
        out.append(NO_ARRAY)
    facts = refusal(state)
    if facts:
        out.append(f"▲ {failure_title(state)}")
        out += [f"  {label}: {fact}" for label, fact in facts]
    return "\n".join([*out, *(line for line, _ in verdict_lines(state))])
