"""Modules that are loaded when something of theirs is first used, so that importing the package costs little."""

from __future__ import annotations

import importlib
from typing import Any


class LateModule:
    """A module that is not loaded yet. What is taken from it becomes a method of a class, or is called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, key: str) -> LateFunction:
        return LateFunction(self._name, key)


class LateFunction:
    """A function of such a module. As a method it is looked up once, and then stands in the class itself."""

    def __init__(self, module: str, key: str) -> None:
        self._module, self._key = module, key
        self._places: list[tuple[type, str]] = []  # operators and methods are often one function

    def _found(self) -> Any:
        return getattr(importlib.import_module(self._module), self._key)

    def __set_name__(self, owner: type, name: str) -> None:
        self._places.append((owner, name))

    def __get__(self, instance: Any, owner: type) -> Any:
        function = self._found()
        for kind, name in self._places:
            setattr(kind, name, function)
        return function.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found()(*args, **kwargs)
