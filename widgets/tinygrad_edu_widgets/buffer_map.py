"""Names, tensors and the bytes they share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, ClassVar

import numpy as np
import traitlets

from tinygrad_edu import no_grad
from tinygrad_edu.common.wording import brief, shown
from tinygrad_edu.core.inplace import own_buffer
from tinygrad_edu.errors import ArgumentError, EduError, InplaceError
from tinygrad_edu.guard import explanation
from tinygrad_edu.tensor import Tensor, as_tensor
from tinygrad_edu.views import buffers
from tinygrad_edu.views.frame import Control, Frame
from tinygrad_edu.views.given import texts, typed

from .base import EduWidget
from .watching import forget, look_around, watch

VALUES, ORDER, FREE = "values", "order of visits", "free view"


def _mapped(name: str, value: Any) -> Tensor:
    """The tensor of an argument; what cannot be one is refused by the argument's name."""
    try:
        return as_tensor(value)
    except EduError as error:
        raise type(error)(f"BufferMap({name}={shown(value)})", error.why, error.mend) from None


def _checked(puzzles: Any) -> dict[str, list[float]]:
    """The puzzles as lists of numbers."""
    try:
        found = {str(name): [float(number) for number in wanted] for name, wanted in (puzzles or {}).items()}
    except (AttributeError, TypeError, ValueError):
        found = {"": []}
    if not all(name and wanted for name, wanted in found.items()):
        why, mend = "puzzles are lists of numbers, by name", 'write puzzles={"a column": [0, 4, 8]}'
        raise ArgumentError(f"BufferMap(puzzles={shown(puzzles, 40)})", why, mend)
    return found


def _place(act: str, axis: str, axes: Sequence[int]) -> int:
    """Which axis a control is for. The one that it was drawn for may be gone: another view is shown since."""
    if not axis.isdigit() or int(axis) >= len(axes):
        why = f"what is shown now has {len(axes) or 'no'} ax{'is' if len(axes) == 1 else 'es'}"
        raise ArgumentError(act, why, "use a control that is on show")
    return int(axis)


