"""Modules and parameters in lists and dicts that a module can see into, with PyTorch's names for their members."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Self

from ..errors import ArgumentError, DtypeError, EduError, IndexRangeError
from ..tensor import Tensor
from .module import Module, described, indented
from .parameter import Parameter, is_lazy


def _position(holder: Module, index: Any, count: int) -> int:
    """``index`` counted from 0. Raises `IndexRangeError` where nothing is held."""
    position = operator.index(index)
    if not -count <= position < count:
        what = type(holder).__name__
        why = f"it holds {count}" + (f", counted from 0 to {count - 1}" if count else "")
        raise IndexRangeError(f"item {position} of a {what}", why, f"use an index below {count}, or append")
    return position % count


def _several(holder: Module, values: Any) -> Any:
    """``values`` if one can loop over them and they are not a tensor."""
    if isinstance(values, Tensor) or not isinstance(values, Iterable):
        tried, why = f"{type(holder).__name__} of a {type(values).__name__}", "it takes several, to loop over"
        raise DtypeError(tried, why, "put it in a list, or use append")
    return values


class _Holder(Module):
    """Holds modules or parameters, and computes nothing itself."""

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """Raises `NotImplementedError`: only you know what to do with its contents."""
        message = f"a {type(self).__name__} only holds things: use its contents, or nn.Sequential for layers in a row"
        raise NotImplementedError(message)


class _ModuleSequence(Module):
    """What `Sequential` and `ModuleList` share: modules in an order, named "0", "1" and so on."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def _name(self, index: Any) -> str:
        return list(self._modules)[_position(self, index, len(self))]

    def _renumber(self, modules: list[Any]) -> None:
        """Hold exactly these, named by their positions."""
        for name in list(self._modules):
            delattr(self, name)
        self.extend(modules)

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        """Take one or several out. The rest are named "0", "1" and so on, as in PyTorch."""
        kept = list(self)
        del kept[index if isinstance(index, slice) else _position(self, index, len(self))]
        self._renumber(kept)

    def append(self, module: Module) -> Self:
        """Add a module at the end. Returns the container."""
        number = len(self)
        while str(number) in self._modules:  # a slice keeps its names: it may begin with "2"
            number += 1
        self.add_module(str(number), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several at the end. Returns the container."""
        for module in list(_several(self, modules)):  # a list first: they may be the container itself
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at ``index``; those after it move up by one. Returns the container.

        Raises `IndexRangeError` for a place neither inside nor at the end, `DtypeError` for anything but a module.
        """
        count = len(self)
        place = index if index == count else _position(self, index, count)
        self.append(module)  # which refuses anything but a module, before anything moves
        modules = list(self)
        self._renumber([*modules[:place], module, *modules[place:-1]])
        return self

    def pop(self, index: int | slice) -> Any:
        """Take a module out, or a slice, and return it."""
        taken = self[index]  # type: ignore[index]  # both have it, with their own types
        del self[index]
        return taken


class Sequential(_ModuleSequence):
    """Modules one after the other: each one's output is the next one's input.

    ``Sequential(a, b)``, or a dict of modules to choose the names. A slice is a `Sequential` of the same modules.

    >>> import tinygrad_edu as tg
    >>> from tinygrad_edu import nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.Tanh())[1:]
    Sequential(
      (1): Tanh()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0] if len(args) == 1 and isinstance(args[0], dict) else {str(i): m for i, m in enumerate(args)}
        for name, module in named.items():
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """The last module's output."""
        try:
            for module in self._modules.values():
                input = module(input)
        except EduError as error:
            if isinstance(input, tuple):
                raise self._with_a_tuple(module, input) from error
            raise
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def _with_a_tuple(self, module: Module, input: tuple[Any, ...]) -> DtypeError:
        """The error for a tuple, such as the output and state of an LSTM, that ``module`` could not use."""
        modules = list(self)
        place = next(i for i, one in enumerate(modules) if one is module)
        what = f"a tuple of {len(input)}"
        why = f"it takes one tensor, but was given {what}"
        mend = "take the tensor out of the tuple first"
        if place:
            before = type(modules[place - 1]).__name__
            why = f"it takes one tensor, but the {before} before it returns {what}"
            mend = f"write a module whose forward takes the tuple apart: output, state = self.{before.lower()}(x)"
        return DtypeError(f"{type(module).__name__}, number {place} of a Sequential", why, mend)

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *self._same(other, "+"))

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(self._same(other, "+="))

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*list(self) * self._times(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend(list(self) * (self._times(times) - 1))

    def _same(self, other: Any, sign: str) -> Sequential:
        if not isinstance(other, Sequential):
            tried, why = f"Sequential {sign} {type(other).__name__}", "only another Sequential can be added"
            raise ArgumentError(tried, why, "append a module, or extend with a list of modules")
        return other

    def _times(self, times: Any) -> int:
        if not isinstance(times, int) or times < 1:
            why, mend = "it repeats a whole number of times", "use 1 or more: the same modules are used again"
            raise ArgumentError(f"Sequential * {times!r:.40}", why, mend)
        return times


class ModuleList(_Holder, _ModuleSequence):
    """Modules in a list. Unlike with a plain list, they are found: trained, saved and moved.

    Do not call it: call the modules in it.

    >>> from tinygrad_edu import nn
    >>> nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._name(index)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, _several(self, other)))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Equal neighbours as one line: ``(0-2): 3 x …``."""
        runs: list[list[Any]] = []
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return described(type(self).__name__, [], [indented(line) for line in lines])


class ModuleDict(_Holder):
    """Modules in a dict. Unlike with a plain dict, they are found: trained, saved and moved.

    It takes a dict or pairs, and keeps their order. A key is text without dots, and not a method's name such as "pop".
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with their modules."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Enter the modules of a dict, or of pairs, in their order."""
        for key, module in _pairs(self, modules):
            self[key] = module

    def pop(self, key: str) -> Any:
        """Take a module out, and return it."""
        taken = self[key]
        del self[key]
        return taken

    def clear(self) -> None:
        """Take all out."""
        for key in list(self._modules):
            del self[key]


def _pairs(holder: Module, given: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a dict, of a container like it, or of pairs."""
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = [tuple(_several(holder, pair)) for pair in _several(holder, given)]
    for pair in pairs:
        if len(pair) != 2:
            tried, why = f"{type(holder).__name__} of {len(pair)} in a pair", "a pair is a name and a value"
            raise ArgumentError(tried, why, "pass a dict, or a list of pairs (name, value)")
    return [(key, value) for key, value in pairs]


def _as_parameter(value: Any) -> Any:
    """A tensor becomes a parameter; everything else stays what it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _held(name: Any, value: Any) -> str:
    """A line about one value of a list or dict of parameters. The indent is PyTorch's."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    if is_lazy(value):
        return f"  ({name}): {value}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    where = "" if value.device == "cpu" else f" ({value.device})"
    return f"  ({name}): {kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}{where}]"


class ParameterList(_Holder):
    """Parameters in a list whose contents are found: trained, saved and moved. A tensor becomes a parameter.

    It may hold other things too, which `parameters` does not give. As in PyTorch, it only grows.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self.__dict__[str(_position(self, index, len(self)))]

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(_position(self, index, len(self))), _as_parameter(param))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end. Returns the list."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end. Returns the list."""
        for value in list(_several(self, values)):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(_held(i, value) for i, value in enumerate(self))


class ParameterDict(_Holder):
    """Parameters in a dict whose contents are found: trained, saved and moved. A tensor becomes a parameter.

    It may hold other things too, which `parameters` does not give. As in PyTorch, the names of a plain
    dict are entered in alphabetical order, those of pairs and of another `ParameterDict` in their own order.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return self.__dict__[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._check_name("_parameters", key, fresh=key not in self._keys)
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with their parameters."""
        return ((key, self[key]) for key in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of that name, or ``default``."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of that name; if there is none, ``default`` is entered first."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def update(self, parameters: Any) -> None:
        """Enter the parameters of a dict, of another `ParameterDict`, or of pairs."""
        pairs = _pairs(self, parameters)
        for key, value in sorted(pairs) if type(parameters) is dict else pairs:
            self[key] = value

    def pop(self, key: str) -> Any:
        """Take a parameter out, and return it."""
        taken = self[key]
        del self[key]
        return taken

    def popitem(self) -> tuple[str, Any]:
        """Take the last name and parameter out, and return them."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Take all out."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """Another dict with the same parameters."""
        return ParameterDict(self.items())

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with ``default`` under each of the names."""
        return ParameterDict((key, default) for key in keys)

    def __or__(self, other: Any) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(_held(key, value) for key, value in self.items())
