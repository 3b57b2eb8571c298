"""Layers that a module holds in a plain list or dict, where it does not find them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ..common.lines import resolve_line, user_line
from ..tensor import Tensor
from .parameter import is_lazy

if TYPE_CHECKING:
    from .module import Module

_CONTAINERS = (list, tuple, dict, set, frozenset)
_LOOK_AT = 1000  # items per attribute: a module may also hold a vocabulary, and is searched often
_DEPTH = 3


class UnregisteredWarning(UserWarning):
    """A module holds layers or parameters in a plain list, tuple, dict or set.

    They would be neither trained nor saved nor moved. If a list hides them on purpose, switch the warning off:
    ``warnings.filterwarnings("ignore", category=nn.UnregisteredWarning)``.
    """


class Lost(NamedTuple):
    """The layers and parameters in a plain container of a module that is in ``root``, where none of them is found."""

    path: str  # of the attribute, from the root
    module: Module
    name: str
    items: list[Any]
    known: set[int]  # all that is found, by identity


def notice(root: Module) -> None:
    """Warn, once for each attribute, about layers and parameters that ``root`` holds but does not find."""
    for one in unregistered(root, again=False):
        one.module.__dict__["_noticed"] = one.module._noticed | {one.name}
        _warn(one)


def unregistered(root: Module, *, again: bool = True) -> Iterator[Lost]:
    """What the modules in ``root`` hold but do not find; without ``again``, only what nobody was warned about."""
    suspects = [
        (path, module, name, value)
        for path, module in root.named_modules()
        for name, value in module.__dict__.items()
        if isinstance(value, _CONTAINERS) and value and (again or name not in module._noticed)
    ]
    known: set[int] = set()
    for path, module, name, value in suspects:
        held = [item for item in islice(_items(value, _DEPTH), _LOOK_AT) if _is_module(item) or _is_parameter(item)]
        if held and not known:
            known = _registered(root)
        lost = {id(item): item for item in held if id(item) not in known}
        if lost:
            yield Lost(f"{path}.{name}" if path else name, module, name, list(lost.values()), known)


def _is_module(item: Any) -> bool:
    return "_modules" in getattr(item, "__dict__", ())


def _is_parameter(item: Any) -> bool:
    return isinstance(item, Tensor) and item.parameter


def _items(value: Any, depth: int) -> Iterator[Any]:
    """The items of a container, and of the containers in it."""
    for item in value.values() if isinstance(value, dict) else value:
        if not isinstance(item, _CONTAINERS):
            yield item
        elif depth > 1:
            yield from _items(item, depth - 1)


def _registered(root: Module) -> set[int]:
    """All registered modules and parameters, by identity."""
    modules = list(root.modules())
    return {id(m) for m in modules} | {id(p) for m in modules for p in m._parameters.values()}


def _warn(found: Lost) -> None:
    path, module, name, lost, known = found
    layers = [item for item in lost if _is_module(item)]
    inside = {id(p): p for m in layers for p in m._members("_parameters")}
    inside |= {id(item): item for item in lost if _is_parameter(item)}
    numbers = [0 if is_lazy(p) else p.numel() for key, p in inside.items() if key not in known]
    what = f"{len(layers)} module{'s' * (len(layers) > 1)}" if layers else ""
    what += " with " * bool(layers and numbers)
    what += f"{len(numbers)} parameter{'s' * (len(numbers) > 1)} ({sum(numbers):,} numbers)" if numbers else ""
    container = module.__dict__[name]
    use = f"{'Module' if layers else 'Parameter'}{'Dict' if isinstance(container, dict) else 'List'}"
    file, row = resolve_line(user_line()) or ("<unknown>", 0)
    warnings.warn_explicit(
        f"{type(module).__name__} holds {what} in self.{name}, a plain {type(container).__name__}"
        f"{f' at {path!r}' * ('.' in path)}. parameters(), state_dict(), to(), train() and eval() do not look there: "
        f"what it holds is neither trained nor saved. Write self.{name} = nn.{use}(…)",
        UnregisteredWarning, file, row,
    )  # fmt: skip
