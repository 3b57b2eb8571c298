"""Convolutions as machine code, by Numba: windows that move by one, over a few channels.

An image stands in a frame of zeros, its rows behind each other. Then a window that moves by one sees, for each place of
its kernel, the same numbers a step further on: a result is a sum of shifted rows, weighted, for a whole image at once.
No matrix of windows is made. With many channels there is so much to compute for each number that BLAS is faster:
`Convolution.of` leaves those to it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backends.convolution import overlap, turned_kernels
from .ir import Equation, Var
from .numba_code import KINDS, LEAST, machine_code

Pair = tuple[int, int]
CHANNELS = 16  # that are added up: with more, BLAS is faster
PLACES = 25  # of a kernel, for each of which the loop has a line


class Convolution:
    """A compiled convolution: ``run`` takes the two operands of the equation, and memory for the result."""

    def __init__(self, source: str, dtype: Any, frame: int, rows: int) -> None:
        self.source = source
        self._code = machine_code(source, rearranged=True)
        self._memory = np.zeros(frame, dtype), np.zeros(rows, dtype)

    def run(self, x: Any, y: Any, out: Any) -> None:
        """Compute it."""
        self._code(x, y, out, *self._memory)

    @staticmethod
    def of(equation: Equation) -> Convolution | None:
        """For a ``conv``, ``conv_input`` or ``conv_kernel``; None where the usual body is better, or has to do it."""
        x, y, *how = equation.args
        out = equation.out
        if not (isinstance(x, Var) and isinstance(y, Var)) or not x.dtype == y.dtype == out.dtype:
            return None
        stride, padding, dilation, groups = how[:4] if equation.name == "conv" else how[1:5]
        kernel = (out if equation.name == "conv_kernel" else y).shape[2:]
        fits = out.dtype.name in ("float32", "float64") and stride == (1, 1) and groups == 1
        if not fits or not 1 < math.prod(kernel) <= PLACES:
            return None
        if equation.name == "conv_kernel":
            windows, multiplied = y.shape[2:], y.shape[1] * x.shape[1]
        else:
            windows, multiplied = out.shape[2:], out.shape[1] * x.shape[1]
            if x.shape[1] > CHANNELS:
                return None
        if 0 in (*x.shape, *y.shape, *out.shape) or x.shape[0] * math.prod(windows) * multiplied < LEAST:
            return None
        if equation.name == "conv_input":
            return _WayBack(x, y, out, padding, dilation)
        text = _Text(x.shape, kernel, padding, dilation, windows, KINDS[out.dtype.name])
        if equation.name == "conv_kernel":
            return Convolution(text.kernels(y.shape[1]), out.dtype, text.frame, y.shape[1] * text.count)
        return Convolution(text.images(out.shape[1]), out.dtype, text.frame, _AT_ONCE * text.count)


class _WayBack(Convolution):
    """``conv_input``: a convolution with the kernels turned."""

    def __init__(self, g: Var, weight: Var, out: Var, padding: Pair, dilation: Pair) -> None:
        self._how = padding, dilation, 1
        turned, margin = turned_kernels(np.empty(weight.shape, bool), *self._how)
        text = _Text(g.shape, turned.shape[2:], margin, dilation, out.shape[2:], KINDS[out.dtype.name])
        super().__init__(text.images(out.shape[1]), out.dtype, text.frame, _AT_ONCE * text.count)

    def run(self, x: Any, y: Any, out: Any) -> None:
        super().run(x, turned_kernels(y, *self._how)[0], out)


_AT_ONCE = 4  # results that are computed in one loop: each number that is read serves them all


class _Text:
    """Writes the loops. Indexes are unsigned: others might count from the end, and are not computed several at once."""

    def __init__(
        self, shape: tuple[int, ...], kernel: Any, padding: Pair, dilation: Pair, windows: Any, kind: str
    ) -> None:
        self.batch, self.channels, self.windows, self.kind = shape[0], shape[1], windows, kind
        (oh, ow), (kh, kw), (dh, dw) = windows, kernel, dilation
        self.row = ow + dw * (kw - 1)  # what all windows see of a row
        tall = oh + dh * (kh - 1)
        self.size = tall * self.row  # of a channel in the frame
        self.frame = self.channels * self.size
        self.count = oh * self.row  # places for results, those between two rows too, which nobody wants
        self.shifts = [(i, j, i * dh * self.row + j * dw) for i in range(kh) for j in range(kw)]
        self.spans = [overlap(n, p, size) for n, p, size in zip((tall, self.row), padding, shape[2:], strict=True)]

    def _framed(self) -> list[str]:
        """Copy image n into the frame."""
        (top, rows), (left, columns) = self.spans
        return [
            f"for c in range({self.channels}):",
            f"    for i in range({rows.stop - rows.start}):",
            f"        start = c * {self.size} + (i + {top.start}) * {self.row} + {left.start}",
            f"        for j in range({columns.stop - columns.start}):",
            f"            frame[start + j] = x[n, c, i + {rows.start}, j + {columns.start}]",
        ]

    def images(self, results: int) -> str:
        """``conv``: for each image and some kernels, a channel after the other."""
        oh, ow = self.windows
        lines = ["def run(x, w, out, frame, rows):", f"    for n in range({self.batch}):", *_in(2, self._framed())]
        at_once = min(_AT_ONCE, results)
        for first, stop, some in _groups(results, at_once):
            weights = [f"w{k}_{i}_{j} = w[f + {k}, c, {i}, {j}]" for k in range(some) for i, j, _ in self.shifts]
            sums = [f"s{k} = rows[p + u8({k * self.count})]" for k in range(some)]
            for i, j, shift in self.shifts:
                sums += [f"v = part[p + u8({shift})]", *(f"s{k} += w{k}_{i}_{j} * v" for k in range(some))]
            sums += [f"rows[p + u8({k * self.count})] = s{k}" for k in range(some)]
            lines += _in(2, [
                f"for f in range({first}, {stop}, {some}):",
                f"    rows[:] = {self.kind}(0)",
                f"    for c in range({self.channels}):",
                *_in(2, weights),
                f"        part = frame[c * {self.size}:(c + 1) * {self.size}]",
                f"        for q in range({self.count - self.row + ow}):",
                *_in(3, ["p = u8(q)", *sums]),
                f"    for k in range({some}):",
                f"        for i in range({oh}):",
                f"            start = k * {self.count} + i * {self.row}",
                f"            for j in range({ow}):",
                "                out[n, f + k, i, j] = rows[start + j]",
            ])  # fmt: skip
        return "\n".join([*lines, ""])

    def kernels(self, results: int) -> str:
        """``conv_kernel``: the gradient lies in rows as far apart as those of the frame, with zeros between."""
        oh, ow = self.windows
        lines = [
            "def run(x, g, out, frame, rows):",
            f"    out[:] = {self.kind}(0)",
            f"    for n in range({self.batch}):",
        ]
        lines += _in(2, [
            *self._framed(),
            f"for f in range({results}):",
            f"    for i in range({oh}):",
            f"        start = f * {self.count} + i * {self.row}",
            f"        for j in range({ow}):",
            "            rows[start + j] = g[n, f, i, j]",
        ])  # fmt: skip
        for first, stop, some in _groups(results, 2 if len(self.shifts) <= 9 else 1):
            names = {(k, i, j): f"s{k}_{i}_{j}" for k in range(some) for i, j, _ in self.shifts}
            inner = ["p = u8(q)", *(f"g{k} = part[p + u8({k * self.count})]" for k in range(some))]
            for i, j, shift in self.shifts:
                inner += [f"v = seen[p + u8({shift})]", *(f"{names[k, i, j]} += g{k} * v" for k in range(some))]
            lines += _in(2, [
                f"for f in range({first}, {stop}, {some}):",
                f"    part = rows[f * {self.count}:(f + {some}) * {self.count}]",
                f"    for c in range({self.channels}):",
                f"        {' = '.join(names.values())} = {self.kind}(0)",
                f"        seen = frame[c * {self.size}:(c + 1) * {self.size}]",
                f"        for q in range({self.count - self.row + ow}):",
                *_in(3, inner),
                *_in(2, [f"out[f + {k}, c, {i}, {j}] += {name}" for (k, i, j), name in names.items()]),
            ])  # fmt: skip
        return "\n".join([*lines, ""])


def _in(depth: int, lines: list[str]) -> list[str]:
    return [f"{'    ' * depth}{line}" for line in lines]


def _groups(count: int, at_once: int) -> list[tuple[int, int, int]]:
    """Where groups of so many begin and stop, and of how many each is: the rest is a group of its own."""
    whole = count - count % at_once
    found = [(0, whole, at_once), (whole, count, count % at_once)]
    return [one for one in found if one[0] < one[1]]
