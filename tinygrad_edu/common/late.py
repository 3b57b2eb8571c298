"""Modules that load when something in them is first used, so that importing the package costs little."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def getattr_of(
    package: str, functions: Mapping[str, str] | None = None, modules: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: Python calls it for names that the package does not have (PEP 562).

    ``functions`` gives the module that defines a name, ``modules`` the module that has a name; both are
    relative to the package. For any other name the error says what helps.
    """
    functions, modules = functions or {}, modules or {}

    def find(name: str) -> Any:
        if name in functions:
            found = getattr(importlib.import_module(f"{package}.{functions[name]}"), name)
        elif name in modules:
            found = importlib.import_module(f"{package}.{modules[name]}")
        else:
            from .missing import MissingName

            raise MissingName(package, name)
        setattr(sys.modules[package], name, found)  # the next look-up finds it without this function
        return found

    return find


class LateModule:
    """A module that is not loaded yet. Its functions become methods of a class, or are called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, key: str) -> LateFunction:
        return LateFunction(self, key)

    def _find(self, key: str) -> Any:
        """The function itself. It is kept here, so that the next call goes straight to it."""
        vars(self)[key] = found = getattr(importlib.import_module(self._name), key)
        return found


class LateFunction:
    """A function of such a module. As a method it is looked up once, and then is in the class itself."""

    def __init__(self, module: LateModule, key: str) -> None:
        self._module, self._key = module, key
        self._places: list[tuple[type, str]] = []  # operators and methods are often one function

    def _found(self) -> Any:
        return self._module._find(self._key)

    def __set_name__(self, owner: type, name: str) -> None:
        self._places.append((owner, name))

    def __get__(self, instance: Any, owner: type) -> Any:
        function = self._found()
        for kind, name in self._places:
            setattr(kind, name, function)
        return function.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found()(*args, **kwargs)
