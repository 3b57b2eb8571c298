"""Signatures and source text of generated or wrapped functions, made only when somebody asks for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any

from ..core.above import above
from ..core.dispatch import write_caller
from ..core.op import REQUIRED, Op


class Told(Signature):
    """A signature that is worked out when somebody looks: few ever do, and it would slow the import down."""

    __slots__ = ("_known", "_tell")

    def __init__(self, tell: Callable[[], list[Parameter]]) -> None:
        self._tell = tell
        self._known: Any = None

    @property
    def _parameters(self) -> Any:
        if self._known is None:
            self._known = MappingProxyType({parameter.name: parameter for parameter in self._tell()})
        return self._known

    @property
    def _return_annotation(self) -> Any:
        return Signature.empty

    def replace(self, *, parameters: Any = None, return_annotation: Any = Signature.empty) -> Any:
        """A plain signature, with the given parts in place of its own."""
        own = self.parameters.values() if parameters is None else parameters
        return Signature(list(own), return_annotation=return_annotation)

    def __reduce__(self) -> Any:
        return Signature, (list(self.parameters.values()),)


def signature(op: type[Op], out: bool) -> Signature:
    """The signature that the caller will have; with ``out``, that of the caller which takes ``out=`` too."""
    return Told(lambda: _parameters(op, out))


def _parameters(op: type[Op], out: bool) -> list[Parameter]:
    plain, keyword = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    found = [
        Parameter(op.public.get(n, n), plain, default=None if n in op.optional else Parameter.empty)
        for n in op.operands
    ]
    for name, default in op.params.items():
        found.append(Parameter(name, keyword, default=Parameter.empty if default is REQUIRED else default))
    return found + [Parameter("out", keyword, default=None)] * out


def with_keyword(wrapper: Any, name: str) -> None:
    """Give a wrapper the signature of what it wraps, with one more keyword."""
    wrapper.__signature__ = Told(lambda: _and_keyword(wrapper.__wrapped__, name))


def _and_keyword(function: Any, name: str) -> list[Parameter]:
    found = list(inspect.signature(function).parameters.values())
    at = len(found) - any(p.kind is p.VAR_KEYWORD for p in found)
    return [*found[:at], Parameter(name, Parameter.KEYWORD_ONLY, default=None), *found[at:]]


def as_signed(method: Any, function: Any) -> None:
    """Give ``method`` the signature of ``function``."""
    method.__signature__ = Told(lambda: list(inspect.signature(function).parameters.values()))


class _Source:
    """The text of an op's caller, written when somebody asks."""

    def __get__(self, instance: object, op: type[Op]) -> str:
        return write_caller(op)


Op.source = _Source()
above.signature = signature
