"""A module: parameters and other modules under names, and a forward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from .. import backends
from ..core.dispatch import here, user_line
from ..core.graph import Line
from ..dtypes import is_float
from ..errors import AutogradError, ShapeError
from ..settings import MODES, modes
from ..tensor import Tensor, as_tensor, wrap


class _IsParameter(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.parameter


class Parameter(metaclass=_IsParameter):
    """A tensor that a module learns. ``Parameter(data)`` shares the memory of ``data`` and requires grad.

    The result is a plain `Tensor` with a mark, so that operations on it take the fast path; ``isinstance`` sees it.
    """

    def __new__(cls, data: Any, requires_grad: bool = True) -> Any:
        source = as_tensor(data)
        result = wrap(source.array)
        result.storage, result.parameter = source.storage, True
        return result.requires_grad_(requires_grad)


class Scope:
    """One module call in progress: which module, inside which other call, and from which line it was started."""

    __slots__ = ("line", "module", "parent")

    def __init__(self, parent: Scope | None, module: Module, line: Line) -> None:
        self.parent, self.module, self.line = parent, module, line

    def path(self) -> tuple[str, ...]:
        """The names from the outermost module inwards."""
        outer = () if self.parent is None else self.parent.path()
        return (*outer, self.module.label)


class Module:
    """Base of layers. Assign parameters and modules in ``__init__``; compute in ``forward``."""

    training: bool
    label: str  # the name under which the enclosing module has it, else the class

    def __init__(self) -> None:
        fields = {"_parameters": {}, "_modules": {}, "_buffers": {}, "training": True, "label": type(self).__name__}
        self.__dict__.update(fields)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """The module's value. A subclass says what that is."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(): define one")

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        m = modes()
        outer = m.scope
        scope = Scope(outer, self, user_line() if outer is None else outer.line)
        token = MODES.set(m.replace(scope=scope))
        try:
            return self.forward(*inputs, **options)
        finally:
            MODES.reset(token)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Module, Parameter)):
            if "_modules" not in self.__dict__:
                raise AutogradError(
                    f"self.{name} = {type(value).__name__}(…) in {type(self).__name__}",
                    "Module.__init__ has not run yet, so there is nowhere to register it",
                    "call super().__init__() first",
                )
            self._forget(name)
            if isinstance(value, Module):
                self._modules[name] = value
                value.__dict__["label"] = name
            else:
                self._parameters[name] = cast(Tensor, value)
        elif name in self.__dict__:
            self._replace(name, value)
        self.__dict__[name] = value

    def _forget(self, name: str) -> None:
        for registry in (self._parameters, self._modules, self._buffers):
            registry.pop(name, None)

    def _replace(self, name: str, value: Any) -> None:
        """What is neither parameter nor module takes the place of something that may be registered."""
        if name in self._buffers and isinstance(value, Tensor):
            self._buffers[name] = value
        elif name in self._parameters and isinstance(value, Tensor):
            raise AutogradError(
                f"self.{name} = a plain tensor, in {type(self).__name__}",
                f"{name!r} is a parameter: the optimiser would go on moving the old tensor, unseen",
                f"assign nn.Parameter(tensor), or write into it: with no_grad(): self.{name}.copy_(tensor)",
                here(),
            )
        else:
            self._forget(name)

    _parameters: dict[str, Tensor]
    _modules: dict[str, Module]
    _buffers: dict[str, Tensor]

    def __delattr__(self, name: str) -> None:
        self._forget(name)
        del self.__dict__[name]

    def register_buffer(self, name: str, tensor: Tensor) -> None:
        """Keep a tensor that belongs to the state but is not learnt."""
        self._buffers[name] = tensor
        self.__dict__[name] = tensor

    def add_module(self, name: str, module: Module) -> None:
        """Register ``module`` under ``name``."""
        setattr(self, name, module)

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """This module and all inside it, outermost first, with dotted names; a shared one appears once."""
        seen: set[int] = set()
        for prefix, module in self._places():
            if id(module) not in seen:
                seen.add(id(module))
                yield prefix, module

    def _places(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Every place of a module, a shared one's each."""
        yield prefix, self
        for name, module in self._modules.items():
            yield from module._places(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        """This module and all inside it."""
        return (module for _, module in self.named_modules())

    def children(self) -> Iterator[Module]:
        """The modules directly inside."""
        return iter(self._modules.values())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """All parameters with dotted names; a shared one appears once."""
        seen: set[int] = set()
        for prefix, module in self.named_modules():
            for name, parameter in module._parameters.items():
                if id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (f"{prefix}.{name}" if prefix else name), parameter

    def parameters(self) -> Iterator[Tensor]:
        """All parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by dotted name, sharing memory with the module."""
        state = {}
        for prefix, module in self._places():
            for name, tensor in {**module._parameters, **module._buffers}.items():
                state[f"{prefix}.{name}" if prefix else name] = tensor.detach()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Copy values in by name. Nothing is changed unless all names and shapes agree."""
        own, state = self.state_dict(), {name: as_tensor(value) for name, value in state.items()}
        missing, extra = sorted(set(own) - set(state)), sorted(set(state) - set(own))
        wrong = [
            f"{name} {state[name].shape} for {tensor.shape}"
            for name, tensor in own.items()
            if name in state and state[name].shape != tensor.shape
        ]
        if missing or extra or wrong:
            raise ShapeError(
                f"load_state_dict into {type(self).__name__}",
                "; ".join(
                    f"{word}: {', '.join(names)}"
                    for word, names in (("missing", missing), ("not expected", extra), ("wrong shape", wrong))
                    if names
                ),
                "load into a module built with the same sizes",
            )
        for name, tensor in own.items():
            tensor.copy_(state[name])

    def train(self, mode: bool = True) -> Any:
        """Training mode for this module and all inside it."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Any:
        """Evaluation mode: dropout and the like stand still. Gradients are still recorded; see `no_grad`."""
        return self.train(False)

    def zero_grad(self) -> None:
        """Release all gradients."""
        for parameter in self.parameters():
            parameter.grad = None

    def to(self, target: Any) -> Any:
        """Move or convert every parameter and buffer, in place; returns the module. Integers keep their dtype."""
        for module in self.modules():
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if not is_float(tensor.dtype) and target not in backends.names():
                    continue
                tensor.data = tensor.detach().to(target)
                tensor.grad = None if tensor.grad is None else tensor.grad.to(target)
        return self

    def extra_repr(self) -> str:
        """What stands between the parentheses in print; sizes, usually."""
        return ""

    def __repr__(self) -> str:
        if not self._modules:
            return f"{type(self).__name__}({self.extra_repr()})"
        inside = "\n".join(f"  ({name}): {module!r}".replace("\n", "\n  ") for name, module in self._modules.items())
        return f"{type(self).__name__}(\n{inside}\n)"