class BufferMap(EduWidget, room=buffers):
    """``BufferMap(x=x, t=x.T)`` shows which names look at which bytes, what each reads there, and who sees a write.

    Gestures: hover or focus a cell for its address, press it to point there; choose a name, drag or arrow its index;
    *x[…] = 99* writes where you point, into your own memory, and marks every name that sees it; type a view
    (``x[::2].T``), or what makes a new buffer (``x + 1``); *Remove x* takes a name off the map; *view* shows the values
    alone, numbers the cells in the *order of visits*, or adds a *free view* of the first tensor whose shape, strides
    and offset you drag; *Reset* (r) brings back the first names, and each value that was written over, unless somebody
    else has written there since.

    ``puzzles={"a column": [0, 4, 8]}`` are for the free view: once it reads these numbers, the map says so.

    The map shows the bytes as they were when it was made, or when you last wrote, added or removed something. Once
    they are written elsewhere, by another map or by a later cell, it says so, and *Read again* reads them.
    """

    mirrors: ClassVar[dict[str, str]] = {"picked": "pick", "index": "index"}
    picked = traitlets.Unicode(None, allow_none=True).tag(sync=True)  # the name that is pointed at
    index = traitlets.Tuple().tag(sync=True)  # and where in it
    stale = traitlets.Bool(False, read_only=True).tag(sync=True)  # whether its bytes have changed elsewhere

    def __init__(
        self, *, ask: str = "", labels: dict[str, str] | None = None,
        puzzles: Mapping[str, Sequence[float]] | None = None, **tensors: Any,
    ) -> None:  # fmt: skip
        texts("BufferMap", ask=ask)
        if not isinstance(labels, (dict, NoneType)) or not all(isinstance(v, str) for v in (labels or {}).values()):
            why, mend = "labels is a dict of texts, by name", 'write labels={"t": "x.T"}'
            raise ArgumentError(f"BufferMap(labels={shown(labels, 40)})", why, mend)
        self._given = {name: _mapped(name, value) for name, value in tensors.items()}
        for name in labels or ():
            if name not in tensors:
                why, mend = f"there is no {name} on this map", "label only names that you give"
                raise ArgumentError(f"BufferMap(labels={{{name!r}: …}})", why, mend)
        self._puzzles = _checked(puzzles)
        self._written: list[tuple[Tensor, tuple[int, ...], Any, bytes]] = []  # a place, its old value, what was written
        self._first_labels = dict(labels or {})
        self._ask = ask or "Which of these names have their own bytes?"
        self._stale: tuple[str, ...] = ()
        self._start()
        super().__init__()
        watch(self)

    def _start(self) -> None:
        self._tensors: dict[str, Tensor] = dict(self._given)
        self._labels = dict(self._first_labels)
        self._free: tuple[tuple[int, ...], tuple[int, ...], int] | None = None
        self._solved: list[str] = []
        self._read()

    def _read(self) -> None:
        self.state = buffers.read(self._tensors, self._labels)
        self._glance = buffers.Glance(self._tensors, self.state)
        self._glanced: Any = None  # somebody may have written since

    def frame(self) -> Frame:
        """The frame of the current state."""
        self._refresh()
        extra = [Control("button", "renew", "Read again", main=True)] if self._stale else self._changes()
        extra.append(Control("button", "reset", "Reset", push=True, key="r"))
        return buffers.frame(self.state, self._ask, tuple(extra), self._stale)

    def _changes(self) -> list[Control]:
        """What changes the map or its bytes. Absent while it is out of date: one cannot see what would be changed."""
        controls: list[Control] = []
        entry = buffers.entry(self.state, self.state.picked)
        if entry is not None and 0 not in entry.shape:
            place = buffers.element(entry.name, self.state.index)
            controls.append(Control("button", "write", f"{place} = 99", hint="into your own memory, until Reset"))
        if self._free is None and self._given:
            controls.append(Control("text", "add", "add", "", hint="x[:, ::2].T"))
        if entry is not None and len(self.state.entries) > 1:
            controls.append(Control("button", "remove", f"Remove {entry.name}", hint="from this map"))
        views = [VALUES, *[ORDER] * (entry is not None), *[FREE] * bool(self._given)]
        if len(views) > 1:
            controls.append(Control("radio", "view", "view", self._view(), tuple(views), hint="what is shown beside"))
        if self._free is not None:
            controls += [Control("break"), *self._dials()]
        return controls

    def _refresh(self) -> None:
        """Find the names, or the buffer, that somebody else has written since they were shown."""
        now = self._glance.take()
        if now != self._glanced:  # a glance is cheap, and reading the map is not
            self._glanced = now
            self._stale = buffers.changed(self.state, buffers.read(self._tensors, self._labels))

    def look(self) -> None:
        """Look whether what is shown still holds, and say so if it does not."""
        with self._lock:
            if self._glance.take() != self._glanced:
                self._show()

    def close(self) -> None:
        """Take the widget off the page."""
        forget(self)
        super().close()

    def _answer(self, act: str, value: Any, patient: bool) -> None:
        super()._answer(act, value, patient)
        look_around(self)

    def _dials(self) -> list[Control]:
        assert self._free is not None
        shape, strides, offset = self._free
        item = self._given[self._base_name()].element_size()
        title = f"`{self._base_name()}ᵥ` shape"
        dials = []
        for i, (n, label) in enumerate(zip(shape, (title, *[""] * len(shape)), strict=False)):
            dials.append(Control("scrub", f"shape:{i}", label, n, (1, max(12, n), 1), hint=f"shape, axis {i}"))
        for i, (n, label) in enumerate(zip(strides, ("strides", *[""] * len(strides)), strict=False)):
            far = max(12 * item, abs(n))
            hint, limits = f"stride in bytes, axis {i}", (-far, far, item)
            dials.append(Control("scrub", f"stride:{i}", label, n, limits, hint=hint))
        entry = self._entry(f"{self._base_name()}ᵥ")
        last = max(self.state.buffers[entry.buffer].nbytes - item, 0)  # where an element still fits
        return [*dials, Control("scrub", "offset", "offset", offset, (0, last, item), hint="offset in bytes")]

    def _view(self) -> str:
        return FREE if self._free is not None else ORDER if self.state.ordered else VALUES

    def _set_view(self, wanted: str) -> None:
        """Values alone, with the order of visits, or with a free view of the first tensor."""
        if wanted not in (VALUES, ORDER, FREE):
            why, mend = "there is no such view", f"take {VALUES}, {ORDER} or {FREE}"
            raise ArgumentError(f"the view {shown(wanted)}", why, mend)
        free = f"{self._base_name()}ᵥ" if self._given else ""
        if wanted != FREE and self._free is not None:
            self.state = buffers.point(self.state, free, (0,) * len(self._entry(free).shape))
            self._remove()
        self.state = dataclasses.replace(self.state, ordered=wanted == ORDER)
        if wanted == FREE and self._free is None:
            self._set_free("free", "", None)

    def _base_name(self) -> str:
        return next(iter(self._given))

    def mirrored(self) -> dict[str, Any]:
        """Where one points, and whether what is shown still holds."""
        return {"picked": self.state.picked, "index": self.state.index, "stale": bool(self._stale)}

    def data(self) -> Any:
        """Entries and buffers as plain data."""
        return dataclasses.asdict(self.state)

    def _act(self, act: str, value: Any) -> None:
        kind, _, axis = act.partition(":")
        if kind in ("write", "add", "remove", "shape", "stride", "offset") or (kind == "view" and value == FREE):
            self._refuse_if_stale(act)
        if kind == "point":
            name, _, position = str(value).rpartition(":")
            entry = self._entry(name)
            self.state = buffers.point(self.state, name, buffers.unravel(entry, typed(act, position)))
        elif kind == "pick":
            self.state = buffers.point(self.state, str(value), (0,) * len(self._entry(str(value)).shape))
        elif kind == "index":
            self.state = buffers.point(self.state, str(self.state.picked), tuple(int(i) for i in value))
        elif kind == "axis":
            index = list(self.state.index)
            index[_place(act, axis, index)] = typed(act, value)
            self.state = buffers.point(self.state, str(self.state.picked), tuple(index))
        elif kind == "write":
            self._write()
        elif kind == "add":
            self._add(" ".join(str(value).split()))
        elif kind == "remove":
            self._remove()
        elif kind in ("shape", "stride", "offset"):
            self._set_free(kind, axis, value)
        elif kind == "view":
            self._set_view(str(value))
        elif kind == "renew":
            self._again()
        elif kind == "reset":
            self._undo()
            self._start()
        else:
            raise KeyError(act)

    def _entry(self, name: str) -> buffers.Entry:
        found = buffers.entry(self.state, name)
        if found is None:
            names = ", ".join(e.name for e in self.state.entries) or "none yet"
            raise ArgumentError(f"the name {shown(name, 40)}", f"this map has {names}", "take one of these")
        return found

    def _again(self, picked: str | None = None) -> None:
        """Read the map again, pointing at the same place, or at the start of ``picked``."""
        before = self.state
        self._read()
        self.state = dataclasses.replace(self.state, ordered=before.ordered)
        if before.picked is None:
            return  # a map of nothing
        entry = self._entry(picked or str(before.picked))
        stays = picked is None and len(before.index) == len(entry.shape)
        index = before.index if stays else (0,) * len(entry.shape)
        self.state = buffers.point(
            self.state, entry.name, tuple(min(i, n - 1) for i, n in zip(index, entry.shape, strict=True))
        )

    def _write(self) -> None:
        tensor, index = self._tensors[str(self.state.picked)], self.state.index
        if not tensor.numel():
            shape = tuple(tensor.shape)
            raise InplaceError(f"{self.state.picked} {shape} = 99", "it has no elements", "pick one that has some")
        array = own_buffer(tensor)
        if not array.flags.writeable:
            held = explanation(array)
            why = held.why if held is not None else "its owner made it so"
            tried = f"{buffers.element(str(self.state.picked), index)} = 99"
            raise InplaceError(tried, f"read-only memory: {why}", "map a copy of it")
        before = array[index].copy()
        self._put(tensor, index, 99)
        self._written.append((tensor, index, before, array[index].tobytes()))
        self._again()
        self.state = buffers.written(self.state)

    def _undo(self) -> None:
        """Put back what was written over, but not where somebody else has written since: that is theirs."""
        while self._written:
            tensor, index, before, wrote = self._written.pop()
            if own_buffer(tensor)[index].tobytes() == wrote:
                self._put(tensor, index, before)

    @staticmethod
    def _put(tensor: Tensor, index: tuple[int, ...], value: Any) -> None:
        """Write one element, and nothing else. It counts as a write: a graph that has saved it will refuse."""
        array = own_buffer(tensor)
        array[index] = np.asarray(value).astype(array.dtype)
        tensor.storage.written("put_", None)

    def _refuse_if_stale(self, act: str) -> None:
        self._refresh()
        if self._stale:
            why = f"{', '.join(self._stale)} changed since this picture was made"
            raise InplaceError(act.partition(":")[0], why, "press Read again first")

    def _remove(self) -> None:
        name = str(self.state.picked)
        if len(self._tensors) < 2:
            raise InplaceError("remove", f"{name} is the only name on this map", "add another one first")
        names = list(self._tensors)
        beside = names[names.index(name) - 1] if name != names[0] else names[1]
        del self._tensors[name]
        if name == f"{self._base_name()}ᵥ":
            self._free = None
        self._again(beside)

    def _add(self, expression: str) -> None:
        if not expression:
            return
        with no_grad():
            made = buffers.evaluate(expression, self._tensors)
        name = next(n for n in (*"vwuabcdefgh", *(f"v{i}" for i in range(1000))) if n not in self._tensors)
        self._tensors[name] = made
        self._labels[name] = expression
        self._again(name)
        self.state = dataclasses.replace(self.state, added=name)

    def _set_free(self, kind: str, axis: str, value: Any) -> None:
        base = self._given[self._base_name()]
        if kind == "free" or self._free is None:
            free = self._as_it_is(base)
        else:
            sizes, strides, offset = list(self._free[0]), list(self._free[1]), self._free[2]
            if kind == "offset":
                offset = typed(kind, value)
            else:
                there = sizes if kind == "shape" else strides
                there[_place(f"{kind}:{axis}", axis, there)] = typed(f"{kind} {axis}", value)
            free = (tuple(sizes), tuple(strides), offset)
        name = f"{self._base_name()}ᵥ"
        self._tensors[name] = buffers.strided(base, *free)
        self._free = free
        self._labels[name] = f"a free view of {self._base_name()}"
        self._again(name)
        self._note_goal()

    def _as_it_is(self, base: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """The layout that a free view begins with: that of its tensor, with an element at least, to be dragged."""
        item, like = base.element_size(), buffers.read({"base": base}).entries[0]
        shape, strides = tuple(max(n, 1) for n in like.shape) or (1,), like.strides or (item,)
        if any(step % item for step in (*strides, like.offset)):  # between two elements of its dtype
            return (1,), (item,), 0
        return shape, strides, like.offset

    def _note_goal(self) -> None:
        """See whether the free view reads what a puzzle asks for."""
        if not self._puzzles or self._free is None:
            return
        name = f"{self._base_name()}ᵥ"
        tensor = self._tensors[name]
        reads = tensor.array.ravel().tolist() if tensor.numel() <= max(map(len, self._puzzles.values())) else None
        now = next((puzzle for puzzle, wanted in self._puzzles.items() if wanted == reads), "")
        self._solved += [now] if now and now not in self._solved else []
        shown_now = tuple(map(brief, reads or ())) if now else ()
        goals = buffers.Goals(tuple(self._solved), len(self._puzzles), name, now, shown_now)
        self.state = dataclasses.replace(self.state, goals=goals)

    def _refuse(self, error: EduError) -> None:
        self.state = dataclasses.replace(self.state, message=error.sentence())
