"""Which names of a program keep which buffers alive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...common.lines import own
from ...core.base import TensorBase
from ...core.graph import Leaf, Node
from ...nn.module import Module
from ..counters import arrays_in
from .books import Books
from .parts import Keeper

DEPTH = 3  # how far lists, tuples and dicts are searched


def keepers(books: Books, frame: Any) -> list[Keeper]:
    """The names that a function and its callers know, with what each keeps; those that keep most first."""
    alive = books.alive()

    def size(keys: set[int]) -> int:
        return sum(alive[key].nbytes for key in keys)

    found = {name: (direct & set(alive), graph & set(alive)) for name, direct, graph in _reach(frame)}
    result = []
    for name, (direct, graph) in found.items():
        mine = direct | graph
        others = set().union(*(d | g for other, (d, g) in found.items() if other != name))
        if mine:
            result.append(Keeper(name, size(mine), len(mine), size(graph - direct), size(mine - others)))
    return sorted(result, key=lambda keeper: -keeper.nbytes)


def _reach(frame: Any) -> Iterator[tuple[str, set[int], set[int]]]:
    """Each name, the keys of its own buffers, and those of the graph behind it."""
    for name, value in _variables(frame):
        tensors = list(_tensors(value, DEPTH))
        own_arrays = [t.array for t in tensors] + [t.gradient.array for t in tensors if t.gradient is not None]
        graph = {Books.key_of(array) for node in _ancestors(tensors) for array in arrays_in(node.saved)}
        yield name, {Books.key_of(array) for array in own_arrays}, graph


def _ancestors(tensors: list[TensorBase]) -> Iterator[Node]:
    """The nodes from which these tensors were computed."""
    seen: set[Node] = set()
    waiting: list[Any] = [tensor.node for tensor in tensors]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen and not isinstance(node, Leaf):
            seen.add(node)
            waiting += node.parents
            yield node


def _variables(frame: Any) -> Iterator[tuple[str, Any]]:
    """The variables of a function and of its callers, as far as they are the user's, by name; the innermost first."""
    seen: set[str] = set()
    last = None
    while frame is not None:
        if not own[frame.f_code.co_filename]:
            for name, value in list(frame.f_locals.items()):
                if name not in seen and not name.startswith("_"):
                    seen.add(name)
                    yield name, value
            last = frame
        frame = frame.f_back if frame.f_code.co_name != "<module>" else None
    for name, value in list(last.f_globals.items()) if last is not None else ():
        if name not in seen and not name.startswith("_"):
            yield name, value


def _tensors(value: Any, depth: int) -> Iterator[TensorBase]:
    """The tensors in lists, tuples, dicts and modules."""
    if isinstance(value, TensorBase):
        yield value
    elif depth and isinstance(value, (list, tuple, dict)):
        for item in list(value.values() if isinstance(value, dict) else value):
            yield from _tensors(item, depth - 1)
    elif isinstance(value, Module):
        yield from (*value.parameters(), *value.buffers())
