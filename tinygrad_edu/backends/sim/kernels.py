"""How long a kernel takes: a roofline, with products of matrices computed tile by tile, and of a vector without tiles.

A body runs on NumPy values, in a namespace that notes the products it makes. So the backward of a product costs what
its own products cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...common.locks import local
from ...dtypes import is_float
from ..base import ALL_NAMES, Namespace
from ..cpu import XP as HOST
from ..layout import how_many
from ..products import einsum
from .presets import Machine


class Product(NamedTuple):
    """``batch`` products of (rows, added) and (added, columns) matrices."""

    batch: int
    rows: int
    columns: int
    added: int
    dtype: str

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.batch * self.rows * self.columns * self.added

    @property
    def elements(self) -> int:
        """What it reads, each element once."""
        return self.batch * self.added * (self.rows + self.columns)


class _Noted(local):
    def __init__(self) -> None:
        self.products: list[Product] = []


_noted = _Noted()


def noted(dtype: Any = None) -> list[Product]:
    """The products made since this was last asked, in this thread.

    An operation on 16-bit floats of ``dtype`` computes in float32 here, as NumPy has no such product; a device has.
    """
    found, _noted.products = _noted.products, []
    if found and dtype is not None and dtype.itemsize == 2 and is_float(dtype):
        return [one._replace(dtype=dtype.name) if one.dtype == "float32" else one for one in found]
    return found


def _note(batch: int, rows: int, columns: int, added: int, x: Any) -> None:
    _noted.products.append(Product(batch, rows, columns, added, x.dtype.name))


def _matmul(x: Any, y: Any) -> Any:
    out = HOST.matmul(x, y)
    rows, columns = x.shape[-2] if x.ndim > 1 else 1, y.shape[-1] if y.ndim > 1 else 1
    if y.ndim == 2 and x.ndim > 2:  # one weight for all: the batch is only more rows
        _note(1, how_many(x.shape[:-1]), columns, x.shape[-1], x)
    else:
        _note(max(out.size // max(rows * columns, 1), 0), rows, columns, x.shape[-1], x)
    return out


def _einsum(equation: str, x: Any, y: Any) -> Any:
    terms, _, out = equation.partition("->")
    first, second = terms.split(",")
    length = {**dict(zip(first, x.shape, strict=True)), **dict(zip(second, y.shape, strict=True))}

    def many(letters: Any) -> int:
        return how_many(tuple(length[c] for c in letters))

    added = set(first) & set(second) - set(out)
    if added:
        both = set(first) & set(second) & set(out)
        _note(many(both), many(set(first) - both - added), many(set(second) - both - added), many(added), x)
    return einsum(equation, x, y)


def _conv(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int, size: Any = None) -> Any:
    out = HOST.conv(x, weight, stride, padding, dilation, groups, size)
    n, f, oh, ow = out.shape
    _note(groups, n * oh * ow, f // groups, how_many(weight.shape[1:]), x)
    return out


def _conv_input(g: Any, weight: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    n, f, oh, ow = g.shape
    _note(groups, n * oh * ow, how_many(weight.shape[1:]), f // groups, g)
    return HOST.conv_input(g, weight, size, stride, padding, dilation, groups)


def _conv_kernel(x: Any, g: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    out = HOST.conv_kernel(x, g, kernel, stride, padding, dilation, groups)
    n, f, oh, ow = g.shape
    _note(groups, f // groups, how_many(out.shape[1:]), n * oh * ow, x)
    return out


_noting: dict[str, Callable[..., Any]] = {
    "matmul": _matmul, "einsum": _einsum, "conv": _conv, "conv_input": _conv_input, "conv_kernel": _conv_kernel,
}  # fmt: skip
BODY = Namespace("inside a kernel", **{name: _noting.get(name, getattr(HOST, name)) for name in ALL_NAMES})


class Load(NamedTuple):
    """What a kernel has to do."""

    flops: int
    read: int
    written: int
    products: Sequence[Product] = ()
    random: bool = False  # in no order?


def time_of(machine: Machine, load: Load, tf32: bool) -> tuple[int, float]:
    """Nanoseconds, and the share of the processors that the kernel keeps busy."""
    key = None if load.products else (load.flops, load.read, load.written, load.random)
    found = machine.times.get(key)
    if found is None:
        found = _time_of(machine, load, tf32)
        if key is not None:
            machine.times[key] = found
    return found


def _time_of(machine: Machine, load: Load, tf32: bool) -> tuple[int, float]:
    table = machine.table
    counted = busy = 0.0
    tiles = 0
    side = int(table["tile"].value)
    processors = table["processors"].value
    for one in load.products:
        counted += one.flops
        if min(one.rows, one.columns) == 1:  # a kernel of its own, in which all processors share the matrix
            busy += one.flops / table[one.dtype if one.dtype == "float64" else "float32"].value
            continue
        pieces = one.batch * -(-one.rows // side) * -(-one.columns // side)
        rounds = -(-pieces // int(processors))  # processors without a tile in the last round wait
        rate = table[_rate(one.dtype, tf32)].value / processors
        busy += rounds * 2 * side * side * (-(-one.added // 8) * 8) / rate
        tiles = max(tiles, pieces)
    busy += max(load.flops - counted, 0) / table["float32"].value
    traffic = (load.read + load.written) * (table["random"].value if load.random else 1) / table["bandwidth"].value
    share = tiles / processors if tiles else max(load.read, load.written) / 4 / (processors * table["threads"].value)
    return max(round(max(busy, traffic) * 1e9), int(table["floor"].value)), min(max(share, 1e-6), 1.0)


def _rate(dtype: str, tf32: bool) -> str:
    """The rate of products of this dtype. Integers are multiplied as int8 is, if they are that small."""
    if dtype == "float32":
        return "tf32" if tf32 else "float32"
    return dtype if dtype in ("float64", "float16", "bfloat16", "int8") else "float32"
