"""What the memory guard does to a few lines of code: who locked which array, since which line, until when."""

from __future__ import annotations

import ast
import contextvars
import itertools
import linecache
from dataclasses import dataclass
from typing import Any

import numpy as np

import tinygrad_edu

from .. import guard as public_guard
from ..common.lines import resolve_line
from ..common.wording import bytes_text, exact
from ..guard import holders
from ..tensor import Tensor
from ..tensor.random import generator
from .frame import NARROW, WIDE, Control, Figure, Frame
from .marks import MONO_13, Canvas, shorten, wrap_text

NO_ARRAY = "No NumPy array exists yet."
_serial = itertools.count(1)


@dataclass(frozen=True)
class Holding:
    """An array that a node holds at some moment."""

    name: str
    op: str
    row: int | None  # of the op
    nodes: int


@dataclass(frozen=True)
class Moment:
    """The state after one line, and what that line met."""

    row: int
    holds: tuple[Holding, ...]
    refused: str = ""  # why the guard refused the line
    error: str = ""  # any other error ends the run
    arrays: tuple[tuple[str, tuple[str, ...], int], ...] = ()  # name, first values, bytes
    target: str = ""  # the name of the array that the line writes into


@dataclass(frozen=True)
class Story:
    """A program run once, with the guard on or off."""

    lines: tuple[str, ...]
    guard: str
    moments: tuple[Moment, ...]
    gradients: tuple[tuple[str, tuple[str, ...]], ...]


def run(source: str, guard: str) -> Story:
    """Execute a program line by line. A write that the guard refuses is noted, and the program goes on after it."""
    lines = tuple(source.strip("\n").split("\n"))
    filename = f"<lens {next(_serial)}>"
    try:
        statements = ast.parse("\n".join(lines), filename).body
    except (SyntaxError, ValueError) as error:  # a null character is a ValueError
        place = min(getattr(error, "lineno", None) or 1, len(lines)) - 1
        return Story(lines, guard, (Moment(place, (), error=f"SyntaxError: {getattr(error, 'msg', error)}"),), ())
    linecache.cache[filename] = (len(source), None, [line + "\n" for line in lines], filename)
    try:  # in a context of its own: modes that the program sets end with it
        return contextvars.copy_context().run(_execute, lines, statements, filename, guard)
    finally:
        del linecache.cache[filename]


def _execute(lines: tuple[str, ...], statements: list[ast.stmt], filename: str, guard: str) -> Story:
    names: dict[str, Any] = {"np": np, "tg": tinygrad_edu}
    names |= {"tensor": tinygrad_edu.tensor, "from_numpy": tinygrad_edu.from_numpy}
    own = set(names)
    moments: list[Moment] = []
    level = public_guard.on if guard == "on" else public_guard.off
    for statement in statements:
        row, refused, failed = (statement.end_lineno or statement.lineno) - 1, "", ""
        try:
            with level():
                exec(compile(ast.Module([statement], []), filename, "exec"), names)
        except public_guard.MemoryGuardError as error:
            refused = error.why
        except (Exception, SystemExit) as error:  # whatever the learner's code raises is shown, not swallowed
            said = str(error).strip().splitlines()
            failed = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
        arrays = tuple((n, _few(v), v.nbytes) for n, v in names.items() if n not in own and isinstance(v, np.ndarray))
        moments.append(Moment(row, _holdings(names, filename), refused, failed, arrays, _target(statement)))
        if failed:
            break
    tensors = [(n, v) for n, v in names.items() if isinstance(v, Tensor) and v.grad is not None]
    return Story(lines, guard, tuple(moments), tuple((f"{n}.grad", _few(v.grad.array)) for n, v in tensors))


def _target(statement: ast.stmt) -> str:
    """The array that a statement writes into: ``a`` of ``a[0] = 1``, of ``a += 1`` and of ``a.sort()``."""
    for node in ast.walk(statement):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return node.target.id
        of = node.value if isinstance(node, (ast.Attribute, ast.Subscript)) else None
        written = isinstance(node, ast.Attribute) or isinstance(getattr(node, "ctx", None), ast.Store)
        if written and isinstance(of, ast.Name):
            return of.id
    return ""


def _few(array: Any) -> tuple[str, ...]:
    flat = np.asarray(array).ravel()
    return tuple(map(_word, flat[:6])) + (("…",) if flat.size > 6 else ())


