"""The map of buffers in words: the element pointed at, who sees a write, what shares what, and the text twin."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...common.wording import bytes_text, exact, listed, plural
from .model import Buffer, BufferState, Entry, byte_of, element, entry, same_place

NO_BYTES = "no bytes"
BETWEEN = "all of it lies in cells that are not shown"
EMPTY = "No tensors yet. Name one: BufferMap(x=x)."
SKIPPED, GOES_ON = ".", "─"  # in the text: a cell that a name skips, and one with more bytes of the same element


def arithmetic(state: BufferState) -> str:
    """``t[2, 1] holds 6 and is at byte 0 + 2·4 + 1·16 = 24, as are x[1, 2] and f[6]``."""
    e = entry(state, state.picked)
    if e is None or 0 in e.shape:
        return "" if e is None else f"{e.name} has no elements"
    byte, cell_size = byte_of(e, state.index), state.buffers[e.buffer].itemsize
    terms = "".join(f" + {i}·{s}".replace("·-", "·−") for i, s in zip(state.index, e.strides, strict=True))
    cells = state.buffers[e.buffer].cells
    value = e.values[cells.index(byte // cell_size)] if byte // cell_size in cells else None
    holds = f" holds {value} and" if value is not None else ""
    others = same_place(state)
    too = f", as {'are' if len(others) > 1 else 'is'} {listed(others)}" if others else ""
    where = f"{exact(e.offset)}{terms} = {exact(byte)}" if terms else exact(byte)
    return f"{element(e.name, state.index)}{holds} is at byte {where}{too}"


def write_sentence(state: BufferState) -> str:
    """``s[0, 0] = 99 wrote bytes 0 to 3 of buffer A: x and t see it too, c does not``. Nothing without a write."""
    wrote, e = state.wrote, entry(state, state.picked)
    if wrote is None or e is None:
        return ""
    place = f"byte {wrote.first}" if wrote.first == wrote.last else f"bytes {wrote.first} to {wrote.last}"
    said = f"{element(wrote.name, wrote.index)} = 99 wrote {place} of buffer {state.buffers[e.buffer].name}"
    parts = []
    if wrote.seen:
        parts.append(f"{listed(wrote.seen)} {'sees' if len(wrote.seen) == 1 else 'see'} it too")
    if wrote.unseen:
        parts.append(f"{listed(wrote.unseen)} {'does' if len(wrote.unseen) == 1 else 'do'} not")
    if wrote.unseen and not wrote.seen:
        parts = ["no other name here sees it"]
    return f"{said}: {', '.join(parts)}" if parts else said


def added_sentence(state: BufferState) -> str:
    """``v = x + 1 has a buffer of its own, B``. Nothing unless a name has just been added."""
    e = entry(state, state.added)
    if e is None:
        return ""
    others, name = [x.name for x in state.entries if x.buffer == e.buffer and x is not e], state.buffers[e.buffer].name
    if not others:
        return f"{e.name} = {e.label} has a buffer of its own, {name}"
    return f"{e.name} = {e.label} is in buffer {name}, as {'is' if len(others) == 1 else 'are'} {listed(others)}"


def goal_sentence(state: BufferState) -> str:
    """``✓ xᵥ reads 0 4 8, a column: 1 of 3 found``. Nothing while the free view solves no puzzle."""
    goals = state.goals
    if goals is None or not goals.now:
        return ""
    found = "all found" if len(goals.solved) == goals.total else f"{len(goals.solved)} of {goals.total} found"
    return f"✓ {goals.name} reads {' '.join(goals.reads)}, {goals.now}: {found}"


def spoken(state: BufferState) -> str:
    """What the last act has changed, for those who cannot see it."""
    return ". ".join(filter(None, (write_sentence(state), added_sentence(state), goal_sentence(state))))


def part_in_write(state: BufferState, e: Entry) -> str:
    """What is said beside a name after a write."""
    if state.wrote is None:
        return ""
    return "wrote it" if e.name == state.wrote.name else "sees it" if e.name in state.wrote.seen else ""


def stale_sentence(what: Sequence[str]) -> str:
    """That these names have changed since they were read."""
    has, it = ("has", "it") if len(what) == 1 else ("have", "them")
    return f"{listed(what)} {has} changed since this picture was made: it still shows {it} as before." if what else ""


def caption(state: BufferState, number: int) -> str:
    """``48 bytes, 3 names here``. Other names, which are not on this map, may look at it too."""
    buffer, rows = state.buffers[number], [e for e in state.entries if e.buffer == number]
    kinds = {buffer.dtype, *(e.dtype for e in rows), *(other.dtype for other in state.buffers)}
    read_as = f", read as {buffer.dtype}" if len(kinds) > 1 else ""
    return f"{bytes_text(buffer.nbytes)}, {plural(len(rows), 'name')} here{read_as}"


def meta(state: BufferState, e: Entry) -> list[str]:
    """``(2, 2)``, ``strides (8, 16) bytes``, ``from byte 16``; the dtype too, where it is not that of the cells."""
    parts = [str(e.shape), f"strides {e.strides}{' bytes' * bool(e.strides)}"]
    parts += [f"from byte {e.offset}"] if e.offset else []
    return parts + ([e.dtype] if e.dtype != state.buffers[e.buffer].dtype else [])


def out_of_sight(e: Entry) -> bool:
    """Whether it has elements, and none of them lies in a cell that is drawn."""
    return 0 not in e.shape and not any(e.covers)


def ordinal_text(e: Entry, position: int) -> str:
    """When a tensor visits an element: ``1st``; near the end of a large one ``n−4``, and ``n`` for the last."""
    count, place = math.prod(e.shape), position + 1
    if place >= 100 and count - place < 100:
        return f"n−{count - place}" if count > place else "n"
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{exact(place)}{ending}"


def repeats(e: Entry) -> bool:
    """Whether it reads any of the cells that are drawn more than once."""
    return max(e.times, default=0) > 1


def again_text(times: int) -> str:
    """``×2`` for a cell that is read twice, as where a stride is 0; "" for one that is read once, or not at all."""
    return f"×{exact(times)}" if times > 1 else ""


def describe(state: BufferState) -> str:
    """What shares what, then the last write, or the element pointed at."""
    groups = []
    for i, buffer in enumerate(state.buffers):
        names = [e.name for e in state.entries if e.buffer == i]
        look = "look" if len(names) > 1 else "looks"
        groups.append(f"{', '.join(names)} {look} at buffer {buffer.name} of {bytes_text(buffer.nbytes)}")
    if not groups:
        return EMPTY
    told = ("; ".join(groups), write_sentence(state), goal_sentence(state), arithmetic(state))
    return ". ".join(filter(None, told)) + "."


def why(state: BufferState) -> str:
    """Which of these names have bytes in common."""
    if not state.entries:
        return ""
    if len(state.entries) == 1:
        e = state.entries[0]
        if 0 in e.shape:
            return f"`{e.name}` has no elements, so **there are no bytes** for it to look at."
        if not e.shape:
            return f"`{e.name}` is a single number: **without axes**, it needs no strides."
        return (
            f"`{e.name}` is a shape over bytes: **its strides give** the distance to the next element along each axis."
        )
    if not state.shares:
        return "No two of these names share a byte: **a write through one is not seen** through another."
    for i, buffer in enumerate(state.buffers):
        rows = [e for e in state.entries if e.buffer == i]
        names = [e.name for e in rows]
        pairs = [pair for pair in state.shares if pair[0] in names]
        if not pairs:
            continue
        if len(pairs) == len(rows) * (len(rows) - 1) // 2:
            return _all_share(buffer, rows)
        first = pairs[0][0]
        partners = listed([f"`{b}`" for a, b in pairs if a == first])
        rest = "; not every pair of names does" if len(rows) > 2 else ""
        return f"In buffer {buffer.name}, **`{first}` shares bytes with** {partners}{rest}."
    raise AssertionError("names that share bytes look at one buffer")


def _all_share(buffer: Buffer, rows: list[Entry]) -> str:
    together = listed([f"`{e.name}`" for e in rows])
    differ = [w for w in ("dtype", "shape", "strides", "offset") if len({getattr(e, w) for e in rows}) > 1]
    if not differ:
        same = "**in the same way**: a write through one is seen through all"
        return f"{together} look at the bytes of buffer {buffer.name} {same}."
    one = len(differ) == 1 and differ[0] != "strides"
    return (
        f"{together} share bytes of buffer {buffer.name}: **only {listed(differ)} {'differs' if one else 'differ'}**."
    )


def text(state: BufferState) -> str:
    """The text twin."""
    lines = ["BufferMap"] if state.entries else ["BufferMap", EMPTY]
    for i, buffer in enumerate(state.buffers):
        rows = [e for e in state.entries if e.buffer == i]
        per_cell = f"{bytes_text(buffer.itemsize)} per cell"
        lines.append(f"buffer {buffer.name} on {buffer.device}: {caption(state, i)}, {per_cell}")
        hidden = buffer.count - len(buffer.cells)
        gap = f"   ({exact(hidden)} cells between are not shown)" if hidden else ""
        if buffer.count:
            lines.append("  byte   " + " ".join(f"{exact(cell * buffer.itemsize):>5}" for cell in buffer.cells))
            lines.append("  value  " + " ".join(f"{value:>5}" for value in buffer.values) + gap)
        else:
            lines.append(f"  {NO_BYTES}")
        for e in rows:
            part = part_in_write(state, e)
            lines.append(f"  {e.name} = {e.label or e.name}: {', '.join(meta(state, e))}{f': {part}' if part else ''}")
            shown = [v or (GOES_ON if on else SKIPPED) for v, on in zip(e.values, e.covers, strict=True)]
            lines.append("         " + (BETWEEN if out_of_sight(e) else " ".join(f"{value:>5}" for value in shown)))
            if state.ordered:
                visits = ("" if p is None else ordinal_text(e, p) for p in e.order)
                lines.append("  visit  " + " ".join(f"{visit:>5}" for visit in visits))
            if repeats(e):
                lines.append("  reads  " + " ".join(f"{again_text(times):>5}" for times in e.times))
    refused = f"▲ {state.message}" if state.message else ""
    lines += filter(None, (write_sentence(state), goal_sentence(state), arithmetic(state), refused))
    return "\n".join(line.rstrip() for line in lines)
