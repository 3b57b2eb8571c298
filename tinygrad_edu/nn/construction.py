"""Checks of a layer's arguments before it is made."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np

from ..errors import DtypeError, KeywordError
from ..inputs.keywords import refusal
from ..inputs.kinds import OLD_ARGUMENTS
from ..inputs.left_out import why_not
from ..tensor import Tensor

_PACKAGE = __name__.partition(".")[0]
_TENSORS = {"weight", "_weight", "pos_weight", "values", "parameters", "modules"}  # arguments that may be tensors
_signature = cache(inspect.signature)


def check(kind: type[Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Refuse arguments that ``kind`` does not take.

    Python itself would name the private class whose ``__init__`` it is, and a fraction as a size would only fail
    deep inside. Classes with the user's own ``__init__`` are left to Python.
    """
    init: Any = kind.__init__
    if init.__module__.partition(".")[0] != _PACKAGE:
        return
    parameters = _signature(init).parameters
    try:
        given = _signature(init).bind(None, *inputs, **options).arguments
    except TypeError as error:
        if any(map(_is_data, inputs)):
            raise _called_too_early(kind) from None
        names = list(parameters)[1:]
        for name in options:
            if name not in OLD_ARGUMENTS and why_not(kind.__name__, name):
                raise KeywordError(f"{kind.__name__} with {name}=…", *refusal(kind.__name__, name, names)) from None
        tried = f"{kind.__name__}({', '.join([*('…' for _ in inputs), *(f'{name}=…' for name in options)])})"
        raise KeywordError(tried, str(error), _mend(kind, names, options)) from None
    for name, value in given.items():
        annotation = str(parameters[name].annotation)
        if _is_data(value) and name not in _TENSORS:
            raise _called_too_early(kind)
        if annotation == "int" and not hasattr(value, "__index__"):
            tried, why = f"{kind.__name__} with {name}={value!r:.40}", f"{name} must be an integer"
            fraction = isinstance(value, float | np.floating)
            raise DtypeError(tried, why, "use // where / gave a fraction" if fraction else "give one number")


def _is_data(value: Any) -> bool:
    return isinstance(value, Tensor | np.ndarray) and value.ndim > 0


def _called_too_early(kind: type[Any]) -> DtypeError:
    own = list(_signature(kind.__init__).parameters.values())[1:]
    required = any(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in own)
    inputs = ", ".join(list(_signature(kind.forward).parameters)[1:])
    why = "its arguments say how it computes; tensors come when it is called"
    mend = f"make it first, then call it: {kind.__name__}({'…' * required})({inputs})"
    return DtypeError(f"{kind.__name__} of a tensor", why, mend)


def _mend(kind: type[Any], names: list[str], options: dict[str, Any]) -> str:
    if not names:
        return f"give {kind.__name__} an __init__ that takes them and calls super().__init__() first"
    from difflib import get_close_matches

    for name in options:
        if name in OLD_ARGUMENTS and "reduction" in names:
            return OLD_ARGUMENTS[name]
        close = get_close_matches(name, names, 1)
        if name not in names and close:
            return f"write {close[0]}= in place of {name}="
    return f"it takes {', '.join(names)}"