def _word(value: Any) -> str:
    try:
        return str(value) if np.iscomplexobj(value) else exact(value)
    except (TypeError, ValueError):  # an array of something else than numbers
        return shorten(str(value), 12)


def _holdings(names: dict[str, Any], filename: str) -> tuple[Holding, ...]:
    found = []
    for name, value in names.items():
        if isinstance(value, np.ndarray) and (nodes := holders(value)):
            place = resolve_line(nodes[0].line)
            row = place[1] - 1 if place is not None and place[0] == filename else None
            found.append(Holding(name, nodes[0].op.name, row, len(nodes)))
    return tuple(found)


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
    numbers, ours = np.random.get_state(), generator().bit_generator.state
    on = run(source, "on")
    np.random.set_state(numbers)  # both runs draw the same random numbers, so that only the guard makes a difference
    generator().bit_generator.state = ours
    off = run(source, "off")
    row = next((m.row for m in on.moments if m.refused), on.moments[-1].row if on.moments else 0)
    return LensState(on, off, guard, row)


def spans(story: Story) -> list[tuple[str, int, int | None]]:
    """For each array: its name, the line that locked it, and the line that released it (None: still locked)."""
    found: list[tuple[str, int, int | None]] = []
    open_: dict[str, int] = {}
    for moment in story.moments:
        held = {h.name for h in moment.holds}
        for name in [n for n in open_ if n not in held]:
            found.append((name, open_.pop(name), moment.row))
        for hold in moment.holds:
            open_.setdefault(hold.name, moment.row)
    return found + [(name, start, None) for name, start in open_.items()]


def remark(story: Story, row: int) -> tuple[str, str]:
    """The word beside a line, and its style."""
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
    return ("allowed", "t2") if _writes(story.lines[row]) else ("", "t2")


def _writes(line: str) -> bool:
    """Whether a line writes into an array: ``a[…] = …`` or ``a += …`` with an index."""
    try:
        body = ast.parse(line.strip()).body
    except SyntaxError:
        return False
    return bool(body) and any(
        isinstance(target, ast.Subscript)
        for statement in body
        for target in (statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)])
    )


def at(state: LensState) -> Moment | None:
    """The moment at the line looked at: the last one up to it."""
    before = [m for m in state.story.moments if m.row <= state.row]
    return before[-1] if before else None


# The figure ------------------------------------------------------------------------------------------------------


def figure(state: LensState, width: int) -> Figure:
    """The code with its lock spans; who holds the array now; the refusal; both gradients."""
    canvas = Canvas(width)
    wide = width >= WIDE
    code_width = 448 if wide else width
    _draw_code(canvas, state, code_width)
    x, y = (code_width + 32, 0.0) if wide else (0.0, canvas.height + 16)
    below = _draw_holder(canvas, state, x, y, width - x)
    top = max(canvas.height if not wide else 28.0 * len(state.story.lines) + 8, below) + 16
    _draw_verdict(canvas, state, top, width, wide)
    return Figure(canvas, "Who holds the array", describe(state))


def _draw_code(canvas: Canvas, state: LensState, width: float) -> None:
    story, lines = state.story, state.story.lines
    canvas.rect(0, 0, width, 28 * len(lines) + 8, "floor")
    lanes = spans(story)
    left = 36 + 16 * max(len({name for name, _, _ in lanes}), 1)
    names = list(dict.fromkeys(name for name, _, _ in lanes))
    for row, line in enumerate(lines):
        y = 4.0 + 28 * row
        word, style = remark(story, row)
        if style == "ta b":
            canvas.rect(0, y, width, 28, "wash")
        elif row == state.row:
            canvas.rect(0, y, width, 28, "on")
            style = "b" if style == "b" else ""  # on this ground grey would be hard to read
        canvas.open(
            tabindex=0, role="button", aria_label=f"line {row + 1}: {line}. {word}", data_act="row", data_value=row
        )
        canvas.rect(0.5, y + 0.5, width - 1, 27, "hit", rx=2)
        canvas.text(20, y + 18.5, str(row + 1), "m" if row == state.row else "m t2", "end")
        room = int((width - left - 12 - len(word) * 7.5) / MONO_13)
        canvas.text(left, y + 18.5, shorten(line, room), "m f13 b" if row == state.row else "m f13")
        canvas.close()
        if word:
            canvas.text(width - 10, y + 18.5, word, style, "end")
    for name, start, end in lanes:
        x = 38.0 + 16 * names.index(name)
        y0, y1 = 18.0 + 28 * start, (18.0 + 28 * end if end is not None else 28.0 * len(lines) + 6)
        canvas.line(x, y0, x, y1, "span")
        canvas.circle(x, y0, 4.5, "knob")
        if end is not None:
            canvas.circle(x, y1, 4.5, "ring")
    for moment in story.moments:
        if moment.refused or moment.error:
            y = 18.0 + 28 * moment.row
            canvas.path(f"M31 {y + 6}l7 -12.5l7 12.5z", "edge-alert")


