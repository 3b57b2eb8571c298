"""Hooks of a module: functions called before and after its forward, and when gradients pass through it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd import Function
from ..errors import ArgumentError, AutogradError
from ..settings import modes
from ..tensor import RemovableHandle, Tensor

if TYPE_CHECKING:
    from .module import Module

Gradients = tuple[Any, ...]


class _Changes:
    """How often an attribute of any module was set: who knows a module can tell by it that none has changed."""

    count = 0


changes = _Changes()


class Hooks:
    """The hooks of one module, made when the first one is registered. A module without hooks never comes here."""

    __slots__ = ("after", "backward", "backward_before", "before")

    def __init__(self) -> None:
        # Each forward hook is kept with whether it wants the keywords too.
        self.before: dict[Any, tuple[Callable[..., Any], bool]] = {}
        self.after: dict[Any, tuple[Callable[..., Any], bool]] = {}
        self.backward: dict[Any, Callable[..., Any]] = {}
        self.backward_before: dict[Any, Callable[..., Any]] = {}

    def any(self) -> bool:
        """Is any hook left?"""
        return bool(self.before or self.after or self.backward or self.backward_before)

    def call(self, module: Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The module's forward, with all its hooks around it."""
        for hook, keywords in list(self.before.values()):
            inputs, options = _before(module, hook, keywords, inputs, options)
        way_back = _WayBack(module, self, len(inputs)) if self.backward or self.backward_before else None
        if way_back is not None:
            inputs = way_back.enter(inputs)
        result = module.forward(*inputs, **options)
        for hook, keywords in list(self.after.values()):
            answer = hook(module, inputs, options, result) if keywords else hook(module, inputs, result)
            result = result if answer is None else answer
        return result if way_back is None else way_back.leave(result)


class _Handle(RemovableHandle):
    """A hook of a module that can be taken away. After the last one, calls take the short way again."""

    def __init__(self, module: Module, hooks: dict[Any, Any], hook: Any) -> None:
        super().__init__(hooks, hook)
        self._module = weakref.ref(module)

    def remove(self) -> None:
        """Take the hook away. A second call does no harm."""
        super().remove()
        module = self._module()
        if module is not None:
            _forget_none(module)


def add(module: Module, when: str, hook: Any, prepend: bool) -> RemovableHandle:
    """Enter a hook of the module after the others, or before them."""
    changes.count += 1
    if module._hooks is None:
        module.__dict__["_hooks"] = Hooks()
    hooks = getattr(module._hooks, when)
    others = list(hooks)
    handle = _Handle(module, hooks, hook)
    for key in others if prepend else ():
        hooks[key] = hooks.pop(key)
    return handle


def drop_before(module: Module, hook: Any) -> None:
    """Take a forward pre-hook away by itself: in a copy of a module, handles belong to the first one."""
    assert module._hooks is not None
    kept = module._hooks.before
    for key in [key for key, (one, _) in kept.items() if one is hook]:
        del kept[key]
    _forget_none(module)


def _forget_none(module: Module) -> None:
    if module._hooks is not None and not module._hooks.any():
        del module.__dict__["_hooks"]


