"""Arrays of a simulated device: NumPy holds the values, the device has the addresses and the clock."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..proxy import OPERATORS, UPDATES, ProxyArray
from .allocator import Block
from .schedule import Lane, Point


class Held:
    """A block, for as long as an array owns it. Arrays may die at any moment, so their blocks wait in a list."""

    __slots__ = ("block", "dead")

    def __init__(self, block: Block, dead: deque[Block]) -> None:
        self.block, self.dead = block, dead

    def __del__(self) -> None:
        block = self.block
        if block.users:
            block.ends = [Point(max(one.end, one.ready), {one.number: one.count}, one.name) for one in block.users]
        self.dead.append(block)


class SimArray(ProxyArray):
    """An array on a simulated device. ``base`` is the array that owns the memory, or None.

    ``lane`` is the stream whose work made it. ``pulled`` marks gradients on their way through backward, which waits
    for their streams by itself, as PyTorch's does.
    """

    __slots__ = ("base", "held", "lane", "pulled")

    home: Any  # the device: a class for each
    base: SimArray | None
    held: Held | None  # of an owner
    lane: Lane
    pulled: bool

    def operate(self, name: str, *operands: Any) -> Any:
        if name == "getitem":
            return self.home.indexed(self, operands[1])
        return self.home.compute(name, OPERATORS[name], operands)

    def update(self, name: str, *operands: Any) -> Any:
        if name == "setitem":
            self.home.assign(self, *operands)
        else:
            self.home.write(name, UPDATES[name], self, operands, reads=True)
        return self

    @property
    def owner(self) -> SimArray:
        """The array that owns the memory."""
        return self if self.base is None else self.base

    @property
    def block(self) -> Block:
        """Where that memory is."""
        base = self.base
        held: Any = self.held if base is None else base.held
        found: Block = held.block
        return found


def span(view: SimArray, block: Block) -> tuple[int, int, Any]:
    """The bytes of a block that a view uses, first and last, and its elements where they do not fill those bytes."""
    values, base = view.values, view.base
    assert base is not None
    if not values.size:
        return block.address, block.address, None
    low, high = byte_bounds(values)
    start = byte_bounds(base.values)[0]
    full = high - low == values.nbytes
    return block.address + low - start, block.address + high - start, None if full else values


def bytes_of(owner: SimArray) -> Any:
    """A copy of an array's memory, byte by byte."""
    low, high = byte_bounds(owner.values)
    raw: Any = (ctypes.c_char * (high - low)).from_address(low)
    return np.frombuffer(raw, np.uint8).copy()


def as_before(array: SimArray, old: Any) -> Any:
    """The array as it was when the memory of its owner held ``old``."""
    values, owner = array.values, array.owner.values
    first = values.__array_interface__["data"][0] - byte_bounds(owner)[0]
    return np.ndarray(values.shape, values.dtype, old, first, values.strides)
