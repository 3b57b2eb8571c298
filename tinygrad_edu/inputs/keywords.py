"""Keywords that a function does not know: NumPy's spellings are translated, others are refused in words.

Nothing here runs before Python itself has refused the call, so a call without such a keyword pays nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from ..common.wording import shown, suggestion
from ..errors import KeywordError
from .left_out import why_not

# NumPy's names for PyTorch's parameters, which PyTorch takes as well.
SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}

signature_of = cache(inspect.signature)


def never_began(error: BaseException) -> bool:
    """Whether an error that was just caught comes from the call itself: no line of the function was reached."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None


def respelt(
    name: str, function: Any, given: Mapping[str, Any], error: Exception, spellings: Mapping[str, str] = SPELLINGS
) -> dict[str, Any]:
    """The keywords of a call that Python has refused, with PyTorch's names for those of ``spellings``.

    Raises `KeywordError` for one that the function does not take, and ``error`` where keywords are not what is wrong.
    """
    known = dict.fromkeys(_names(function))
    put_right = {_meant(key, known, given, spellings): value for key, value in given.items()}
    strange = next((key for key in put_right if key not in known), None)
    if strange is not None:
        tried = f"{name} with {strange}={shown(given[strange], 30)}"
        if (twice := spellings.get(strange)) in given:
            raise KeywordError(tried, f"it is NumPy's word for {twice}, which is given too", "give one of the two")
        raise KeywordError(tried, *refusal(name, strange, known))
    if put_right.keys() == given.keys():
        raise error
    return put_right


def _names(function: Any) -> Iterator[str]:
    for parameter in signature_of(function).parameters.values():
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and parameter.name != "self":
            yield parameter.name


def _meant(key: str, known: Mapping[str, Any], given: Mapping[str, Any], spellings: Mapping[str, str]) -> str:
    meant = spellings.get(key, key)
    return meant if key not in known and meant in known and meant not in given else key


def refusal(name: str, key: str, known: Iterable[str]) -> tuple[str, str]:
    """Why there is no such keyword here, and how to fix it."""
    if reason := why_not(name, key):
        return f"PyTorch's {name} has it, but this one leaves it out: {reason}", f"call it without {key}"
    known = list(known)
    if not known:
        return "it takes no arguments by name", f"call it without {key}"
    return f"it takes {', '.join(known)}", suggestion(key, known)
