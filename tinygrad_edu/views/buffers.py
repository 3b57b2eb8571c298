"""Names, tensors, bytes: which tensors look at which buffer, and in what order they visit its cells."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from .. import backends
from ..common.wording import brief, bytes_text, exact, plural
from ..core.inplace import own_buffer
from ..errors import DtypeError, EduError, IndexRangeError, ShapeError
from ..tensor import Tensor, as_tensor, wrap
from .frame import NARROW, WIDE, Control, Figure, Frame
from .marks import Canvas, shorten

NO_BYTES = "no bytes"
EMPTY = "No tensors yet. Name one: BufferMap(x=x)."
CELLS = 12  # that fit side by side
HEAD, TAIL = 6, 5  # of a longer buffer: the first cells, a gap, the last ones


@dataclass(frozen=True)
class Entry:
    """One name: its tensor's metadata, and which cells of its buffer it visits."""

    name: str
    label: str  # how it was made, where that is known
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # bytes
    offset: int  # bytes from the start of the buffer
    dtype: str
    itemsize: int
    buffer: int
    order: tuple[int | None, ...]  # per drawn cell: the how-manieth element lies there, or None


@dataclass(frozen=True)
class Buffer:
    """One block of memory. Only the drawn cells' values are kept, never all of a large array."""

    name: str
    nbytes: int
    itemsize: int
    cells: tuple[int, ...]  # cell numbers that are drawn, ascending
    values: tuple[str, ...]
    device: str

    @property
    def count(self) -> int:
        """How many cells there are."""
        return self.nbytes // self.itemsize


@dataclass(frozen=True)
class BufferState:
    """What a map shows, and where the learner points."""

    entries: tuple[Entry, ...]
    buffers: tuple[Buffer, ...]
    picked: str | None = None  # a name
    index: tuple[int, ...] = ()
    message: str = ""  # the last refusal, in words


