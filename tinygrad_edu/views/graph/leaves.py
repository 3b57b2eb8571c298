"""The arguments of a stepper as leaves: tensors stay, and numbers and arrays become tensors."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...common.wording import shown
from ...dtypes import is_float
from ...errors import ArgumentError, EduError, KeywordError
from ...nn.module import Module
from ...tensor import Tensor, tensor


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters of a function or module; None if Python does not know them."""
    try:
        signature = inspect.signature(function.forward if isinstance(function, Module) else function)
    except (TypeError, ValueError):
        return None
    return list(signature.parameters.values())


def free_names(function: Callable[..., Any], values: Sequence[Any]) -> set[str]:
    """The named parameters that ``values``, given by position, leave open."""
    named = [p for p in parameters_of(function) or () if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    before = [p for p in parameters_of(function) or () if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return {p.name for p in named} - {p.name for p in before[: len(values)]}


def leaves_of(
    function: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any]
) -> tuple[dict[str, Tensor], int]:
    """The leaves by name, and how many of them, from the first, are passed by position.

    Raises `ArgumentError` for what cannot be a leaf, and `KeywordError` if the function does not take these.
    """
    parameters = parameters_of(function)
    if parameters is not None:
        _check_call(function, parameters, values, named)
    given = dict(zip(_names(parameters or [], values, named), values, strict=True))
    return {name: as_leaf(name, value) for name, value in {**given, **named}.items()}, len(values)


def _check_call(
    function: Callable[..., Any], parameters: list[inspect.Parameter], values: Sequence[Any], named: Mapping[str, Any]
) -> None:
    try:
        inspect.Signature(parameters).bind(*values, **named)
    except TypeError as error:
        said = [
            *(shown(value, 20) for value in values),
            *(f"{name}={shown(value, 20)}" for name, value in named.items()),
        ]
        called = getattr(function, "__name__", type(function).__name__)
        takes = ", ".join(p.name for p in parameters) or "nothing"
        raise KeywordError(
            f"GraphStepper({', '.join([called, *said])})", f"{called} cannot be called so: {error}",
            f"give a leaf for each parameter without a default; {called} takes {takes}",
        ) from None  # fmt: skip


def _names(parameters: list[inspect.Parameter], values: Sequence[Any], named: Mapping[str, Any]) -> list[str]:
    """What leaves given by position are called: as the parameters, and those of ``*xs`` are xs0, xs1, …"""
    single = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    names = single[: len(values)]
    count = 0
    while len(names) < len(values):
        name, count = f"{rest}{count}", count + 1
        names += [] if name in names or name in named else [name]
    return names


def as_leaf(name: str, value: Any) -> Tensor:
    """A tensor as it is. A number or an array becomes one that wants a gradient, unless it holds integers or bools.

    A single Python integer is taken for a float: ``x=2`` means the number 2. Raises `ArgumentError` for anything else.
    """
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (numbers.Real, np.ndarray, np.generic, list, tuple)):
        mend = "give a number or an array, or use it inside: GraphStepper(lambda x: loss_of(x, model), x=…)"
        raise ArgumentError(f"the leaf {name}={shown(value, 40)}", "a leaf is a tensor, a number or an array", mend)
    try:
        made = tensor(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)
    except (EduError, OverflowError) as error:
        why = error.why if isinstance(error, EduError) else "it is too large for a float"
        mend = "give a number, or an array of numbers"
        raise ArgumentError(f"the leaf {name}={shown(value, 40)}", why, mend) from None
    return made.requires_grad_() if is_float(made.dtype) else made
