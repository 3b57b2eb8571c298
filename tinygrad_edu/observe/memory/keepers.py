"""Which names of a program keep which buffers alive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...common.lines import own
from ...core.base import TensorBase
from ...core.graph import Leaf, Node
from ...nn.module import Module
from ...optim.optimizer import Optimizer
from ..counters import arrays_in
from .books import Books
from .parts import Keeper

HOLDERS = (TensorBase, Module, Optimizer)  # what holds buffers
DEPTH = 3  # how far lists, tuples, dicts and attributes of the program's own objects are searched
# Packages whose objects and functions hold no variables of a program: Python's own, this one, those that run programs.
_SEARCHED_NOT = sys.stdlib_module_names | {
    "tinygrad_edu", "tinygrad_edu_widgets", "numpy", "IPython", "ipykernel", "tornado", "traitlets",
    "pytest", "_pytest", "pluggy", "xdist", "execnet",
}  # fmt: skip

Named = Iterable[tuple[str, Any]]  # names with their values; of two that are equal, the first counts


def keepers(books: Books, named: Named) -> list[Keeper]:
    """What each of these names keeps; those that keep most first."""
    alive = books.alive()

    def size(keys: set[int]) -> int:
        return sum(alive[key].nbytes for key in keys)

    found = {name: (direct & set(alive), graph & set(alive)) for name, direct, graph in _reach(named)}
    result = []
    for name, (direct, graph) in found.items():
        mine = direct | graph
        others = set().union(*(d | g for other, (d, g) in found.items() if other != name))
        if mine:
            result.append(Keeper(name, size(mine), len(mine), size(graph - direct), size(mine - others)))
    return sorted(result, key=lambda keeper: -keeper.nbytes)


def _reach(named: Named) -> Iterator[tuple[str, set[int], set[int]]]:
    """Each name, the keys of its own buffers, and those of the graph behind it."""
    for name, value in named:
        tensors = [tensor for one in _inside(value, HOLDERS, DEPTH) for tensor in _tensors(one)]
        own_arrays = [t.array for t in tensors] + [t.gradient.array for t in tensors if t.gradient is not None]
        own_arrays += [array for optimizer in _inside(value, Optimizer, DEPTH) for array in optimizer.memory()]
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


def variables(frame: Any) -> Iterator[tuple[str, Any]]:
    """The variables of a function and of its callers, as far as they are the user's, by name; the innermost first. Then
    those of their modules."""
    seen: set[str] = set()
    modules: dict[int, Any] = {}
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if not own[frame.f_code.co_filename] and package not in _SEARCHED_NOT:
            yield from _new(frame.f_locals, seen)
            modules[id(frame.f_globals)] = frame.f_globals
        frame = frame.f_back if frame.f_code.co_name != "<module>" else None
    for module in modules.values():
        yield from _new(module, seen)


def outside(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What a function knows from outside: the variables of functions around it, and its module's."""
    plain: Any = getattr(function, "__func__", function)  # of a bound method
    code, seen = getattr(plain, "__code__", None), set[str]()
    if code is not None:  # a partial, for one, has none
        cells = zip(code.co_freevars, plain.__closure__ or (), strict=True)
        yield from _new({name: cell.cell_contents for name, cell in cells if _filled(cell)}, seen)
        yield from _new(plain.__globals__, seen)


def _filled(cell: Any) -> bool:
    """Whether a variable has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def public(named: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names with their values, without those that begin with an underscore."""
    return _new(named, set())


def _new(named: Mapping[str, Any], seen: set[str]) -> Iterator[tuple[str, Any]]:
    for name, value in list(named.items()):
        if name not in seen and not name.startswith("_"):
            seen.add(name)
            yield name, value


def _inside(value: Any, kinds: Any, depth: int) -> Iterator[Any]:
    """The objects of these kinds in lists, tuples, dicts, and attributes of objects whose class is the program's."""
    if isinstance(value, kinds):
        yield value
    elif depth:
        for item in list(_items(value)):
            yield from _inside(item, kinds, depth - 1)


def _items(value: Any) -> Iterable[Any]:
    """What a value holds, as far as it is searched."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, dict):
        return value.values()
    package = type(value).__module__.partition(".")[0]
    return vars(value).values() if hasattr(value, "__dict__") and package not in _SEARCHED_NOT else ()


def _tensors(value: Any) -> Iterator[TensorBase]:
    """A tensor itself, those of a module, and those that an optimiser steps."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, Module):
        yield from (*value.parameters(), *value.buffers())
    else:
        yield from (tensor for group in value.param_groups for tensor in group["params"])
