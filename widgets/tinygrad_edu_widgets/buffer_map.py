"""Names, tensors and the bytes they share."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tinygrad_edu.errors import EduError
from tinygrad_edu.tensor import Tensor, as_tensor
from tinygrad_edu.views import buffers as view
from tinygrad_edu.views.frame import Control, Frame

from .base import EduWidget


class BufferMap(EduWidget):
    """``BufferMap(x=x, t=x.T)`` shows which names look at which bytes, and in what order.

    Gestures: hover or focus a cell for its address, press it to point there; choose a name, drag or arrow its index;
    *Write 99* writes where you point; type a view (``x[::2].T``); *Free view* opens shape, strides and offset to
    dragging; *Reset* (r) brings back the first names and values.
    """

    def __init__(self, *, ask: str = "", labels: dict[str, str] | None = None, **tensors: Any) -> None:
        self._given = {name: as_tensor(value) for name, value in tensors.items()}
        self._backup = {name: t.array.copy() for name, t in self._given.items() if t.array.nbytes <= 1 << 20}
        self._labels = dict(labels or {})
        self._ask = ask or "Which of these names own bytes of their own?"
        self._start()
        super().__init__()

    def _start(self) -> None:
        self._tensors: dict[str, Tensor] = dict(self._given)
        self._free: tuple[tuple[int, ...], tuple[int, ...], int] | None = None
        self.state = view.read(self._tensors, self._labels)

    def frame(self) -> Frame:
        """The widget as it stands."""
        extra: list[Control] = []
        entry = view.entry(self.state, self.state.picked)
        if entry is not None and 0 not in entry.shape:
            extra.append(Control("button", "write", f"{entry.name}[{', '.join(map(str, self.state.index))}] = 99"))
        if self._free is None:
            extra.append(Control("text", "add", "add", "", hint="x[:, ::2].T"))
            extra.append(Control("button", "free", "Free view", hint="a view whose shape, strides and offset you set"))
        else:
            extra += [Control("break"), *self._dials()]
        extra.append(Control("button", "reset", "Reset", push=True, key="r"))
        return view.frame(self.state, self._ask, tuple(extra))

    def _dials(self) -> list[Control]:
        assert self._free is not None
        shape, strides, offset = self._free
        name = self._base_name()
        return [
            *(Control("scrub", f"shape:{i}", f"`{name}ᵥ` shape" if not i else "", n, (1, 12, 1), hint=f"shape, axis {i}") for i, n in enumerate(shape)),
            *(Control("scrub", f"stride:{i}", "strides" if not i else "", s, (-12, 12, 1), hint=f"stride in elements, axis {i}") for i, s in enumerate(strides)),
            Control("scrub", "offset", "offset", offset, (0, 64, 1), hint="offset in elements"),
        ]  # fmt: skip

    def _base_name(self) -> str:
        return next(iter(self._given))

    def data(self) -> Any:
        """Entries and buffers as plain data."""
        return dataclasses.asdict(self.state)

    def _act(self, act: str, value: Any) -> None:
        kind, _, axis = act.partition(":")
        if kind == "point":
            name, _, position = str(value).rpartition(":")
            entry = view.entry(self.state, name)
            assert entry is not None
            self.state = view.point(self.state, name, view.unravel(entry, int(position)))
        elif kind == "pick":
            entry = view.entry(self.state, str(value))
            assert entry is not None
            self.state = view.point(self.state, entry.name, (0,) * len(entry.shape))
        elif kind == "axis":
            index = list(self.state.index)
            index[int(axis)] = int(value)
            self.state = view.point(self.state, str(self.state.picked), tuple(index))
        elif kind == "write":
            self._write()
        elif kind == "add":
            self._add(str(value))
        elif kind in ("free", "shape", "stride", "offset"):
            self._set_free(kind, axis, value)
        elif kind == "reset":
            for name, values in self._backup.items():
                self._given[name].array[...] = values
            self._start()
        else:
            raise KeyError(act)

    def _again(self, picked: str | None = None) -> None:
        """Read the map anew, pointing where it pointed, or at the start of ``picked``."""
        before = self.state
        self.state = view.read(self._tensors, self._labels)
        name = picked or before.picked
        entry = view.entry(self.state, name)
        if entry is not None:
            index = before.index if picked is None and len(before.index) == len(entry.shape) else (0,) * len(entry.shape)
            if 0 not in entry.shape:
                index = tuple(min(i, n - 1) for i, n in zip(index, entry.shape, strict=True))
                self.state = view.point(self.state, entry.name, index)

    def _write(self) -> None:
        array = self._tensors[str(self.state.picked)].array
        array[self.state.index] = np.asarray(99).astype(array.dtype)
        self._again()

    def _add(self, expression: str) -> None:
        if not expression.strip():
            return
        made = view.evaluate(expression, self._tensors)
        name = next(n for n in (*"vwuvabcdefgh", *(f"v{i}" for i in range(1000))) if n not in self._tensors)
        self._tensors[name] = made
        self._labels[name] = expression.strip()
        self._again(name)

    def _set_free(self, kind: str, axis: str, value: Any) -> None:
        base = self._tensors[self._base_name()]
        if kind == "free" or self._free is None:
            half = max(min(base.numel() // 2, 6), 1)
            free: tuple[tuple[int, ...], tuple[int, ...], int] = ((2, half), (half, 1), 0)
        else:
            shape, strides, offset = list(self._free[0]), list(self._free[1]), self._free[2]
            if kind == "offset":
                offset = int(value)
            else:
                (shape if kind == "shape" else strides)[int(axis)] = int(value)
            free = (tuple(shape), tuple(strides), offset)
        name = f"{self._base_name()}ᵥ"
        self._tensors[name] = view.strided(base, *free)
        self._free = free
        self._labels[name] = f"as_strided({', '.join(map(str, free))})"
        self._again(name)

    def _refuse(self, error: EduError) -> None:
        self.state = dataclasses.replace(self.state, message=error.sentence())
