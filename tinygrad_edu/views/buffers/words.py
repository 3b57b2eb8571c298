"""The map of buffers in words: the element pointed at, what shares what, and the text twin."""

from __future__ import annotations

import math

from ...common.wording import bytes_text, exact
from .model import CELLS, BufferState, Entry, byte_of, entry, same_place

NO_BYTES = "no bytes"
EMPTY = "No tensors yet. Name one: BufferMap(x=x)."


def arithmetic(state: BufferState) -> str:
    """``t[2, 1] = byte 0 + 2·4 + 1·16 = 24 = x[1, 2] = f[6]``."""
    e = entry(state, state.picked)
    if e is None or 0 in e.shape:
        return "" if e is None else f"{e.name} has no elements"
    terms = "".join(f" + {i}·{s}".replace("·-", "·−") for i, s in zip(state.index, e.strides, strict=True))
    others = "".join(f" = {name}" for name in same_place(state))
    return f"{e.name}[{', '.join(map(str, state.index))}] = byte {e.offset}{terms} = {byte_of(e, state.index)}{others}"


def ordinal_text(e: Entry, position: int) -> str:
    """An element's position in its tensor; near the end of a large one, counted from the end: ``n−5``."""
    count = math.prod(e.shape)
    return f"n−{count - position}" if position >= 10_000 and count - position < 100 else exact(position)


def describe(state: BufferState) -> str:
    """What shares what, then the element pointed at."""
    groups = []
    for i, buffer in enumerate(state.buffers):
        names = [e.name for e in state.entries if e.buffer == i]
        look = "look" if len(names) > 1 else "looks"
        groups.append(f"{', '.join(names)} {look} at buffer {buffer.name} of {bytes_text(buffer.nbytes)}")
    here = arithmetic(state)
    if not groups:
        return EMPTY
    return "; ".join(groups) + "." + (f" {here}." if here else "")


def why(state: BufferState) -> str:
    """Which names share bytes, and which have their own."""
    if not state.entries:
        return ""
    for i, buffer in enumerate(state.buffers):
        names = [f"`{e.name}`" for e in state.entries if e.buffer == i]
        if len(names) > 1:
            together = f"{', '.join(names[:-1])} and {names[-1]}"
            looks = {(e.shape, e.strides, e.offset) for e in state.entries if e.buffer == i}
            if len(looks) == 1:
                same = "**in the same way**: a write to one changes all"
                return f"{together} look at the bytes of buffer {buffer.name} {same}."
            differ = "**only shape, strides and offset differ**"
            return f"{together} share the bytes of buffer {buffer.name}: {differ}."
    if len(state.entries) == 1:
        name = state.entries[0].name
        return f"`{name}` is a shape over bytes: **its strides give** the distance to the next element along each axis."
    return "Each name has **its own bytes**: a write to one does not change another."


def text(state: BufferState) -> str:
    """The text twin."""
    lines = ["BufferMap"] if state.entries else ["BufferMap", EMPTY]
    for i, buffer in enumerate(state.buffers):
        rows = [e for e in state.entries if e.buffer == i]
        shared = "one tensor" if len(rows) == 1 else f"shared by {len(rows)} tensors"
        size = f"{bytes_text(buffer.nbytes)}, {shared}, {bytes_text(buffer.itemsize)} per cell"
        lines.append(f"buffer {buffer.name} on {buffer.device}: {size}")
        gap = "" if buffer.count <= CELLS else f"   ({buffer.count - len(buffer.cells)} cells between are not shown)"
        if buffer.count:
            lines.append("  byte   " + " ".join(f"{exact(cell * buffer.itemsize):>5}" for cell in buffer.cells))
            lines.append("  value  " + " ".join(f"{value:>5}" for value in buffer.values) + gap)
        else:
            lines.append(f"  {NO_BYTES}")
        for e in rows:
            start = f", from byte {e.offset}" if e.offset else ""
            lines.append(f"  {e.name} = {e.label or e.name}: {e.shape}, strides {e.strides}{start}")
            lines.append("         " + " ".join(f"{'.' if p is None else ordinal_text(e, p):>5}" for p in e.order))
    here = arithmetic(state)
    lines += [here] if here else []
    lines += [f"▲ {state.message}"] if state.message else []
    return "\n".join(line.rstrip() for line in lines)
