"""What a map of buffers claims, held against NumPy: every number, stride, offset, and every word about sharing."""

from __future__ import annotations

import ast
import collections
import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tinygrad_edu.common.wording import brief
from tinygrad_edu.views.buffers import BufferState, text, why

DIFFERENCES = ("dtype", "shape", "strides", "offset")


def places(array: Any) -> dict[tuple[int, ...], int]:
    """The address of each element."""
    start = int(array.__array_interface__["data"][0])
    return {
        index: start + sum(i * s for i, s in zip(index, array.strides, strict=True))
        for index in np.ndindex(array.shape)
    }


def assert_claims(state: BufferState, arrays: Mapping[str, Any]) -> None:
    """Every claim of this state is true of these arrays now."""
    assert [e.name for e in state.entries] == list(arrays)
    starts: dict[int, int] = {}  # where each buffer begins
    for e in state.entries:
        array, at = arrays[e.name], places(arrays[e.name])
        begin = starts.setdefault(e.buffer, int(array.__array_interface__["data"][0]) - e.offset)
        assert int(array.__array_interface__["data"][0]) - begin == e.offset
        assert (e.shape, e.strides, e.dtype) == (array.shape, array.strides, array.dtype.name)
        buffer = state.buffers[e.buffer]
        firsts: dict[int, tuple[int, ...]] = {}
        for index, address in at.items():
            firsts.setdefault(address - begin, index)
        taken = {first + i for first in firsts for i in range(e.itemsize)}
        assert all(0 <= byte < buffer.nbytes for byte in taken)
        for cell, value, covered in zip(buffer.cells, e.values, e.covers, strict=True):
            byte = cell * buffer.itemsize
            assert value == (brief(array[firsts[byte]]) if byte in firsts else None)
            assert e.times[buffer.cells.index(cell)] == list(at.values()).count(begin + byte)
            assert covered is not taken.isdisjoint(range(byte, byte + buffer.itemsize))
    assert_read(state, arrays)
    assert_sharing(state, arrays)


def assert_read(state: BufferState, arrays: Mapping[str, Any]) -> None:
    """The rows of the text are what the arrays hold, in the order of their addresses."""
    said = text(state)
    for e in state.entries:
        array = arrays[e.name]
        row = re.search(
            rf"^  {e.name} = .*: (\([^()]*\)), strides (\([^()]*\))(?: bytes)?(?:, from byte (\d+))?.*\n(.*)$",
            said,
            re.M,
        )
        assert row is not None
        assert (ast.literal_eval(row[1]), ast.literal_eval(row[2])) == (array.shape, array.strides)
        assert int(row[3] or 0) == e.offset
        firsts = {address: index for index, address in reversed(places(array).items())}
        if state.buffers[e.buffer].count == len(state.buffers[e.buffer].cells):
            read = [brief(array[firsts[address]]) for address in sorted(firsts)]
            assert [word for word in row[4].split() if word not in ".─"] == read
            often = collections.Counter(places(array).values())
            marked = re.search(rf"^  {e.name} = .*\n.*\n(?:  visit .*\n)?  reads  (.*)$", said, re.M)
            again = [f"×{often[address]}" for address in sorted(often) if often[address] > 1]
            assert (marked[1].split() if marked else []) == again


def assert_sharing(state: BufferState, arrays: Mapping[str, Any]) -> None:
    """The pairs, and the sentence about them."""
    share = {pair for pair in itertools.combinations(arrays, 2) if np.shares_memory(*(arrays[name] for name in pair))}
    assert set(state.shares) == share
    sentence, names = why(state), list(arrays)
    if len(names) < 2:
        return
    if sentence.startswith("No two"):
        assert not share
        return
    group = [name for name in names if f"`{name}`" in sentence]
    if "shares bytes with" in sentence:
        first, *others = group
        assert {b for a, b in share if a == first} == set(others)
        assert "not every pair" in sentence
        buffer = next(e.buffer for e in state.entries if e.name == first)
        rows = [e.name for e in state.entries if e.buffer == buffer]
        assert any(pair not in share for pair in itertools.combinations(rows, 2))
        return
    assert all(pair in share for pair in itertools.combinations(group, 2))
    rows = [e for e in state.entries if e.name in group]
    differ = {what for what in DIFFERENCES if len({getattr(e, what) for e in rows}) > 1}
    assert {what for what in DIFFERENCES if what in sentence} == differ
    assert ("in the same way" in sentence) is not bool(differ)
