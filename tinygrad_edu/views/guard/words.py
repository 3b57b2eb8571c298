"""The guard in words: the remark beside each line, what was refused, both gradients, and the text twin."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...common.wording import bytes_text
from ..marks import shorten, wrap_text
from .model import RELEASED, STAYS, LensState, at, born, differ, failure, happened, has_backward, spans
from .program import Holding, Moment, Seen, Story

MOST_NAMES = 3  # of the same bytes that are drawn, beside the first
NO_ARRAY = "No NumPy array exists yet."


def remark(story: Story, row: int) -> tuple[str, str]:
    """The words beside a line of code, and their style."""
    moments = happened(story, row)
    ended = [word for word, so in (("refused", any(m.refused for m in moments)),
                                   ("error", any(m.error for m in moments))) if so]  # fmt: skip
    found = spans(story)
    locked = [span.name for span in found if span.start == row]
    changes = [f"{', '.join(locked)} locked"] if locked else []
    for after in (RELEASED, "gone", STAYS):
        names = [span.name for span in found if span.end == row and span.after == after]
        verb = after.replace("stays", "stay") if len(names) > 1 else after
        changes += [f"{', '.join(names)} {verb}"] if names else []
    if ended or changes:
        return ", ".join(ended + changes), "ta b" if ended else "b"
    if story.guard == "on" and any(m.overwrote for m in moments):
        return "allowed, past the lock", "ta b"
    return ("allowed", "t2") if any(m.writes for m in moments) else ("", "t2")


def others_text(hold: Holding) -> str:
    """How many other operations hold the same array."""
    others = hold.nodes - 1
    return f", {others} more hold{'s' * (others == 1)} it" if others else ""


def status(state: LensState, array: Seen) -> tuple[str, str]:
    """Whether an array can be written to, and why."""
    moment = at(state)
    lock = next((h for h in moment.holds if h.array == array.array), None) if moment else None
    if lock is not None:
        line = f"{', since' if lock.nodes > 1 else ' in'} line {lock.row + 1}" if lock.row is not None else ""
        saved, view = array.name, ""
        if moment is not None and later(state.story, lock):  # a view of what was saved
            saved = next((h.name for h in moment.holds if h.row == lock.row and not later(state.story, h)), "an array")
            view = ", and this is a view of it"
        return "read-only", f"{lock.op} saved {saved}{others_text(lock)}{line}{view}"
    if not array.writeable:
        return "read-only", "it was made so, or is a view that was taken under a lock, and stays so"
    if array.held:
        return "writable", "a view taken before the lock: a way past it"
    return "writable", "no operation holds it" if state.guard == "on" else "the guard is off"


def later(story: Story, hold: Holding) -> bool:
    """Whether the array came after the operation that holds its bytes: a view, read-only from the start."""
    return hold.row is not None and born(story, hold.array) > hold.row


def shown_array(state: LensState) -> Seen | None:
    """The array that is drawn: the first one that is locked, or else the first."""
    moment = at(state)
    if moment is None or not moment.arrays:
        return None
    held = {hold.array for hold in moment.holds}
    return next((array for array in moment.arrays if array.array in held), moment.arrays[0])


def more_names(array: Seen) -> str:
    """``and 2 more`` names of the same bytes, which are not drawn."""
    rest = len(array.others) - MOST_NAMES
    return f"and {rest} more" if rest > 0 else ""


WAITS = (("until", "backward() has run, or the loss is gone"), ("fix", "write after backward(), or write to a copy"))
LATE_VIEW = (
    ("until", "for good: a view that is taken under a lock stays read-only"),
    ("fix", "after backward(), take the view again; or write to a copy"),
)


def refusal(state: LensState) -> tuple[tuple[str, str], ...]:
    """What was tried, who holds the array, until when, and how to avoid it; empty if nothing failed."""
    moment = failure(state)
    if moment is None:
        return ()
    tried = ("tried", state.story.lines[moment.row].strip())
    if moment.error:
        return (tried, ("error", moment.error))
    hold = moment.holder
    holder = hold.op if hold else "an operation"
    if hold and hold.row is not None:
        holder += f" since line {hold.row + 1}"
    return (
        tried,
        ("held by", f"{holder}: it needs the old values for its backward"),
        *(LATE_VIEW if hold and _written_late(state.story, moment, hold) else WAITS),
        ("then", "the lens skips this line and goes on; a program stops here"),
    )


def _written_late(story: Story, moment: Moment, hold: Holding) -> bool:
    """Whether the write was to a view that came after the lock."""
    name = re.match(r"\s*(\w+)", story.lines[moment.row])
    before = next((m for m in reversed(story.moments) if m.row < moment.row), moment)
    written = next((one.array for one in before.arrays if name and one.name == name[1]), None)
    return written is not None and hold.row is not None and born(story, written) > hold.row


def failure_title(state: LensState) -> str:
    """``ValueError in line 4``."""
    moment = failure(state)
    assert moment is not None
    return f"{moment.raised or 'Error'} in line {moment.row + 1}"


def verdict_lines(state: LensState) -> list[tuple[str, str]]:
    """The gradients of the shown run, the correct ones where those are wrong, and those of the run without the guard
    where they differ."""
    lines = _gradients(state.story, "m b")
    if state.guard == "on" and differ(state) and state.off.gradients:
        lines += [(_other_run(state), "t2"), *_gradients(state.off, "m", dict(state.on.gradients))]
    own = bool(state.story.gradients)
    return lines if own else [*((line, "t2") for line in wrap_text(no_gradient(state), 46)), *lines]


def _gradients(story: Story, style: str, above: Mapping[str, tuple[str, ...]] | None = None) -> list[tuple[str, str]]:
    """A line for each gradient, and one more where a write has made it wrong, unless the correct one stands above."""
    lines: list[tuple[str, str]] = []
    right = dict(story.correct)
    for name, values in story.gradients:
        told = f"{name}  [{', '.join(values)}]"
        lines.append((f"{told}  wrong", "m ta b" if above is None else style) if name in right else (told, style))
        if name in right and right[name] != (above or {}).get(name):
            lines.append((f"correct {' ' * max(len(name) - 7, 0)} [{', '.join(right[name])}]", "m"))
    return lines


def _other_run(state: LensState) -> str:
    """What leads to the gradients of the run without the guard."""
    what = "write" if any(m.refused for m in state.on.moments) else "program"
    fine = not any(m.error for m in state.off.moments)
    return f"the same {what}, guard off: {'no error, and' if fine else 'it is done, and'}"


def no_gradient(state: LensState) -> str:
    """Why no tensor has a gradient; with the error, if another failure is shown above."""
    story = state.story
    ended = next((m for m in story.moments if m.error), None)
    if ended is not None and ended.in_backward:
        said = f": {shorten(ended.error, 160)}" if failure(state) is not ended else ""
        return f"no gradient: backward() failed in line {ended.row + 1}{said}"
    if ended is not None:
        return f"no gradient: the program ended in line {ended.row + 1}, with an error"
    if has_backward(story):
        return "no gradient: no tensor that has a name received one"
    return "no gradient yet: the program has no backward()"


def describe(state: LensState) -> str:
    """Where each array was locked and released, and what was refused."""
    parts = [f"Guard {state.guard}."]
    for span in spans(state.story):
        until = f"until line {span.end + 1}" if span.end is not None and span.ends else "to the end"
        parts.append(f"{span.name} is locked from line {span.start + 1} {until}.")
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
    if state.guard == "off":
        if state.off.correct:
            return "Nothing is locked, so backward computes with **values that were never used** forward."
        if any(m.error for m in state.off.moments):
            return "Nothing is locked: with the guard off, **no write to an array is refused**."
        if any(m.overwrote for m in state.off.moments):
            return "Nothing is locked, so a write changed **values that the graph still holds**."
        return "Nothing is locked, and **nothing was overwritten** while the graph needed it."
    if state.on.correct:
        return "NumPy has ways past a lock, such as **a view that was taken before it**; `guard.verify()` finds them."
    moment = next((m for m in state.story.moments if m.holds), None)
    if moment is None:
        if any(array.held for m in state.story.moments for array in m.arrays):
            return "Nothing that you can reach is locked: **an operation holds** the bytes of an older view."
        return "Nothing is locked: **no recorded operation needs** your arrays' old numbers."
    op = moment.holds[0].op
    past = next((m.row + 1 for m in state.story.moments if m.overwrote), None)
    if past is not None:
        return (
            f"`{op}` needs **the values it saw**, and line {past} wrote over some: a lock stops NumPy's writes, not a "
            "tensor's own, nor those through an older view."
        )
    return f"`{op}` needs **the values it saw**; the guard keeps them as they were until backward has used them."


def text(state: LensState) -> str:
    """The text twin."""
    story = state.story
    out = [f"GuardLens: guard {state.guard}"]
    for row, line in enumerate(story.lines):
        word, _ = remark(story, row)
        out.append(f"{'>' if row == state.row else ' '} {row + 1} {line}{'   # ' + word if word else ''}")
    moment = at(state)
    for array in moment.arrays if moment else ():
        can, because = status(state, array)
        told = f"{array.name} [{', '.join(array.values)}] on cpu, {bytes_text(array.nbytes)}, {can}, {because}"
        out.append(f"{told} (line {state.row + 1})")
    if (first := shown_array(state)) is None:
        out.append(NO_ARRAY)
    elif first.others:
        more = f" {more_names(first)}: {', '.join(first.others[MOST_NAMES:])}" if more_names(first) else ""
        drawn = ", ".join((first.name, *first.others[:MOST_NAMES]))
        out.append(f"in one buffer: {drawn}{more} (line {state.row + 1})")
    facts = refusal(state)
    if facts:
        out.append(f"▲ {failure_title(state)}")
        out += [f"  {label}: {fact}" for label, fact in facts]
    return "\n".join([*out, *(line for line, _ in verdict_lines(state))])
