"""Where a module keeps its registered values."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from ..errors import ModuleError

if TYPE_CHECKING:
    from .module import Module


class Registry(dict[str, Any]):
    """A module's parameters, buffers or modules by name: each entry is an attribute of the module too.

    Python finds attributes fastest in the instance, so they are there as well. Every change here changes them too:
    ``model._modules["fc"] = nn.Linear(3, 2)`` is seen by ``model.fc``.
    """

    __slots__ = ("_module",)

    def __init__(self, module: Module, entries: Mapping[str, Any] | None = None) -> None:
        super().__init__(entries or {})  # the first entries are already attributes
        self._module = weakref.ref(module)  # weak: in a cycle, a model would wait for the garbage collector

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._attributes()[name] = value
        if hasattr(value, "_label"):
            value.__dict__["_label"] = name

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._attributes().pop(name, None)

    def _attributes(self) -> dict[str, Any]:
        module = self._module()
        return {} if module is None else module.__dict__

    def pop(self, name: str, *default: Any) -> Any:
        """Take an entry out, and return it."""
        if name in self:
            self._attributes().pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        """Take the last entry out, and return its name and value."""
        name, value = super().popitem()
        self._attributes().pop(name, None)
        return name, value

    def clear(self) -> None:
        """Take all out."""
        for name in list(self):
            del self[name]

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The entry of that name; if there is none, ``default`` is entered first."""
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *entries: Any, **named: Any) -> None:
        """Enter the values of a dict or of pairs, and those given by name."""
        for name, value in dict(*entries, **named).items():
            self[name] = value

    def __ior__(self, entries: Any) -> Self:  # type: ignore[override,misc]  # as for dict, pairs will do too
        self.update(entries)
        return self

    def __reduce__(self) -> Any:
        return dict, (dict(self),)  # a copy belongs to no module yet: see `Module.__setstate__`


class NotYet:
    """In the class, a placeholder for what `Module.__init__` makes in each module: an error if that has not run.

    A ``__getattr__`` could do the same, but Python would then find every attribute of every module more slowly.
    """

    def __get__(self, module: Module | None, owner: type[Module]) -> Any:
        if module is None:
            return self
        tried, why = f"using a {owner.__name__}", "its Module.__init__ has not run, so it has no parameters or modules"
        raise ModuleError(tried, why, "call super().__init__() first in its own __init__")