def _draw_holder(canvas: Canvas, state: LensState, x: float, y: float, width: float) -> float:
    """Name, buffer with its padlock, and the node that holds it. Returns the lower edge."""
    moment = at(state)
    holds = moment.holds if moment else ()
    arrays = moment.arrays if moment else ()
    if not arrays:
        canvas.text(x, y + 20, NO_ARRAY, "t2")
        return y + 36
    held = {h.name: h for h in holds}
    shown = next((a for a in arrays if a[0] in held), arrays[0])
    name, values, nbytes = shown
    lock = held.get(name)
    tip = canvas.tag(x, y + 18, shorten(name, 10))
    cell = min(44.0, (width - (tip - x) - 60) / max(len(values), 1))
    left = tip + 24
    canvas.line(tip, y + 28, left, y + 28, "rule")
    canvas.rect(left - 10, y + 1, len(values) * cell + 44, 62, "floor")
    canvas.line(left - 10, y + 1, left + len(values) * cell + 34, y + 1, "floortop")
    for i, value in enumerate(values):
        canvas.rect(left + i * cell, y + 12, cell, 28, "cell")
        canvas.text(left + (i + 0.5) * cell, y + 30.5, shorten(value, int(cell / 8)), "m f13", "middle")
    if lock:
        canvas.padlock(left + len(values) * cell + 10, y + 18)
    canvas.text(left, y + 56, "cpu", "b")
    canvas.text(left + 28, y + 56, f"{bytes_text(nbytes)}, {'read-only' if lock else 'writable'}", "t2")
    if lock is None:
        canvas.text(left, y + 84, _free(state), "t2")
        return y + 92
    middle = left + 84
    canvas.line(middle, y + 112, middle, y + 70, "span")
    canvas.circle(middle, y + 67, 4.5, "knob")
    canvas.text(middle + 12, y + 93, "holds", "b")
    canvas.rect(left, y + 112, 200, 44, "card", rx=8)
    canvas.text(left + 10, y + 130, lock.op, "m b f13")
    if lock.row is not None:
        canvas.text(left + 190, y + 130, f"line {lock.row + 1}", "t2", "end")
    canvas.text(left + 10, y + 147, f"saved {shorten(name, 10)}{_more(lock)}", "t2")
    return y + 164


def _more(hold: Holding) -> str:
    """How many other operations hold the same array."""
    others = hold.nodes - 1
    return f", {others} more hold{'s' * (others == 1)} it" if others else ""


def _free(state: LensState) -> str:
    """Why an array can be written to."""
    return "no operation holds it" if state.guard == "on" else "the guard is off"


def refusal(state: LensState) -> tuple[tuple[str, str], ...]:
    """What was tried, who holds the array, until when, and the ways out; nothing when no write was refused."""
    moment = next((m for m in state.story.moments if m.refused or m.error), None)
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


def _draw_verdict(canvas: Canvas, state: LensState, y: float, width: float, wide: bool) -> None:
    facts = refusal(state)
    if facts:
        moment = next(m for m in state.story.moments if m.refused or m.error)
        box = 448.0 if wide else width  # as wide as the listing above it
        room = int((box - 96) / 7.0)
        rows = [(label, wrap_text(text, room)) for label, text in facts]
        height = 42 + 19 * sum(len(text) for _, text in rows)
        canvas.rect(0, y, box, height, "wash")
        canvas.rect(0, y, 3, height, "edge-alert")
        kind = "MemoryGuardError" if moment.refused else "Error"
        canvas.text(16, y + 24, f"▲ {kind} in line {moment.row + 1}", "ta b f13")
        base = y + 46
        for label, text in rows:
            canvas.text(16, base, label, "t2")
            for part in text:
                canvas.text(80, base, part, "m" if label == "tried" else "")
                base += 19
        if wide:
            _draw_gradients(canvas, state, 480, y + 8)
        else:
            _draw_gradients(canvas, state, 0, y + height + 18)
    else:
        _draw_gradients(canvas, state, 0, y + 4)


