"""What the memory guard does to a few lines of code: who locked which array, since which line, until when."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from ...common.wording import shown
from ...errors import ArgumentError
from .program import Moment, Story, calls_backward, run

LEVELS = ("on", "off")


@dataclass(frozen=True)
class LensState:
    """Both runs of one program, and where the learner looks."""

    on: Story
    off: Story
    guard: str = "on"
    row: int = 0

    @property
    def story(self) -> Story:
        """The run that is shown."""
        return self.on if self.guard == "on" else self.off


def lens(source: str, guard: str = "on") -> LensState:
    """Both runs, looking at the first refused write, or at the end."""
    known_guard(guard)
    on, off = run(source, "on"), run(source, "off")  # with the same random numbers: only the guard is different
    row = next((m.row for m in on.moments if m.refused), on.moments[-1].row if on.moments else 0)
    return LensState(on, off, guard, row)


def unfinished(source: str, guard: str, why: str) -> LensState:
    """A program that did not end by itself. Nothing is known of it but its lines."""
    lines = tuple(source.strip("\n").split("\n"))
    moment = Moment(len(lines) - 1, (), error=why)
    return LensState(Story(lines, "on", (moment,), ()), Story(lines, "off", (moment,), ()), guard, moment.row)


RELEASED, STAYS = "released", "stays read-only"


@dataclass(frozen=True)
class Span:
    """From the line after which an array is locked to the line after which it is not. ``end`` is None if it stays so.

    ``after`` says what it is then: *released*, so that it can be written to; *gone*; or, as a view that was taken while
    the array was locked, *stays read-only*.
    """

    name: str
    start: int
    end: int | None
    after: str = RELEASED

    @property
    def ends(self) -> bool:
        """Whether the array can be written to again, or is gone."""
        return self.end is not None and self.after != STAYS


def spans(story: Story) -> list[Span]:
    """The locks of each array, by the state after each line."""
    found: list[Span] = []
    begun: dict[int, int] = {}
    for moment in lines_done(story):
        held = {h.array for h in moment.holds}
        for array in [one for one in begun if one not in held]:
            found.append(Span(story.labels[array], begun.pop(array), moment.row, _after(moment, array)))
        begun |= {array: moment.row for array in sorted(held) if array not in begun}
    return found + [Span(story.labels[array], start, None) for array, start in begun.items()]


def _after(moment: Moment, array: int) -> str:
    seen = next((one for one in moment.arrays if one.array == array), None)
    if array in moment.gone:
        return "gone"
    return RELEASED if seen is None or seen.writeable else STAYS


def born(story: Story, array: int) -> int:
    """The line after which an array was seen first."""
    return next((m.row for m in story.moments if any(one.array == array for one in m.arrays)), 0)


def lines_done(story: Story) -> list[Moment]:
    """The state after each line: that of its last statement."""
    return list({moment.row: moment for moment in story.moments}.values())


def happened(story: Story, row: int) -> list[Moment]:
    """All statements that ended on a line."""
    return [moment for moment in story.moments if moment.row == row]


def known_guard(guard: Any) -> str:
    """``on`` or ``off``. Raises `ArgumentError` for anything else."""
    if not (isinstance(guard, str) and guard in LEVELS):
        raise ArgumentError(f"guard={shown(guard)}", "the guard is on or off", 'give guard="on" or guard="off"')
    return guard


def failure(state: LensState) -> Moment | None:
    """The moment of a refusal or an error: at the line looked at, or else the one that ended the run, or the first."""
    failed = [m for m in state.story.moments if m.refused or m.error]
    here, ended = [m for m in failed if m.row == state.row], [m for m in failed if m.error]
    return next(iter([*here, *ended, *failed]), None)


def has_backward(story: Story) -> bool:
    """Whether ``backward`` is called anywhere in the program."""
    try:
        return calls_backward(ast.parse("\n".join(story.lines)))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False


def differ(state: LensState) -> set[str]:
    """The gradients that are not the same, to the last digit, with the guard on and off."""
    on, off = (dict(zip((n for n, _ in s.gradients), s.bits, strict=True)) for s in (state.on, state.off))
    return {name for name in (*on, *off) if on.get(name) != off.get(name)}


def at(state: LensState) -> Moment | None:
    """The moment at the line looked at: the last one up to it."""
    before = [m for m in state.story.moments if m.row <= state.row]
    return before[-1] if before else None