def read(tensors: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> BufferState:
    """The map of some named tensors or arrays. Those of one buffer are grouped; values are read now."""
    owners: list[Any] = []
    found: list[tuple[str, Any, int]] = []
    for name, value in tensors.items():
        tensor = as_tensor(value)
        array = own_buffer(tensor)
        owner = _owner(array)
        position = next((i for i, known in enumerate(owners) if known is owner), None)
        if position is None:
            position = len(owners)
            owners.append(owner)
        found.append((name, array, position))
    buffers = tuple(_buffer(owner, _letter(i), [a for _, a, p in found if p == i]) for i, owner in enumerate(owners))
    entries = tuple(
        _entry(name, (labels or {}).get(name, ""), array, position, owners[position], buffers[position])
        for name, array, position in found
    )
    first = entries[0] if entries else None
    return BufferState(entries, buffers, first.name if first else None, (0,) * len(first.shape) if first else ())


def _letter(place: int) -> str:
    """A name for each buffer: A to Z, then A1."""
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def _buffer(owner: Any, name: str, arrays: list[Any]) -> Buffer:
    itemsize = min(a.dtype.itemsize for a in arrays)
    low, high = _bounds(owner)
    count = (high - low) // itemsize
    cells = tuple(range(count)) if count <= CELLS else (*range(HEAD), *range(count - TAIL, count))
    dtype = next(a.dtype for a in arrays if a.dtype.itemsize == itemsize)
    flat: Any = np.ndarray((count,), dtype, _memory(owner)) if count else np.empty(0, dtype)
    values = tuple(brief(flat[cell]) for cell in cells)
    return Buffer(name, high - low, itemsize, cells, values, backends.of(owner).device)


def _owner(array: Any) -> Any:
    """The array that owns the memory; also behind ``as_strided``, which hides it."""
    owner = backends.of(array).owner(array)
    hidden = getattr(owner.base, "base", None)
    return _owner(hidden) if isinstance(hidden, np.ndarray) else owner


def _bounds(owner: Any) -> tuple[int, int]:
    """The addresses where the memory begins and ends."""
    low, high = byte_bounds(owner) if owner.size else (_address(owner), _address(owner))
    return int(low), int(high)


def _memory(owner: Any) -> Any:
    """The owner's bytes in the order of their addresses, without a copy."""
    ordered = owner.transpose(sorted(range(owner.ndim), key=lambda axis: -owner.strides[axis]))
    if ordered.flags.c_contiguous:
        return ordered
    first = owner[tuple(slice(1) if step >= 0 else slice(-1, None) for step in owner.strides)].reshape(1)
    low, high = _bounds(owner)
    return np.lib.stride_tricks.as_strided(first, ((high - low) // owner.itemsize,), (owner.itemsize,))


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _entry(name: str, label: str, array: Any, position: int, owner: Any, buffer: Buffer) -> Entry:
    offset, shape, strides = _address(array) - _bounds(owner)[0], tuple(array.shape), tuple(array.strides)
    order = tuple(_visit(shape, strides, offset, cell * buffer.itemsize) for cell in buffer.cells)
    return Entry(name, label, shape, strides, offset, array.dtype.name, array.dtype.itemsize, position, order)


def _visit(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, byte: int) -> int | None:
    """The position, in row-major order, of the first element of a tensor that lies at ``byte``. None when it has none.

    Solved axis by axis from the largest stride, so that ten million elements cost as much as ten.
    """
    if 0 in shape:
        return None
    rest = byte - offset
    axes = sorted((i for i, n in enumerate(shape) if n > 1 and strides[i]), key=lambda i: -abs(strides[i]))
    for i in axes:  # a negative stride runs backwards: count from its far end
        if strides[i] < 0:
            rest += -strides[i] * (shape[i] - 1)
    found = []
    for steps in _solve(rest, [(abs(strides[i]), shape[i]) for i in axes]):
        index = [0] * len(shape)
        for i, step in zip(axes, steps, strict=True):
            index[i] = step if strides[i] > 0 else shape[i] - 1 - step
        found.append(index)  # one, or several where windows overlap
    if not found:
        return None
    position = 0
    for size, step in zip(shape, min(found), strict=True):
        position = position * size + step
    return position


def _solve(rest: int, axes: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Every way to make ``rest`` of so many steps along each axis, given as stride and size."""
    if not axes:
        if not rest:
            yield []
        return
    (stride, size), others = axes[0], axes[1:]
    reach = sum(s * (n - 1) for s, n in others)
    for step in range(max(0, -((reach - rest) // stride)), min(rest // stride, size - 1) + 1):
        for tail in _solve(rest - step * stride, others):
            yield [step, *tail]


# Adding views by expression --------------------------------------------------------------------------------------

LARGEST = 100_000_000  # elements: a slip of the hand must not fill the memory
_METHODS = {
    "reshape", "view", "transpose", "permute", "flatten", "unsqueeze", "squeeze", "expand",
    "clone", "contiguous", "copy",
}  # fmt: skip


def evaluate(expression: str, names: Mapping[str, Any]) -> Tensor:
    """The tensor that ``x[::2].T`` or ``x.reshape(-1)`` means: names, indices and shape methods, and nothing else."""
    try:
        return _evaluate(ast.parse(expression.strip(), mode="eval").body, names, expression)
    except EduError:
        raise
    except (SyntaxError, ValueError, TypeError, IndexError, OverflowError, RecursionError, MemoryError):
        raise _not_understood(expression) from None


def _not_understood(expression: str) -> DtypeError:
    return DtypeError(
        f"the view {shorten(expression, 40)!r}",
        "a view is a name, with an index, .T or a shape method after it",
        "try x[1:], x[:, ::2], x.T or x.reshape(2, 6)",
    )


def _evaluate(node: ast.AST, names: Mapping[str, Any], whole: str) -> Tensor:
    made = _step(node, names, whole)
    if made.numel() > LARGEST:
        raise ShapeError(
            f"the view {shorten(whole, 40)!r}", f"it would have {made.numel()} elements", "make it smaller"
        )
    return made


def _step(node: ast.AST, names: Mapping[str, Any], whole: str) -> Tensor:
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise DtypeError(
                f"the view {whole!r}", f"there is no {node.id} here; there are {', '.join(names)}", "use one of these"
            )
        return as_tensor(names[node.id])
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return getattr(_evaluate(node.value, names, whole), node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        method, of = node.func.attr, node.func.value
        if method in _METHODS:
            made = getattr(_evaluate(of, names, whole), "clone" if method == "copy" else method)
            return made(*(_literal(argument, whole) for argument in node.args))
    if isinstance(node, ast.Subscript):
        return _evaluate(node.value, names, whole)[_index(node.slice, whole)]
    raise _not_understood(whole)


def _index(node: ast.AST, whole: str) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_index(part, whole) for part in node.elts)
    if isinstance(node, ast.Slice):
        return slice(*(None if part is None else _literal(part, whole) for part in (node.lower, node.upper, node.step)))
    return _literal(node, whole)


def _literal(node: ast.AST, whole: str) -> Any:
    value = ast.literal_eval(node)
    if not isinstance(value, (int, tuple, list, type(None), type(...))):
        raise _not_understood(whole)
    return value


def strided(base: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
    """A tensor over the base's buffer with any shape, strides and offset, all counted in elements.

    Raises `IndexRangeError` when some index would fall outside the buffer.
    """
    array = own_buffer(base)
    owner = _owner(array)
    begin, end = _bounds(owner)
    count = (end - begin) // array.dtype.itemsize
    if all(shape):
        low = offset + sum(min(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True))
        high = offset + sum(max(0, s * (n - 1)) for n, s in zip(shape, strides, strict=True))
        if low < 0 or high >= count:
            up = high >= count
            far = [n - 1 if (s > 0) is up else 0 for n, s in zip(shape, strides, strict=True)]
            cells = f"cells 0 to {count - 1}" if count else "no cells"
            raise IndexRangeError(
                f"shape {shape}, strides {strides}, offset {offset}",
                f"element {far} would lie in cell {high if up else low}, and the buffer has {cells}",
                "make the shape, the stride or the offset smaller",
            )
    item = array.dtype.itemsize
    view: Any = np.ndarray(shape, array.dtype, _memory(owner), offset * item, tuple(s * item for s in strides))
    return wrap(view)


# Pointing --------------------------------------------------------------------------------------------------------


def entry(state: BufferState, name: str | None) -> Entry | None:
    """The entry of that name."""
    return next((e for e in state.entries if e.name == name), None)


def point(state: BufferState, name: str, index: tuple[int, ...]) -> BufferState:
    """Point at one element. Raises `ShapeError` for an index that the tensor does not have."""
    e = entry(state, name)
    if e is not None and 0 in e.shape:
        return replace(state, picked=name, index=(), message="")  # there is nowhere to point
    if e is None or len(index) != len(e.shape) or any(not 0 <= i < n for i, n in zip(index, e.shape, strict=True)):
        raise ShapeError(
            f"{name}{list(index)}", f"{name} has shape {e.shape if e else '—'}", "choose an index inside it"
        )
    return replace(state, picked=name, index=index, message="")


def unravel(e: Entry, position: int) -> tuple[int, ...]:
    """The index of the how-manieth element."""
    index = []
    for size in reversed(e.shape):
        index.append(position % size)
        position //= size
    return tuple(reversed(index))


def byte_of(e: Entry, index: tuple[int, ...]) -> int:
    """Where in the buffer an element begins."""
    return e.offset + sum(i * s for i, s in zip(index, e.strides, strict=True))


def same_place(state: BufferState) -> list[str]:
    """The other names' elements that lie where the learner points: ``x[1, 2]``."""
    e = entry(state, state.picked)
    if e is None or 0 in e.shape:
        return []
    byte, found = byte_of(e, state.index), []
    for other in state.entries:
        if other is e or other.buffer != e.buffer:
            continue
        position = _visit(other.shape, other.strides, other.offset, byte)
        if position is not None:
            found.append(f"{other.name}[{', '.join(map(str, unravel(other, position)))}]")
    return found


def arithmetic(state: BufferState) -> str:
    """``t[2, 1] = byte 0 + 2·4 + 1·16 = 24 = x[1, 2] = f[6]``."""
    e = entry(state, state.picked)
    if e is None or 0 in e.shape:
        return "" if e is None else f"{e.name} has no elements"
    terms = "".join(f" + {i}·{s}".replace("·-", "·−") for i, s in zip(state.index, e.strides, strict=True))
    others = "".join(f" = {name}" for name in same_place(state))
    return f"{e.name}[{', '.join(map(str, state.index))}] = byte {e.offset}{terms} = {byte_of(e, state.index)}{others}"


# The figure ------------------------------------------------------------------------------------------------------


def figure(state: BufferState, width: int) -> Figure:
    """Buffers with their bytes, and under each the tensors that look at it."""
    canvas = Canvas(width)
    wide = width >= WIDE
    floor_x, cell_w = (366, 36) if wide else (0, 36)
    left = floor_x + 10 if wide else 7
    y = 26.0
    canvas.items.append("")  # the floor goes here, once its height is known
    if state.buffers:
        canvas.text(left, 20, state.buffers[0].device, "b")
        canvas.text(left + 30, 20, "byte address" + _unit(state), "t2")
    for number_, buffer in enumerate(state.buffers):
        rows = [e for e in state.entries if e.buffer == number_]
        y = _draw_buffer(canvas, state, number_, buffer, rows, y, left, cell_w, wide)
        for e in rows:
            y = _draw_entry(canvas, state, e, buffer, y, left, cell_w, wide)
        y += 14
    if not state.entries:
        canvas.text(left, 28, EMPTY, "t2")
        y = 48
    floor = Canvas(width)
    floor.rect(floor_x, 0, width - floor_x, y - 4, "floor")
    floor.line(floor_x, 0.5, width, 0.5, "floortop")
    canvas.items[0] = "".join(floor.items)
    canvas.height = max(y, canvas.height)
    here = _wrap_terms(arithmetic(state), int((width - 4) / 7.9))
    for part in here:
        canvas.height += 20
        canvas.text(0, canvas.height, part, "m f13 b" if len(here) == 1 else "m f13")
    title = f"{plural(len(state.entries), 'name')}, {plural(len(state.buffers), 'buffer')}"
    return Figure(canvas, title, describe(state))


def _unit(state: BufferState) -> str:
    sizes = {b.itemsize for b in state.buffers}
    return f", {bytes_text(sizes.pop())} per cell" if len(sizes) == 1 else ""


def _wrap_terms(line: str, characters: int) -> list[str]:
    """Break a chain of equalities before an equals sign."""
    lines: list[str] = []
    for part in line.split(" = ") if line else ():
        joined = f"{lines[-1]} = {part}" if lines else part
        if lines and len(joined) > characters:
            lines.append(f"  = {part}")
        else:
            lines[-1:] = [joined]
    return lines


def _slots(buffer: Buffer) -> list[int | None]:
    """Cell numbers from left to right, with None where cells are left out."""
    if buffer.count <= CELLS:
        return list(buffer.cells)
    return [*buffer.cells[:HEAD], None, *buffer.cells[HEAD:]]


def _columns(canvas: Canvas, buffer: Buffer, left: float, w: float, y: float) -> Iterator[tuple[int, int, int]]:
    """Slot, place among the drawn cells, and cell number, from left to right; the gap is drawn on the way."""
    drawn = 0
    for slot, cell in enumerate(_slots(buffer)):
        if cell is None:
            canvas.text(left + (slot + 0.5) * w, y + 17, "…", "f16 t2", "middle")
        else:
            yield slot, drawn, cell
            drawn += 1


def _draw_buffer(
    canvas: Canvas,
    state: BufferState,
    number_: int,
    buffer: Buffer,
    rows: list[Entry],
    y: float,
    left: float,
    w: float,
    wide: bool,
) -> float:
    shared = "one tensor" if len(rows) == 1 else f"shared by {len(rows)} tensors"
    caption = f"{bytes_text(buffer.nbytes)}, {shared}"
    e = entry(state, state.picked)
    cell_now = byte_of(e, state.index) // buffer.itemsize if e and e.buffer == number_ and 0 not in e.shape else None
    top = y + 20
    for slot, drawn, cell in _columns(canvas, buffer, left, w, top):
        x = left + slot * w
        canvas.rect(x, top, w, 26, "cell")
        for t in range(1, min(buffer.itemsize, 8)):
            at = x + t * w / min(buffer.itemsize, 8)
            canvas.line(at, top + 22, at, top + 26, "tick")
        value, address = buffer.values[drawn], cell * buffer.itemsize
        canvas.text(x + w / 2, top + 17, value, "m f13" if len(value) < 5 else "m", "middle")
        if slot in (0, 7) if buffer.count > CELLS else address < 1000 and (wide or cell % 2 == 0):
            canvas.text(x, top - 4, exact(address), "m t2")
    if not buffer.count:
        canvas.text(left, top + 17, NO_BYTES, "t2")
    if cell_now in buffer.cells:
        canvas.rect(left + _slots(buffer).index(cell_now) * w, top - 1, w, 28, "frame")
    if wide:
        canvas.text(354, top + 18, caption, "t2", "end")
        canvas.text(0, top + 18, f"buffer {buffer.name}", "b")
        return top + 38
    canvas.text(left, top + 41, f"buffer {buffer.name}", "b")
    canvas.text(left + 62, top + 41, caption, "t2")
    return top + 50


def _draw_entry(
    canvas: Canvas, state: BufferState, e: Entry, buffer: Buffer, y: float, left: float, w: float, wide: bool
) -> float:
    made = e.label or e.name
    meta = f"{e.shape}, strides {e.strides}" + (f", from byte {e.offset}" if e.offset else "")
    row = y + 7 if wide else y + 34
    tip = canvas.tag(0 if wide else left, y + 10 if wide else y + 2, shorten(e.name, 8))
    if wide:
        card = max(tip + 14, 48)
        canvas.line(tip, y + 20, card, y + 20, "rule")
        canvas.rect(card, y + 0.75, 353 - card, 39, "card", rx=8)
        canvas.text(card + 10, y + 17, shorten(made, int((340 - card) / 7.23)), "m b")
        canvas.text(card + 10, y + 33, shorten(meta, int((340 - card) / 7.23)), "m t2")
    else:
        canvas.text(tip + 8, y + 9, shorten(made, 48), "m b")
        canvas.text(tip + 8, y + 24, shorten(meta, 50), "m t2")
    picked_at = None
    if e.name == state.picked and 0 not in e.shape:
        picked_at = _visit(e.shape, e.strides, e.offset, byte_of(e, state.index))
    for slot, drawn, cell in _columns(canvas, buffer, left, w, row):
        x = left + slot * w
        position = e.order[drawn]
        if position is None:
            canvas.circle(x + w / 2, row + 13, 1.5, "dot")
            continue
        index = unravel(e, position)
        words = f"{e.name}[{', '.join(map(str, index))}] lies at byte {byte_of(e, index)} of buffer {buffer.name}"
        here = position == picked_at
        canvas.open(
            tabindex=0, role="button", aria_label=words, data_act="point", data_value=f"{e.name}:{position}",
            data_link=f"{e.buffer}:{cell}", data_tip=words,
        )  # fmt: skip
        span = w * e.itemsize / buffer.itemsize
        ordinal = _ordinal(e, position)
        inset = 3 if len(ordinal) < 4 else 1
        canvas.rect(x + inset, row, min(span, w) - 2 * inset, 26, "picked" if here else "card", rx=5)
        canvas.text(x + w / 2, row + 17, ordinal if len(ordinal) < 5 else "…", "m tv b" if here else "m tv", "middle")
        canvas.close()
    return y + 50 if wide else row + 36


def _ordinal(e: Entry, position: int) -> str:
    """The how-manieth element; near the end of a large tensor counted from there: ``n−5``."""
    count = math.prod(e.shape)
    return f"n−{count - position}" if position >= 10_000 and count - position < 100 else exact(position)


def describe(state: BufferState) -> str:
    """What shares what, then where one stands."""
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
    """Which names only look, and which own."""
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
            return f"{together} stand over the same bytes of buffer {buffer.name}: {differ}."
    if len(state.entries) == 1:
        name = state.entries[0].name
        return f"`{name}` is a shape over bytes: **its strides say** how far it is to the next element of each axis."
    return "Each name has **bytes of its own**: a write to one is not seen by another."


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
            lines.append("         " + " ".join(f"{'.' if p is None else _ordinal(e, p):>5}" for p in e.order))
    here = arithmetic(state)
    lines += [here] if here else []
    lines += [f"▲ {state.message}"] if state.message else []
    return "\n".join(line.rstrip() for line in lines)


def frame(state: BufferState, ask: str, extra: tuple[Control, ...] = ()) -> Frame:
    """The whole widget."""
    controls: list[Control] = []
    e = entry(state, state.picked)
    if e is not None and len(state.entries) > 1:
        controls.append(Control("radio", "pick", "index of", e.name, tuple(x.name for x in state.entries)))
    if e is not None and 0 not in e.shape:
        for axis, size in enumerate(e.shape):
            label = "" if axis or len(state.entries) > 1 else f"index of `{e.name}`"
            hint = f"index along axis {axis}"
            controls.append(Control("scrub", f"axis:{axis}", label, state.index[axis], (0, size - 1, 1), hint=hint))
    read_from = ", ".join([f"NumPy {np.__version__}", *sorted({x.dtype for x in state.entries})])
    tip = "Hover a cell for its address. Blue: the order in which a tensor visits the cells. A dot: a cell it skips."
    return Frame(
        "BufferMap", ("names", "tensors", "buffers"), ask, figure(state, WIDE), figure(state, NARROW), why(state),
        text(state), f"addresses and strides read from {read_from}", None, (*controls, *extra), tip, state.message,
    )  # fmt: skip
