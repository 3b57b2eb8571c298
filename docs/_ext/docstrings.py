"""Docstrings as written in the source, turned into the form that Sphinx reads.

A `name` in single backticks becomes a link if the reference has that name, else code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

import tinygrad_edu as tg

DEFINITIONS = re.compile(r"(\S.*\n(    \S.*(\n|$))+)+")  # words, each with its meaning indented below it
TARGETS: dict[str, list[str]] = {}  # a name in a docstring: the full names that it may mean


def learn_targets(names: Iterable[str]) -> None:
    """Note every full name under each of its endings."""
    TARGETS.clear()
    for name in names:
        words = name.split(".")
        for start in range(len(words)):
            TARGETS.setdefault(".".join(words[start:]), []).append(name)


def nearness(name: str, where: str) -> int:
    """How many modules two full names have in common."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(name.split("."), where.split("."), strict=False))))


def markup(where: str, text: str) -> list[str]:
    """A docstring as lines for Sphinx. If several things have one name, it links to the nearest."""

    def role(match: re.Match[str]) -> str:
        word = match[1]
        if word is None:  # in double backticks: code already
            return match[0]
        found = TARGETS.get(word)
        if not found:
            return f"``{word}``"
        return f":py:obj:`{word} <{max(found, key=lambda name: nearness(name, where))}>`"

    def block(part: str) -> str:
        if part.startswith(">>> "):
            return part
        indented = re.search(r"\n +\S", part) and not re.match(r"[-*] |\d+\. ", part)
        if indented and not DEFINITIONS.fullmatch(part):  # columns that are to stay columns
            return ".. code-block:: text\n\n" + re.sub(r"(?m)^", "   ", part.replace("``", ""))
        return re.sub(r"``.+?``|`([^`]+)`", role, part, flags=re.DOTALL)

    return "\n\n".join(block(part) for part in text.strip("\n").split("\n\n")).splitlines()


def process_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx asks this for every docstring."""
    lines[:] = [*markup(name, "\n".join(lines)), ""]


def signature_of(function: Any) -> str:
    """What a method takes, without ``self`` and annotations."""
    rest = list(inspect.signature(function).parameters.values())[1:]
    return str(inspect.Signature([parameter.replace(annotation=parameter.empty) for parameter in rest]))


def process_signature(app: Any, what: str, name: str, obj: Any, options: Any, given: Any, result: Any) -> Any:
    """Sphinx asks this for every signature.

    A module takes the arguments of its ``__init__``, an in-place method those of the method without underscore.
    """
    if inspect.isclass(obj) and issubclass(obj, tg.nn.Module):
        return signature_of(obj.__init__), None
    plain = getattr(tg.Tensor, name.rsplit(".", 1)[1].removesuffix("_"), None)
    if what == "method" and given == "(*args, **kwargs)" and plain is not None:
        return signature_of(plain), None
    return given, result


def skip_member(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Sphinx asks this for every member. What ``print`` shows of a layer needs no entry with each of them."""
    return True if name == "extra_repr" else None