def _draw_gradients(canvas: Canvas, state: LensState, x: float, y: float) -> None:
    for text, style in verdict_lines(state):
        canvas.text(x, y + 12, text, style)
        y += 19


def verdict_lines(state: LensState) -> list[tuple[str, str]]:
    """Both gradients, the one of the run shown first."""
    lines: list[tuple[str, str]] = []
    correct = dict(state.on.gradients)
    for name, values in state.story.gradients:
        right = correct.get(name)
        wrong = right is not None and right != values
        lines.append((f"{name}  [{', '.join(values)}]{'  wrong' if wrong else ''}", "m ta b" if wrong else "m b"))
        if wrong and right is not None:
            lines.append((f"correct {' ' * max(len(name) - 7, 0)} [{', '.join(right)}]", "m"))
    other = dict(state.off.gradients)
    if state.guard == "on" and any(other.get(name) not in (None, values) for name, values in state.on.gradients):
        lines.append(("the same write, guard off: no error, and", "t2"))
        lines += [(f"{name}  [{', '.join(values)}]  wrong", "m") for name, values in state.off.gradients]
    return lines or [("no gradient yet: the program has no backward()", "t2")]


def describe(state: LensState) -> str:
    """Where each array was locked and released, and what was refused."""
    parts = [f"Guard {state.guard}."]
    for name, start, end in spans(state.story):
        until = f"until line {end + 1}" if end is not None else "to the end"
        parts.append(f"{name} is locked from line {start + 1} {until}.")
    parts += [f"The write in line {m.row + 1} is refused." for m in state.story.moments if m.refused]
    return " ".join(parts)


def why(state: LensState) -> str:
    """Why the guard does what it does here."""
    moment = next((m for m in state.story.moments if m.holds), None)
    if state.guard == "off":
        changed = dict(state.on.gradients) != dict(state.off.gradients)
        return (
            "Nothing is locked, so backward computes with **values that were never used** forward."
            if changed
            else "Nothing is locked, and **nothing was overwritten** while the graph needed it."
        )
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
            status = f"writable, {_free(state)}"
        else:
            status = f"read-only, {h.op} saved {name}{_more(h)}"
            status += f"{', since' if h.nodes > 1 else ' in'} line {h.row + 1}" if h.row is not None else ""
        out.append(f"{name} [{', '.join(values)}] on cpu, {bytes_text(nbytes)}, {status} (line {state.row + 1})")
    if not arrays:
        out.append(NO_ARRAY)
    facts = refusal(state)
    if facts:
        failed = next(m for m in story.moments if m.refused or m.error)
        out.append(f"▲ {'MemoryGuardError' if failed.refused else 'Error'} in line {failed.row + 1}")
        out += [f"  {label}: {fact}" for label, fact in facts]
    return "\n".join([*out, *(line for line, _ in verdict_lines(state))])


def frame(state: LensState, ask: str, editing: bool = False) -> Frame:
    """The whole widget."""
    controls = [
        Control("radio", "guard", "guard", state.guard, ("on", "off")),
        Control("icon", "up", "Line up", "up", disabled=state.row <= 0, key="ArrowUp"),
        Control("icon", "down", "Line down", "down", disabled=state.row >= len(state.story.lines) - 1, key="ArrowDown"),
        Control("button", "edit", "Done" if editing else "Edit the code", pressed=editing),
        Control("button", "reset", "Reset", push=True, key="r"),
    ]
    if editing:
        controls += [Control("break"), Control("area", "code", value="\n".join(state.story.lines), hint="the program")]
    return Frame(
        "GuardLens", ("names", "buffers"), ask, figure(state, WIDE), figure(state, NARROW), why(state), text(state),
        f"this run, NumPy {np.__version__} · line {state.row + 1} of {len(state.story.lines)}", None, tuple(controls),
    )  # fmt: skip
