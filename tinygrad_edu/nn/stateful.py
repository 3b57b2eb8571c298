"""The state of a module: saving it and loading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ..errors import ArgumentError, DtypeError
from ..tensor import RemovableHandle, Tensor
from .loading import IncompatibleKeys, load
from .parameter import is_lazy
from .unregistered import notice

_INSTEAD = {
    "_save_to_state_dict": "register_state_dict_post_hook, or define get_extra_state",
    "_load_from_state_dict": "register_load_state_dict_pre_hook, or define set_extra_state",
}


class Stateful:
    """What a `Module` can do with its parameters and persistent buffers by name."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _unsaved: set[str]
    _state_hooks: Mapping[str, dict[Any, Callable[..., Any]]] = MappingProxyType({})

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters and persistent buffers of this module itself."""
        for registry in (self._parameters, self._buffers):
            for name, tensor in registry.items():
                if tensor is not None and name not in self._unsaved:
                    yield name, tensor

    def state_dict(
        self, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name, sharing memory with the module: clone it to keep it.

        They are outside the graph, unless ``keep_vars`` asks for the tensors themselves. A shared one appears under
        each of its names. Names begin with ``prefix``, and are entered into ``destination`` if it is given. In a lazy
        layer, tensors without a shape yet appear as they are.
        """
        if destination is None:
            notice(self)  # type: ignore[arg-type]  # every Stateful is a Module
            destination = {}
        self._refuse("_save_to_state_dict")
        self._call_state_hooks("save", prefix, keep_vars)
        for name, tensor in self._own_state():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()
        if self._defines("get_extra_state"):
            destination[f"{prefix}_extra_state"] = self.get_extra_state()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        self._call_state_hooks("saved", destination, prefix, {})
        return destination

    def _awaits(self, name: str, shape: tuple[int, ...]) -> str:
        """What may be loaded into a tensor that has no shape yet, as text, if not this shape. For lazy layers."""
        return ""

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy values in by name, converted to the module's dtypes and devices; returns the names that did not match.

        Nothing is changed unless all shapes agree and, if ``strict``, all names. With ``assign`` the given tensors
        replace the module's own, with their dtypes and devices, and tied ones stay tied: make the optimiser after that.
        In a lazy layer, tensors without a shape yet take that of their values. Raises `ShapeError` for names or shapes
        that do not agree, `DtypeError` unless it is a dict of numbers.
        """
        return load(self, state_dict, strict, assign)

    def get_extra_state(self) -> Any:
        """Further state of the module: define this and `set_extra_state` to save more than tensors.

        `state_dict` then has it under "_extra_state". `save` takes numbers, text, lists, dicts and tensors.
        """
        raise NotImplementedError(f"{type(self).__name__} has no get_extra_state(): define one")

    def set_extra_state(self, state: Any) -> None:
        """Restore what `get_extra_state` gave: `load_state_dict` calls it when all tensors are loaded."""
        raise NotImplementedError(f"{type(self).__name__} has no set_extra_state(): define one")

    # Hooks ------------------------------------------------------------------------------------------------------

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` looks at this module."""
        return self._add_state_hook("save", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state, prefix, metadata)`` when this module and all modules inside it are in the state.

        It may change the dict. The names of this module begin with ``prefix``. Here ``metadata`` is empty.
        """
        return self._add_state_hook("saved", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state, prefix, metadata, strict, missing, unexpected, errors)`` before loading.

        It may change ``state``, a copy of the dict with the names of all modules, to rename what an older version
        saved, and add to the three lists: each text in ``errors`` is a reason not to load. Here ``metadata`` is empty.
        """
        return self._add_state_hook("load", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` when everything is loaded; it may change the two returned lists.

        If ``strict``, names that do not match have already been an error, and nothing is loaded. In PyTorch this hook
        can still forgive them; here `register_load_state_dict_pre_hook` can.
        """
        return self._add_state_hook("loaded", hook)

    def _add_state_hook(self, when: str, hook: Callable[..., Any]) -> RemovableHandle:
        return RemovableHandle(self.__dict__.setdefault("_state_hooks", {}).setdefault(when, {}), hook)

    def _call_state_hooks(self, when: str, *inputs: Any) -> None:
        for hook in list(self._state_hooks.get(when, {}).values()):
            if isinstance(hook(self, *inputs), Mapping):
                tried, why = f"a state hook of {type(self).__name__}", "it returned a dict, which would be ignored"
                raise DtypeError(tried, why, "change the dict that it is given, and return nothing")

    # What subclasses define --------------------------------------------------------------------------------------

    def _defines(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(Stateful, name)

    def _refuse(self, name: str) -> None:
        """Refuse an internal method of PyTorch's, which would never be called here."""
        if hasattr(type(self), name):
            tried, why = f"{type(self).__name__}.{name}", "it is internal to PyTorch, and is not called here"
            raise ArgumentError(tried, why, f"use {_INSTEAD[name]}")