def _before(
    module: Module, hook: Callable[..., Any], keywords: bool, inputs: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a forward pre-hook makes of the inputs."""
    answer = hook(module, inputs, options) if keywords else hook(module, inputs)
    if answer is None:
        return inputs, options
    if not keywords:
        return answer if isinstance(answer, tuple) else (answer,), options
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ArgumentError(
            f"a forward pre-hook of {type(module).__name__} that takes keywords",
            f"it returned {type(answer).__name__}, but its result replaces both the inputs and the keywords",
            "return a tuple (inputs, keywords), or None to leave both as they are",
        )
    return answer


class _Gate(Function):
    """The identity. Its backward hands the gradients of all its tensors at once to ``passing``."""

    @staticmethod
    def forward(ctx: Any, passing: Callable[[Gradients], Gradients], *tensors: Tensor) -> tuple[Tensor, ...]:
        """The tensors themselves."""
        ctx.passing = passing
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Gradients:
        """What ``passing`` makes of the gradients."""
        return (None, *ctx.passing(gradients))


class _WayBack:
    """The way back through one call: a gate after its outputs, and one before its inputs."""

    def __init__(self, module: Module, hooks: Hooks, inputs: int) -> None:
        self.module, self.hooks = module, hooks
        self.inputs = inputs  # how many there are, tensors or not
        self.gated: list[int] = []  # which of the inputs get a gradient
        self.grad_output: Gradients | None = None  # between the two gates

    def enter(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs, through a gate that runs the backward hooks."""
        self.gated = _wanting(inputs)
        return _through(inputs, self.gated, self._arrive)

    def leave(self, result: Any) -> Any:
        """The result, through a gate that notes its gradients."""
        outputs = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(one, Tensor) for one in outputs[:1]):
            raise AutogradError(
                f"a backward hook of {type(self.module).__name__}",
                f"its forward returned {type(outputs[0]).__name__}, but a hook sees the gradients of tensors",
                "return a tensor, or a tuple that begins with one",
            )
        places = _wanting(outputs)
        passed = _through(outputs, places, lambda gradients: self._depart(gradients, places, len(outputs)))
        return passed if isinstance(result, tuple) else passed[0]

    def _depart(self, gradients: Gradients, places: list[int], count: int) -> Gradients:
        """Gradients of the outputs have arrived."""
        spread = _spread(gradients, places, count)
        for hook in list(self.hooks.backward_before.values()):
            spread = self._answer("pre-hook", hook(self.module, spread), spread)
        self.grad_output = spread
        if not self.gated:  # nothing goes on to the inputs, so this is the end of the way
            self._arrive(())
        return tuple(spread[i] for i in places)

    def _arrive(self, gradients: Gradients) -> Gradients:
        """Gradients of the inputs have arrived."""
        grad_output, self.grad_output = self.grad_output, None
        if grad_output is None:
            return gradients  # they did not come by the outputs: backward started inside the module
        spread = _spread(gradients, self.gated, self.inputs)
        for hook in list(self.hooks.backward.values()):
            spread = self._answer("hook", hook(self.module, spread, grad_output), spread)
        return tuple(spread[i] for i in self.gated)

    def _answer(self, what: str, answer: Any, gradients: Gradients) -> Gradients:
        """The gradients that a hook returned, or those that it was given."""
        if answer is None:
            return gradients
        answer = (answer,) if isinstance(answer, Tensor) else tuple(answer)
        lost = len(answer) == len(gradients) and any(
            old is None and new is not None for old, new in zip(gradients, answer, strict=True)
        )
        if len(answer) != len(gradients) or lost:
            raise AutogradError(
                f"a backward {what} of {type(self.module).__name__}",
                "it returned a gradient where None was given" if lost
                else f"it returned {len(answer)} gradient(s) in place of {len(gradients)}",
                "return one for each that it was given, None where that was None; or just None to leave them all"
            )  # fmt: skip
        return answer


def _wanting(values: tuple[Any, ...]) -> list[int]:
    """The places, among the values, of tensors that will get a gradient."""
    return [i for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad] if modes().grad else []


def _through(values: Any, places: list[int], passing: Callable[[Gradients], Gradients]) -> Any:
    """The values, those at ``places`` through a gate. A named tuple stays one."""
    if not places:
        return values
    passed = dict(zip(places, _Gate.apply(passing, *(values[i] for i in places)), strict=True))
    parts = [passed.get(i, x) for i, x in enumerate(values)]
    return tuple(parts) if type(values) is tuple else type(values)(*parts)


def _spread(gradients: Gradients, places: list[int], count: int) -> Gradients:
    """The gradients in their places, and None elsewhere."""
    found = dict(zip(places, gradients, strict=True))
    return tuple(found.get(i) for i in range(count))
