"""The arguments of a widget, checked by its constructor: a refusal names the one that does not fit."""

from __future__ import annotations

import math
import numbers
from typing import Any

from ..common.wording import shown
from ..errors import ArgumentError


def refusal(widget: str, name: str, value: Any, why: str, mend: str) -> ArgumentError:
    """The error for one argument: ``GuardLens(code=3): code is a text. Write …``."""
    return ArgumentError(f"{widget}({name}={shown(value, 40)})", why, mend)


def texts(widget: str, **given: Any) -> None:
    """Refuse anything but text."""
    for name, value in given.items():
        if not isinstance(value, str):
            raise refusal(widget, name, value, f"{name} is a text", f'write {name}="…"')


def flags(widget: str, **given: Any) -> None:
    """Refuse what is neither True nor False."""
    for name, value in given.items():
        if not isinstance(value, bool):
            raise refusal(widget, name, value, f"{name} is a switch", f"write {name}=True or {name}=False")


def callables(widget: str, **given: Any) -> None:
    """Refuse what cannot be called."""
    for name, value in given.items():
        if not callable(value):
            why = f"{name} is called, and this cannot be"
            raise refusal(widget, name, value, why, "give a function, such as a lambda")


def whole(widget: str, name: str, value: Any) -> int:
    """A whole number. Raises `ArgumentError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise refusal(widget, name, value, f"{name} is a whole number", f"write a number, such as {name}=3")
    return int(value)


def finite(widget: str, name: str, value: Any) -> float:
    """A finite number. Raises `ArgumentError` for anything else."""
    fits = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not fits or not math.isfinite(value):
        raise refusal(widget, name, value, f"{name} is a finite number", f"write a number, such as {name}=2.5")
    return float(value)


def typed(act: str, value: Any) -> int:
    """A whole number that was typed, dragged or sent. Raises `ArgumentError` for anything else."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        why, mend = "this takes a whole number", "drag it, use the arrow keys, or give a number such as 2"
        raise ArgumentError(f"{act} = {shown(value, 40)}", why, mend) from None
