"""Names, tensors and the bytes they share."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tinygrad_edu import no_grad
from tinygrad_edu.core.inplace import own_buffer
from tinygrad_edu.errors import EduError, InplaceError
from tinygrad_edu.guard import explanation
from tinygrad_edu.tensor import Tensor, as_tensor
from tinygrad_edu.views import buffers
from tinygrad_edu.views.frame import Control, Frame

from .base import EduWidget


class BufferMap(EduWidget, room=buffers):
    """``BufferMap(x=x, t=x.T)`` shows which names look at which bytes, and in what order.

    Gestures: hover or focus a cell for its address, press it to point there; choose a name, drag or arrow its index;
    *x[…] = 99* writes where you point, into your own memory; type a view (``x[::2].T``); *Free view* lets you drag
    shape, strides and offset; *Reset* (r) brings back the first names, and the values that were written over.
    """

    def __init__(self, *, ask: str = "", labels: dict[str, str] | None = None, **tensors: Any) -> None:
        self._given = {name: as_tensor(value) for name, value in tensors.items()}
        self._written: list[tuple[Tensor, tuple[int, ...], Any]] = []  # the place, and its old value
        self._first_labels = dict(labels or {})
        self._ask = ask or "Which of these names have their own bytes?"
        self._start()
        super().__init__()

    def _start(self) -> None:
        self._tensors: dict[str, Tensor] = dict(self._given)
        self._labels = dict(self._first_labels)
        self._free: tuple[tuple[int, ...], tuple[int, ...], int] | None = None
        self.state = buffers.read(self._tensors, self._labels)

    def frame(self) -> Frame:
        """The frame of the current state."""
        extra: list[Control] = []
        entry = buffers.entry(self.state, self.state.picked)
        if entry is not None and 0 not in entry.shape:
            extra.append(Control("button", "write", f"{entry.name}[{', '.join(map(str, self.state.index))}] = 99"))
        if self._free is None and self._given:
            extra.append(Control("text", "add", "add", "", hint="x[:, ::2].T"))
            extra.append(Control("button", "free", "Free view", hint="a view whose shape, strides and offset you set"))
        elif self._free is not None:
            extra += [Control("break"), *self._dials()]
        extra.append(Control("button", "reset", "Reset", push=True, key="r"))
        return buffers.frame(self.state, self._ask, tuple(extra))

    def _dials(self) -> list[Control]:
        assert self._free is not None
        shape, strides, offset = self._free
        title = f"`{self._base_name()}ᵥ` shape"
        dials = []
        for i, (n, label) in enumerate(zip(shape, (title, *[""] * len(shape)), strict=False)):
            dials.append(Control("scrub", f"shape:{i}", label, n, (1, 12, 1), hint=f"shape, axis {i}"))
        for i, (n, label) in enumerate(zip(strides, ("strides", *[""] * len(strides)), strict=False)):
            dials.append(Control("scrub", f"stride:{i}", label, n, (-12, 12, 1), hint=f"stride in elements, axis {i}"))
        return [*dials, Control("scrub", "offset", "offset", offset, (0, 64, 1), hint="offset in elements")]

    def _base_name(self) -> str:
        return next(iter(self._given))

    def data(self) -> Any:
        """Entries and buffers as plain data."""
        return dataclasses.asdict(self.state)

    def _act(self, act: str, value: Any) -> None:
        kind, _, axis = act.partition(":")
        if kind == "point":
            name, _, position = str(value).rpartition(":")
            entry = self._entry(name)
            self.state = buffers.point(self.state, name, buffers.unravel(entry, int(position)))
        elif kind == "pick":
            self.state = buffers.point(self.state, str(value), (0,) * len(self._entry(str(value)).shape))
        elif kind == "axis":
            index = list(self.state.index)
            index[int(axis)] = int(value)
            self.state = buffers.point(self.state, str(self.state.picked), tuple(index))
        elif kind == "write":
            self._write()
        elif kind == "add":
            self._add(" ".join(str(value).split()))
        elif kind in ("free", "shape", "stride", "offset"):
            self._set_free(kind, axis, value)
        elif kind == "reset":
            while self._written:
                self._put(*self._written.pop())
            self._start()
        else:
            raise KeyError(act)

    def _entry(self, name: str) -> buffers.Entry:
        found = buffers.entry(self.state, name)
        if found is None:
            raise ValueError(f"there is no {name!r} here")
        return found

    def _again(self, picked: str | None = None) -> None:
        """Read the map again, pointing at the same place, or at the start of ``picked``."""
        before = self.state
        self.state = buffers.read(self._tensors, self._labels)
        entry = self._entry(picked or str(before.picked))
        stays = picked is None and len(before.index) == len(entry.shape)
        index = before.index if stays else (0,) * len(entry.shape)
        self.state = buffers.point(
            self.state, entry.name, tuple(min(i, n - 1) for i, n in zip(index, entry.shape, strict=True))
        )

    def _write(self) -> None:
        tensor, index = self._tensors[str(self.state.picked)], self.state.index
        array = own_buffer(tensor)
        if not array.flags.writeable:
            held = explanation(array)
            why = held.why if held is not None else "its owner made it so"
            raise InplaceError(f"{self.state.picked}{list(index)} = 99", f"read-only memory: {why}", "map a copy of it")
        self._written.append((tensor, index, array[index].copy()))
        self._put(tensor, index, 99)
        self._again()

    @staticmethod
    def _put(tensor: Tensor, index: tuple[int, ...], value: Any) -> None:
        """Write one element, and nothing else. It counts as a write: a graph that has saved it will refuse."""
        array = own_buffer(tensor)
        array[index] = np.asarray(value).astype(array.dtype)
        tensor.storage.written("put_", None)

    def _add(self, expression: str) -> None:
        if not expression:
            return
        with no_grad():
            made = buffers.evaluate(expression, self._tensors)
        name = next(n for n in (*"vwuabcdefgh", *(f"v{i}" for i in range(1000))) if n not in self._tensors)
        self._tensors[name] = made
        self._labels[name] = expression
        self._again(name)

    def _set_free(self, kind: str, axis: str, value: Any) -> None:
        base = self._tensors[self._base_name()]
        if kind == "free" or self._free is None:
            half = max(min(base.numel() // 2, 6), 1)
            free: tuple[tuple[int, ...], tuple[int, ...], int] = ((2 if base.numel() > 1 else 1, half), (half, 1), 0)
        else:
            shape, strides, offset = list(self._free[0]), list(self._free[1]), self._free[2]
            if kind == "offset":
                offset = int(value)
            else:
                (shape if kind == "shape" else strides)[int(axis)] = int(value)
            free = (tuple(shape), tuple(strides), offset)
        name = f"{self._base_name()}ᵥ"
        self._tensors[name] = buffers.strided(base, *free)
        self._free = free
        self._labels[name] = f"as_strided({', '.join(map(str, free))})"
        self._again(name)

    def _refuse(self, error: EduError) -> None:
        self.state = dataclasses.replace(self.state, message=error.sentence())
